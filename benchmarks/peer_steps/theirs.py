"""LangChain's own classes, each in the way its documentation shows. Runs in the peers' environment."""

import json
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from langchain_chroma import Chroma
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_huggingface import HuggingFaceEmbeddings

from peer_steps import made
from peer_steps.child import resident_mb, serve, timed

BATCH = 5000  # entries: Chroma takes 5,461 at once


class MadeUpVectors(Embeddings):
    """The real model for questions; made vectors for chunks, in the order in which they come."""

    def __init__(self, real: Embeddings, size: int):
        self._real = real
        self._made = chain.from_iterable(made.vectors(n) for n in [size])  # made when first asked for

    def embed_query(self, text: str) -> list[float]:
        return self._real.embed_query(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [next(self._made).tolist() for _ in texts]


class Theirs:
    """The peers over `size` chunks."""

    def __init__(self) -> None:
        self._documents: list[Document] = []
        self._words: Any = None
        self._hybrid: Any = None
        self._model: Any = None

    def open_words(self, size: int) -> dict[str, Any]:
        """Make BM25Retriever, which lives in memory alone."""
        self._documents = [
            Document(text, metadata={"document_id": str(made.document_of(n))})
            for n, text in enumerate(made.texts(size))
        ]
        self._words = BM25Retriever.from_documents(self._documents, k=6)
        return {}

    def open_meaning(self, size: int, model: str, folder: str) -> dict[str, Any]:
        """Open Chroma, made the first time, and the ensemble of both."""
        self._open_model(model)
        embeddings = MadeUpVectors(self._model, size)
        ready = Path(folder) / "ready"
        store = Chroma("chunks", embeddings, persist_directory=folder)
        if not ready.exists():
            for start in range(0, size, BATCH):
                store.add_documents(self._documents[start : start + BATCH])
            ready.touch()
        meaning = store.as_retriever(search_kwargs={"k": 6})
        self._hybrid = EnsembleRetriever(retrievers=[self._words, meaning], weights=[0.5, 0.5])
        return {}

    def words(self, questions: list[str]) -> list[float]:
        """Ask BM25Retriever."""
        return timed(self._words.invoke, questions)

    def add(self, times: int) -> list[float]:
        """Add a hundred chunks: there is no way but to make it again."""
        more = [Document(text) for text in made.texts(100)]
        return timed(lambda _: BM25Retriever.from_documents([*self._documents, *more], k=6), range(times))

    def cold(self, times: int, question: str) -> list[float]:
        """Open and ask: it is made again from the texts."""
        return timed(
            lambda _: BM25Retriever.from_documents(self._documents, k=6).invoke(question), range(times)
        )

    def hybrid(self, questions: list[str]) -> list[float]:
        """Ask EnsembleRetriever, the question's embedding included."""
        return timed(self._hybrid.invoke, questions)

    def memory(self) -> float:
        """Return the memory held, in MB."""
        return resident_mb()

    def ingest(self, model: str, chunks: str) -> dict[str, float]:
        """Make Chroma and BM25Retriever of chunks."""
        self._open_model(model)
        lines = Path(chunks).read_text(encoding="utf-8").splitlines()
        documents = [Document(json.loads(line)) for line in lines]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            began = time.perf_counter()
            Chroma.from_documents(documents, self._model, persist_directory=folder)
            BM25Retriever.from_documents(documents)
            seconds = time.perf_counter() - began
        return {"chunks": len(documents), "seconds": seconds}

    def _open_model(self, model: str) -> None:
        if self._model is None:
            self._model = HuggingFaceEmbeddings(
                model_name=model, encode_kwargs={"normalize_embeddings": True}
            )
            self._model.embed_query("warm")


if __name__ == "__main__":
    theirs = Theirs()
    serve({name: getattr(theirs, name) for name in dir(theirs) if not name.startswith("_")})
