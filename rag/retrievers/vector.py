"""LangChain's vector store retriever, with what fusion and evidence need: the score of each document."""

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStoreRetriever

from rag.retrievers.bm25 import scored


class VectorRetriever(VectorStoreRetriever):
    """A `VectorStoreRetriever` over any store whose results tell their relevance, from 0 to 1.

    Results of "mmr" have no score: what places them is how much they differ from those before.
    """

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        **kwargs: Any,
    ) -> list[Document]:
        if self.search_type == "mmr":
            return super()._get_relevant_documents(query, run_manager=run_manager, **kwargs)
        options = self.search_kwargs | kwargs
        found = self.vectorstore.similarity_search_with_relevance_scores(query, **options)
        return [scored(document, score) for document, score in found]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **kwargs: Any,
    ) -> list[Document]:
        if self.search_type == "mmr":
            return await super()._aget_relevant_documents(query, run_manager=run_manager, **kwargs)
        options = self.search_kwargs | kwargs
        found = await self.vectorstore.asimilarity_search_with_relevance_scores(query, **options)
        return [scored(document, score) for document, score in found]
