"""Parsed sentence of a claim or of a passage: words, numbers and names, each extracted once on demand."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.text.facts import holds_name, latin_words, names, numbers, outline, with_values, without_numbers
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
        """Numbers and content words, in order."""
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
    shares = (_common(word, other) / max(len(word), len(other)) for other in given if other[:3] == word[:3])
    best = max(shares, default=0.0)
    return best if best >= LIKE else 0.0


def _common(one: str, other: str) -> int:
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def joined(parts: Sequence[Sentence]) -> frozenset[str]:
    """Return the words of several sentences."""
    return frozenset[str]().union(*(part.words for part in parts))
