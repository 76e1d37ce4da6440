"""Conversion of stored chunks for indexes and retrievers."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from langchain_core.documents import Document

from storage.records import ChunkRecord


def index_text(chunk: ChunkRecord) -> str:
    """Return the text that is indexed for a chunk: document name, heading path, text."""
    return "\n".join(part for part in (PurePath(chunk.document).stem, chunk.heading, chunk.text) if part)


def to_document(chunk: ChunkRecord, **metadata: Any) -> Document:
    """Return a chunk as a LangChain document; see rag/passage.py."""
    return Document(
        id=chunk.id,
        page_content=chunk.text,
        metadata={
            "document_id": chunk.document_id,
            "document": chunk.document,
            "sha256": chunk.sha256,
            "page": chunk.page,
            "heading": chunk.heading,
            "start": chunk.start,
            "end": chunk.end,
            **metadata,
        },
    )


def to_label(id_: str, document_id: str, name: str) -> Document:
    """Return a chunk's document without its text: only which document it belongs to."""
    return Document(id=id_, page_content="", metadata={"document_id": document_id, "document": name})


def same_text_pairs(
    chunks: Sequence[ChunkRecord], others: Sequence[ChunkRecord]
) -> list[tuple[ChunkRecord, str]]:
    """Pair chunks with the id of another chunk of the same indexed text."""
    by_words = {index_text(chunk): chunk.id for chunk in others}
    words = [(chunk, index_text(chunk)) for chunk in chunks]
    return [(chunk, by_words[text]) for chunk, text in words if text in by_words]
