"""BM25 as a LangChain retriever, over a word index that lives on."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from rag.stores.lexical import Entry, LexicalIndex, TantivyIndex

Hydrate = Callable[[Sequence[str]], Mapping[str, Document]]


class BM25Retriever(BaseRetriever):
    """Finds the `k` documents that share the rarest words with a question, best first.

    `hydrate` gives the documents of ids; ids it does not know are left out. `document_ids` limits
    the search to the chunks of these documents. Each result's metadata has its raw BM25 "score".
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    index: Any  # a LexicalIndex; pydantic cannot check a protocol
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
        contents = list(texts)
        given = [{} for _ in contents] if metadatas is None else list(metadatas)
        names = [uuid4().hex for _ in contents] if ids is None else list(ids)
        documents = [
            Document(id=id_, page_content=text, metadata=metadata)
            for text, metadata, id_ in zip(contents, given, names, strict=True)
        ]
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
        by_id = {document.id or uuid4().hex: document for document in documents}
        index = TantivyIndex(preprocess_func=preprocess_func)
        index.add(
            Entry(id_, entry.metadata.get("document_id", ""), entry.page_content)
            for id_, entry in by_id.items()
        )
        return cls(index=index, hydrate=lambda wanted: {id_: by_id[id_] for id_ in wanted}, **kwargs)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
    ) -> list[Document]:
        index: LexicalIndex = self.index
        hits = index.search(query, self.k if k is None else k, self.document_ids)
        documents = self.hydrate([id_ for id_, _ in hits])
        return [scored(documents[id_], score, id_) for id_, score in hits if id_ in documents]


def scored(document: Document, score: float, id_: str | None = None) -> Document:
    """Return a copy of a document with its score in its metadata."""
    return Document(
        id=id_ or document.id,
        page_content=document.page_content,
        metadata={**document.metadata, "score": score},
    )
