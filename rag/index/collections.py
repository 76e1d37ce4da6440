"""Chroma's clients and collections: how one is opened, how hard it is searched, what its errors say."""

import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag.errors import IndexUnusable
from rag.index.relevance import Space

# recall@10 against brute force, 50,000 made vectors of 384 numbers that vary in 128 directions, over 200
# questions: .967 with Chroma's own (100, 16, 100), .989 with ef_search 100 on this graph, .996 with 150,
# .998 with 200. A question takes half as long again with 150 as with 100.
GRAPH = {"ef_construction": 200, "max_neighbors": 32}
EF_SEARCH = 100


def open_client(directory: Path | str | None) -> Any:
    """Return a Chroma client over a directory, or in memory; it reports to nobody."""
    import chromadb
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    if directory is None:
        return chromadb.EphemeralClient(settings=settings)
    try:
        return chromadb.PersistentClient(str(directory), settings=settings)
    except BaseException:
        _forget(str(directory))
        raise


def open_both(directory: Path | str | None, client: Any, name: str, space: Space) -> tuple[Any, Any]:
    """Return a client, the one given if there is one, and the collection; close what was opened in vain."""
    opened = client or open_client(directory)
    try:
        return opened, open_collection(opened, name, space)
    except BaseException:
        if client is None:
            opened.close()
        raise


def open_collection(client: Any, name: str, space: Space) -> Any:
    """Return the collection of this name, made where there is none; one that exists keeps its space."""
    collection = _collection(client, name, space)
    if collection.configuration_json["hnsw"]["ef_search"] != EF_SEARCH:  # by an earlier version
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Chroma warns of any collection that does not embed by itself
            collection.modify(configuration={"hnsw": {"ef_search": EF_SEARCH}})
    return collection


def _collection(client: Any, name: str, space: Space) -> Any:
    """Return the collection, made only where there is none.

    Chroma's get_or_create of one that exists begins to write, and gives that up behind its caller's back:
    what is written next may find the database locked.
    """
    from chromadb.errors import NotFoundError

    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        graph = {"space": space, **GRAPH, "ef_search": EF_SEARCH}
        return client.get_or_create_collection(name, embedding_function=None, configuration={"hnsw": graph})


@contextmanager
def speaking(name: str, done: str) -> Iterator[None]:
    """Make what goes wrong in Chroma an IndexUnusable: the index of this name could not be `done`."""
    from chromadb.errors import ChromaError

    try:
        yield
    except (ChromaError, sqlite3.Error, OSError) as error:
        raise IndexUnusable(f"The vector index {name} could not be {done}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return what an error of Chroma's means; of a full disk, what to do."""
    said = str(error)
    full = "disk is full" in said or "No space left" in said
    return "there is no space left on its disk. Free some, then try again." if full else said


def _forget(directory: str) -> None:
    """Let a directory be opened again: Chroma would hand out once more what it failed to start."""
    from chromadb.api.shared_system_client import SharedSystemClient

    if directory not in SharedSystemClient._identifier_to_refcount:  # else others have it open, and it works
        SharedSystemClient._identifier_to_system.pop(directory, None)
