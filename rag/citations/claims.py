"""Claims: parsed sentences, and the rules by which the words of a passage contradict one.

The rules compare the claim with the anchor (the sentence of the passage with most of its words), with the
window around the anchor, and with the whole passage. Pure functions, without a model.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise

from rag.text.facts import (
    NUMBER,
    OPENERS,
    clauses,
    holds_name,
    in_order,
    is_year,
    latin_words,
    names,
    negations,
    numbers,
    opposed,
    value_of,
    with_values,
    without_numbers,
)
from rag.text.language import without_particle, words_of
from rag.text.normalize import normalize_with_offsets, without_politeness
from rag.text.tokenize import tokens

_LIGHT = """
say says said state stated announce announced report reported accord according become became begin began
begun start started make made take took taken place give gave given get got go went gone come came
include included includes know known call called name named use used using base based also well several
various many much new number time year month day later early earlier due cause work worked show shows
showed shown find found hold held follow followed following serve served set lead led leads provide
provided provides result results consider considered feature featured relate related involve involved
help helped helps allow allowed allows require required current currently still however additionally
typically often generally usually commonly mainly primarily particularly especially significant
significantly important different certain specific overall main major part way type form thing people
person group area large small high long good great own able need like likely order case point example
respectively approximately around nearly almost within across along toward among throughout despite
although therefore thus hence moreover furthermore since once again further another ensure contain
contains contained consist consists describe described associate associated occur occurred receive
received appear appeared remain remained continue continued return returned decide decided develop
developed create created produce produced
"""
LIGHT = frozenset(tokens(_LIGHT, "en"))
"""Function and reporting words: two sentences may say the same with different ones."""
LIGHT_WEIGHT = 0.2
LIKE = 0.6  # least common prefix, as a share of the longer word, of two forms of one word
_UNSPACED = re.compile("[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_PIECE = re.compile(
    r"\d+(?:\.\d+)?s?|[\u3041-\u30ff\u3400-\u9fff]|[^\W\d_\u3041-\u30ff\u3400-\u9fff][^\W_\u3041-\u30ff\u3400-\u9fff]*"
)


@dataclass(frozen=True)
class Sentence:
    """Sentence of a text with its features, ``text == whole[start:end]``."""

    text: str
    start: int
    end: int

    @cached_property
    def said(self) -> str:
        """Text without polite endings, which state nothing."""
        return without_politeness(self.text) if self.unspaced else self.text

    @cached_property
    def folded(self) -> str:
        """Normalised text."""
        return normalize_with_offsets(self.text).text

    @cached_property
    def sequence(self) -> list[str]:
        """Tokens in order, without numbers."""
        return tokens(without_numbers(self.said))

    @cached_property
    def surface(self) -> list[str]:
        """Surface forms in order: words, numbers by value, single letters of scripts without spaces."""
        return _PIECE.findall(with_values(normalize_with_offsets(self.said).text))

    @cached_property
    def words(self) -> frozenset[str]:
        """Set of tokens, without numbers."""
        return frozenset(self.sequence)

    @cached_property
    def weights(self) -> dict[str, float]:
        """Weight of each token."""
        return {word: LIGHT_WEIGHT if word in LIGHT else 1.0 for word in self.words}

    @cached_property
    def numbers(self) -> list[str]:
        """Numbers by value, in order."""
        return numbers(self.text)

    @cached_property
    def names(self) -> list[str]:
        """Names as they are written."""
        return names(self.text)

    @cached_property
    def plain(self) -> frozenset[str]:
        """Tokens that are no part of a name."""
        return self.words - frozenset(tokens(" ".join(self.names)))

    @cached_property
    def outline(self) -> list[str]:
        """Numbers and content words, in order; each sentence is compared with many."""
        return outline(self.said)

    @cached_property
    def unspaced(self) -> bool:
        """True where it has Korean, Japanese or Chinese letters."""
        return bool(_UNSPACED.search(self.text))

    @cached_property
    def _latin(self) -> frozenset[str]:
        return latin_words(self.folded)

    def holds(self, name: str) -> bool:
        """Return True where it has a name, in this form or as an adjective."""
        return holds_name(name, self.folded, self._latin)

    def lacks(self, wanted: Iterable[str]) -> list[str]:
        """Return those of the wanted names that it does not have."""
        return [name for name in wanted if not self.holds(name)]

    def share(self, given: Collection[str]) -> float:
        """Return the share of its tokens that are given, by weight, 0 to 1.

        >>> Sentence("Bridges opened later", 0, 20).share({"bridg"})
        0.45454545454545453
        """
        total = sum(self.weights.values())
        return sum(weight for word, weight in self.weights.items() if word in given) / total if total else 0.0

    def alike(self, given: Collection[str]) -> dict[str, float]:
        """Return its tokens that are not given, each with its likeness to a given one, 0 to 1."""
        return {word: _likeness(word, given) for word in self.words if word not in given}


def _likeness(word: str, given: Collection[str]) -> float:
    """Return the longest prefix shared with a given word, as a share: "design", {"designat"} -> 0.75."""
    if len(word) < 4 or not word.isascii():
        return 0.0
    shares = (_run(word, other) / max(len(word), len(other)) for other in given if other[:3] == word[:3])
    best = max(shares, default=0.0)
    return best if best >= LIKE else 0.0


def joined(parts: Sequence[Sentence]) -> frozenset[str]:
    """Return the words of several sentences."""
    return frozenset[str]().union(*(part.words for part in parts))


_OUTLINED = re.compile(r"[가-힣]+|[一-鿿々]+|[ァ-ヺー]+|[A-Za-z\u00c0-\u024f][\w’'-]*")
_KOREAN_PREDICATE = re.compile(r"(?:[다요까죠]|하[고는며여]|되[고는며어]|한|된|했던|하던|있는|없는)$")


def outline(text: str) -> list[str]:
    """Return the numbers and uninflected content words of a sentence, in order.

    >>> outline("The bridges opened in 1932."), outline("다리는 1932년에 개통됐다."), outline("橋は開通した")
    (['bridg', 'open', '1932'], ['다리', '1932', '개통'], ['橋', '開通'])
    """
    text = unicodedata.normalize("NFKC", text)
    said: list[str] = []
    done = 0
    for match in NUMBER.finditer(text):
        said += [*_content(text[done : match.start()]), value_of(match)]
        done = match.end()
    return [*said, *_content(text[done:])]


def _content(text: str) -> list[str]:
    return [outlined for word in _OUTLINED.findall(text) for outlined in _outlined(word)]


def _outlined(word: str) -> list[str]:
    if "가" <= word[0] <= "힣":
        bare = without_particle(word)
        if _KOREAN_PREDICATE.search(bare):
            bare = bare[:2]
        return [bare] if len(bare) > 1 else []
    if word[0] >= "\u0250":
        return [word]
    return [] if word.casefold() in OPENERS else tokens(word)[:1]


# Word order. Shares are of the claim's words, 0 to 1.
ALIKE = 0.6  # share in the same order from which two sentences are compared word for word
COPIED = 0.75  # share taken over from which a claim is a copy, and any difference a change
RUN = 0.6  # share taken over in one run, with the same meaning
NEW = 0.05  # share of new words that a reordered copy may have
PAIRED = {"words": 0.4, "letters": 0.6}  # least share of neighbours that stay neighbours
MOVED = 3  # pieces of a sentence one part of which has moved: before it, itself, after it
_LEADING = words_of("in on at by for from to with during after before since until under over of as through")
COVERED = 0.9  # share of a claim that two spliced sentences make up
PART = 3  # words that each of them gives at least
_LETTERS = re.compile("[\u3041-\u30ff\u3400-\u9fff]")
Step = tuple[str, Sequence[str], Sequence[str]]


def steps(claim: Sequence[str], anchor: Sequence[str]) -> Iterator[Step]:
    """Yield what is equal, replaced, inserted or deleted from anchor to claim, with the words of both."""
    for operation, a, b, c, d in SequenceMatcher(None, anchor, claim, autojunk=False).get_opcodes():
        yield operation, claim[c:d], anchor[a:b]


def is_altered_copy(claim: Sentence, anchor: Sentence) -> bool:
    """Return True where a claim copies a sentence except for a content word.

    >>> copied = Sentence("The hall was opened in spring by Tom Berg.", 0, 0)
    >>> is_altered_copy(Sentence("The hall was opened in spring by Ann Lee.", 0, 0), copied)
    True
    >>> is_altered_copy(Sentence("However, the hall was opened in spring.", 0, 0), copied)
    False
    """
    taken = list(steps(claim.surface, anchor.surface))
    copied = [len(ours) for operation, ours, _ in taken if operation == "equal"]
    if sum(copied) < COPIED * len(claim.surface) and max(copied, default=0) < RUN * len(claim.surface):
        return False
    more = Counter(claim.surface) - Counter(anchor.surface)
    return any(_changes(step, more) for step in taken)


def _changes(step: Step, more: Counter[str]) -> bool:
    operation, ours, theirs = step
    new = [word for word in ours if more[word] and _tells(word)]
    if operation == "replace":
        return bool(new) and any(map(_tells, theirs))
    return operation == "insert" and any(any(map(str.isdigit, word)) for word in new)


def _tells(word: str) -> bool:
    """Return True for a content word: not "the", not "became"."""
    return any(token not in LIGHT for token in tokens(word, "en"))


def is_exchanged(claim: Sequence[str], anchor: Sequence[str]) -> bool:
    """Return True where two sentences in the same order have different words in one place.

    Words that only moved are no exchange, nor are words that only one of them has.

    >>> is_exchanged("elder order of deacon".split(), "elder order of elder".split())
    True
    >>> is_exchanged("film open 2004".split(), "2004 film open".split())
    False
    """
    more, less = Counter(claim) - Counter(anchor), Counter(anchor) - Counter(claim)
    taken = list(steps(claim, anchor))
    alike = sum(len(ours) for operation, ours, _ in taken if operation == "equal")
    return alike >= ALIKE * len(claim) and any(
        operation == "replace" and any(map(more.get, ours)) and any(map(less.get, theirs))
        for operation, ours, theirs in taken
    )


def is_reordered(claim: Sentence, window: Sequence[Sentence], passage: Sequence[Sentence]) -> bool:
    """Return True where the claim has only words of the evidence, in an order of another meaning.

    One part may have moved, as "in 2019" in "In 2019 sales rose": that leaves three pieces, one of them
    moved back.
    """
    sources = ([unit] for unit in passage)
    return any(_contained(claim, source) and _disordered(claim, source) for source in (window, *sources))


def _contained(claim: Sentence, source: Sequence[Sentence]) -> bool:
    new = Counter(claim.surface) - Counter(word for unit in source for word in unit.surface)
    return new.total() <= NEW * len(claim.surface)


def _disordered(claim: Sentence, source: Sequence[Sentence]) -> bool:
    letters = bool(_LETTERS.search(claim.folded))
    if _paired(claim, source) < PAIRED["letters" if letters else "words"]:
        return True
    pieces = _pieces(claim.surface, [word for unit in source for word in unit.surface])
    back = sum(later < earlier for (earlier, _), (later, _) in pairwise(pieces))
    moved = len(pieces) <= MOVED and any(word in _LEADING for _, word in pieces)
    return back > 1 or (back == 1 and not moved)


def _paired(claim: Sentence, window: Sequence[Sentence]) -> float:
    pairs = _neighbours(claim.surface)
    given = frozenset(pair for unit in window for pair in _neighbours(unit.surface))
    return sum(pair in given for pair in pairs) / len(pairs) if pairs else 1.0


def _neighbours(surface: Sequence[str]) -> list[tuple[str, ...]]:
    size = 3 if _LETTERS.search("".join(surface)) else 2
    return [tuple(surface[at : at + size]) for at in range(len(surface) - size + 1)]


def _pieces(claim: Sequence[str], source: Sequence[str]) -> list[tuple[int, str]]:
    """Return for each run of the claim its position in the source and its first word.

    >>> _pieces("in 2004 the film opened".split(), "the film opened in 2004".split())
    [(3, 'in'), (0, 'the')]
    """
    found: list[tuple[int, str]] = []
    at = 0
    while at < len(claim):
        after = found[-1][0] if found else 0
        runs = [(_run(claim[at:], source[start:]), start >= after, -start) for start in range(len(source))]
        length, _, place = max(runs, default=(0, True, 0))
        if length:
            found.append((-place, claim[at]))
        at += length or 1
    return found


def _run(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the common beginning of two sequences of words, or of two words."""
    both = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(both) if a != b), min(len(one), len(other)))


