"""Chunks by meaning: a LangChain vector store on Chroma, embedded or a server."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from numpy.typing import ArrayLike

from rag.errors import IndexUnusable
from rag.retrievers.mmr import mmr
from rag.stores.relevance import RELEVANCE, Space

# recall@10 against brute force over 50,000 vectors of 384 numbers; Chroma's own are 100, 16 and 100.
HNSW = {"ef_construction": 200, "max_neighbors": 32, "ef_search": 300}
BATCH = 5000  # entries: Chroma takes 5,461 at once, its SQLite 32,766 names in a query

Hydrate = Callable[[Sequence[str]], Mapping[str, Document]]
Filter = Mapping[str, Any]


class ChromaVectorStore(VectorStore):
    """LangChain's whole vector store interface on a Chroma collection.

    With `hydrate`, which gives the documents of ids, Chroma keeps no text: it adds faster, takes a
    third of the disk, and hits whose document is gone are left out. Without a `directory` or
    `client` everything is in memory. A collection that exists keeps the space it was made with.
    A `filter` is Chroma's where, of several keys too: ``{"document_id": {"$in": [...]}, "page": 3}``.
    Raises IndexUnusable for what Chroma cannot do.
    """

    def __init__(
        self,
        embeddings: Embeddings,
        *,
        collection_name: str | None = None,
        directory: Path | str | None = None,
        client: Any = None,
        space: Space = "cosine",
        hydrate: Hydrate | None = None,
    ):
        self._embeddings = embeddings
        self._hydrate = hydrate
        self._name = collection_name or f"memory-{uuid4().hex}"
        with self._speaking("opened"):
            self._client = client or open_client(directory)
            self._collection = self._client.get_or_create_collection(
                self._name, embedding_function=None, configuration={"hnsw": {"space": space, **HNSW}}
            )
            self.space: Space = self._collection.configuration_json["hnsw"]["space"]

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
        """Make a store of texts; `kwargs` are the constructor's."""
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    def drop(cls, directory: Path | str, collection_name: str) -> None:
        """Delete a collection and all in it; one that is not there is no error."""
        from chromadb.errors import NotFoundError

        try:
            open_client(directory).delete_collection(collection_name)
        except NotFoundError:
            return

    @property
    def embeddings(self) -> Embeddings:
        """The embedding model."""
        return self._embeddings

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,  # noqa: ARG002 - of other stores; LangChain passes them on
    ) -> list[str]:
        """Embed and add texts, replacing those with the same id; return the ids, made where not given."""
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
        """Add what is embedded already, float [n, dimension], replacing entries with the same id."""
        rows = cast("Sequence[Any]", vectors)
        check_lengths(ids=ids, vectors=rows, metadatas=metadatas)
        self._upsert(ids, rows, metadatas, None)

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:  # noqa: ARG002
        """Remove entries, all of them without `ids`; unknown ids are no error."""
        with self._speaking("changed"):
            for batch in _batches(sorted(self.ids()) if ids is None else ids):
                self._collection.delete(ids=list(batch))
        return True

    def ids(self) -> set[str]:
        """Return the id of every entry."""
        with self._speaking("read"):
            return set(self._collection.get(include=[])["ids"])

    def present(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that have a vector."""
        with self._speaking("read"):
            batches = [self._collection.get(ids=list(batch), include=[])["ids"] for batch in _batches(ids)]
        return {id_ for batch in batches for id_ in batch}

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents in the order of their ids; those that are not there are left out."""
        found = self._documents(ids)
        return [found[id_] for id_ in ids if id_ in found]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the `k` documents closest to a question; `filter` and `where_document` limit the search."""
        return self.similarity_search_by_vector(self._vector(query), k, **kwargs)

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their distance: less is closer."""
        return self.similarity_search_by_vector_with_score(self._vector(query), k, **kwargs)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """Return the `k` documents closest to a vector."""
        found = self.similarity_search_by_vector_with_score(embedding, k, **kwargs)
        return [document for document, _ in found]

    def similarity_search_by_vector_with_score(
        self, embedding: Sequence[float], k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their distance from a vector."""
        hits = self._query(embedding, k, **kwargs)
        documents = self._documents([id_ for id_, _ in hits])
        return [(documents[id_], distance) for id_, distance in hits if id_ in documents]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return `k` of the `fetch_k` closest documents that fit the question and differ; see `mmr`."""
        vector = self._vector(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """As `max_marginal_relevance_search`, from a vector; the documents' vectors come from the index."""
        hits = [id_ for id_, _ in self._query(embedding, max(k, fetch_k), **kwargs)]
        vectors = self._vectors(hits)
        there = [id_ for id_ in hits if id_ in vectors]
        chosen = mmr(embedding, [vectors[id_] for id_ in there], k=k, lambda_mult=lambda_mult)
        return self.get_by_ids([there[position] for position in chosen])

    def close(self) -> None:
        """Let go of Chroma's files and threads."""
        self._client.close()

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return RELEVANCE[self.space]

    def _vector(self, query: str) -> list[float]:
        return self._embeddings.embed_query(query)

    def _query(
        self,
        vector: Sequence[float],
        k: int,
        filter: Filter | None = None,  # noqa: A002 - LangChain's name
        where_document: Filter | None = None,
    ) -> list[tuple[str, float]]:
        """Return at most `k` ids with their distance, closest first."""
        if k < 1 or _excludes_all(filter):
            return []
        with self._speaking("searched"):
            found = self._collection.query(
                query_embeddings=[list(vector)],
                n_results=k,
                where=to_where(filter),
                where_document=where_document,
                include=["distances"],
            )
        return list(zip(found["ids"][0], map(float, found["distances"][0]), strict=True))

    def _documents(self, ids: Sequence[str]) -> Mapping[str, Document]:
        if self._hydrate is not None:
            return self._hydrate(ids)
        documents: dict[str, Document] = {}
        with self._speaking("read"):
            for batch in _batches(ids):
                found = self._collection.get(ids=list(batch), include=["documents", "metadatas"])
                for id_, text, metadata in zip(
                    found["ids"], found["documents"], found["metadatas"], strict=True
                ):
                    documents[id_] = Document(id=id_, page_content=text or "", metadata=metadata or {})
        return documents

    def _vectors(self, ids: Sequence[str]) -> dict[str, Any]:
        if not ids:
            return {}
        with self._speaking("read"):
            found = self._collection.get(ids=list(ids), include=["embeddings"])
        return dict(zip(found["ids"], found["embeddings"], strict=True))

    def _upsert(
        self,
        ids: Sequence[str],
        vectors: Sequence[Any],
        metadatas: Sequence[Mapping[str, Any]],
        texts: Sequence[str] | None,
    ) -> None:
        """Write in batches; of equal ids the last counts."""
        rows = list({id_: row for row, id_ in enumerate(ids)}.values())
        kept = texts if self._hydrate is None else None
        with self._speaking("changed"):
            for batch in _batches(rows):
                self._collection.upsert(
                    ids=[ids[row] for row in batch],
                    embeddings=[vectors[row] for row in batch],
                    metadatas=[dict(metadatas[row]) or None for row in batch],
                    documents=[kept[row] for row in batch] if kept is not None else None,
                )

    @contextmanager
    def _speaking(self, done: str) -> Iterator[None]:
        from chromadb.errors import ChromaError

        try:
            yield
        except (ChromaError, sqlite3.Error, OSError) as error:
            raise IndexUnusable(f"The vector index {self._name} could not be {done}: {error}") from error


def open_client(directory: Path | str | None) -> Any:
    """Return a Chroma client over a directory, or in memory; it reports to nobody."""
    import chromadb
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    if directory is None:
        return chromadb.EphemeralClient(settings=settings)
    return chromadb.PersistentClient(str(directory), settings=settings)


def to_where(asked: Filter | None) -> dict[str, Any] | None:
    """Return Chroma's where, which takes one key at a time.

    >>> to_where({"page": 3, "document_id": "d"})
    {'$and': [{'page': 3}, {'document_id': 'd'}]}
    """
    if not asked:
        return None
    if len(asked) == 1:
        return dict(asked)
    return {"$and": [{key: value} for key, value in asked.items()]}


def check_lengths(**columns: Sequence[Any]) -> None:
    """Raise ValueError, naming the columns, when they are not equally long."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"Different lengths: {', '.join(f'{n} {name}' for name, n in lengths.items())}.")


def _excludes_all(where: Filter | None) -> bool:
    """Whether a filter asks for one of no values, which Chroma refuses."""
    return any(isinstance(value, Mapping) and value.get("$in") == [] for value in (where or {}).values())


def _batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
