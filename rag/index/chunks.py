"""A stored chunk in the forms that the indexes and the retrievers take."""

from collections.abc import Sequence
from pathlib import PurePath

from langchain_core.documents import Document

from rag.index.bm25 import Entry
from storage.records import ChunkRecord


def index_text(chunk: ChunkRecord) -> str:
    """Return what is indexed for a chunk: its document's name and heading path, then its text."""
    return "\n".join(part for part in (PurePath(chunk.document).stem, chunk.heading, chunk.text) if part)


def to_entry(chunk: ChunkRecord) -> Entry:
    """Return the chunk as the word index takes it."""
    return Entry(id=chunk.id, document_id=chunk.document_id, text=index_text(chunk))


def to_document(chunk: ChunkRecord) -> Document:
    """Return the chunk as retrievers pass it on; see rag/passage.py."""
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
        },
    )


def to_label(id_: str, document_id: str, name: str) -> Document:
    """Return a chunk that is not read yet: whose it is, without its text."""
    return Document(id=id_, page_content="", metadata={"document_id": document_id, "document": name})


def twins(chunks: Sequence[ChunkRecord], others: Sequence[ChunkRecord]) -> list[tuple[ChunkRecord, str]]:
    """Pair chunks with the id of another that is indexed by the same words."""
    by_words = {index_text(chunk): chunk.id for chunk in others}
    words = [(chunk, index_text(chunk)) for chunk in chunks]
    return [(chunk, by_words[text]) for chunk, text in words if text in by_words]