def is_spliced(claim: Sentence, passage: Sequence[Sentence]) -> bool:
    """Return True where the claim joins the beginning of one sentence and the end of another.

    An end that follows only "It" or "He" is no splice: the beginning may name who that is.

    >>> told = "The north gate opens at nine.", "The old mill closes at six."
    >>> is_spliced(Sentence("The north gate closes at six.", 0, 0), [Sentence(text, 0, 0) for text in told])
    True
    """
    said = claim.surface
    heads = [_longest(said, unit.surface)[0] for unit in passage]
    tails = [_longest(said[::-1], unit.surface[::-1]) for unit in passage]
    if max((*heads, *(length for length, _ in tails)), default=0) >= COVERED * len(said):
        return False
    return any(
        head >= PART and tail >= PART and head + tail >= COVERED * len(said)
        for at, head in enumerate(heads)
        for other, (tail, rest) in enumerate(tails)
        if at != other and any(map(_tells, rest))
    )


def _longest(said: Sequence[str], given: Sequence[str]) -> tuple[int, Sequence[str]]:
    """Return the length of the longest run of a text in the given, and the rest of the given after it."""
    runs = [(_run(said, given[at:]), at) for at in range(len(given)) if given[at] == said[0]]
    length, at = max(runs, default=(0, 0))
    return length, given[at + length :]


