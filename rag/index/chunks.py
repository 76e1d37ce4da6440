"""Conversion of stored chunks for indexes and retrievers."""

from collections.abc import Iterable
from hashlib import blake2b
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


def same_text_ids(chunks: Iterable[ChunkRecord], others: Iterable[ChunkRecord]) -> list[tuple[str, str]]:
    """Pair the ids of chunks with the id of another chunk of the same indexed text."""
    by_text = {text_key(chunk): chunk.id for chunk in others}
    keys = ((chunk.id, text_key(chunk)) for chunk in chunks)
    return [(id_, by_text[key]) for id_, key in keys if key in by_text]


def text_key(chunk: ChunkRecord) -> bytes:
    """Return a hash of a chunk's indexed text: 16 bytes, where the texts of a document take megabytes."""
    return blake2b(index_text(chunk).encode("utf-8", "surrogatepass"), digest_size=16).digest()
