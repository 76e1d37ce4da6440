"""Candidates for a cell: values that a document may mean, each with its words, and the choice among them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag.grid.cells import CellValue

CLOSE = 0.011
"""Distance from the best score within which candidates compete."""
RIVAL = 0.1
"""Distance within which a sure candidate with another value leaves none sure."""


@dataclass(frozen=True)
class Candidate:
    """Value of a cell that ``text[start:end]`` of the document states; if `sure`, for this very field."""

    value: CellValue
    start: int
    end: int
    score: float
    sure: bool = False


def choose(found: Sequence[Candidate]) -> Candidate | None:
    """Return the best candidate: of those that score alike the value most often given, where it first stands.

    It is sure only where all sure ones that score nearly as well agree with it.

    >>> from rag.grid.cells import YesNo
    >>> yes, no = (Candidate(YesNo(said), 0, 9, 1.0, sure=True) for said in (True, False))
    >>> choose([no, yes, yes]), choose([yes, yes]).sure
    (Candidate(value=YesNo(yes=True), start=0, end=9, score=1.0, sure=False), True)
    """
    if not found:
        return None
    top = max(one.score for one in found)
    best = [one for one in found if one.score >= top - CLOSE]
    counts = Counter(one.value for one in best)
    value = max(counts, key=lambda one: counts[one])  # the first of those given as often
    chosen = min((one for one in best if one.value == value), key=lambda one: (not one.sure, one.start))
    rivals = {one.value for one in found if one.sure and one.score >= top - RIVAL}
    return chosen if rivals <= {value} else replace(chosen, sure=False)
