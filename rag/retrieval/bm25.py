"""BM25 as a LangChain retriever, over an index on disk or in memory."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from rag.errors import RetrievalError
from rag.index.bm25 import Entry, TantivyIndex
from rag.index.vector_index import Candidates, Hydrate, with_score
from rag.text.tokenize import find


class BM25Retriever(BaseRetriever):
    """Retriever of the `k` documents that share the rarest words with a question, best first.

    `hydrate` gives the documents of ids; `document_ids` limits the search to their chunks. Metadata have the
    raw BM25 "score". `from_texts` and `from_documents` keep their documents in memory, and can be added to.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    index: TantivyIndex
    hydrate: Hydrate
    k: int = 4
    document_ids: Collection[str] | None = None

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        metadatas: Iterable[dict[str, Any]] | None = None,
        ids: Iterable[str] | None = None,
        *,
        preprocess_func: Callable[[str], Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> "BM25Retriever":
        """Make a retriever over texts, in memory; `preprocess_func` turns a text into its tokens."""
        documents = _documents(texts, metadatas, ids)
        return cls.from_documents(documents, preprocess_func=preprocess_func, **kwargs)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        *,
        preprocess_func: Callable[[str], Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> "BM25Retriever":
        """Make a retriever over documents, in memory; a document without an id is given one."""
        index = TantivyIndex(preprocess_func=preprocess_func, analysers=find())
        retriever = cls(index=index, hydrate=DocumentStore(), **kwargs)
        retriever.add_documents(documents)
        return retriever

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Iterable[dict[str, Any]] | None = None,
        ids: Iterable[str] | None = None,
    ) -> list[str]:
        """Add texts, replacing those with the same id; return the ids, made where none are given."""
        return self.add_documents(_documents(texts, metadatas, ids))

    def add_documents(self, documents: Iterable[Document]) -> list[str]:
        """Add documents, replacing those with the same id; return the ids. Raises RetrievalError."""
        store = self._store()
        added = [(document.id or uuid4().hex, document) for document in documents]
        store.update(added)
        self.index.add(
            Entry(id_, str(document.metadata.get("document_id", "")), document.page_content)
            for id_, document in added
        )
        return [id_ for id_, _ in added]

    def delete(self, ids: Sequence[str] | None = None) -> None:
        """Remove documents, all of them without `ids`; raises RetrievalError as `add_documents`."""
        store = self._store()
        gone = list(store) if ids is None else ids
        self.index.delete(gone)
        for id_ in gone:
            store.pop(id_, None)

    def _store(self) -> "DocumentStore":
        if not isinstance(self.hydrate, DocumentStore):
            raise RetrievalError(
                "This retriever searches documents that are kept elsewhere. Add and delete them there."
            )
        return self.hydrate

    def candidates(self, query: str) -> Candidates:
        """Return the ids of the best `k` with their BM25 scores; no document is read."""
        hits = self.index.search(query, self.k, self.document_ids)
        return Candidates(hits, partial(self.index.scores, query))

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
    ) -> list[Document]:
        hits = self.index.search(query, self.k if k is None else k, self.document_ids)
        documents = self.hydrate([id_ for id_, _ in hits])
        return [with_score(documents[id_], score, id_) for id_, score in hits if id_ in documents]


class DocumentStore(dict[str, Document]):
    """Documents by id in memory, callable as a retriever's `hydrate`."""

    def __call__(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the documents with these ids; absent ids are left out."""
        return {id_: self[id_] for id_ in ids if id_ in self}


def _documents(
    texts: Iterable[str], metadatas: Iterable[dict[str, Any]] | None, ids: Iterable[str] | None
) -> list[Document]:
    """Return texts as documents; raises ValueError for lists of different lengths."""
    contents = list(texts)
    given = [{} for _ in contents] if metadatas is None else list(metadatas)
    names = [uuid4().hex for _ in contents] if ids is None else list(ids)
    return [
        Document(id=id_, page_content=text, metadata=metadata)
        for text, metadata, id_ in zip(contents, given, names, strict=True)
    ]
