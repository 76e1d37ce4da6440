"""What a vector store's filter asks for, told from its form alone."""

from collections.abc import Iterable, Mapping
from typing import Any

Filter = Mapping[str, Any]

DOCUMENT = "document_id"


def to_where(asked: Filter | None) -> dict[str, Any] | None:
    """Return Chroma's where, which takes one key at a time.

    >>> to_where({"page": 3, "document_id": "d"})
    {'$and': [{'page': 3}, {'document_id': 'd'}]}
    """
    if not asked:
        return None
    if len(asked) == 1:
        return dict(asked)
    return {"$and": [{key: value} for key, value in asked.items()]}


def excludes_all(asked: Filter | None) -> bool:
    """Whether a filter asks for one of no values, which Chroma refuses."""
    return any(isinstance(value, Mapping) and value.get("$in") == [] for value in (asked or {}).values())


def chosen_documents(asked: Filter | None) -> list[str] | None:
    """Return the documents that a filter asks for and nothing else, or None.

    >>> chosen_documents({"document_id": {"$in": ["a", "b"]}})
    ['a', 'b']
    >>> chosen_documents({"document_id": "a", "page": 3})
    """
    if asked is None or set(asked) != {DOCUMENT}:
        return None
    value = asked[DOCUMENT]
    if isinstance(value, Mapping):
        value = value["$in"] if set(value) == {"$in"} else None
    documents = [value] if isinstance(value, str) else value
    if not isinstance(documents, list | tuple | set | frozenset):
        return None
    return list(documents) if all(isinstance(document, str) for document in documents) else None


def documents_of(metadatas: Iterable[Mapping[str, Any] | None]) -> list[str | None]:
    """Return the documents that entries come from, by their metadata; None where it does not say.

    >>> documents_of([{"document_id": "a", "page": 3}, {}, None])
    ['a', None, None]
    """
    named = [(metadata or {}).get(DOCUMENT) for metadata in metadatas]
    return [name if isinstance(name, str) else None for name in named]
