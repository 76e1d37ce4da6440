"""nDCG@10 of BM25, the embedder, and every mixture of both, over question sets.

    python benchmarks/fusion_weights.py DATASET_DIR... [--model multilingual-e5-small] [--limit 400] [--json]

What rag/retrieval/weights.py falls back on is chosen from this table. Passages are embedded once and
kept in --cache, so that a second run takes seconds.
"""

import argparse
import hashlib
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.evaluation.datasets import QuestionSet, load
from rag.evaluation.metrics import ndcg
from rag.index.bm25 import TantivyIndex
from rag.index.lexical import Entry
from rag.index.vector_index import Ranking
from rag.models.embeddings import Embedder, open_embedder
from rag.retrieval.fusion import (
    Normaliser,
    convex_combination,
    min_max,
    missing_ids,
    rrf,
    theoretical_min_max,
    z_score,
)
from rag.retrieval.weights import POOL
from rag.settings import default_model_cache

WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
FROM_ZERO = theoretical_min_max(0.0)


def _distribution_based(scores: Sequence[float]) -> list[float]:
    """Map mean - 3 deviations to 0 and mean + 3 deviations to 1, cut to [0, 1] (DBSF)."""
    spread = np.std(scores)
    if not spread:
        return [1.0] * len(scores)
    return list(np.clip(0.5 + (np.asarray(scores) - np.mean(scores)) / spread / 6, 0, 1))


NORMALISERS: dict[str, tuple[Normaliser, Normaliser]] = {  # of BM25's scores, of relevances
    "theoretical 0": (FROM_ZERO, FROM_ZERO),
    "theoretical .5": (FROM_ZERO, theoretical_min_max(0.5)),
    "theoretical .7": (FROM_ZERO, theoretical_min_max(0.7)),
    "theoretical + min-max": (FROM_ZERO, min_max),
    "min-max": (min_max, min_max),
    "z-score": (z_score, z_score),
    "distribution": (_distribution_based, _distribution_based),
}

Rankings = dict[str, dict[str, Ranking]]  # question -> half, or "half rated" -> ranking
HALVES = ("words", "meaning")


def embed(embedder: Embedder, texts: list[str], cache: Path) -> np.ndarray:
    """Return the texts' vectors, float32 [texts, dimension], from the cache where they are known."""
    key = hashlib.sha256(json.dumps([embedder.fingerprint, texts]).encode()).hexdigest()
    file = cache / f"{key[:32]}.npy"
    if not file.exists():
        vectors = np.empty((len(texts), embedder.dimension), np.float32)
        for positions, batch in embedder.embed_batches(texts):
            vectors[positions] = batch
        cache.mkdir(parents=True, exist_ok=True)
        np.save(file, vectors)
    return np.load(file)


def rank(questions: QuestionSet, embedder: Embedder, cache: Path) -> Rankings:
    """Return each half's ranking for every question, and "rated" how it scores the other's finds as well.

    Meaning is searched by brute force, so that no index blurs it.
    """
    ids = [document.id or "" for document in questions.corpus]
    texts = [document.page_content for document in questions.corpus]
    index = TantivyIndex()
    index.add(Entry(id_, id_, text) for id_, text in zip(ids, texts, strict=True))
    passages, at = embed(embedder, texts, cache), {id_: row for row, id_ in enumerate(ids)}
    rankings: Rankings = {}
    for name, question in questions.questions.items():
        relevance = np.maximum(passages @ np.asarray(embedder.embed_query(question), np.float32), 0.0)
        nearest = np.argsort(-relevance, kind="stable")[:POOL]
        words = index.search(question, POOL)
        meaning = [(ids[i], float(relevance[i])) for i in nearest]
        missing = missing_ids({"words": words, "meaning": meaning})
        shared = index.scores(question, missing.get("words", []))
        others = [(id_, float(relevance[at[id_]])) for id_ in missing.get("meaning", [])]
        rankings[name] = {
            "words": words,
            "meaning": meaning,
            "words rated": [*words, *shared.items()],
            "meaning rated": [*meaning, *others],
        }
    return rankings


def mean_ndcg(questions: QuestionSet, fused: Mapping[str, Mapping[str, float]]) -> float:
    """Return the mean nDCG@10 over the questions."""
    return statistics.fmean(
        ndcg(list(fused[name]), right, 10) for name, right in questions.judgements.items()
    )


def table(questions: QuestionSet, rankings: Rankings) -> Iterator[tuple[str, float, float]]:
    """Yield method, weight of the meaning half, nDCG@10."""
    for half, weight in zip(HALVES, (0.0, 1.0), strict=True):
        yield half, weight, mean_ndcg(questions, {n: dict(lists[half]) for n, lists in rankings.items()})
    plain = {n: {half: lists[half] for half in HALVES} for n, lists in rankings.items()}
    rated = {n: {half: lists[f"{half} rated"] for half in HALVES} for n, lists in rankings.items()}
    yield "rrf", 0.5, mean_ndcg(questions, {n: rrf(lists) for n, lists in plain.items()})
    for (name, pair), (suffix, given) in product(NORMALISERS.items(), (("", plain), (", rated", rated))):
        normalisers = dict(zip(HALVES, pair, strict=True))
        for weight in WEIGHTS:
            weights = {"words": 1 - weight, "meaning": weight}
            fused = {n: convex_combination(lists, weights, normalisers) for n, lists in given.items()}
            yield name + suffix, weight, mean_ndcg(questions, fused)


def main() -> None:
    """Print a line per set, method and weight."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("datasets", nargs="+", type=Path, metavar="DATASET_DIR")
    parser.add_argument("--model", default="multilingual-e5-small")
    parser.add_argument("--limit", type=int, default=400)
    parser.add_argument("--cache", type=Path, default=default_model_cache().parent / "benchmarks")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    embedder = open_embedder(options.model, cache=default_model_cache())
    for directory in options.datasets:
        questions = load(directory, limit=options.limit)
        for method, weight, value in table(questions, rank(questions, embedder, options.cache)):
            line = {"dataset": questions.name, "method": method, "weight": weight, "ndcg@10": round(value, 4)}
            print(
                json.dumps(line)
                if options.json
                else f"{questions.name:16} {method:24} {weight:4} {value:.4f}"
            )


if __name__ == "__main__":
    main()