# Rules
ALONE = 0.75  # share of the claim's words besides names from which the anchor states it by itself
SAME_CLAUSE = 0.3  # share of a clause's words from which another clause says the same
_MONTHS = "january february march april may june july august september october november december"
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_DATED = frozenset(f"{_MONTHS} {_WEEKDAYS}".split())
_COUNTS = tuple(frozenset(words.split()) for words in (_MONTHS, _WEEKDAYS, _ORDINALS))
_NEGATING = ("un", "in", "im", "il", "ir", "dis", "non", "de", "mis")


def find_contradiction(
    claim: Sentence, anchor: Sentence, window: Sequence[Sentence], passage: Sequence[Sentence]
) -> str:
    """Return the kind of contradiction between claim and evidence; empty without one.

    `passage` are all sentences whose names a pronoun of the window may refer to.

    >>> claim, anchor = Sentence("It opened in 1933.", 0, 18), Sentence("It opened in 1932.", 0, 18)
    >>> find_contradiction(claim, anchor, [anchor], [anchor])
    'number'
    """
    rules: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("number", lambda: _other_number(claim, anchor, window, passage)),
        ("name", lambda: _other_name(claim, anchor, passage)),
        ("denial", lambda: _denied(claim, anchor, window)),
        ("direction", lambda: opposed(claim.text, anchor.text) or _reversed(claim, window)),
        ("word", lambda: is_altered_copy(claim, anchor)),
        ("order", lambda: is_reordered(claim, window, passage)),
        ("splice", lambda: is_spliced(claim, passage)),
        ("exchange", lambda: claim.unspaced and is_exchanged(claim.outline, anchor.outline)),
    )
    return next((kind for kind, contradicts in rules if contradicts()), "")


