"""Sentences with their features: words and their weights, numbers, times and names; pure, without a model."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum

from rag.citations.quantities import Quantity, StatedTime, periods, undated
from rag.citations.rates import in_one_form, rate_at, rates
from rag.text.facts import (
    NUMBER,
    holds_name,
    latin_words,
    names,
    plain_years,
    value_of,
    with_values,
    without_numbers,
)
from rag.text.normalize import in_active_voice, normalize, without_politeness
from rag.text.tokenize import content_words, tokens_of

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
developed quite rather instead fact interesting
create created produce produced can could may might must shall should will would per
"""
LIGHT = frozenset(tokens_of(_LIGHT, "en"))
"""Function and reporting words: two sentences may say the same with different ones."""
LIGHT_WEIGHT = 0.2
JOINT_WEIGHT = 0.05
"""Weight of a pair of Korean letters of which one is of a particle or an ending."""
LIKE = 0.6  # least common prefix, as a share of the longer word, of two forms of one word
_UNSPACED = re.compile("[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_KOREAN = re.compile("[\uac00-\ud7a3]")
_COUNTED = re.compile(NUMBER.pattern + r"\s?[가-힣]?", re.IGNORECASE)
"""Number with its Korean unit, which are compared by value."""
_BEFORE_DATE = re.compile(r"\b(?:in|on|at|during|of|since|by|from|until|through|as of)\s*\Z", re.IGNORECASE)
_PIECE = re.compile(
    r"\d+(?:\.\d+)?s?|[\u3041-\u30ff\u3400-\u9fff]|[^\W\d_\u3041-\u30ff\u3400-\u9fff][^\W_\u3041-\u30ff\u3400-\u9fff]*"
)
TOPIC = re.compile(r"[^、,が]{1,40}?は|[^,]{0,40}?[가-힣`](?:은|는)(?=\s)")
"""Topic of a Korean or Japanese sentence."""


@dataclass(frozen=True)
class Sentence:
    """Sentence of a text with its features, ``text == whole[start:end]``."""

    text: str
    start: int
    end: int

    @cached_property
    def said(self) -> str:
        """Text without polite endings, which state nothing, and with each rate in one form."""
        return in_one_form(in_active_voice(without_politeness(self.text))) if self.unspaced else self.text

    @cached_property
    def folded(self) -> str:
        """Normalised text."""
        return normalize(self.text)

    @cached_property
    def sequence(self) -> list[str]:
        """Tokens in order, without numbers."""
        return list(tokens_of(without_numbers(self.said)))

    @cached_property
    def surface(self) -> list[str]:
        """Surface forms in order: words, numbers by value, single letters of scripts without spaces."""
        return _PIECE.findall(with_values(normalize(self.said)))

    @cached_property
    def words(self) -> frozenset[str]:
        """Set of tokens, without numbers."""
        return frozenset(self.sequence)

    @cached_property
    def weights(self) -> dict[str, float]:
        """Weight of each token; the pairs of letters of a Korean content word weigh 1 together.

        >>> Sentence("다리가 개통했다", 0, 8).weights
        {'다리': 1.0, '리가': 0.05, '개통': 1.0, '통했': 0.05, '했다': 0.05}
        """
        if not self.korean:
            return {word: LIGHT_WEIGHT if word in LIGHT else 1.0 for word in self.words}
        found = dict.fromkeys(self.sequence, JOINT_WEIGHT)
        for word in self.content:
            pieces = tokens_of(word) or (word,)
            for piece in pieces:
                found[piece] = max(found.get(piece, 0.0), 1 / len(pieces))
        return found

    @cached_property
    def content(self) -> list[str]:
        """Content words besides numbers, in order."""
        return content_words(_COUNTED.sub(" ", self.undated.said))

    def is_retold(self, anchor: "Sentence", window: "Sequence[Sentence]") -> bool:
        """Return True where a Korean sentence has only numbers and content words of others.

        The words must stand in one sentence in their order; those of the topic may stand anywhere.
        """
        if not self.korean:
            return False
        given = joined(window) | {piece for unit in window for piece in unit.surface}
        wanted = {piece for piece in self.surface if piece[0].isdigit()}
        if not given.issuperset(wanted.union(*(tokens_of(word) or (word,) for word in self.content))):
            return False
        topic = TOPIC.match(self.said)
        rest = [word for word in self.content if not (topic and word in topic[0])]
        return bool(re.search(".*?".join(map(re.escape, rest)), anchor.said, re.DOTALL))

    @cached_property
    def quantities(self) -> list[Quantity]:
        """Numbers with their units, without those of dates, in order."""
        text = plain_years(self.text)
        return undated(text, periods(text))

    @cached_property
    def periods(self) -> list[StatedTime]:
        """Dates, years and spans of time, in order."""
        return periods(plain_years(self.text))

    @cached_property
    def rates(self) -> list[tuple[Quantity, str]]:
        """Numbers that are counted by a span of time, each with that: "month"."""
        text = plain_years(self.text)
        found = ((q, rate_at(text, q.start, q.end)) for q in self.quantities)
        return [(q, every) for q, every in found if every]

    @cached_property
    def names(self) -> list[str]:
        """Names as they are written."""
        return names(self.text)

    @cached_property
    def plain(self) -> frozenset[str]:
        """Tokens that are no part of a name."""
        return self.words - frozenset(tokens_of(" ".join(self.names)))

    @cached_property
    def outline(self) -> list[str]:
        """Numbers and content words, in order; each sentence is compared with many."""
        return outline(self.said)

    @cached_property
    def states_facts(self) -> bool:
        """True where it states what is compared by value: a number, a time or a Latin name."""
        return bool(self.quantities or self.periods or any(name[0] < "\u0250" for name in self.names))

    @cached_property
    def undated(self) -> "Sentence":
        """Sentence without its dates, which may stand anywhere and are compared by value."""
        if not self.periods:
            return self
        text = plain_years(self.text)
        for period in reversed(self.periods):
            text = _BEFORE_DATE.sub("", text[: period.start]) + " " + text[period.end :]
        return Sentence(text, self.start, self.end)

    @cached_property
    def unspaced(self) -> bool:
        """True where it has Korean, Japanese or Chinese letters."""
        return bool(_UNSPACED.search(self.text))

    @cached_property
    def korean(self) -> bool:
        """True where it has Korean letters, and so words divided by spaces, compared by their content."""
        return bool(_KOREAN.search(self.text))

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
        total = fsum(self.weights.values())  # unlike sum, the same in any order of a set's words
        shared = fsum(weight for word, weight in self.weights.items() if word in given)
        return shared / total if total else 0.0

    def alike(self, given: Collection[str]) -> dict[str, float]:
        """Return its tokens that are not given, each with its likeness to a given one, 0 to 1."""
        return {word: likeness(word, given) for word in self.words if word not in given}


def likeness(word: str, given: Collection[str]) -> float:
    """Return the longest prefix shared with a given word, as a share: "design", {"designat"} -> 0.75."""
    if len(word) < 4 or not word.isascii():
        return 0.0
    shares = (run(word, other) / max(len(word), len(other)) for other in given if other[:3] == word[:3])
    best = max(shares, default=0.0)
    return best if best >= LIKE else 0.0


def run(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the common beginning of two sequences of words, or of two words."""
    both = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(both) if a != b), min(len(one), len(other)))


def joined(parts: Sequence[Sentence]) -> frozenset[str]:
    """Return the words of several sentences."""
    return frozenset[str]().union(*(part.words for part in parts))


def outline(text: str) -> list[str]:
    """Return the numbers and uninflected content words of a sentence, in order.

    >>> outline("The bridges opened in 1932."), outline("다리는 1932년에 개통됐다."), outline("橋は開通した")
    (['bridg', 'open', '1932'], ['다리', '1932', '개통'], ['橋', '開通'])
    """
    text = unicodedata.normalize("NFKC", text)
    said: list[str] = []
    done = 0
    for match in NUMBER.finditer(text):
        said += [*content_words(text[done : match.start()]), value_of(match)]
        done = match.end()
    return [*said, *content_words(text[done:])]


# Words that sentences are compared by
_MONTHS = "january february march april may june july august september october november december"
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
DATED = frozenset(f"{_MONTHS} {_WEEKDAYS}".split())
_KOREAN_ORDINALS = "첫째 둘째 셋째 넷째 다섯째"
_COUNTS = tuple(frozenset(words.split()) for words in (_MONTHS, _WEEKDAYS, _ORDINALS, _KOREAN_ORDINALS))
_NEGATING = ("un", "in", "im", "il", "ir", "dis", "non", "de", "mis")
CODE = re.compile(r"(?<=`)[^`\n]{1,60}(?=`)")


def counts(unit: Sentence) -> Iterator[frozenset[str]]:
    """Yield the months, the days of the week, and the ordinals of a sentence."""
    words = frozenset(unit.surface)
    yield from (words & kind for kind in _COUNTS)


def conflict(claimed: frozenset[str], given: frozenset[str]) -> bool:
    """Return True where each of two has something that the other lacks: {20, 10}, {20} is no conflict."""
    return bool(claimed - given and given - claimed)


_NON = re.compile(r"\bnon-(\w+)", re.IGNORECASE)


def reverses(claim: Sentence, window: Sequence[Sentence]) -> bool:
    """Return True where the evidence has a word with a negating prefix: "deactivate" for "activate"."""
    given = joined(window)
    denied = {word for unit in window for word in tokens_of(" ".join(_NON.findall(unit.text)))}
    if denied & claim.words and not _NON.search(claim.text):
        return True
    return any(
        (prefix + word in given and prefix + word not in claim.words)
        or (word.startswith(prefix) and len(word) > len(prefix) + 3 and word[len(prefix) :] in given)
        for word in claim.words - given
        if word.isascii()
        for prefix in _NEGATING
    )


def has_other_rate(claim: Sentence, anchor: Sentence, window: Sequence[Sentence]) -> bool:
    """Return True where a number, or a claim without one, is counted by another span of time in the evidence.

    >>> told = Sentence("Rent is £9 a month, and interest 12% a year.", 0, 0)
    >>> claims = "Interest is 12% a month.", "Interest is 12% per annum.", "Interest is paid weekly."
    >>> [has_other_rate(Sentence(said, 0, 0), told, [told]) for said in claims]
    [True, False, True]
    """
    for number, every in claim.rates:
        given = {other for unit in window for told, other in unit.rates if number.fits(told)}
        if given and every not in given:
            return True
    ours, theirs = (Counter(one.every for one in rates(unit.text)) for unit in (claim, anchor))
    return bool(ours - theirs and theirs - ours)
