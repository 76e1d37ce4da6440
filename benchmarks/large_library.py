"""A library of very many passages in one process: its searches, memory, opening and growth.

    python benchmarks/large_library.py build DATA TEXTS.jsonl [--chunks 1000000] [--ef-construction 64]
    python benchmarks/large_library.py measure DATA [--questions 200] [--json]

`build` takes documents in as the application does, except that their vectors are made: 384 numbers that vary
in 128 directions. Their tokens are real: sentences drawn from the `text` of the lines of TEXTS.jsonl. It goes
on where an earlier one stopped, and reads a document while the one before gets its vectors, as the
application does. With `--ef-construction` a new graph is made with less care than the product's, in less
time: of the same size, and searched as widely. `measure` opens DATA in a fresh process, asks questions of
one sentence of a passage and a drawn vector, and then adds a document of a hundred passages. The question's
own embedding, some 10 ms, is left out.
"""

import argparse
import json
import random
import re
import resource
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.factory import make_bench_library
from rag.index.chroma import GRAPH
from rag.ingest.library import Library
from rag.models.embeddings import Embedder, Floats
from storage.database import Database

OWNER = "bench"
DIMENSION, DIRECTIONS = 384, 128
SENTENCES = 5_000  # of a document: some nine hundred passages
FOUND = 6  # passages of an answer
QUESTIONS = "questions.json"
ADDED = 400  # sentences of the document that `measure` adds: a hundred passages
_SENTENCE = re.compile(r"[^.!?\n]{20,400}[.!?]")


class MadeVectors(Embedder):
    """Vectors that are drawn, not read from the texts."""

    name, dimension, fingerprint = "made", DIMENSION, "made"

    def __init__(self, seed: int):
        self._random = np.random.default_rng(seed)
        self._directions = np.random.default_rng(7).normal(size=(DIRECTIONS, DIMENSION)).astype(np.float32)

    def _vectors(self, texts: Sequence[str], role: str) -> Floats:
        drawn = self._random.normal(size=(len(texts), DIRECTIONS)).astype(np.float32) @ self._directions
        unit: Floats = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return unit


def sentences_of(texts: Path) -> list[str]:
    """Return the sentences of the texts of a file."""
    with texts.open(encoding="utf-8") as lines:
        return [found.strip() for line in lines for found in _SENTENCE.findall(json.loads(line)["text"])]


def add(library: Library, number: int, sentences: Sequence[str], count: int) -> int:
    """Add a document of `count` sentences drawn for its number; return its passages."""
    return embed(library, read(library, number, sentences, count))


def read(library: Library, number: int, sentences: Sequence[str], count: int) -> str:
    """Add a document, five sentences a paragraph, and make it searchable by words; return its id."""
    chance = random.Random(number)
    drawn = chance.choices(sentences, k=count)
    paragraphs = (" ".join(drawn[start : start + 5]) for start in range(0, count, 5))
    record, _ = library.add(f"{number}.txt", "\n\n".join(paragraphs).encode())
    for _ in library.read(record.id):
        pass
    return record.id


def embed(library: Library, document_id: str) -> int:
    """Give a document that was read its vectors; return its passages."""
    for _ in library.embed(document_id):
        pass
    return library.documents.get(document_id).chunks


def build(data: Path, texts: Path, chunks: int) -> None:
    """Add documents until there are so many passages; print now and then how many there are."""
    sentences = sentences_of(texts)
    data.mkdir(parents=True, exist_ok=True)
    (data / QUESTIONS).write_text(json.dumps(sentences[:: len(sentences) // 1_000]), "utf-8")
    with closing(Database.open(data)) as database, ThreadPoolExecutor(1) as reader:
        library = make_bench_library(database, OWNER, lambda: MadeVectors(int(time.time())))
        for left in library.documents.unfinished():
            for _ in library.index(left.id):
                pass
        had = [record.chunks for record in library.documents.list()]
        number, count, begun, before = len(had), sum(had), time.perf_counter(), sum(had)
        ahead = reader.submit(read, library, number, sentences, SENTENCES)
        while count < chunks:
            number, current = number + 1, ahead.result()
            ahead = reader.submit(read, library, number, sentences, SENTENCES)
            count += embed(library, current)
            if number % 20 == 0:
                rate = (count - before) / (time.perf_counter() - begun)
                processor = 1000 * time.process_time() / (count - before)
                print(
                    f"{number} documents, {count} passages, {rate:.0f} a second, "
                    f"{processor:.2f} ms of the processor each",
                    flush=True,
                )
        embed(library, ahead.result())
        library.close()


def measure(data: Path, questions: int) -> dict[str, float]:
    """Return the figures of a library that `build` made, opened anew in this process."""
    sentences = json.loads((data / QUESTIONS).read_text("utf-8"))
    asked = random.Random(2).choices(sentences, k=questions)
    before, begun = memory(), time.perf_counter()
    with closing(Database.open(data)) as database:
        library = make_bench_library(database, OWNER, lambda: MadeVectors(3))
        library.recover()
        retriever = library.retriever("ensemble-cc", FOUND)
        if not retriever.invoke(asked[0]):
            raise SystemExit("Nothing is found.")
        opened = time.perf_counter() - begun
        took = sorted(_milliseconds(partial(retriever.invoke, question)) for question in asked)
        own, mapped = (after - at_first for after, at_first in zip(memory(), before, strict=True))
        added = _milliseconds(lambda: add(library, int(time.time()), sentences, ADDED))
        count = sum(record.chunks for record in library.documents.list())
        library.close()
    return {
        "passages": count,
        "opening to the first result, s": round(opened, 2),
        "search, p50, ms": round(median(took), 1),
        "search, p95, ms": round(took[int(len(took) * 0.95)], 1),
        "memory of its own, MB": round(own / 1e6),
        "memory of files, MB": round(mapped / 1e6),
        "memory at most, with Python and files, MB": round(
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        ),
        "adding a hundred passages, s": round(added / 1000, 2),
        "disk, MB": round(sum(each.stat().st_size for each in data.rglob("*") if each.is_file()) / 1e6),
    }


def memory() -> tuple[int, int]:
    """Return the bytes of memory of this process, and those of the files that it has mapped."""
    info = psutil.Process().memory_info()
    return info.rss - info.shared, info.shared


def _milliseconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begun)


def main() -> None:
    """Build, or measure and print the figures."""
    parser = argparse.ArgumentParser(description="Build and measure a library of very many passages.")
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build")
    building.add_argument("data", type=Path)
    building.add_argument("texts", type=Path)
    building.add_argument("--chunks", type=int, default=1_000_000)
    building.add_argument("--ef-construction", type=int, default=GRAPH["ef_construction"])
    measuring = commands.add_parser("measure")
    measuring.add_argument("data", type=Path)
    measuring.add_argument("--questions", type=int, default=200)
    measuring.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.command == "build":
        GRAPH["ef_construction"] = given.ef_construction
        build(given.data, given.texts, given.chunks)
        return
    found = measure(given.data, given.questions)
    print(
        json.dumps(found) if given.json else "\n".join(f"{name:42} {value}" for name, value in found.items())
    )


if __name__ == "__main__":
    main()
