"""DeepLake as a vector store: langchain-deeplake 0.1.0, made to run beside LangChain 1.

It imports a module that LangChain 1 moved into langchain-classic, without naming either as a dependency, and
its search by vector gives metadata that are no mapping. Name it as `rag.index.deeplake:DeepLake`.
"""

import importlib
import sys
from collections.abc import Sequence
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np
from langchain_core.documents import Document

from rag.index.vector_index import mmr

SPARE = 20  # hits asked for beyond those wanted: the index still names rows that were deleted
_MOVED = ("retrievers", "retrievers.self_query", "retrievers.self_query.base")


def _import_store() -> Any:
    """Import langchain-deeplake, with the moved modules under their old names while it is imported."""
    moved = {f"langchain.{name}": importlib.import_module(f"langchain_classic.{name}") for name in _MOVED}
    earlier = {name: sys.modules.get(name) for name in ("langchain", *moved)}
    parent = ModuleType("langchain")
    parent.__dict__["retrievers"] = moved["langchain.retrievers"]
    sys.modules.update({"langchain": parent, **moved})
    try:
        return importlib.import_module("langchain_deeplake").DeeplakeVectorStore
    finally:
        for name, module in earlier.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


_Store: Any = _import_store()


class DeepLake(_Store):  # type: ignore[misc]
    """DeepLake vector store in a folder, in the cloud, or in memory (`dataset_path`).

    `similarity_search_by_vector` takes `distance_metric` ("cos" or "l2"), `filter`, `tql` and `return_score`.
    """

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangChain's name
        **kwargs: Any,
    ) -> list[tuple[Document, float]]:
        """Return the documents nearest a question, with their scores."""
        vector = self.embedding_function.embed_query(query)
        return [(document, score) for document, score, _ in self._nearest(vector, k, filter=filter, **kwargs)]

    def similarity_search_by_vector(
        self, embedding: Sequence[float], k: int = 4, *, return_score: bool = False, **kwargs: Any
    ) -> Any:
        """Return the documents nearest a vector, with `return_score` as (document, score)."""
        scored = [(document, score) for document, score, _ in self._nearest(embedding, k, **kwargs)]
        return scored if return_score else [document for document, _ in scored]

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: Sequence[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """Return `k` of the `fetch_k` nearest documents that fit the question and differ."""
        found = self._nearest(embedding, max(k, fetch_k), **kwargs)
        chosen = mmr(embedding, [vector for *_, vector in found], k=k, lambda_mult=lambda_mult)
        return [found[place][0] for place in chosen]

    def _nearest(
        self, embedding: Sequence[float], k: int, **kwargs: Any
    ) -> list[tuple[Document, float, Sequence[float]]]:
        """Return the nearest documents with their scores and vectors."""
        if not len(self):
            return []
        from langchain_deeplake.query import search

        names = ["documents", "metadata", "ids", "embeddings"]
        tql = search(
            dataset=self.dataset,
            query_embedding=np.asarray(embedding, np.float32),
            distance_metric=str(kwargs.get("distance_metric", "cos")).lower(),
            k=k + SPARE,
            tql_string=kwargs.get("tql") or "",
            tql_filter=kwargs.get("filter"),
            embedding_tensor="embeddings",
            return_tensors=names,
        )
        found = self.dataset.query(tql)
        rows = zip(*(found[name][:] for name in (*names, "score")), strict=True)
        nearest = islice(rows, k)
        return [(_document(text, of, id_), float(score), vector) for text, of, id_, vector, score in nearest]

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with these ids; unknown ids are left out."""
        if not ids or not len(self):
            return []
        return list(super().get_by_ids(list(ids)))


def _document(text: str, metadata: Any, id_: str) -> Document:
    return Document(id=id_, page_content=text, metadata=metadata.to_dict(convert_numpy_to_list=True))
