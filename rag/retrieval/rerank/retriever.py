"""Two-stage retrieval as one LangChain retriever: many passages found, the best of them by a reranker."""

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever


class RerankingRetriever(BaseRetriever):
    """Asks any `retriever` for `fetch_k` documents, where it takes a number, and reranks them to `k`."""

    retriever: BaseRetriever
    reranker: BaseDocumentCompressor
    fetch_k: int = 20
    k: int = 4

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        callbacks = run_manager.get_child()
        found = self.retriever.invoke(query, config={"callbacks": callbacks}, k=self.fetch_k)
        return list(self.reranker.compress_documents(found, query, callbacks))[: self.k if k is None else k]
