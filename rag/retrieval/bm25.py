"""BM25 as a LangChain retriever, over an index on disk or in memory."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, model_validator

from rag.errors import RetrievalError
from rag.i18n import N_
from rag.index.bm25 import TantivyIndex
from rag.index.lexical import Entry, LexicalIndex
from rag.index.vector_index import Candidates, Hydrate, with_score
from rag.text.tokenize import find, tokens


def default_preprocessing_func(text: str) -> list[str]:
    """Return the tokens that texts and questions have without a `preprocess_func`: those of the app.

    >>> default_preprocessing_func("The cats of 東京都")
    ['cat', '東京', '京都']
    """
    return tokens(text)


class BM25Retriever(BaseRetriever):
    """Retriever of the `k` documents that share the rarest words with a question, best first.

    `hydrate` gives the documents of ids; `document_ids` limits the search to their chunks. Metadata have the
    raw BM25 "score". `from_texts` and `from_documents` keep their documents in memory, and can be added to.

    With `bm25_params` (k1, b, epsilon), which need the package rank-bm25, or with a `vectorizer` made by its
    BM25Okapi over the tokens of `docs`, the search is LangChain's: every document has a score, and none can
    be added.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    index: LexicalIndex | None = None
    hydrate: Hydrate
    k: int = 4
    document_ids: Collection[str] | None = None
    vectorizer: Any = None
    preprocess_func: Callable[[str], Sequence[str]] = default_preprocessing_func

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        metadatas: Iterable[dict[str, Any]] | None = None,
        ids: Iterable[str] | None = None,
        bm25_params: Mapping[str, Any] | None = None,
        preprocess_func: Callable[[str], Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> "BM25Retriever":
        """Make a retriever over texts, in memory; `preprocess_func` turns a text into its tokens."""
        documents = _documents(texts, metadatas, ids)
        return cls.from_documents(
            documents, bm25_params=bm25_params, preprocess_func=preprocess_func, **kwargs
        )

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        *,
        bm25_params: Mapping[str, Any] | None = None,
        preprocess_func: Callable[[str], Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> "BM25Retriever":
        """Make a retriever over documents, in memory; a document without an id is given one."""
        given = {} if preprocess_func is None else {"preprocess_func": preprocess_func}
        if bm25_params is not None:
            docs = list(documents)
            split = preprocess_func or default_preprocessing_func
            vectorizer = _okapi([split(document.page_content) for document in docs], bm25_params)
            return cls(vectorizer=vectorizer, hydrate=_kept(docs), **given, **kwargs)
        index = TantivyIndex(preprocess_func=preprocess_func, analysers=find())
        retriever = cls(index=index, hydrate=DocumentStore(), **given, **kwargs)
        retriever.add_documents(documents)
        return retriever

    @model_validator(mode="before")
    @classmethod
    def _take_docs(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Keep `docs` by their ids, for a vectorizer in their order."""
        if "docs" not in values:
            return values
        rest = {name: value for name, value in values.items() if name != "docs"}
        return {**rest, "hydrate": _kept(values["docs"])}

    @model_validator(mode="after")
    def _check_engine(self) -> "BM25Retriever":
        if (self.index is None) == (self.vectorizer is None):
            raise ValueError(
                "A BM25Retriever needs an index, or else a vectorizer over its docs. Make it by from_texts "
                "or from_documents, which make their index."
            )
        return self

    @property
    def docs(self) -> list[Document]:
        """The documents in memory; raises RetrievalError where they are kept elsewhere."""
        return list(self._store().values())

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
        store, index = self._store(), self._own_index()
        added = [(document.id or uuid4().hex, document) for document in documents]
        store.update(added)
        index.add(
            Entry(id_, str(document.metadata.get("document_id", "")), document.page_content)
            for id_, document in added
        )
        return [id_ for id_, _ in added]

    def delete(self, ids: Sequence[str] | None = None) -> None:
        """Remove documents, all of them without `ids`; raises RetrievalError as `add_documents`."""
        store, index = self._store(), self._own_index()
        gone = list(store) if ids is None else ids
        index.delete(gone)
        for id_ in gone:
            store.pop(id_, None)

    def _store(self) -> "DocumentStore":
        if not isinstance(self.hydrate, DocumentStore):
            raise RetrievalError(
                N_("This retriever searches documents that are kept elsewhere. Add and delete them there.")
            )
        return self.hydrate

    def _own_index(self) -> LexicalIndex:
        if self.index is None:
            raise RetrievalError(
                N_(
                    "A BM25Retriever with a vectorizer or bm25_params has all documents from the start. Make "
                    "another one over all of them, or one without."
                )
            )
        return self.index

    def _vectorized(self, query: str, count: int) -> list[Document]:
        """Return the best documents by the vectorizer, which takes them in their order."""
        asked, docs = list(self.preprocess_func(query)), self.docs
        best = self.vectorizer.get_top_n(asked, range(len(docs)), n=count)
        scores = self.vectorizer.get_scores(asked)
        return [with_score(docs[place], float(scores[place])) for place in best]

    def candidates(self, query: str) -> Candidates:
        """Return the ids of the best `k` with their BM25 scores; no document is read."""
        index = self._own_index()
        return Candidates(index.search(query, self.k, self.document_ids), partial(index.scores, query))

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
    ) -> list[Document]:
        count = self.k if k is None else k
        if self.vectorizer is not None:
            return self._vectorized(query, count)
        hits = self._own_index().search(query, count, self.document_ids)
        documents = self.hydrate([id_ for id_, _ in hits])
        return [with_score(documents[id_], score, id_) for id_, score in hits if id_ in documents]


def _okapi(corpus: Sequence[Sequence[str]], params: Mapping[str, Any]) -> Any:
    """Return rank-bm25's index over tokens; its parameters are k1, b and epsilon."""
    try:
        from rank_bm25 import BM25Okapi
    except ImportError as error:
        raise ValueError(
            "bm25_params need the package rank-bm25: pip install rank-bm25. Or leave them out, for an index "
            "with k1 = 1.2 and b = 0.75."
        ) from error
    return BM25Okapi(corpus, **params)


class DocumentStore(dict[str, Document]):
    """Documents by id in memory, callable as a retriever's `hydrate`."""

    def __call__(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the documents with these ids; absent ids are left out."""
        return {id_: self[id_] for id_ in ids if id_ in self}


def _kept(docs: Iterable[Document]) -> DocumentStore:
    """Return documents under their ids, in their order; those without an id get one."""
    return DocumentStore((document.id or uuid4().hex, document) for document in docs)


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
