"""Hybrid weights of BM25 and vector search, calibrated per collection with synthetic queries."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Literal, get_args

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from rag.errors import Cancelled
from rag.i18n import N_
from rag.index.bm25 import TantivyIndex
from rag.index.chunks import index_text
from rag.index.lexical import Entry
from rag.index.vector_index import Ranking, VectorIndex
from rag.jobs import Cancel, never
from rag.retrieval.fusion import (
    Normaliser,
    convex_combination,
    min_max,
    missing_ids,
    theoretical_min_max,
    z_score,
)
from rag.text.language import language
from rag.text.sentences import sentences
from rag.text.tokenize import Analyser
from storage.documents import Documents

POOL = 50
"""Candidates that each retriever gives to the fusion, and that MMR chooses from."""
NORMALISERS: dict[str, Normaliser] = {
    "min-max": min_max,
    "z-score": z_score,
    "theoretical": theoretical_min_max(0.0),
}
DEFAULT_WEIGHTS = {"alphabet": 0.55, "ko": 0.5, "ja": 0.5, "zh": 0.5}
"""Weight of vector search by script, before calibration (docs/developer/retrieval.md)."""
STRONG, WEAK = 0.65, 0.2
"""Default weight where vector search is significantly better than BM25, or less than half as good."""
FOREIGN = 0.9
"""Weight of vector search for a question in a script that no passage has: hardly any word can match."""
_OWN_SCRIPT = ("ko", "ja", "zh")


@dataclass(frozen=True)
class HybridWeights:
    """Normaliser of the scores, and weight of vector search by script, 0 to 1; BM25 has the rest.

    `passages` is the number of passages it was calibrated with, 0 for the default.
    """

    normaliser: str = "z-score"
    weights: Mapping[str, float] = field(default_factory=dict)
    passages: int = 0

    def weights_for(self, question: str) -> dict[str, float]:
        """Return the weight of each retriever for a question."""
        asked = script_of(question)
        meaning = self.weights.get(asked, FOREIGN if self.weights else DEFAULT_WEIGHTS[asked])
        return {"bm25": round(1 - meaning, 6), "similarity": meaning}


def script_of(text: str) -> str:
    """Return the script of a text: "ko", "ja", "zh", or "alphabet".

    >>> script_of("東京はどこですか"), script_of("Wo ist Rom?")
    ('ja', 'alphabet')
    """
    code = language(text)
    return code if code in _OWN_SCRIPT else "alphabet"


def describe_weights(mixture: HybridWeights) -> str:
    """Describe hybrid weights in one line, as an evaluation run stores them.

    >>> describe_weights(HybridWeights("min-max", {"ko": 0.2, "alphabet": 0.5}, passages=300))
    'min-max scores, meaning 0.5 in alphabet, 0.2 in ko'
    """
    weights = sorted((mixture.weights or DEFAULT_WEIGHTS).items())
    said = ", ".join(f"{weight:g} in {script_of}" for script_of, weight in weights)
    return f"{mixture.normaliser} scores, meaning {said}"


# Synthetic queries made from the passages: no labels are needed.
SHORTEST, LONGEST = 24, 500  # UTF-8 bytes of a sentence that can stand for a question: 8 kana, 24 letters
FEWEST_WORDS = 4  # fewer: the sentence is taken as written without spaces


@dataclass(frozen=True)
class SyntheticQuery:
    """Queries for a passage: half of one of its sentences (echo), and a sentence taken out of it (gap)."""

    position: int
    echo: str
    gap: str
    rest: str  # the passage without the sentence of `gap`


def make_synthetic_queries(texts: Sequence[str], count: int, seed: int = 0) -> list[SyntheticQuery]:
    """Return queries for `count` texts chosen at random; texts of one sentence have none."""
    random = Random(seed)  # noqa: S311 - a sample, not a secret
    order = list(range(len(texts)))
    random.shuffle(order)
    probes: list[SyntheticQuery] = []
    for position in order:
        if len(probes) == count:
            break
        text = texts[position]
        spans = sentences(text)
        fitting = [
            (a, b) for a, b in spans if SHORTEST <= len(text[a:b].encode("utf-8", "replace")) <= LONGEST
        ]
        if fitting and len(spans) > 1:
            start, end = random.choice(fitting)
            rest = f"{text[:start]} {text[end:]}".strip()
            probes.append(
                SyntheticQuery(position, half_sentence(text[start:end], random), text[start:end], rest)
            )
    return probes


def half_sentence(sentence: str, random: Random) -> str:
    """Return about half of a sentence: of its words, or a stretch of its characters without spaces."""
    words = sentence.split()
    if len(words) < FEWEST_WORDS:
        length = max(1, len(sentence) // 2)
        start = random.randrange(len(sentence) - length + 1)
        return sentence[start : start + length]
    kept = sorted(random.sample(range(len(words)), len(words) // 2))
    return " ".join(words[i] for i in kept)


# Calibration.
PROBES = 200  # queried passages of each script
FEWEST = 30  # queried passages; fewer give results of chance
POOLED = 2000  # passages that are searched
WEIGHTS = tuple(step / 10 for step in range(1, 10))
RULE = 5  # version of the calibration; after a change of it collections are calibrated again
SURE = 2  # standard errors by which a weight must beat the default
GROWTH = 1.5  # factor of growth or shrinkage of a collection that makes calibration due again
_NAME = "mixture"  # index state that stores the weights
Kind = Literal["echo", "gap"]
Floats = NDArray[np.float32]
Gains = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """Query, the passage it was made from, and both retrievers' scores of the ids that either found."""

    kind: Kind
    wanted: str
    words: Ranking
    meaning: Ranking


