"""Built-in stores, "chroma" and "lance": open the words and the vectors of an index in a folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from rag.index.bm25 import TantivyIndex
from rag.index.chroma import ChromaVectorStore
from rag.index.chroma_probe import CrashGuard
from rag.index.external import CHROMA, LANCE
from rag.index.lexical import LexicalIndex
from rag.index.vector_index import Hydrate, VectorIndex

ENGINES = {CHROMA: ("tantivy", "chromadb"), LANCE: ("lancedb", "lancedb")}
"""Packages that have the words and the vectors of a store."""


def open_words(store: str, directory: Path, **options: Any) -> LexicalIndex:
    """Open the words in a folder; `options` are the constructor's. Tantivy has them, except with LanceDB."""
    if store != LANCE:
        return TantivyIndex(directory, **options)
    from rag.index.lance import LanceWordIndex

    return LanceWordIndex(directory, **options)


def open_vectors(
    store: str, embedder: Embeddings, directory: Path, name: str, hydrate: Hydrate
) -> VectorIndex:
    """Open the vectors in a folder; `hydrate` gives their documents. Raises IndexUnusable."""
    if store == LANCE:
        from rag.index.lance import LanceVectorIndex

        return LanceVectorIndex(embedder, directory, hydrate)
    guard = CrashGuard(directory, name)
    return ChromaVectorStore(
        embedder,
        directory=directory,
        collection_name=name,
        hydrate=hydrate,
        guard=guard,
        clamp_relevance=True,
    )


def named_only(ids: Sequence[str]) -> dict[str, Document]:
    """Return documents that have only ids; the ledger holds the rest."""
    return {id_: Document(id=id_, page_content="") for id_ in ids}
