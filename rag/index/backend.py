"""Built-in stores, "chroma", "lance" and "lance-objects": open words and vectors of an index in a folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from rag.index.bm25 import TantivyIndex
from rag.index.chroma import ChromaVectorStore
from rag.index.chroma_probe import CrashGuard
from rag.index.external import CHROMA, LANCE, LANCE_OBJECTS
from rag.index.lexical import LexicalIndex
from rag.index.vector_index import Hydrate, VectorIndex

if TYPE_CHECKING:
    from rag.index.lance_objects import TableObjects

ENGINES = {
    CHROMA: ("tantivy", "chromadb"),
    LANCE: ("lancedb", "lancedb"),
    LANCE_OBJECTS: ("lancedb", "lancedb"),
}
"""Packages that have the words and the vectors of a store."""


def open_words(
    store: str, directory: Path, *, tables: "TableObjects | None" = None, **options: Any
) -> LexicalIndex:
    """Open the words in a folder; `options` are the constructor's. Tantivy has them, except with LanceDB.

    With `tables` LanceDB's are in an object store.
    """
    if store not in (LANCE, LANCE_OBJECTS):
        return TantivyIndex(directory, **options)
    from rag.index.lance import LanceWordIndex

    return LanceWordIndex(directory, objects=tables, **options)


def open_vectors(
    store: str,
    embedder: Embeddings,
    directory: Path,
    name: str,
    hydrate: Hydrate,
    tables: "TableObjects | None" = None,
) -> VectorIndex:
    """Open the vectors in a folder; `hydrate` gives their documents. Raises IndexUnusable."""
    if store in (LANCE, LANCE_OBJECTS):
        from rag.index.lance import LanceVectorIndex

        return LanceVectorIndex(embedder, directory, hydrate, objects=tables)
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