def _other_number(
    claim: Sentence, anchor: Sentence, window: Sequence[Sentence], passage: Sequence[Sentence]
) -> bool:
    """Return True where a number is missing from the window, or in the place of another in the anchor.

    A year may be anywhere in the passage, unless the window has another year: "on 7 May" in a text of 2018.
    """
    given = [number for unit in window for number in unit.numbers]
    far = [number for unit in passage for number in unit.numbers]
    for number in claim.numbers:
        if number not in given and not (
            is_year(number) and number in far and all(n in claim.numbers for n in given if is_year(n))
        ):
            return True
    return any(
        _conflict(*pair) for pair in zip(_counts(claim), _counts(anchor), strict=True)
    ) or not in_order([number for number in claim.numbers if number in anchor.numbers], anchor.numbers)


def _counts(unit: Sentence) -> Iterator[frozenset[str]]:
    words = frozenset(unit.surface)
    yield frozenset(number for number in unit.numbers if is_year(number))
    yield frozenset(number for number in unit.numbers if not is_year(number))
    yield from (words & kind for kind in _COUNTS)


def _conflict(claimed: frozenset[str], given: frozenset[str]) -> bool:
    """Return True where each of two has something that the other lacks: {20, 10}, {20} is no conflict."""
    return bool(claimed - given and given - claimed)


