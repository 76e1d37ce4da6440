"""The mixture of words and meaning that suits a collection, found from its passages without any labels.

Each passage of a sample is asked for by questions made from itself (rag/retrieval/probes.py), by both
halves of the search; the mixture that finds most of them is the collection's. Where the embedding model
does not know the language, its half finds little and gets little weight; where it does, it gets more.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, get_args

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from rag.errors import Cancelled
from rag.index.bm25 import Entry, TantivyIndex
from rag.index.candidates import Ranking
from rag.jobs import Cancel, never
from rag.retrieval.fusion import convex_combination, lacking
from rag.retrieval.probes import Probe, make_probes
from rag.retrieval.weights import NORMALISERS, POOL, STRONG, USUAL, WEAK, Mixture, writing
from rag.text.morphemes import Analyser

PROBES = 200  # passages asked for, in each writing
FEWEST = 30  # of them below which chance decides more than the collection does
POOLED = 2000  # passages among which each is looked for
WEIGHTS = tuple(step / 10 for step in range(1, 10))
RULE = 5  # of choosing; a change of it makes what was found before worth finding again
SURE = 2  # standard errors by which a weight must be better to be taken in place of the usual one

Kind = Literal["echo", "gap"]
Floats = NDArray[np.float32]
Gains = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A question, the passage it is made from, and how each half scores what either found."""

    kind: Kind
    wanted: str
    words: Ranking
    meaning: Ranking


@dataclass(frozen=True)
class Tuned:
    """How far the search for a mixture is, and at its end the mixture."""

    done: int
    total: int
    mixture: Mixture | None = None


def tune(
    texts: Sequence[str],
    vectors: Floats,
    embedder: Embeddings,
    *,
    analysers: Sequence[Analyser] = (),
    cancelled: Cancel = never,
) -> Iterator[Tuned]:
    """Find the mixture for passages with their vectors [n, dimension] of length 1; the last event has it.

    It takes about three embeddings a probe; `analysers` are those of the word index. A writing of too few
    passages gets no weight of its own.
    Raises Cancelled and EmbeddingError.
    """
    probes = {group: make_probes([texts[i] for i in at], PROBES) for group, at in _by_writing(texts).items()}
    enough = {group: found for group, found in probes.items() if len(found) >= FEWEST}
    total, done = sum(map(len, enough.values())), 0
    cases: dict[str, list[Case]] = {}
    for group, found in enough.items():
        at = _by_writing(texts)[group]
        pool = _Pool([texts[i] for i in at], vectors[at], found, embedder, analysers)
        cases[group] = []
        for probe in found:
            if cancelled():
                raise Cancelled("Weighing words against meaning was stopped; it is done again later.")
            cases[group] += pool.ask(probe)
            done += 1
            yield Tuned(done, total)
    yield Tuned(total, total, best_mixture(cases, len(texts)))


def sample(ids: Collection[str], seed: int = 0) -> list[str]:
    """Return at most POOLED of the ids, the same ones for the same ids."""
    ordered = sorted(ids)
    return ordered if len(ordered) <= POOLED else Random(seed).sample(ordered, POOLED)  # noqa: S311


def best_mixture(cases: Mapping[str, Sequence[Case]], passages: int) -> Mixture:
    """Return the usual mixture, changed where both kinds of probe tell against it by more than chance.

    Each kind is partial: echoes to words, which they repeat, gaps to meaning where it is strong. What both
    say can be believed.
    """
    if not cases:
        return Mixture(passages=passages)
    found = {name: {group: _by_kind(of, name) for group, of in cases.items()} for name in NORMALISERS}
    name = _best_normaliser({name: list(of.values()) for name, of in found.items()})
    weights = {
        group: best_weight([echo, gap], _usual(group, gap)) for group, (echo, gap) in found[name].items()
    }
    return Mixture(name, weights, passages)


def _usual(group: str, gap: Gains) -> float:
    """Return the usual weight of a writing, or one for how well each half fills gaps with nearly all of it.

    Echoes say nothing of that: words find nearly every one.
    """
    mostly_words, mostly_meaning = gap[:, 0], gap[:, -1]
    if surely_better(mostly_meaning, mostly_words):
        return STRONG
    return WEAK if surely_better(mostly_words, 2 * mostly_meaning) else USUAL[group]


def _by_kind(cases: Sequence[Case], normaliser: str) -> tuple[Gains, Gains]:
    """Return the gains of echoes and of gaps."""
    echo, gap = ([case for case in cases if case.kind == kind] for kind in get_args(Kind))
    return gains(echo, normaliser), gains(gap, normaliser)


def _best_normaliser(found: Mapping[str, Sequence[Sequence[Gains]]]) -> str:
    """Return the usual normaliser, or one that is surely better in each kind, over all writings."""
    usual = Mixture().normaliser
    best = {
        name: [np.concatenate([_best(gain) for gain in kind]) for kind in zip(*groups, strict=True)]
        for name, groups in found.items()
    }
    better = [name for name, kinds in best.items() if all(map(surely_better, kinds, best[usual]))]
    return max(better, key=lambda name: sum(float(kind.mean()) for kind in best[name]), default=usual)


