"""Footnote's library, as the app uses it. Runs in this project's environment."""

import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import numpy as np

from peer_steps import made
from peer_steps.child import resident_mb, serve, timed
from rag.factory import make_bench_library
from rag.index.bm25 import TantivyIndex
from rag.index.lexical import Entry, to_entry
from rag.ingest.library import Library
from rag.ingest.queue import LANES, Ingest
from rag.jobs import Jobs
from rag.models.embeddings import Embedder, Floats, Role, open_embedder
from rag.settings import default_model_cache
from storage.database import Database
from storage.records import ChunkSpan

BATCH = 5000


class MadeUpVectors(Embedder):
    """The real model for questions; chunks are given made vectors when the library is built."""

    def __init__(self, model: str):
        self._real = open_embedder(model, cache=default_model_cache())
        self.name, self.dimension = self._real.name, self._real.dimension
        self.fingerprint = self._real.fingerprint

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        return np.array([self._real.embed_query(text) for text in texts], np.float32)


class Ours:
    """A library over `size` chunks."""

    def __init__(self) -> None:
        self._library: Any = None
        self._folder = Path()
        self._ids: list[str] = []

    def build(self, size: int, folder: str, model: str) -> dict[str, Any]:
        """Make the library in a folder, unless it is there."""
        ready = Path(folder) / "ready"
        if not ready.exists():
            self.open(folder, model)
            for numbers in made.together(made_documents(self._library, size), BATCH // made.PER_DOCUMENT):
                chunks = [chunk for id_ in numbers for chunk in self._library.documents.chunks(id_)]
                self._library.indexes.words.add(to_entry(chunk) for chunk in chunks)
            self._add_vectors(size)
            self._library.close()
            ready.touch()
        return {}

    def open(self, folder: str, model: str) -> dict[str, Any]:
        """Open the library."""
        self._folder = Path(folder)
        embedder = MadeUpVectors(model)
        embedder.embed_query("warm")
        self._library = make_bench_library(Database.open(self._folder / "data"), "bench", lambda: embedder)
        self._ids = sorted(record.id for record in self._library.documents.list())
        return {}

    def words(self, questions: list[str]) -> list[float]:
        """Ask by words."""
        return timed(self._library.retriever("bm25", 6).invoke, questions)

    def add(self, times: int) -> list[float]:
        """Add a hundred chunks to the word index, and take them out again unmeasured."""
        entries = [Entry(f"new-{n}", "new", text) for n, text in enumerate(made.texts(100))]
        words, spent = self._library.indexes.words, []
        for _ in range(times):
            spent += timed(words.add, [entries])
            words.delete([entry.id for entry in entries])
        return spent

    def cold(self, times: int, question: str) -> list[float]:
        """Open the word index anew and ask."""
        (directory,) = self._folder.glob("data/indexes/*/words")

        def opened(_: int) -> None:
            index = TantivyIndex(directory)
            index.search(question, 6)
            index.close()

        return timed(opened, range(times))

    def hybrid(self, questions: list[str]) -> list[float]:
        """Ask by words and by meaning, the question's embedding included."""
        return timed(self._library.retriever("ensemble-cc", 6).invoke, questions)

    def limited(self, questions: list[str], share: float) -> list[float]:
        """Ask by both, each question in other documents, a share of them all."""
        choose, spent = random.Random(3), []
        for question in questions:
            chosen = choose.sample(self._ids, max(1, round(share * len(self._ids))))
            retriever = self._library.retriever("ensemble-cc", 6, document_ids=chosen)
            spent += timed(retriever.invoke, [question])
        return spent

    def similarity(self, times: int) -> list[float]:
        """Ask for six chunks by vector."""
        asked = made.vectors(times, seed=5).tolist()
        return timed(lambda vector: self._store.similarity_search_by_vector(vector, 6), asked)

    def mmr(self, times: int) -> list[float]:
        """Ask for six of fifty by vector."""
        asked = made.vectors(times, seed=6).tolist()
        return timed(lambda vector: self._store.max_marginal_relevance_search_by_vector(vector, 6, 50), asked)

    def recall(self, size: int, times: int) -> float:
        """Return how many of the ten nearest by brute force the index finds."""
        everything, asked = made.vectors(size), made.vectors(times, seed=8)
        ids = [chunk_id for id_ in self._in_order() for chunk_id in id_]
        hits = 0
        for vector in asked:
            true = {ids[at] for at in np.argsort(-(everything @ vector))[:10]}
            hits += len(true & {d.id for d in self._store.similarity_search_by_vector(vector.tolist(), 10)})
        return hits / (10 * times)

    def memory(self) -> float:
        """Return the memory held, in MB."""
        return resident_mb()

    def ingest(self, model: str, folder: str, documents: int, chunks: str) -> dict[str, float]:
        """Read, index and embed Markdown files as the server does, with the real model; tell the chunks."""
        embedder = open_embedder(model, cache=default_model_cache())
        embedder.embed_documents(["warm"])  # no question: a core is left to whoever asked, for seconds
        library = make_bench_library(Database.open(Path(folder)), "bench", lambda: embedder)
        library.indexes.words, library.indexes.vectors  # noqa: B018 - opened
        texts = list(made.texts(documents * made.PER_DOCUMENT))
        records = [
            library.add(f"{n}.md", "\n\n".join(texts[n::documents]).encode())[0] for n in range(documents)
        ]
        jobs = Jobs(LANES)
        ingest = Ingest(library, jobs)
        began = time.perf_counter()
        for record in records:
            ingest.start(record.id)
        while library.documents.unfinished():
            time.sleep(0.01)
        seconds = time.perf_counter() - began
        jobs.close()
        made_of = [chunk.text for record in records for chunk in library.documents.chunks(record.id)]
        Path(chunks).write_text("\n".join(map(json.dumps, made_of)), encoding="utf-8")
        return {"chunks": len(made_of), "seconds": seconds}

    @property
    def _store(self) -> Any:
        return self._library.indexes.vectors

    def _in_order(self) -> Iterator[list[str]]:
        records = sorted(self._library.documents.list(), key=lambda record: int(record.name[:-4]))
        for record in records:
            yield [chunk.id for chunk in self._library.documents.chunks(record.id)]

    def _add_vectors(self, size: int) -> None:
        vectors, at = made.vectors(size), count()
        for documents in made.together(self._in_order(), BATCH // made.PER_DOCUMENT):
            ids = [id_ for document in documents for id_ in document]
            rows = vectors[[next(at) for _ in ids]]
            self._store.add_vectors(ids, rows, [{"document_id": id_.rpartition("-")[0]} for id_ in ids])


def made_documents(library: Library, size: int) -> Iterator[str]:
    """Put made documents into the ledger and yield their ids."""
    for number, texts in enumerate(made.together(made.texts(size), made.PER_DOCUMENT)):
        spans, start = [], 0
        for text in texts:
            spans.append(ChunkSpan(start, start + len(text)))
            start += len(text) + 2
        record, _ = library.documents.add(f"{number}.txt", f"{number:064x}", start)
        library.documents.save_chunks(record.id, "\n\n".join(texts), [], spans)
        library.documents.set_state(record.id, "ready")
        yield record.id


if __name__ == "__main__":
    ours = Ours()
    serve({name: getattr(ours, name) for name in dir(ours) if not name.startswith("_")})
