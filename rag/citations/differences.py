"""Why a sentence cannot rest on a passage that has its words: what differs between them.

Each question is asked of the claim, of the anchor (the sentence of the passage that says most of it), of
the window around the anchor and of the whole passage. Pure, without a model.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from rag.citations.claims import LIGHT, Stated, joined
from rag.text.facts import clauses, in_order, is_year, negations, opposed
from rag.text.language import words_of
from rag.text.tokenize import tokens

# Two sentences side by side: where they run alike, and what is exchanged, moved or spliced there.
ALIKE = 0.6
"""The share of words in the same order from which two sentences run alike, so that a different one tells."""
COPIED = 0.75
"""The share of all that is said from which a sentence is a copy: what is other in it was changed."""
RUN = 0.6
"""The share that it copies in one go, of which the same is true."""
NEW = 0.05
"""The share of its words that a sentence may have of its own and still be another's, put in another order."""
PAIRED = {"words": 0.4, "letters": 0.6}
"""The share of neighbours that stay neighbours where a sentence is told in the same words."""
MOVED = 3
"""The pieces of a sentence one part of which has moved: before it, itself, after it."""
_LEADING = words_of("in on at by for from to with during after before since until under over of as through")
COVERED = 0.9
PART = 3
"""The share of a sentence that two others make up, and how many words each gives at least."""
_LETTERS = re.compile("[\u3041-\u30ff\u3400-\u9fff]")
Step = tuple[str, Sequence[str], Sequence[str]]


def steps(claim: Sequence[str], anchor: Sequence[str]) -> Iterator[Step]:
    """Yield what is equal, replaced, inserted or deleted from anchor to claim, with the words of both."""
    for operation, a, b, c, d in SequenceMatcher(None, anchor, claim, autojunk=False).get_opcodes():
        yield operation, claim[c:d], anchor[a:b]


def tampered(claim: Stated, anchor: Stated) -> bool:
    """Return whether a claim copies a sentence but for a word that says something else.

    >>> copied = Stated("The hall was opened in spring by Tom Berg.", 0, 0)
    >>> tampered(Stated("The hall was opened in spring by Ann Lee.", 0, 0), copied)
    True
    >>> tampered(Stated("However, the hall was opened in spring.", 0, 0), copied)
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
    """Return whether a word says something of the world: no "the", no "became"."""
    return any(token not in LIGHT for token in tokens(word, "en"))


def exchanged(claim: Sequence[str], anchor: Sequence[str]) -> bool:
    """Return whether, where two sentences run alike, one has something else in a place of the other.

    Words that only moved are no exchange, nor are words that one has more than the other.

    >>> exchanged("elder order of deacon".split(), "elder order of elder".split())
    True
    >>> exchanged("film open 2004".split(), "2004 film open".split())
    False
    """
    more, less = Counter(claim) - Counter(anchor), Counter(anchor) - Counter(claim)
    taken = list(steps(claim, anchor))
    alike = sum(len(ours) for operation, ours, _ in taken if operation == "equal")
    return alike >= ALIKE * len(claim) and any(
        operation == "replace" and any(map(more.get, ours)) and any(map(less.get, theirs))
        for operation, ours, theirs in taken
    )


def shuffled(claim: Stated, window: Sequence[Stated], passage: Sequence[Stated]) -> bool:
    """Return whether the claim has nothing but words of the evidence, in an order that says something else.

    One part may have moved, as "in 2019" in "In 2019 sales rose": that leaves three pieces, one of which
    goes back.
    """
    sources = ([unit] for unit in passage)
    return any(_contained(claim, source) and _disordered(claim, source) for source in (window, *sources))


def _contained(claim: Stated, source: Sequence[Stated]) -> bool:
    """Return whether nearly all that a claim says, as it stands, is said by some sentences too."""
    new = Counter(claim.surface) - Counter(word for unit in source for word in unit.surface)
    return new.total() <= NEW * len(claim.surface)


def _disordered(claim: Stated, source: Sequence[Stated]) -> bool:
    letters = bool(_LETTERS.search(claim.folded))
    if _paired(claim, source) < PAIRED["letters" if letters else "words"]:
        return True
    pieces = _pieces(claim.surface, [word for unit in source for word in unit.surface])
    back = sum(later < earlier for (earlier, _), (later, _) in pairwise(pieces))
    moved = len(pieces) <= MOVED and any(word in _LEADING for _, word in pieces)
    return back > 1 or (back == 1 and not moved)


def _paired(claim: Stated, window: Sequence[Stated]) -> float:
    """Return which part of the claim's neighbouring words are neighbours in the evidence too: 0 to 1."""
    pairs = _neighbours(claim.surface)
    given = frozenset(pair for unit in window for pair in _neighbours(unit.surface))
    return sum(pair in given for pair in pairs) / len(pairs) if pairs else 1.0


def _neighbours(surface: Sequence[str]) -> list[tuple[str, ...]]:
    """Return pairs of words; of letters without spaces between them, threes."""
    size = 3 if _LETTERS.search("".join(surface)) else 2
    return [tuple(surface[at : at + size]) for at in range(len(surface) - size + 1)]


