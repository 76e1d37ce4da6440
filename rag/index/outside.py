"""Anyone's LangChain vector store, asked only for what every store can do, its failures in our words."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from uuid import NAMESPACE_URL, uuid5

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from rag.errors import FootnoteError, StoreFailed
from rag.index.handed import HandedEmbeddings
from rag.index.rows import Floats
from rag.index.spec import StoreSpec
from rag.text.control_characters import clean

log = logging.getLogger(__name__)

CHUNK = "chunk_id"
BATCH = 500  # entries asked for at once
DETAIL = 200  # characters of a store's own words
QUESTION = "question"
"""What is asked of a store that takes no vector; it is handed the vector in place of this word's."""


class OutsideStore:
    """The store that `spec` names, opened for one owner. Safe to share between threads.

    An entry's id is a UUID made of the chunk's, which every store takes; the chunk's own is in its metadata.
    Raises StoreFailed where the store fails, in whatever way.
    """

    def __init__(self, spec: StoreSpec, embeddings: Embeddings, owner: str):
        self.name = spec.name
        self._spec, self._owner = spec, owner
        self._embeddings = HandedEmbeddings(embeddings)
        self._lock = RLock()  # many a store in memory cannot be read while it is written
        with self._speaking("opened"):
            self._store: VectorStore | None = spec.open(self._embeddings, owner)

    def put(self, ids: Sequence[str], texts: Sequence[str], vectors: Floats) -> None:
        """Add chunks with their vectors [n, dimension], in place of what has these ids."""
        if not ids:
            return
        entries = (list(texts), [{CHUNK: id_} for id_ in ids], [_entry_id(id_) for id_ in ids])
        with self._speaking("changed"), self._embeddings.passages(texts, vectors.tolist()):
            if self._store is None:
                self._store = self._spec.make(*entries, self._embeddings, self._owner)
                return
            self._delete(self._store, sorted(self._found(self._store, ids) or ()))
            contents, metadatas, entry_ids = entries
            self._store.add_texts(contents, metadatas, ids=entry_ids)

    def remove(self, ids: Sequence[str]) -> None:
        """Remove chunks; unknown ones are no error, though many a store takes them for one."""
        with self._speaking("changed"):
            if self._store is not None:
                held = self._found(self._store, ids)
                self._delete(self._store, list(ids) if held is None else sorted(held))

    def held(self, ids: Sequence[str]) -> set[str] | None:
        """Return those of the chunks that the store holds; None where it cannot be asked by id."""
        with self._speaking("read"):
            return set() if self._store is None else self._found(self._store, ids)

    def near(self, vector: Sequence[float], count: int) -> list[str]:
        """Return about `count` chunks near a vector, anyone's, each once."""
        with self._speaking("searched"):
            if self._store is None:
                return []
            try:
                found = self._store.similarity_search_by_vector(list(vector), k=count)
            except NotImplementedError:
                with self._embeddings.question(vector):
                    found = self._store.similarity_search(QUESTION, k=count)
        return list(dict.fromkeys(_chunk_ids(found)))

    def close(self) -> None:
        """Let go of the store or its client, where it can be told to."""
        with self._speaking("closed"):
            parts = [self._store, *(getattr(self._store, name, None) for name in ("client", "_client"))]
            closes = (getattr(part, "close", None) for part in parts)
            close = next((close for close in closes if callable(close)), None)
            if close is not None:
                close()

    def _found(self, store: VectorStore, ids: Sequence[str]) -> set[str] | None:
        found: set[str] = set()
        try:
            for start in range(0, len(ids), BATCH):
                entry_ids = [_entry_id(id_) for id_ in ids[start : start + BATCH]]
                found.update(_chunk_ids(store.get_by_ids(entry_ids)))
        except NotImplementedError:
            return None
        return found

    def _delete(self, store: VectorStore, ids: Sequence[str]) -> None:
        if not ids:
            return
        try:
            store.delete([_entry_id(id_) for id_ in ids])
        except NotImplementedError:
            log.warning("%s cannot delete: %d entries stay in it, and are not shown.", self.name, len(ids))

    @contextmanager
    def _speaking(self, done: str) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except FootnoteError:
            raise
        except Exception as error:  # anyone's store may fail in any way
            said = self._spec.without_arguments(clean(str(error)))[:DETAIL]
            raise StoreFailed(
                f"The vector store {self.name} could not be {done} ({type(error).__name__}: {said}). "
                "Mend it, or name another in FOOTNOTE_VECTOR_STORE."
            ) from error


def _entry_id(chunk_id: str) -> str:
    return str(uuid5(NAMESPACE_URL, chunk_id))


def _chunk_ids(documents: Sequence[Document]) -> Iterator[str]:
    """Yield the chunks of entries; those that are not ours have none."""
    return (str(found.metadata[CHUNK]) for found in documents if CHUNK in found.metadata)