@dataclass(frozen=True)
class CalibrationProgress:
    """Progress of a calibration, with the weights at its end."""

    done: int
    total: int
    mixture: HybridWeights | None = None


def calibrate(
    texts: Sequence[str],
    vectors: Floats,
    embedder: Embeddings,
    *,
    analysers: Sequence[Analyser] = (),
    cancelled: Cancel = never,
) -> Iterator[CalibrationProgress]:
    """Calibrate weights on passages with their vectors [n, dimension] of length 1; the last event has them.

    A script of too few passages gets no weight of its own. Raises Cancelled and EmbeddingError.
    """
    scripts = _by_script(texts)
    probes = {group: make_synthetic_queries([texts[i] for i in at], PROBES) for group, at in scripts.items()}
    enough = {group: found for group, found in probes.items() if len(found) >= FEWEST}
    total, done = sum(map(len, enough.values())), 0
    cases: dict[str, list[Case]] = {}
    for group, found in enough.items():
        at = scripts[group]
        pool = _Pool([texts[i] for i in at], vectors[at], found, embedder, analysers)
        cases[group] = []
        for probe in found:
            if cancelled():
                raise Cancelled(N_("Weighing words against meaning was stopped; it is done again later."))
            cases[group] += pool.ask(probe)
            done += 1
            yield CalibrationProgress(done, total)
    yield CalibrationProgress(total, total, best_weights(cases, len(texts)))


def sample(ids: Collection[str], seed: int = 0) -> list[str]:
    """Return at most POOLED of the ids, the same ones for the same ids."""
    ordered = sorted(ids)
    return ordered if len(ordered) <= POOLED else Random(seed).sample(ordered, POOLED)  # noqa: S311


def best_weights(cases: Mapping[str, Sequence[Case]], passages: int) -> HybridWeights:
    """Return the default weights, changed where both kinds of query reject them by more than chance.

    Echoes favour BM25, since they repeat words, and gaps favour vector search.
    """
    if not cases:
        return HybridWeights(passages=passages)
    found = {name: {group: _by_kind(of, name) for group, of in cases.items()} for name in NORMALISERS}
    name = _best_normaliser({name: list(of.values()) for name, of in found.items()})
    weights = {
        group: best_weight([echo, gap], _default_weight(group, gap))
        for group, (echo, gap) in found[name].items()
    }
    return HybridWeights(name, weights, passages)


