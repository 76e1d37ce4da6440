"""Built-in stores side by side: building, searching and opening an index, time and size.

    python benchmarks/stores.py [--chunks 50000] [--store chroma lance lance-objects] [--json]

Chunks have tokens drawn as words of a language are (Zipf) and made vectors of 384 numbers that vary in 128
directions, 500 chunks a commit for words and 32 for vectors, as an ingest writes them. Each store runs in a
process of its own. Recall is against all vectors compared one by one.
"lance-objects" writes below FOOTNOTE_OBJECTS.
"""

import argparse
import json
import os
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from langchain_core.embeddings import Embeddings

from rag.index.backend import named_only, open_vectors, open_words
from rag.index.external import LANCE_OBJECTS
from rag.index.lance_objects import TableObjects
from rag.index.lexical import Entry

DIMENSION, DIRECTIONS = 384, 128
WORDS, TOKENS, TERMS = 30_000, 200, 24
QUESTIONS, FOUND = 100, 50
OWNED = 50  # documents of a search that chooses some
PER_DOCUMENT = 50  # chunks


class NoEmbeddings(Embeddings):
    """Embeds nothing: the vectors are made."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise NotImplementedError

    def embed_query(self, text: str) -> list[float]:
        raise NotImplementedError


def measure(store: str, count: int, folder: Path) -> dict[str, float]:
    """Return the figures of one store."""
    random = np.random.default_rng(7)
    ids = [f"c{number}" for number in range(count)]
    documents = [f"d{number // PER_DOCUMENT}" for number in range(count)]
    directions = random.normal(size=(DIRECTIONS, DIMENSION)).astype(np.float32)
    vectors = random.normal(size=(count, DIRECTIONS)).astype(np.float32) @ directions
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found: dict[str, float] = {}
    address = f"{os.environ.get('FOOTNOTE_OBJECTS')}/{secrets.token_hex(8)}"
    tables = TableObjects.at(address, folder, 1 << 40) if store == LANCE_OBJECTS else None
    words = open_words(store, folder / "words", tables=tables, preprocess_func=str.split)
    meanings = open_vectors(store, NoEmbeddings(), folder / "vectors", "chunks", named_only, tables)

    def text(size: int) -> str:
        return " ".join(f"w{min(WORDS, token)}" for token in random.zipf(1.3, size))

    texts = [text(TOKENS) for _ in range(count)]

    def add_words() -> None:
        for start in range(0, count, 500):
            batch = range(start, min(count, start + 500))
            words.add(Entry(ids[n], documents[n], texts[n]) for n in batch)

    def add_vectors() -> None:
        for start in range(0, count, 32):
            batch = slice(start, start + 32)
            origins = [{"document_id": each} for each in documents[batch]]
            meanings.add_vectors(ids[batch], vectors[batch], origins)

    found["words: building, s of processor"] = cpu_seconds(add_words)
    found["vectors: building, s of processor"] = cpu_seconds(add_vectors)
    time.sleep(6)  # an index that puts itself in order does so once nothing comes any more
    asked = [text(TERMS) for _ in range(QUESTIONS)]
    owned = [f"d{number}" for number in range(OWNED)]
    near = vectors[random.integers(count, size=QUESTIONS)] + 0.02 * random.normal(size=(QUESTIONS, DIMENSION))
    words.search(asked[0], FOUND, owned), meanings.nearest(near[0].tolist(), FOUND)
    found["words: search, ms"] = milliseconds(lambda n: words.search(asked[n], FOUND))
    found["words: scores of 50, ms"] = milliseconds(lambda n: words.scores(asked[n], ids[:FOUND]))
    found["words: search in 50 documents, ms"] = milliseconds(lambda n: words.search(asked[n], FOUND, owned))
    found["vectors: search, ms"] = milliseconds(lambda n: meanings.nearest(near[n].tolist(), FOUND))
    chosen = {"document_id": {"$in": owned}}
    found["vectors: search in 50 documents, ms"] = milliseconds(
        lambda n: meanings.nearest(near[n].tolist(), FOUND, filter=chosen)
    )
    found["vectors: recall of 10"] = recall(lambda n: meanings.nearest(near[n].tolist(), 10), near, vectors)
    words.close()
    meanings.close()
    found["opening both, ms of processor"] = 1000 * cpu_seconds(
        lambda: (
            open_words(store, folder / "words", tables=tables, preprocess_func=str.split),
            open_vectors(store, NoEmbeddings(), folder / "vectors", "chunks", named_only, tables),
        )
    )
    found["disk, MB"] = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    found["memory at most, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {name: round(value, 3) for name, value in found.items()}


def cpu_seconds(work: Callable[[], Any]) -> float:
    """Return the processor time of all threads."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def milliseconds(ask: Callable[[int], Any]) -> float:
    """Return the median time of a question."""
    took = []
    for number in range(QUESTIONS):
        begun = time.perf_counter()
        ask(number)
        took.append(time.perf_counter() - begun)
    return 1000 * median(took)


def recall(ask: Callable[[int], Any], near: Any, vectors: Any) -> float:
    """Return the share of the true ten nearest that are found."""
    hits = 0
    for number, vector in enumerate(near):
        true = {f"c{row}" for row in np.argsort(-(vectors @ vector.astype(np.float32)))[:10]}
        hits += len(true & {id_ for id_, _ in ask(number)})
    return hits / (10 * len(near))


def main() -> None:
    """Measure each store in a process of its own, and print a table."""
    parser = argparse.ArgumentParser(description="Compare the built-in stores.")
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--store", nargs="+", default=["chroma", "lance"])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here is not None:
        print(json.dumps(measure(options.store[0], options.chunks, options.here)))
        return
    found = {}
    for store in options.store:
        with tempfile.TemporaryDirectory() as folder:
            again = [
                sys.executable,
                __file__,
                "--chunks",
                str(options.chunks),
                "--store",
                store,
                "--here",
                folder,
            ]
            found[store] = json.loads(
                subprocess.run(again, check=True, capture_output=True, text=True).stdout
            )
    if options.json:
        print(json.dumps({"chunks": options.chunks, **found}))
        return
    print(f"{'':40}", *(f"{store:>10}" for store in found))
    for name in next(iter(found.values())):
        print(f"{name:40}", *(f"{figures[name]:10.3f}" for figures in found.values()))


if __name__ == "__main__":
    main()