def _pieces(claim: Sequence[str], source: Sequence[str]) -> list[tuple[int, str]]:
    """Return where in the source each run of the claim begins, and its first word; others are passed over.

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


def _run(claim: Sequence[str], anchor: Sequence[str]) -> int:
    """Return how many words two texts begin with together."""
    both = zip(claim, anchor, strict=False)
    return next((at for at, (a, b) in enumerate(both) if a != b), min(len(claim), len(anchor)))


def spliced(claim: Stated, passage: Sequence[Stated]) -> bool:
    """Return whether the claim is the beginning of one sentence and the end of another, word for word.

    Where the end follows a mere "It" or "He", the beginning may well say who that is.

    >>> told = "The north gate opens at nine.", "The old mill closes at six."
    >>> spliced(Stated("The north gate closes at six.", 0, 0), [Stated(text, 0, 0) for text in told])
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
    """Return how far a text runs on in the given at most, and what is left of the given after that."""
    runs = [(_run(said, given[at:]), at) for at in range(len(given)) if given[at] == said[0]]
    length, at = max(runs, default=(0, 0))
    return length, given[at + length :]


ALONE = 0.75
"""The share of the claim's plain words from which the anchor states the claim by itself, names apart."""
SAME_CLAUSE = 0.3
_MONTHS = "january february march april may june july august september october november december"
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_DATED = frozenset(f"{_MONTHS} {_WEEKDAYS}".split())
_COUNTS = tuple(frozenset(words.split()) for words in (_MONTHS, _WEEKDAYS, _ORDINALS))
_NEGATING = ("un", "in", "im", "il", "ir", "dis", "non", "de", "mis")


def differs(claim: Stated, anchor: Stated, window: Sequence[Stated], passage: Sequence[Stated]) -> str:
    """Return in a word what is other in the claim than in the evidence; empty where nothing is.

    `passage` are all sentences whose names a pronoun of the window may stand for.

    >>> claim, anchor = Stated("It opened in 1933.", 0, 18), Stated("It opened in 1932.", 0, 18)
    >>> differs(claim, anchor, [anchor], [anchor])
    'number'
    """
    asked: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("number", lambda: _other_number(claim, anchor, window, passage)),
        ("name", lambda: _other_name(claim, anchor, passage)),
        ("denial", lambda: _denied(claim, anchor, window)),
        ("direction", lambda: opposed(claim.text, anchor.text) or _reversed(claim, window)),
        ("word", lambda: tampered(claim, anchor)),
        ("order", lambda: shuffled(claim, window, passage)),
        ("splice", lambda: spliced(claim, passage)),
        ("exchange", lambda: claim.unspaced and exchanged(claim.outline, anchor.outline)),
    )
    return next((what for what, is_so in asked if is_so()), "")


def _other_number(claim: Stated, anchor: Stated, window: Sequence[Stated], passage: Sequence[Stated]) -> bool:
    """Return whether a number is in the window nowhere, or stands where the anchor has another.

    A year may come from further away, unless the window has another year: "on 7 May" in a text of 2018.
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


def _counts(unit: Stated) -> Iterator[frozenset[str]]:
    """Yield what a sentence counts and dates, by kind: years, other numbers, months, weekdays, ordinals."""
    words = frozenset(unit.surface)
    yield frozenset(number for number in unit.numbers if is_year(number))
    yield frozenset(number for number in unit.numbers if not is_year(number))
    yield from (words & kind for kind in _COUNTS)


def _conflict(claimed: frozenset[str], given: frozenset[str]) -> bool:
    """Return whether each of two has something that the other lacks: {20, 10}, {20} is no conflict."""
    return bool(claimed - given and given - claimed)


def _other_name(claim: Stated, anchor: Stated, passage: Sequence[Stated]) -> bool:
    """Return whether a name is nowhere, or stands where the anchor has another."""
    missing = [name for name in anchor.lacks(claim.names) if name.casefold() not in _DATED]
    if not missing:
        return False
    if any(not any(unit.holds(name) for unit in passage) for name in missing):
        return True
    alone = not claim.plain or len(claim.plain & anchor.words) >= ALONE * len(claim.plain)
    return alone and bool(claim.lacks(_sure_names(anchor)))


def _sure_names(unit: Stated) -> list[str]:
    """Return the names of a sentence, but for dates, headings in capitals, and a lone first word."""
    opening = re.match(r"\W*(\w+)\s+[a-z(]", unit.text)
    return [
        name
        for name in unit.names
        if name.casefold() not in _DATED
        and not (opening and name == opening[1])
        and not (name.isupper() and len(name) > 3)
    ]


def _denied(claim: Stated, anchor: Stated, window: Sequence[Stated]) -> bool:
    """Return whether the evidence denies what the claim says, or the claim what the evidence says.

    A clause of the claim is held against the clause that has most of its words.
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


def _reversed(claim: Stated, window: Sequence[Stated]) -> bool:
    """Return whether a word stands there with its negation: "deactivate" for "activate"."""
    given = joined(window)
    return any(
        (prefix + word in given and prefix + word not in claim.words)
        or (word.startswith(prefix) and len(word) > len(prefix) + 3 and word[len(prefix) :] in given)
        for word in claim.words - given
        if word.isascii()
        for prefix in _NEGATING
    )
