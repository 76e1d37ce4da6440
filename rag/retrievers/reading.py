"""Documents read when they are chosen: what ordering needs of a hundred candidates is not their text."""

from collections.abc import Iterator, Sequence
from itertools import islice

from langchain_core.documents import Document

from rag.stores.index import Hydrate


def read(ids: Sequence[str], count: int, hydrate: Hydrate) -> Iterator[Document]:
    """Yield the documents of the first `count` ids that are there; what is gone makes way for the next."""
    return islice(_read(ids, max(1, count), hydrate), count)


def _read(ids: Sequence[str], batch: int, hydrate: Hydrate) -> Iterator[Document]:
    for start in range(0, len(ids), batch):
        some = ids[start : start + batch]
        documents = hydrate(some)
        yield from (documents[id_] for id_ in some if id_ in documents)
