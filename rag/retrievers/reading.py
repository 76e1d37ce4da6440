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
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        candidates = self.retriever.invoke(query, config={"callbacks": run_manager.get_child()})
        count = self.k if k is None else k
        return list(islice(self._read(candidates, count), count))

    def _read(self, candidates: Sequence[Document], count: int) -> Iterator[Document]:
        for start in range(0, len(candidates), max(1, count)):
            batch = candidates[start : start + count]
            texts = self.hydrate([str(document.id) for document in batch])
            yield from (_read(found, texts[str(found.id)]) for found in batch if found.id in texts)


def _read(found: Document, text: Document) -> Document:
    metadata = {**text.metadata, **found.metadata}
    return Document(id=found.id, page_content=text.page_content, metadata=metadata)