def best_weight(kinds: Sequence[Gains], usual: float) -> float:
    """Return the weight nearest to the usual one of those that some kind of probe does not surely reject.

    Each kind is what `gains` returns. A kind rejects a weight that its best one is surely better than. Where
    one wants less than the usual weight and another more, it stands.

    >>> echoes = np.array([[0.9, 0.9, 0.9, 0.8, 0.8, 0.7, 0.6, 0.5, 0.4]] * 3)
    >>> gaps = np.array([[0.6, 0.6, 0.5, 0.5, 0.5, 0.4, 0.3, 0.2, 0.1]] * 3)
    >>> best_weight([echoes, gaps], usual=0.5)
    0.3
    """
    standing = [
        weight
        for gain in kinds
        for weight, column in zip(WEIGHTS, gain.T, strict=True)
        if not surely_better(_best(gain), column)
    ]
    if min(standing) < usual < max(standing):
        return usual
    return min(standing, key=lambda weight: (abs(weight - usual), weight))


def surely_better(one: Gains, other: Gains) -> bool:
    """Return whether the mean of `one` is above that of `other` by more than chance: SURE standard errors.

    Both are of the same cases, so each case is compared with itself: [.9, .7] is surely better than
    [.8, .6], by .1 with no error at all, and not than [.8, .7], by .05 with an error of .035.
    """
    difference = one - other
    return float(difference.mean()) > SURE * float(difference.std()) / math.sqrt(len(difference))


def gains(cases: Sequence[Case], normaliser: str) -> Gains:
    """Return how well each case is found, nDCG@10 from 0 to 1, with each of WEIGHTS: [cases, weights].

    Each is averaged with its neighbours. That keeps away from the edge of a cliff: where meaning finds
    nothing, one step more loses all.
    """
    raw = np.array([[_found(case, normaliser, weight) for weight in WEIGHTS] for case in cases])
    return np.stack([raw[:, max(0, i - 1) : i + 2].mean(axis=1) for i in range(len(WEIGHTS))], axis=1)


def _best(gain: Gains) -> Gains:
    """Return the column of the weight that gains most."""
    best: Gains = gain[:, int(gain.mean(axis=0).argmax())]
    return best


def _found(case: Case, normaliser: str, weight: float) -> float:
    """Return the nDCG@10 of a fused list, of which one passage is right: 1 / log2(rank + 1)."""
    fused = convex_combination(
        {"words": case.words, "meaning": case.meaning},
        {"words": 1 - weight, "meaning": weight},
        dict.fromkeys(("words", "meaning"), NORMALISERS[normaliser]),
    )
    first = list(fused)[:10]
    return 1 / math.log2(first.index(case.wanted) + 2) if case.wanted in first else 0.0


class _Pool:
    """Passages as they are, for echoes, and without their gaps' sentences, for gaps."""

    def __init__(
        self,
        texts: Sequence[str],
        vectors: Floats,
        probes: Sequence[Probe],
        embedder: Embeddings,
        analysers: Sequence[Analyser],
    ):
        self._embedder = embedder
        rests = {probe.position: probe.rest for probe in probes}
        self._whole, self._gapped = TantivyIndex(analysers=analysers), TantivyIndex(analysers=analysers)
        self._whole.add(Entry(str(i), "", text) for i, text in enumerate(texts))
        self._gapped.add(Entry(str(i), "", rests.get(i, text)) for i, text in enumerate(texts))
        self._vectors = vectors

    def ask(self, probe: Probe) -> list[Case]:
        """Return what both halves find for the probe's echo and for its gap."""
        gapped = self._vectors.copy()
        gapped[probe.position] = self._embedder.embed_documents([probe.rest])[0]
        return [
            self._case("echo", probe.echo, probe.position, self._whole, self._vectors),
            self._case("gap", probe.gap, probe.position, self._gapped, gapped),
        ]

    def _case(self, kind: Kind, question: str, wanted: int, index: TantivyIndex, vectors: Floats) -> Case:
        words = index.search(question, POOL)
        relevance = np.maximum(vectors @ np.asarray(self._embedder.embed_query(question), np.float32), 0.0)
        meaning = [(str(i), float(relevance[i])) for i in np.argsort(-relevance, kind="stable")[:POOL]]
        missing = lacking({"words": words, "meaning": meaning})
        shared = index.scores(question, missing.get("words", []))
        near = [(id_, float(relevance[int(id_)])) for id_ in missing.get("meaning", [])]
        return Case(kind, str(wanted), [*words, *shared.items()], [*meaning, *near])


def _by_writing(texts: Sequence[str]) -> dict[str, list[int]]:
    """Return the positions of the texts of each writing."""
    groups: dict[str, list[int]] = {}
    for position, text in enumerate(texts):
        groups.setdefault(writing(text), []).append(position)
    return groups
