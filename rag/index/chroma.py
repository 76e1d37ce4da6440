"""Chunks by meaning: a LangChain vector store on Chroma, embedded or a server."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from numpy.typing import ArrayLike

from rag.errors import IndexUnusable
from rag.index.chroma_probe import Guard
from rag.index.collections import open_both, open_client, speaking
from rag.index.columns import batches, check_lengths
from rag.index.exact import Entries, ExactCopy
from rag.index.filters import Filter, chosen_documents, documents_of, excludes_all, to_where
from rag.index.mmr import mmr
from rag.index.relevance import RELEVANCE, Space
from rag.index.rows import Floats, VectorRows
from rag.index.sound import sample, sound
from rag.index.vector_index import Hydrate, Ranked, VectorIndex


class ChromaVectorStore(VectorIndex):
    """LangChain's whole vector store interface on a Chroma collection.

    With `hydrate`, which gives the documents of ids, Chroma keeps no text: it adds faster, takes a
    third of the disk, and hits whose document is gone are left out. Without a `directory` or
    `client` everything is in memory. A collection that exists keeps the space it was made with.
    A `filter` is Chroma's where, of several keys too: ``{"document_id": {"$in": [...]}, "page": 3}``;
    one of documents alone is answered exactly, from vectors kept by document beside a `directory`.
    With a `guard` files that were damaged are opened in a child process first, see rag/index/chroma_probe.py.
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
        guard: Guard | None = None,
    ):
        self._embeddings = embeddings
        self._hydrate = hydrate
        self._guard = guard
        self._name = collection_name or f"memory-{uuid4().hex}"
        with self._speaking("opened"):
            if guard:
                guard.opening()
            self._client, self._collection = open_both(directory, client, self._name, space)
            self.space: Space = self._collection.configuration_json["hnsw"]["space"]
            self._exact: ExactCopy | None = None  # a server's collection may be changed by others
            if directory is not None and client is None:
                self._exact = ExactCopy(self, VectorRows(Path(directory), self._name))

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

        VectorRows.remove(Path(directory), collection_name)
        with suppress(NotFoundError):
            open_client(directory).delete_collection(collection_name)

    @property
    def at_hand(self) -> bool:
        """Whether its graph is in memory, its copy in step, and questions are embedded here, too."""
        at_rest = self._exact is not None and self._exact.searched and self._exact.at_rest
        return at_rest and getattr(self._embeddings, "local", False)

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
        for batch in batches(sorted(self.ids()) if ids is None else ids):
            with self._changing(batch) as rows:
                self._collection.delete(ids=list(batch))
                if rows:
                    rows.delete(batch)
        return True

    def ids(self) -> set[str]:
        """Return the id of every entry."""
        with self._speaking("read"):
            return set(self._collection.get(include=[])["ids"])

    def count(self) -> int:
        """Return how many entries there are."""
        with self._speaking("read"):
            return int(self._collection.count())

    def entries(self, ids: Sequence[str]) -> Entries:
        """Return those of the ids that are there, with their vectors."""
        if not ids:
            return Entries([], [], [])
        with self._speaking("read"):
            found = self._collection.get(ids=list(ids), include=["embeddings", "metadatas"])
        return Entries(found["ids"], documents_of(found["metadatas"]), found["embeddings"])

    def check(self) -> None:
        """Raise IndexUnusable where a sample of the entries is not what it was, or is not found any more."""
        entries = self.entries(sample(list(self.ids())))
        if not sound(entries, self.vectors_of(entries.ids), self._query):
            raise IndexUnusable(f"The vector index {self._name} is damaged: it does not find what is in it.")

    def present(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that have a vector."""
        with self._speaking("read"):
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
        hits = self._query(embedding, k, **kwargs)
        documents = self._documents([id_ for id_, _ in hits])
        return [(documents[id_], distance) for id_, distance in hits if id_ in documents]

    def ranked(self, vector: Sequence[float], k: int, chosen: Filter | None = None) -> Ranked:
        """Return at most `k` ids with their relevance, best first, without reading their documents."""
        hits = self._query(vector, k, chosen)
        return [(id_, RELEVANCE[self.space](distance)) for id_, distance in hits]

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """As `max_marginal_relevance_search`, from a vector; the documents' vectors come from the index."""
        hits = [id_ for id_, _ in self._query(embedding, max(k, fetch_k), **kwargs)]
        there, vectors = self.rows_of(hits)
        chosen = mmr(embedding, vectors, k=k, lambda_mult=lambda_mult)
        return self.get_by_ids([there[position] for position in chosen])

    def close(self) -> None:
        """Let go of files and threads."""
        self._client.close()
        if self._exact:
            self._exact.close()
        if self._guard:
            self._guard.closed()

    def _query(
        self,
        vector: Sequence[float],
        k: int,
        filter: Filter | None = None,  # noqa: A002 - LangChain's name
        where_document: Filter | None = None,
    ) -> list[tuple[str, float]]:
        """Return at most `k` ids with their distance, closest first."""
        if k < 1 or excludes_all(filter):
            return []
        with self._speaking("searched"):
            nearest = None if where_document else self._nearest(vector, k, filter)
            if nearest is not None:
                return nearest
            found = self._collection.query(
                query_embeddings=[list(vector)],
                n_results=k,
                where=to_where(filter),
                where_document=where_document,
                include=["distances"],
            )
            self._first_searched()
        return list(zip(found["ids"][0], map(float, found["distances"][0]), strict=True))

    def _first_searched(self) -> None:
        """Bring the copy in step after the first search, which need not be quick; later ones rest on it."""
        if self._exact and not self._exact.searched:
            self._exact.searched = True
            self._exact.mend()

    def _nearest(
        self, vector: Sequence[float], k: int, chosen: Filter | None
    ) -> list[tuple[str, float]] | None:
        """Return the same exactly where a filter names documents alone; None where the index must tell."""
        documents = chosen_documents(chosen)
        if self._exact is None or documents is None:
            return None
        return self._exact.nearest(vector, k, documents, self.space)

    def _documents(self, ids: Sequence[str]) -> Mapping[str, Document]:
        if self._hydrate is not None:
            return self._hydrate(ids)
        documents: dict[str, Document] = {}
        for batch in batches(ids):
            with self._speaking("read"):
                found = self._collection.get(ids=list(batch), include=["documents", "metadatas"])
            for id_, text, metadata in zip(found["ids"], found["documents"], found["metadatas"], strict=True):
                documents[id_] = Document(id=id_, page_content=text or "", metadata=metadata or {})
        return documents

    def rows_of(self, ids: Sequence[str]) -> tuple[Sequence[str], Floats]:
        """Return those of the ids that are there, in order, and their vectors [n, dimension]."""
        if self._exact:
            with self._speaking("read"):
                return self._exact.vectors(ids)
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
        """Write in batches; of equal ids the last counts."""
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
    def _changing(self, ids: Sequence[str]) -> Iterator[VectorRows | None]:
        with self._speaking("changed"):
            if self._guard:
                self._guard.changing()
            with self._exact.changing(ids) if self._exact else nullcontext() as rows:
                yield rows

    def _speaking(self, done: str) -> AbstractContextManager[None]:
        return speaking(self._name, done)