def _other_name(claim: Sentence, anchor: Sentence, passage: Sequence[Sentence]) -> bool:
    missing = [name for name in anchor.lacks(claim.names) if name.casefold() not in _DATED]
    if not missing:
        return False
    if any(not any(unit.holds(name) for unit in passage) for name in missing):
        return True
    alone = not claim.plain or len(claim.plain & anchor.words) >= ALONE * len(claim.plain)
    return alone and bool(claim.lacks(_sure_names(anchor)))


def _sure_names(unit: Sentence) -> list[str]:
    """Return the names of a sentence except dates, headings in capitals, and a single first word."""
    opening = re.match(r"\W*(\w+)\s+[a-z(]", unit.text)
    return [
        name
        for name in unit.names
        if name.casefold() not in _DATED
        and not (opening and name == opening[1])
        and not (name.isupper() and len(name) > 3)
    ]


def _denied(claim: Sentence, anchor: Sentence, window: Sequence[Sentence]) -> bool:
    """Return True where one of claim and evidence is negated and the other is not.

    A clause of the claim is compared with the clause that has most of its words.
    """
    near = [clause for clause in clauses(anchor.text) if claim.words & frozenset(tokens(clause))]
    if any(map(negations, near)) != bool(negations(claim.text)):
        return True
    given = [(frozenset(tokens(clause)), clause) for unit in window for clause in clauses(unit.text)]
    return any(_other_denial(clause, given) for clause in clauses(claim.text))


def _other_denial(clause: str, given: Sequence[tuple[frozenset[str], str]]) -> bool:
    words = frozenset(tokens(clause))
    shared, nearest = max(((len(words & theirs), text) for theirs, text in given), default=(0, ""))
    return shared > SAME_CLAUSE * len(words) and negations(clause) != negations(nearest)


def _reversed(claim: Sentence, window: Sequence[Sentence]) -> bool:
    """Return True where the evidence has a word with a negating prefix: "deactivate" for "activate"."""
    given = joined(window)
    return any(
        (prefix + word in given and prefix + word not in claim.words)
        or (word.startswith(prefix) and len(word) > len(prefix) + 3 and word[len(prefix) :] in given)
        for word in claim.words - given
        if word.isascii()
        for prefix in _NEGATING
    )
