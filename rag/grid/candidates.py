"""Candidates for a cell: values that a document may mean, each with its words, and the choice among them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rag.grid.cells import CellValue

AGREED = 0.75
"""Least share of the best candidates that give the chosen value where it is sure."""
CLOSE = 0.011
"""Distance from the best score within which candidates compete."""


@dataclass(frozen=True)
class Candidate:
    """Value of a cell that ``text[start:end]`` of the document states; a `sure` one says it for this field."""

    value: CellValue
    start: int
    end: int
    score: float
    sure: bool = False


def choose(found: Sequence[Candidate]) -> Candidate | None:
    """Return the best candidate: of those that score alike the value most often given, where it first stands.

    It is sure only where nearly all sure ones that score as well agree with it.

    >>> from rag.grid.cells import YesNo
    >>> yes, no = (Candidate(YesNo(said), 0, 9, 1.0, sure=True) for said in (True, False))
    >>> choose([no, yes, yes, yes]), choose([yes, no]).sure
    (Candidate(value=YesNo(yes=True), start=0, end=9, score=1.0, sure=True), False)
    """
    if not found:
        return None
    top = max(one.score for one in found)
    best = [one for one in found if one.score >= top - CLOSE]
    counts = Counter(one.value for one in best)
    value = max(counts, key=lambda one: counts[one])  # the first of those given as often
    chosen = min((one for one in best if one.value == value), key=lambda one: (not one.sure, one.start))
    rivals = [one for one in best if one.sure]
    agreed = sum(one.value == value for one in rivals) >= AGREED * len(rivals)
    return chosen if agreed else Candidate(chosen.value, chosen.start, chosen.end, chosen.score)
