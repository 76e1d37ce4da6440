"""Vector index on Chroma: a LangChain vector store."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self, cast
from uuid import uuid4

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from numpy.typing import ArrayLike

from rag.errors import EmbeddingError, IndexUnusable, LimitReached
from rag.i18n import N_
from rag.index.chroma_probe import CrashGuard
from rag.index.exact import Entries, Floats, Space, VectorFile, batches, check_lengths, evenly
from rag.index.vector_index import (
    EQUAL,
    MISSED,
    SAMPLE,
    Filter,
    Hydrate,
    VectorIndex,
    chosen_documents,
    documents_of,
    excludes_all,
    to_where,
)

# recall@10 against brute force, 50,000 made vectors of 384 numbers that vary in 128 directions, over 200
# questions: .967 with Chroma's own (100, 16, 100), .989 with ef_search 100 on this graph, .996 with 150,
# .998 with 200. A question takes half as long again with 150 as with 100.
GRAPH = {"ef_construction": 200, "max_neighbors": 32, "ef_search": 100}

# Write buffer: a model on a server may give hundreds of vectors a second. Writing 32 of them together takes
# 1.0 ms of the processor each, 128 together .8 ms, and half of the time: the disk is waited for less often.
AT_ONCE = 128  # entries
PATIENCE = 1.0  # seconds; embedded entries are lost with the process until they are written


def open_client(directory: Path | str | None) -> Any:
    """Return a Chroma client over a directory, or in memory, with telemetry off."""
    import chromadb
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    if directory is None:
        return chromadb.EphemeralClient(settings=settings)
    try:
        return chromadb.PersistentClient(str(directory), settings=settings)
    except BaseException:
        _forget_failed_client(str(directory))
        raise


def open_collection(client: Any, name: str, space: Space) -> Any:
    """Return the collection of this name, created only where there is none; an existing one keeps its space.

    Chroma's get_or_create of an existing collection starts a write in the background and abandons it, so
    that the next write may find the database locked.
    """
    from chromadb.errors import NotFoundError

    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        graph = {"space": space, **GRAPH}
        return client.get_or_create_collection(name, embedding_function=None, configuration={"hnsw": graph})


def _forget_failed_client(directory: str) -> None:
    """Drop a client that failed to start, which Chroma would hand out again for this directory."""
    from chromadb.api.shared_system_client import SharedSystemClient

    if directory not in SharedSystemClient._identifier_to_refcount:  # otherwise others have it open
        SharedSystemClient._identifier_to_system.pop(directory, None)


class ExactCopy:
    """Copy of an index's vectors in a file, in step with the index at every search.

    Ids are announced, then the index changes, then the copy; what failed in between is copied again.
    """

    def __init__(self, index: "ChromaVectorStore", rows: VectorFile):
        self._index = index
        self._rows = rows
        self._changing = RLock()
        self._in_step = False
        self._being_changed = False
        self.searched = False  # the first search loads the graph, which takes seconds where it is large

    @property
    def at_rest(self) -> bool:
        """True where nothing is changing the index, and nothing needs repair."""
        return self._in_step and not self._being_changed

    @contextmanager
    def changing(self, ids: Sequence[str]) -> Iterator[VectorFile]:
        """Yield the file for a change: first of the index, then of the file."""
        with self._changing:
            self._being_changed = True
            try:
                self._rows.announce(ids)
                yield self._rows
            except BaseException:
                self._in_step = False
                raise
            finally:
                self._being_changed = False

    @property
    def rows(self) -> VectorFile:
        """The file, in step with the index."""
        self.repair()
        return self._rows

    def repair(self) -> None:
        """Copy entries in doubt again; without any it takes no time."""
        if self._in_step:
            return
        with self._changing:
            doubtful = self._rows.announced()
            if self._rows.count() != self._index.count():
                doubtful |= self._rows.ids() ^ self._index.ids()
            for batch in batches(sorted(doubtful)):
                self._rows.delete(batch)
                there = self._index.entries(batch)
                if there.ids:
                    self._rows.put(*there)
            self._in_step = True

    def close(self) -> None:
        """Release the files."""
        self._rows.close()


class ChromaVectorStore(VectorIndex):
    """LangChain vector store on a Chroma collection, in memory without a `directory`.

    With `hydrate`, which gives the documents of ids, Chroma keeps no text: it adds faster, takes a third of
    the disk, and hits whose document is gone are left out. A `filter` is Chroma's `where`, of one key or
    several: ``{"document_id": {"$in": [...]}, "page": 3}``; one of documents only is searched exactly, from
    the vector file in `directory`. Relevance scores are LangChain's; `clamp_relevance` cuts them to 0 to 1,
    where vectors of length 1 have their cosine in every space. A `guard` opens damaged files in a child
    process first. Raises IndexUnusable.
    """

    def __init__(
        self,
        embeddings: Embeddings,
        *,
        collection_name: str | None = None,
        directory: Path | str | None = None,
        space: Space = "cosine",
        hydrate: Hydrate | None = None,
        guard: CrashGuard | None = None,
        clamp_relevance: bool = False,
    ):
        self._embeddings = embeddings
        self.clamp_relevance = clamp_relevance
        self._hydrate = hydrate
        self._guard = guard
        self._name = collection_name or f"memory-{uuid4().hex}"
        with self._errors("opened"):
            if guard:
                guard.opening()
            self._client = open_client(directory)
            try:
                self._collection = open_collection(self._client, self._name, space)
            except BaseException:
                self._client.close()
                raise
            self.space: Space = self._collection.configuration_json["hnsw"]["space"]
            self._exact: ExactCopy | None = None
            if directory is not None:
                self._exact = ExactCopy(self, VectorFile(Path(directory), self._name))

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> "ChromaVectorStore":
        """Create a store of texts; `kwargs` are the constructor's."""
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @property
    def at_hand(self) -> bool:
        """True where graph and exact copy are in memory and questions are embedded in this process."""
        at_rest = self._exact is not None and self._exact.searched and self._exact.at_rest
        return at_rest and getattr(self._embeddings, "local", False)

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,  # noqa: ARG002 - LangChain passes them on
    ) -> list[str]:
        """Embed and add texts, replacing those with the same id; return the ids, created where not given."""
        contents = list(texts)
        names = [id_ or uuid4().hex for id_ in ids or [None] * len(contents)]
        given = metadatas or [{} for _ in contents]
        check_lengths(texts=contents, metadatas=given, ids=names)
        if contents:
            self._upsert(names, self._embeddings.embed_documents(contents), given, contents)
        return names

    def add_vectors(
        self, ids: Sequence[str], vectors: ArrayLike, metadatas: Sequence[Mapping[str, Any]]
    ) -> None:
        """Add vectors, float [n, dimension], replacing entries with the same id."""
        rows = cast("Sequence[Any]", vectors)
        check_lengths(ids=ids, vectors=rows, metadatas=metadatas)
        self._upsert(ids, rows, metadatas, None)

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:  # noqa: ARG002
        """Remove entries, all of them without `ids`; unknown ids are no error."""
        for batch in batches(sorted(self.ids()) if ids is None else ids):
            with self._changing(batch) as rows:
                self._collection.delete(ids=list(batch))
                if rows:
                    rows.delete(batch)
        return True

    def ids(self) -> set[str]:
        """Return the id of every entry."""
        with self._errors("read"):
            return set(self._collection.get(include=[])["ids"])

    def count(self) -> int:
        """Return how many entries there are."""
        with self._errors("read"):
            return int(self._collection.count())

    def entries(self, ids: Sequence[str]) -> Entries:
        """Return those of the ids that are there, with their vectors."""
        if not ids:
            return Entries([], [], [])
        with self._errors("read"):
            found = self._collection.get(ids=list(ids), include=["embeddings", "metadatas"])
        return Entries(found["ids"], documents_of(found["metadatas"]), found["embeddings"])

    def check(self) -> None:
        """Raise IndexUnusable where a sample of the entries differs from its copies, or is not found.

        One that is not among its own nearest counts as found where all of those equal it.
        """
        entries = self.entries(self.sample())
        copies = self.vectors_of(entries.ids)
        changed = missed = 0
        for id_, vector in zip(entries.ids, np.asarray(entries.vectors), strict=True):
            changed += id_ in copies and not np.allclose(vector, copies[id_], atol=EQUAL)
            missed += not self.finds(id_, vector.tolist())
        if changed or missed > MISSED * len(entries.ids):
            raise IndexUnusable(
                N_("The vector index {name} is damaged: it does not find what is in it.", name=self._name)
            )

    def sample(self) -> Sequence[str]:
        """Return the ids of SAMPLE entries, evenly spread; the copy lists all in less time and memory."""
        if self._exact is None:
            return super().sample()
        with self._errors("read"):
            return evenly(sorted(self._exact.rows.ids()), SAMPLE)

    def present(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that have a vector."""
        with self._errors("read"):
            found = [self._collection.get(ids=list(batch), include=[])["ids"] for batch in batches(ids)]
        return {id_ for batch in found for id_ in batch}

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents in the order of their ids; those that are not there are left out."""
        found = self._documents(ids)
        return [found[id_] for id_ in ids if id_ in found]

    def similarity_search_by_vector_with_score(
        self, embedding: Sequence[float], k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their distance from a vector."""
        hits = self.nearest(embedding, k, **kwargs)
        documents = self._documents([id_ for id_, _ in hits])
        return [(documents[id_], distance) for id_, distance in hits if id_ in documents]

    def close(self) -> None:
        """Release files and threads."""
        self._client.close()
        if self._exact:
            self._exact.close()
        if self._guard:
            self._guard.closed()

    def nearest(  # type: ignore[override]
        self,
        vector: Sequence[float],
        k: int,
        *,
        filter: Filter | None = None,  # noqa: A002 - LangChain's name
        where_document: Filter | None = None,
    ) -> list[tuple[str, float]]:
        """Return at most `k` ids with their distance, closest first."""
        if k < 1 or excludes_all(filter):
            return []
        with self._errors("searched"):
            documents = None if where_document else chosen_documents(filter)
            if self._exact and documents is not None:
                nearest = self._exact.rows.nearest(vector, k, documents, self.space)
                if nearest is not None:
                    return nearest
            found = self._collection.query(
                query_embeddings=[list(vector)],
                n_results=k,
                where=to_where(filter),
                where_document=where_document,
                include=["distances"],
            )
            if self._exact and not self._exact.searched:  # in step after a search that is slow anyway
                self._exact.searched = True
                self._exact.repair()
        return list(zip(found["ids"][0], map(float, found["distances"][0]), strict=True))

    def _documents(self, ids: Sequence[str]) -> Mapping[str, Document]:
        if self._hydrate is not None:
            return self._hydrate(ids)
        documents: dict[str, Document] = {}
        for batch in batches(ids):
            with self._errors("read"):
                found = self._collection.get(ids=list(batch), include=["documents", "metadatas"])
            for id_, text, metadata in zip(found["ids"], found["documents"], found["metadatas"], strict=True):
                documents[id_] = Document(id=id_, page_content=text or "", metadata=metadata or {})
        return documents

    def rows_of(self, ids: Sequence[str]) -> tuple[Sequence[str], Floats]:
        """Return those of the ids that are there, in order, and their vectors [n, dimension]."""
        if self._exact:
            with self._errors("read"):
                return self._exact.rows.vectors(ids)
        found = self.entries(ids)
        at = {id_: row for row, id_ in enumerate(found.ids)}
        there = [id_ for id_ in ids if id_ in at]
        return there, np.asarray(found.vectors, np.float32)[[at[id_] for id_ in there]]

    def _upsert(
        self,
        ids: Sequence[str],
        vectors: Sequence[Any],
        metadatas: Sequence[Mapping[str, Any]],
        texts: Sequence[str] | None,
    ) -> None:
        """Write in batches; of equal ids the last one wins."""
        for batch in batches(list({id_: row for row, id_ in enumerate(ids)}.values())):
            names, numbers = [ids[row] for row in batch], [vectors[row] for row in batch]
            origins = [dict(metadatas[row]) or None for row in batch]
            with self._changing(names) as rows:
                self._collection.upsert(
                    ids=names,
                    embeddings=numbers,
                    metadatas=origins,
                    documents=[texts[row] for row in batch] if texts and self._hydrate is None else None,
                )
                if rows:
                    rows.put(names, documents_of(origins), numbers)

    @contextmanager
    def _changing(self, ids: Sequence[str]) -> Iterator[VectorFile | None]:
        with self._errors("changed"):
            if self._guard:
                self._guard.changing()
            with self._exact.changing(ids) if self._exact else nullcontext() as rows:
                yield rows

    @contextmanager
    def _errors(self, done: str) -> Iterator[None]:
        """Raise Chroma's errors as IndexUnusable: the index could not be `done`."""
        from chromadb.errors import ChromaError

        try:
            yield
        except (ChromaError, sqlite3.Error, OSError) as error:
            said = str(error)
            if "disk is full" in said or "No space left" in said:
                said = "there is no space left on its disk. Free some, then try again."
            raise IndexUnusable(
                N_(
                    "The vector index {name} could not be {done}: {said}",
                    name=self._name,
                    done=done,
                    said=said,
                )
            ) from error


class WriteBuffer:
    """Entries for an index, written AT_ONCE together, or after PATIENCE seconds.

    As a context it writes the rest at its end, also after an EmbeddingError or where a quota ends, but not
    after a cancel.
    """

    def __init__(self, index: VectorIndex, clock: Callable[[], float] = time.monotonic):
        self._index, self._clock, self._written = index, clock, clock()
        self._ids: list[str] = []
        self._vectors: list[Floats] = []
        self._origins: list[Mapping[str, Any]] = []

    def add(self, ids: Sequence[str], vectors: Floats, origins: Sequence[Mapping[str, Any]]) -> None:
        """Add entries with their vectors [n, dimension]."""
        self._ids += ids
        self._vectors.append(vectors)
        self._origins += origins
        if len(self._ids) >= AT_ONCE or self._clock() - self._written >= PATIENCE:
            self.write()

    def write(self) -> None:
        """Write the buffered entries."""
        if self._ids:
            self._index.add_vectors(self._ids, np.concatenate(self._vectors), self._origins)
            self._ids, self._vectors, self._origins = [], [], []
        self._written = self._clock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or issubclass(kind, EmbeddingError | LimitReached):
            self.write()
