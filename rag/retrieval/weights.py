"""How words and meaning are weighed against each other in one collection."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any, Literal, get_args

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from rag.errors import Cancelled
from rag.index.bm25 import Entry, TantivyIndex
from rag.index.chunks import index_text
from rag.index.indexes import Indexes
from rag.index.vector_index import Ranking
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
"""Candidates that each half gives to the fusion, and that MMR chooses from."""
NORMALISERS: dict[str, Normaliser] = {
    "min-max": min_max,
    "z-score": z_score,
    "theoretical": theoretical_min_max(0.0),
}
DEFAULT_WEIGHTS = {"alphabet": 0.55, "ko": 0.5, "ja": 0.5, "zh": 0.5}
"""The weight of meaning, by writing, where nothing is known. By z-score, with the default embedding model,
nDCG@10 is at most .004 below the best weight of XQuAD (English, Spanish, Chinese), SciFact, Cranfield,
Qasper, MTRAG's govt, KorQuAD and JaQuAD, and .016 of NQ, where meaning is much the stronger half
(docs/developer/retrieval.md)."""
STRONG, WEAK = 0.65, 0.2
"""The same where meaning, with nearly all the weight, finds surely better than words with it, or less than
half as well: NQ is then .008 below its best, KorQuAD and JaQuAD with a model of English .002 and .001."""
FOREIGN = 0.9
"""The weight of meaning for a question in a writing that no passage has: words can hardly meet."""
_OWN_WRITING = ("ko", "ja", "zh")


@dataclass(frozen=True)
class HybridWeights:
    """The normaliser of both halves' scores, and the weight of meaning, 0 to 1, by writing.

    Words have the rest. `passages` says from how many passages it was found, 0 meaning not at all.

    >>> HybridWeights(weights={"ko": 0.2}).weights_for("서울은 어디인가요?")
    {'bm25': 0.8, 'similarity': 0.2}
    """

    normaliser: str = "z-score"
    weights: Mapping[str, float] = field(default_factory=dict)
    passages: int = 0

    def weights_for(self, question: str) -> dict[str, float]:
        """Return the weight of each half for a question."""
        asked = script_of(question)
        meaning = self.weights.get(asked, FOREIGN if self.weights else DEFAULT_WEIGHTS[asked])
        return {"bm25": round(1 - meaning, 6), "similarity": meaning}

    def as_dict(self) -> dict[str, Any]:
        """Return what `from_dict` reads."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "HybridWeights":
        """Return a mixture as it was stored."""
        return cls(stored["normaliser"], dict(stored["weights"]), stored["passages"])


def script_of(text: str) -> str:
    """Return how a text is written: "ko", "ja", "zh", or "alphabet", which few words show for certain.

    >>> script_of("東京はどこですか"), script_of("Wo ist Rom?")
    ('ja', 'alphabet')
    """
    code = language(text)
    return code if code in _OWN_WRITING else "alphabet"


def describe_weights(mixture: HybridWeights) -> str:
    """Return how words and meaning are weighed, as a run keeps it.

    >>> describe_weights(HybridWeights("min-max", {"ko": 0.2, "alphabet": 0.5}, passages=300))
    'min-max scores, meaning 0.5 in alphabet, 0.2 in ko'
    """
    weights = sorted((mixture.weights or DEFAULT_WEIGHTS).items())
    said = ", ".join(f"{weight:g} in {script_of}" for script_of, weight in weights)
    return f"{mixture.normaliser} scores, meaning {said}"


# Questions made from passages themselves: what words and meaning are weighed by, without labels.
SHORTEST, LONGEST = 24, 500  # UTF-8 bytes of a sentence that can stand for a question: 8 kana, 24 letters
FEWEST_WORDS = 4  # below that a sentence is taken as written without spaces


@dataclass(frozen=True)
class SyntheticQuery:
    """A passage, by its position, with one question of each kind."""

    position: int
    echo: str
    gap: str
    rest: str  # the passage without the gap's sentence


