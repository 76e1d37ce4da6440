"""Passages to be put in order, as a search gives them."""

from langchain_core.documents import Document

from rag.models.llm import LLM
from rag.models.protocol import LLMSettings


def found(*texts: str) -> list[Document]:
    """Return documents with ids "1", "2", ..., as a search by words found them."""
    return [
        Document(
            text,
            id=str(rank),
            metadata={
                "document": "a.txt",
                "page": rank,
                "score": 1 / rank,
                "found_by": {"bm25": {"rank": rank, "score": 1 / rank, "normalised": 1 / rank}},
            },
        )
        for rank, text in enumerate(texts, start=1)
    ]


def ids(documents: object) -> list[str]:
    return [document.id for document in documents]


def model(url: str, context_tokens: int = 4096) -> LLM:
    return LLM(LLMSettings(url, "fake", "k", timeout=30, idle_timeout=30, context_tokens=context_tokens))