def _default_weight(group: str, gap: Gains) -> float:
    """Return the default weight of a script by how well each retriever finds gaps."""
    mostly_words, mostly_meaning = gap[:, 0], gap[:, -1]
    if surely_better(mostly_meaning, mostly_words):
        return STRONG
    return WEAK if surely_better(mostly_words, 2 * mostly_meaning) else DEFAULT_WEIGHTS[group]


def _by_kind(cases: Sequence[Case], normaliser: str) -> tuple[Gains, Gains]:
    echo, gap = ([case for case in cases if case.kind == kind] for kind in get_args(Kind))
    return gains(echo, normaliser), gains(gap, normaliser)


def _best_normaliser(found: Mapping[str, Sequence[Sequence[Gains]]]) -> str:
    """Return the default normaliser, or one that is surely better in each kind, over all scripts."""
    usual = HybridWeights().normaliser
    best = {
        name: [np.concatenate([_best(gain) for gain in kind]) for kind in zip(*groups, strict=True)]
        for name, groups in found.items()
    }
    better = [name for name, kinds in best.items() if all(map(surely_better, kinds, best[usual]))]
    return max(better, key=lambda name: sum(float(kind.mean()) for kind in best[name]), default=usual)


def best_weight(kinds: Sequence[Gains], usual: float) -> float:
    """Return the weight nearest to the usual one of those that some kind of query does not surely reject.

    Each kind is a result of `gains`. Where the kinds lie on both sides, the usual weight is returned.

    >>> echoes = np.array([[0.9, 0.9, 0.9, 0.8, 0.8, 0.7, 0.6, 0.5, 0.4]] * 3)
    >>> gaps = np.array([[0.6, 0.6, 0.5, 0.5, 0.5, 0.4, 0.3, 0.2, 0.1]] * 3)
    >>> best_weight([echoes, gaps], usual=0.5)
    0.3
    """
    accepted = [
        weight
        for gain in kinds
        for weight, column in zip(WEIGHTS, gain.T, strict=True)
        if not surely_better(_best(gain), column)
    ]
    if min(accepted) < usual < max(accepted):
        return usual
    return min(accepted, key=lambda weight: (abs(weight - usual), weight))


def surely_better(one: Gains, other: Gains) -> bool:
    """Return whether the mean of `one` is above that of `other` by more than SURE paired standard errors."""
    difference = one - other
    return float(difference.mean()) > SURE * float(difference.std()) / math.sqrt(len(difference))


def gains(cases: Sequence[Case], normaliser: str) -> Gains:
    """Return nDCG@10 of each case with each of WEIGHTS and its neighbours: [cases, weights]."""
    raw = np.array([[_ndcg(case, normaliser, weight) for weight in WEIGHTS] for case in cases])
    return np.stack([raw[:, max(0, i - 1) : i + 2].mean(axis=1) for i in range(len(WEIGHTS))], axis=1)


def _best(gain: Gains) -> Gains:
    best: Gains = gain[:, int(gain.mean(axis=0).argmax())]
    return best


def _ndcg(case: Case, normaliser: str, weight: float) -> float:
    """Return the nDCG@10 of a fused list with one relevant passage: 1 / log2(rank + 1)."""
    fused = convex_combination(
        {"words": case.words, "meaning": case.meaning},
        {"words": 1 - weight, "meaning": weight},
        dict.fromkeys(("words", "meaning"), NORMALISERS[normaliser]),
    )
    first = list(fused)[:10]
    return 1 / math.log2(first.index(case.wanted) + 2) if case.wanted in first else 0.0


