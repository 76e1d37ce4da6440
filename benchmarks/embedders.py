"""Embedding models side by side: speed, load time, memory, and dense nDCG@10 on folders of questions.

    python -m benchmarks.embedders [DATASET_DIR ...] [--model NAME ...] [--json]

A dataset folder holds corpus.jsonl and queries.jsonl ({"_id", "text"} a line) and qrels.tsv (query,
document, score), as BEIR lays them out. Each model runs in a process of its own.
"""

import argparse
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from rag.evaluation.datasets import load
from rag.evaluation.metrics import ndcg
from rag.models.embeddings import Embedder, open_embedder
from rag.models.packaged.catalog import PACKAGED
from rag.settings import default_model_cache

QUESTIONS = 400
CHUNKS = 96
PARAGRAPH = (
    "The library keeps every document as it was given, and beside it the text that was read from it, "
    "page by page, so that a statement in an answer can be followed back to the words it rests on. A "
    "chunk is a span of that text, about as long as this paragraph; it carries its page, its heading "
    "path and its offsets, and it is embedded once, when the document is added. Questions are embedded "
    "when they are asked, and compared with all chunks at once. What makes a model good for this is "
    "that a question and its answer lie near each other even where they share no word, in whatever "
    "language either was written; what makes it usable is that it answers in milliseconds on the "
    "processor that is there. The figures below say how far each model is from that, measured on the "
    "same machine, with the same texts."
)
"""Two hundred tokens of multilingual-e5-small."""


@dataclass(frozen=True)
class Result:
    """One model's row, speeds the best of three.

    `chunks_per_core_s` counts the processor's own seconds, which other work on the machine disturbs
    least; times the number of cores it is the rate of a machine that does nothing else.
    """

    model: str
    dimension: int
    load_s: float
    chunks_per_s: float
    chunks_per_core_s: float
    query_ms: float
    memory_mb: int
    ndcg: dict[str, float] = field(default_factory=dict)


def measure(spec: str, cache: Path, datasets: Sequence[Path]) -> Result:
    """Open the model and measure it; call it in a fresh process, whose memory is then the model's."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    embedder = open_embedder(spec, cache=cache)
    opened = time.perf_counter() - start
    chunks = [f"{number}. {PARAGRAPH}" for number in range(CHUNKS)]
    used = [_seconds(lambda: embedder.embed_documents(chunks)) for _ in range(3)]
    asked = [f"Which page says that the {number}th model answers in milliseconds?" for number in range(30)]
    query = min(_seconds(partial(embedder.embed_query, text))[0] for text in asked)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    scores = {folder.name: round(quality(embedder, folder), 4) for folder in datasets}
    return Result(
        model=spec,
        dimension=embedder.dimension,
        load_s=round(opened, 2),
        chunks_per_s=round(CHUNKS / min(wall for wall, _ in used), 1),
        chunks_per_core_s=round(CHUNKS / min(cores for _, cores in used), 1),
        query_ms=round(query * 1000, 1),
        memory_mb=memory // 1024,
        ndcg=scores,
    )


def quality(embedder: Embedder, folder: Path) -> float:
    """Return mean nDCG@10 of the first questions that have a relevant document."""
    questions = load(folder, limit=QUESTIONS)
    ids = [document.id or "" for document in questions.corpus]
    documents = np.array(embedder.embed_documents([one.page_content for one in questions.corpus]), np.float32)
    scores = []
    for key, text in questions.questions.items():
        nearness = documents @ np.array(embedder.embed_query(text), np.float32)
        ranking = [ids[i] for i in np.argsort(-nearness, kind="stable")[:10]]
        scores.append(ndcg(ranking, questions.judgements[key], 10))
    return float(np.mean(scores))


def table(results: Sequence[Result]) -> str:
    """Return the results as a Markdown table."""
    sets = list(results[0].ndcg)
    heads = ["model", "dimension", "load s", "chunks/s", "chunks/core s", "query ms", "memory MB", *sets]
    rows = [[*list(asdict(result).values())[:-1], *result.ndcg.values()] for result in results]
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def main() -> None:
    """Measure one model after another and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", type=Path, metavar="DATASET_DIR")
    parser.add_argument("--model", action="append", help="default: every packaged model")
    parser.add_argument("--cache", type=Path, default=default_model_cache())
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    results = []
    for spec in options.model or PACKAGED:
        with ProcessPoolExecutor(1, mp_context=context) as fresh:
            results.append(fresh.submit(measure, spec, options.cache, options.datasets).result())
        print(results[-1], file=sys.stderr)
    print(json.dumps([asdict(result) for result in results]) if options.json else table(results))


def _seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that passed and the processor's seconds that were used."""
    start, cores = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cores


if __name__ == "__main__":
    main()
