"""Rank fusion: reciprocal ranks, a weighted sum of normalised scores, or the passages of steps in turn.

Pure functions over rankings, ``[(id, score), ...]`` best first. An id counts at its best place; the result is
ordered by score, then id. Scores that are not finite count as the lowest of their list.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Literal

from rag.index.vector_index import Ranking
from rag.passage import Found, Passage

Normaliser = Callable[[Sequence[float]], list[float]]
Join = Literal["inner", "outer"]
Ties = Literal["order", "share"]
LEAST_EACH = 4  # passages of each step, where the search has as many: two may be there for their figures


def rrf(
    rankings: Mapping[str, Ranking],
    weights: Mapping[str, float] | None = None,
    c: float = 60,
    *,
    ties: Ties = "order",
) -> dict[str, float]:
    """Fuse by weighted reciprocal rank: the sum of weight / (c + rank), ranks from 1 (SIGIR 2009).

    Equal scores of one list have ranks in its order, or share the best of them.

    >>> rrf({"words": [("a", 9.0), ("b", 1.0)], "meaning": [("b", 0.9)]}, c=1)
    {'b': 0.8333333333333333, 'a': 0.5}
    >>> rrf({"words": [("a", 9.0), ("b", 9.0), ("c", 1.0)]}, c=1, ties="share")
    {'a': 0.5, 'b': 0.5, 'c': 0.25}
    """
    scores: dict[str, list[float]] = {}
    for name, ranking in rankings.items():
        for id_, rank in _ranks(ranking, ties).items():
            scores.setdefault(id_, []).append(_weight(weights, name) / (c + rank))
    return _ordered(scores)


def _ranks(ranking: Ranking, ties: Ties) -> dict[str, int]:
    """Return each id's rank, from 1."""
    found = distinct(ranking)
    if ties == "order":
        return {id_: rank for rank, id_ in enumerate(found, start=1)}
    best: dict[float, int] = {}
    for rank, score in enumerate(found.values(), start=1):
        best.setdefault(score, rank)
    return {id_: best[score] for id_, score in found.items()}


def inner_join(rankings: Mapping[str, Ranking], join: Join) -> dict[str, Ranking]:
    """Return the lists, with "inner" only of the ids that all of them found.

    >>> inner_join({"words": [("a", 9.0), ("b", 3.0)], "meaning": [("b", 0.9)]}, "inner")
    {'words': [('b', 3.0)], 'meaning': [('b', 0.9)]}
    """
    if join == "outer":
        return dict(rankings)
    shared = set.intersection(*({id_ for id_, _ in ranking} for ranking in rankings.values()))
    return {name: [hit for hit in ranking if hit[0] in shared] for name, ranking in rankings.items()}


def convex_combination(
    rankings: Mapping[str, Ranking],
    weights: Mapping[str, float] | None = None,
    normalisers: Mapping[str, Normaliser] | None = None,
) -> dict[str, float]:
    """Fuse by the weighted sum of normalised scores; a list that did not find an id adds nothing.

    Bruch, Gai, Ingber (TOIS 2023, arXiv 2210.11934).

    >>> lists = {"words": [("a", 9.0), ("b", 3.0), ("c", 0.0)], "meaning": [("b", 0.9), ("c", 0.1)]}
    >>> convex_combination(lists, {"words": 0.5, "meaning": 0.5})
    {'b': 0.6666666666666666, 'a': 0.5, 'c': 0.0}
    """
    given = normalisers or {}
    comparable = {name: normalised(ranking, given.get(name, min_max)) for name, ranking in rankings.items()}
    return weighted(comparable, weights)


