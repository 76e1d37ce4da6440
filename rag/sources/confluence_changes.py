"""What changed in a wiki, by its search: the query that asks for it, and what is made of the results."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from rag.jobs import Cancel
from rag.sources.confluence_api import ConfluenceApi
from rag.sources.confluence_records import Content, Results
from rag.sources.confluence_wiki import Scope

OVERLAP = timedelta(hours=26)
"""The search knows minutes, in the time zone of whoever asks, of which it does not tell; those are up to 14
hours from UTC. It also comes to know of a change some time after it. So changes are asked for that are long
known: a listing passes over the versions that were taken."""
_TOGETHER = 50  # pages in one query
_SEARCH = "/rest/api/content/search"


def changed_pages(api: ConfluenceApi, scope: Scope, since: datetime, cancelled: Cancel) -> Iterator[Content]:
    """Yield the pages of a scope that changed since a time, and some that did not."""
    query = f"type = page and {within(scope)} and {changed_since(since)}"
    yield from _found(api, query, "version", cancelled)


def changed_files(api: ConfluenceApi, scope: Scope, since: datetime, cancelled: Cancel) -> Iterator[Content]:
    """Yield the attached files that changed since a time and are attached to a page of the scope."""
    spaces = _listed([space.key for space in scope.around])
    query = f"type = attachment and space in ({spaces}) and {changed_since(since)}"
    files = list(_found(api, query, "version,container", cancelled))
    holders = sorted({file.container.id for file in files if file.container is not None})
    wanted = {
        page.id
        for start in range(0, len(holders), _TOGETHER)
        for page in _found(api, _these(holders[start : start + _TOGETHER], scope), "version", cancelled)
    }
    yield from (file for file in files if file.container is not None and file.container.id in wanted)


def within(scope: Scope) -> str:
    """Return the part of a query that asks for the pages of a scope."""
    parts = []
    if scope.spaces:
        parts.append(f"space in ({_listed([space.key for space in scope.spaces])})")
    if scope.roots:
        ids = ", ".join(root.id for root in scope.roots)
        parts += [f"ancestor in ({ids})", f"id in ({ids})"]
    where = f"({' or '.join(parts)})"
    return f"{where} and label in ({_listed(sorted(scope.labels))})" if scope.labels else where


def changed_since(since: datetime) -> str:
    """Return the part of a query that asks for changes since a time, whatever its time zone.

    >>> changed_since(datetime(2026, 3, 2, 9, 30, tzinfo=UTC))
    'lastmodified >= "2026-03-01 07:30"'
    """
    return f'lastmodified >= "{(since.astimezone(UTC) - OVERLAP):%Y-%m-%d %H:%M}"'


def _these(ids: Sequence[str], scope: Scope) -> str:
    return f"type = page and id in ({', '.join(ids)}) and {within(scope)}"


def _listed(values: Sequence[str]) -> str:
    quoted = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return ", ".join(f'"{value}"' for value in quoted)


def _found(api: ConfluenceApi, query: str, expand: str, cancelled: Cancel) -> Iterator[Content]:
    asked = {"cql": query, "expand": expand}
    for content in api.listed(Results[Content], _SEARCH, asked, cancelled):
        if content.status == "current":
            yield content
