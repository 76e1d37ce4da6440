"""What the last answer rests on, used again where more of the same is asked for: "why?", "tell me more".

Such a turn names nothing to search for, and what it asks about was found already.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rag.passage import Found, Passage

NAME = "previous question"
"""Who found a passage, in `found_by`, where it was carried over from the question before."""


def carried_first(
    carried: Sequence[Passage], found: Sequence[Passage], k: int | None = None
) -> list[Passage]:
    """Return the carried passages in their order, then what a search found: at most `k` in all.

    A carried passage says so in `found_by`, beside who found it again; none comes twice.

    >>> one, other = (Passage(id_, "d", "a.pdf", "", 1, "", 0, 3, id_) for id_ in ("one", "other"))
    >>> [(p.id, list(p.found_by)) for p in carried_first([other], [one, other])]
    [('other', ['previous question']), ('one', [])]
    """
    again = {passage.id: passage.found_by for passage in found}
    best = max((1.0, *(passage.score for passage in found)))
    first = [
        _carried(p, rank, best, again.get(p.id, {})) for rank, p in enumerate(_distinct(carried), start=1)
    ]
    known = {passage.id for passage in first}
    return [*first, *(passage for passage in found if passage.id not in known)][:k]


def _carried(passage: Passage, rank: int, score: float, found_by: Mapping[str, Found]) -> Passage:
    return replace(passage, score=score, found_by={NAME: Found(rank, 1.0, 1.0), **found_by})


def _distinct(passages: Iterable[Passage]) -> Iterable[Passage]:
    return {passage.id: passage for passage in passages}.values()