def weighted(
    comparable: Mapping[str, Mapping[str, float]], weights: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Add each id's comparable scores, a mapping for each list, by weight; the result best first.

    >>> weighted({"words": {"a": 1.0}, "meaning": {"a": 0.5, "b": 1.0}}, {"words": 0.5, "meaning": 0.5})
    {'a': 0.75, 'b': 0.5}
    """
    scores: dict[str, list[float]] = {}
    for name, of in comparable.items():
        weight = _weight(weights, name)
        for id_, score in of.items():
            scores.setdefault(id_, []).append(weight * score)
    return _ordered(scores)


def missing_ids(rankings: Mapping[str, Ranking]) -> dict[str, list[str]]:
    """Return, for each list that found anything, the sorted ids that only other lists found.

    >>> missing_ids({"words": [("a", 9.0)], "meaning": [("b", 0.9), ("a", 0.5)], "names": []})
    {'words': ['b']}
    """
    found = {name: distinct(ranking).keys() for name, ranking in rankings.items()}
    everything = {id_ for ids in found.values() for id_ in ids}
    missing = {name: sorted(everything - ids) for name, ids in found.items() if ids}
    return {name: ids for name, ids in missing.items() if ids}


def normalised(ranking: Ranking, normaliser: Normaliser) -> dict[str, float]:
    """Return each id's normalised score."""
    scores = distinct(ranking)
    return dict(zip(scores, normaliser(list(scores.values())), strict=True))


def distinct(ranking: Ranking) -> dict[str, float]:
    """Return the score at each id's first place, in the list's order."""
    found: dict[str, float] = {}
    for id_, score in ranking:
        found.setdefault(id_, score)
    return found


def min_max(scores: Sequence[float]) -> list[float]:
    """Stretch scores over [0, 1], equal ones to 1, since each is the best: ``[4, 3, 2] -> [1, .5, 0]``."""
    finite = _finite(scores)
    return _stretch(finite, min(finite, default=0.0), max(finite, default=0.0))


def theoretical_min_max(minimum: float) -> Normaliser:
    """Return min-max from the lowest score there can be: 0 for BM25, -1 for a cosine (TM2C2).

    >>> theoretical_min_max(0.0)([4.0, 3.0, 2.0])
    [1.0, 0.75, 0.5]
    """

    def normalise(scores: Sequence[float]) -> list[float]:
        finite = [max(score, minimum) for score in _finite(scores, minimum)]
        highest = max(finite, default=minimum)
        return _stretch(finite, minimum, highest) if highest > minimum else [0.0] * len(finite)

    return normalise


def z_score(scores: Sequence[float]) -> list[float]:
    """Return (score - mean) / deviation, lifted so that the lowest is 0: ``[4, 3, 2] -> [2.4, 1.2, 0]``.

    Lifting lets a list that did not find an id add nothing, as an id below its lowest would.
    """
    finite = _finite(scores)
    lowest, spread = min(finite, default=0.0), _deviation(finite)
    if spread == 0:
        return [1.0] * len(finite)
    return [score / spread - lowest / spread for score in finite]


def _stretch(scores: Sequence[float], low: float, high: float) -> list[float]:
    width = high - low
    if width <= 0 or not math.isfinite(width):
        return [1.0] * len(scores)
    return [(score - low) / width for score in scores]


def _mean(scores: Sequence[float]) -> float:
    return math.fsum(score / len(scores) for score in scores)


def _deviation(scores: Sequence[float]) -> float:
    """Return the population standard deviation, or 0 where rounding is all there is."""
    mean = _mean(scores)
    deviation = math.hypot(*(score - mean for score in scores)) / math.sqrt(len(scores) or 1)
    return deviation if 1e-9 * max(map(abs, scores), default=0.0) < deviation < math.inf else 0.0


def _finite(scores: Sequence[float], lowest: float | None = None) -> list[float]:
    """Return the scores with those that are not finite replaced by the lowest."""
    known = [score for score in scores if math.isfinite(score)]
    floor = min(known, default=0.0) if lowest is None else lowest
    return [float(score) if math.isfinite(score) else floor for score in scores]


def _weight(weights: Mapping[str, float] | None, name: str) -> float:
    return 1.0 if weights is None else weights[name]


def _ordered(parts: Mapping[str, Iterable[float]]) -> dict[str, float]:
    """Sum and sort; `fsum` gives the same sum in whatever order the lists came."""
    sums = {id_: math.fsum(scores) for id_, scores in parts.items()}
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


def step_share(k: int, steps: int) -> int:
    """Return how many passages each of some steps has among the sources.

    >>> step_share(6, 2), step_share(20, 2)
    (4, 10)
    """
    return max(LEAST_EACH, k // steps)


def interleaved(lanes: Sequence[Sequence[Passage]], k: int | None) -> list[Passage]:
    """Return the passages of several steps in turn, none twice, each marked with the steps that found it.

    Each step has its share of `k`; None keeps them all.

    >>> one, other = (Passage(id_, "d", "a.pdf", "", 1, "", 0, 3, id_) for id_ in ("one", "other"))
    >>> [(p.id, list(p.found_by)) for p in interleaved([[one], [other, one]], 6)]
    [('one', ['step 1', 'step 2']), ('other', ['step 2'])]
    """
    most = None if k is None else step_share(k, len(lanes)) * len(lanes)
    turns = (one for turn in zip_longest(*lanes) for one in turn if one is not None)
    kept = list({one.id: one for one in turns}.values())[:most]
    return [replace(one, found_by={**_found_in(one, lanes), **one.found_by}) for one in kept]


def _found_in(passage: Passage, lanes: Sequence[Sequence[Passage]]) -> dict[str, Found]:
    return {
        f"step {number}": Found(rank, one.score, one.score)
        for number, lane in enumerate(lanes, 1)
        for rank, one in enumerate(lane, 1)
        if one.id == passage.id
    }


def step_passages(passages: Sequence[Passage], number: int) -> list[Passage]:
    """Return the passages that a step found, best first."""
    name = f"step {number}"
    return sorted((one for one in passages if name in one.found_by), key=lambda one: one.found_by[name].rank)