class _Pool:
    """Indexes of the whole passages, for echoes, and of passages without their gaps, for gaps."""

    def __init__(
        self,
        texts: Sequence[str],
        vectors: Floats,
        probes: Sequence[SyntheticQuery],
        embedder: Embeddings,
        analysers: Sequence[Analyser],
    ):
        self._embedder = embedder
        rests = {probe.position: probe.rest for probe in probes}
        self._whole, self._gapped = TantivyIndex(analysers=analysers), TantivyIndex(analysers=analysers)
        self._whole.add(Entry(str(i), "", text) for i, text in enumerate(texts))
        self._gapped.add(Entry(str(i), "", rests.get(i, text)) for i, text in enumerate(texts))
        self._vectors = vectors

    def ask(self, probe: SyntheticQuery) -> list[Case]:
        """Return both retrievers' results for the query's echo and for its gap."""
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
        missing = missing_ids({"words": words, "meaning": meaning})
        shared = index.scores(question, missing.get("words", []))
        near = [(id_, float(relevance[int(id_)])) for id_ in missing.get("meaning", [])]
        return Case(kind, str(wanted), [*words, *shared.items()], [*meaning, *near])


def _by_script(texts: Sequence[str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for position, text in enumerate(texts):
        groups.setdefault(script_of(text), []).append(position)
    return groups


@dataclass(frozen=True)
class CalibratedWeights:
    """Stored weights: date, number of chunks, embedding model and version of their calibration."""

    mixture: HybridWeights
    found: datetime
    chunks: int
    fingerprint: str
    rule: int


class HybridCalibration:
    """Hybrid weights of one owner's search; the default until enough passages are embedded."""

    def __init__(
        self, documents: Documents, vectors: Callable[[], VectorIndex], analysers: Sequence[Analyser] = ()
    ):
        self._documents = documents
        self._open_vectors = vectors
        self._analysers = analysers

    @property
    def latest(self) -> CalibratedWeights | None:
        """The last calibration, of any embedding model; None before the first."""
        state = self._documents.index_state(_NAME)
        if state is None:
            return None
        found = datetime.fromisoformat(state["found"])
        mixture = HybridWeights(**state["mixture"])
        return CalibratedWeights(mixture, found, state["chunks"], state["fingerprint"], state.get("rule", 0))

    @property
    def mixture(self) -> HybridWeights:
        """The weights to search with: those calibrated for the vectors in use, or the default."""
        latest, made_with = self.latest, self._documents.index_state("vectors") or {}
        if latest is None or latest.fingerprint != made_with.get("fingerprint"):
            return HybridWeights()
        return latest.mixture

    def due(self) -> bool:
        """Return whether calibration is due: with enough chunks, after many changes or of an old version."""
        made_with = self._documents.index_state("vectors")
        chunks = sum(record.chunks for record in self._documents.list() if record.state == "ready")
        if made_with is None or chunks < FEWEST:
            return False
        latest = self.latest
        if latest is None or (latest.fingerprint, latest.rule) != (made_with["fingerprint"], RULE):
            return True
        return not latest.chunks / GROWTH < chunks < latest.chunks * GROWTH

    def find(self, cancelled: Cancel = never) -> Iterator[CalibrationProgress]:
        """Calibrate and store the weights; raises Cancelled, EmbeddingError or RetrievalError."""
        ids, index = self._documents.chunk_ids(), self._open_vectors()
        fingerprint = (self._documents.index_state("vectors") or {}).get("fingerprint", "")
        vectors = index.vectors_of(sample(ids))
        chunks = self._documents.chunks_by_id(vectors).values()
        texts = [index_text(chunk) for chunk in chunks]
        rows = np.array([vectors[chunk.id] for chunk in chunks], np.float32)
        for tuned in calibrate(texts, rows, index.embeddings, analysers=self._analysers, cancelled=cancelled):
            if tuned.mixture is not None:
                found = CalibratedWeights(tuned.mixture, datetime.now(UTC), len(ids), fingerprint, RULE)
                self._documents.set_index_state(_NAME, {**asdict(found), "found": found.found.isoformat()})
            yield tuned
