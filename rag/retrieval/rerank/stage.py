"""The second stage of a search: what was found is put in a better order, and told of as it happens."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document

from rag.jobs import Cancel
from rag.models.model_wrappers import Sent
from rag.retrieval.rerank.base import Reranker
from rag.retrieval.rerank.llm import LLMReranker


@dataclass(frozen=True)
class Reranking:
    """An event: so many passages are being put in a better order, which may take seconds."""

    passages: int


@dataclass(frozen=True)
class Reordered:
    """An event: they are, and what is to be said of it in the trace, in sentences; often nothing."""

    note: str


def reranked(
    reranker: Reranker, question: str, found: Sequence[Document], cancelled: Cancel, sent: list[Sent]
) -> Generator[Reranking | Reordered, None, list[Document]]:
    """Yield the stage's events and return the documents; raises Cancelled. Requests are noted in `sent`."""
    yield Reranking(len(found))
    noting = reranker.noting(sent) if isinstance(reranker, LLMReranker) else reranker
    result = noting.rerank(found, question, cancelled=cancelled)
    yield Reordered(result.note)
    return result.documents