def make_synthetic_queries(texts: Sequence[str], count: int, seed: int = 0) -> list[SyntheticQuery]:
    """Return a probe each for `count` of the texts, chosen at random; those of one sentence have none."""
    random = Random(seed)  # noqa: S311 - a sample, not a secret
    order = list(range(len(texts)))
    random.shuffle(order)
    probes: list[SyntheticQuery] = []
    for position in order:
        if len(probes) == count:
            break
        text = texts[position]
        spans = sentences(text)
        fitting = [(a, b) for a, b in spans if SHORTEST <= _size(text[a:b]) <= LONGEST]
        if fitting and len(spans) > 1:
            start, end = random.choice(fitting)
            rest = f"{text[:start]} {text[end:]}".strip()
            probes.append(
                SyntheticQuery(position, half_sentence(text[start:end], random), text[start:end], rest)
            )
    return probes


def half_sentence(sentence: str, random: Random) -> str:
    """Return about half of a sentence: of its words, or a stretch of its characters where it has no spaces.

    ``"The lease ends in March 2027." -> "lease in 2027."``, ``"契約は三月に終わる。" -> "契約は三月"``.
    """
    words = sentence.split()
    if len(words) < FEWEST_WORDS:
        length = max(1, len(sentence) // 2)
        start = random.randrange(len(sentence) - length + 1)
        return sentence[start : start + length]
    kept = sorted(random.sample(range(len(words)), len(words) // 2))
    return " ".join(words[i] for i in kept)


def _size(sentence: str) -> int:
    """Return a sentence's length in bytes, which follows what it says over scripts; characters do not."""
    return len(sentence.encode("utf-8", "replace"))


# The mixture of words and meaning that suits a collection, found from its passages without any labels.
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
class CalibrationProgress:
    """How far the search for a mixture is, and at its end the mixture."""

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
    """Find the mixture for passages with their vectors [n, dimension] of length 1; the last event has it.

    It takes about three embeddings a probe; `analysers` are those of the word index. A writing of too few
    passages gets no weight of its own.
    Raises Cancelled and EmbeddingError.
    """
    probes = {
        group: make_synthetic_queries([texts[i] for i in at], PROBES)
        for group, at in _by_script(texts).items()
    }
    enough = {group: found for group, found in probes.items() if len(found) >= FEWEST}
    total, done = sum(map(len, enough.values())), 0
    cases: dict[str, list[Case]] = {}
    for group, found in enough.items():
        at = _by_script(texts)[group]
        pool = _Pool([texts[i] for i in at], vectors[at], found, embedder, analysers)
        cases[group] = []
        for probe in found:
            if cancelled():
                raise Cancelled("Weighing words against meaning was stopped; it is done again later.")
            cases[group] += pool.ask(probe)
            done += 1
            yield CalibrationProgress(done, total)
    yield CalibrationProgress(total, total, best_weights(cases, len(texts)))


def sample(ids: Collection[str], seed: int = 0) -> list[str]:
    """Return at most POOLED of the ids, the same ones for the same ids."""
    ordered = sorted(ids)
    return ordered if len(ordered) <= POOLED else Random(seed).sample(ordered, POOLED)  # noqa: S311


def best_weights(cases: Mapping[str, Sequence[Case]], passages: int) -> HybridWeights:
    """Return the usual mixture, changed where both kinds of probe tell against it by more than chance.

    Each kind is partial: echoes to words, which they repeat, gaps to meaning where it is strong. What both
    say can be believed.
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
    """Return the usual weight of a writing, or one for how well each half fills gaps with nearly all of it.

    Echoes say nothing of that: words find nearly every one.
    """
    mostly_words, mostly_meaning = gap[:, 0], gap[:, -1]
    if surely_better(mostly_meaning, mostly_words):
        return STRONG
    return WEAK if surely_better(mostly_words, 2 * mostly_meaning) else DEFAULT_WEIGHTS[group]


def _by_kind(cases: Sequence[Case], normaliser: str) -> tuple[Gains, Gains]:
    """Return the gains of echoes and of gaps."""
    echo, gap = ([case for case in cases if case.kind == kind] for kind in get_args(Kind))
    return gains(echo, normaliser), gains(gap, normaliser)


def _best_normaliser(found: Mapping[str, Sequence[Sequence[Gains]]]) -> str:
    """Return the usual normaliser, or one that is surely better in each kind, over all writings."""
    usual = HybridWeights().normaliser
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
    raw = np.array([[_ndcg(case, normaliser, weight) for weight in WEIGHTS] for case in cases])
    return np.stack([raw[:, max(0, i - 1) : i + 2].mean(axis=1) for i in range(len(WEIGHTS))], axis=1)


def _best(gain: Gains) -> Gains:
    """Return the column of the weight that gains most."""
    best: Gains = gain[:, int(gain.mean(axis=0).argmax())]
    return best


def _ndcg(case: Case, normaliser: str, weight: float) -> float:
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
        missing = missing_ids({"words": words, "meaning": meaning})
        shared = index.scores(question, missing.get("words", []))
        near = [(id_, float(relevance[int(id_)])) for id_ in missing.get("meaning", [])]
        return Case(kind, str(wanted), [*words, *shared.items()], [*meaning, *near])


def _by_script(texts: Sequence[str]) -> dict[str, list[int]]:
    """Return the positions of the texts of each writing."""
    groups: dict[str, list[int]] = {}
    for position, text in enumerate(texts):
        groups.setdefault(script_of(text), []).append(position)
    return groups


# How a library weighs words against meaning: found from its passages, kept, and found again in time.
_NAME = "mixture"
GROWTH = 1.5  # times as many chunks as last time, or fewer by as much: the collection is another one


@dataclass(frozen=True)
class CalibratedWeights:
    """A mixture: when it was found, from how many chunks, for which embedding model, and by which rule."""

    mixture: HybridWeights
    found: datetime
    chunks: int
    fingerprint: str
    rule: int


class HybridCalibration:
    """The mixture of one owner's search; a default until enough passages are embedded."""

    def __init__(self, documents: Documents, indexes: Indexes):
        self._documents = documents
        self._indexes = indexes

    @property
    def latest(self) -> CalibratedWeights | None:
        """What was found last, for whichever embedding model; None when nothing was."""
        state = self._documents.index_state(_NAME)
        if state is None:
            return None
        found = datetime.fromisoformat(state["found"])
        mixture, rule = HybridWeights.from_dict(state["mixture"]), state.get("rule", 0)
        return CalibratedWeights(mixture, found, state["chunks"], state["fingerprint"], rule)

    @property
    def mixture(self) -> HybridWeights:
        """The mixture to search with now: the one found for the vectors that are searched, or the default."""
        latest, made_with = self.latest, self._documents.index_state("vectors") or {}
        if latest is None or latest.fingerprint != made_with.get("fingerprint"):
            return HybridWeights()
        return latest.mixture

    def due(self) -> bool:
        """Whether there are enough chunks, and what was weighed last differs much, or was by another rule."""
        made_with = self._documents.index_state("vectors")
        chunks = sum(record.chunks for record in self._documents.list() if record.state == "ready")
        if made_with is None or chunks < FEWEST:
            return False
        latest = self.latest
        if latest is None or (latest.fingerprint, latest.rule) != (made_with["fingerprint"], RULE):
            return True
        return not latest.chunks / GROWTH < chunks < latest.chunks * GROWTH

    def find(self, cancelled: Cancel = never) -> Iterator[CalibrationProgress]:
        """Find the mixture and keep it; raises Cancelled, EmbeddingError or RetrievalError."""
        ids, embedder = self._documents.chunk_ids(), self._indexes.embedder
        vectors = self._indexes.vectors.vectors_of(sample(ids))
        chunks = self._documents.chunks_by_id(vectors).values()
        texts = [index_text(chunk) for chunk in chunks]
        rows = np.array([vectors[chunk.id] for chunk in chunks], np.float32)
        for tuned in calibrate(texts, rows, embedder, analysers=self._indexes.analysers, cancelled=cancelled):
            if tuned.mixture is not None:
                self._keep(
                    CalibratedWeights(tuned.mixture, datetime.now(UTC), len(ids), embedder.fingerprint, RULE)
                )
            yield tuned

    def _keep(self, weighed: CalibratedWeights) -> None:
        state = {
            "mixture": weighed.mixture.as_dict(),
            "found": weighed.found.isoformat(),
            "chunks": weighed.chunks,
            "fingerprint": weighed.fingerprint,
            "rule": weighed.rule,
        }
        self._documents.set_index_state(_NAME, state)
