"""Documents read when they are chosen: what ordering needs of a hundred candidates is not their text."""

from collections.abc import Iterator, Sequence
from itertools import islice

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.stores.index import Hydrate


class ReadLast(BaseRetriever):
    """Reads the best `k` of what `retriever` found, by `hydrate`; what is gone makes way for the next.

    What the retriever says of a document, its score and who found it, is kept in the metadata.
    """

    retriever: BaseRetriever
    hydrate: Hydrate
    k: int = 4

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        candidates = self.retriever.invoke(query, config={"callbacks": run_manager.get_child()})
        return list(islice(self._read(candidates), self.k))

    def _read(self, candidates: Sequence[Document]) -> Iterator[Document]:
        for start in range(0, len(candidates), max(1, self.k)):
            batch = candidates[start : start + self.k]
            texts = self.hydrate([str(document.id) for document in batch])
            yield from (_read(found, texts[str(found.id)]) for found in batch if found.id in texts)


def _read(found: Document, text: Document) -> Document:
    metadata = {**text.metadata, **found.metadata}
    return Document(id=found.id, page_content=text.page_content, metadata=metadata)
