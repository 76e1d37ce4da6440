"""Confluence source: pages in storage format, and the files attached to them."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from pydantic import AwareDatetime

from rag.connectors.base import Checkpoint, Credentials, Item, Listed, Source, SyncState, Unreadable, digest
from rag.connectors.confluence.client import (
    CloudWiki,
    ConfluenceApi,
    ConfluenceSettings,
    Content,
    Results,
    ServerWiki,
    SyncScope,
    Wiki,
)
from rag.connectors.http import MAX_BYTES, Fetcher
from rag.connectors.rest import FIRST_WAIT
from rag.errors import ItemFailed, ItemRefused
from rag.i18n import N_
from rag.ingest.parsers.confluence import pack
from rag.jobs import Cancel, never

# The search takes times in the account's time zone, which is unknown and up to 14 hours from UTC, and it
# learns of changes late. Changes that are listed twice do no harm: known versions are skipped.
OVERLAP = timedelta(hours=26)
_TOGETHER = 50  # pages in one query
_SEARCH_PATH = "/rest/api/content/search"


def changed_files(api: ConfluenceApi, scope: SyncScope, since: datetime) -> Iterator[Content]:
    """Yield the attached files that changed since a time and are attached to a page of the scope."""
    spaces = _quoted([space.key for space in scope.around])
    query = f"type = attachment and space in ({spaces}) and {changed_since(since)}"
    files = list(_search(api, query, "version,container"))
    holders = sorted({file.container_id for file in files if file.container_id})
    for start in range(0, len(holders), _TOGETHER):
        ids = ", ".join(holders[start : start + _TOGETHER])
        query = f"type = page and id in ({ids}) and {within(scope)}"
        wanted = {page.id for page in _search(api, query, "version")}
        yield from (file for file in files if file.container_id in wanted)


def within(scope: SyncScope) -> str:
    """Return the condition of a query for the pages of a scope."""
    parts = []
    if scope.spaces:
        parts.append(f"space in ({_quoted([space.key for space in scope.spaces])})")
    if scope.roots:
        ids = ", ".join(root.id for root in scope.roots)
        parts += [f"ancestor in ({ids})", f"id in ({ids})"]
    where = f"({' or '.join(parts)})"
    return f"{where} and label in ({_quoted(sorted(scope.labels))})" if scope.labels else where


def changed_since(since: datetime) -> str:
    """Return the condition of a query for changes since a time, in any time zone.

    >>> changed_since(datetime(2026, 3, 2, 9, 30, tzinfo=UTC))
    'lastmodified >= "2026-03-01 07:30"'
    """
    return f'lastmodified >= "{(since.astimezone(UTC) - OVERLAP):%Y-%m-%d %H:%M}"'


def _quoted(values: Sequence[str]) -> str:
    quoted = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return ", ".join(f'"{value}"' for value in quoted)


def _search(api: ConfluenceApi, query: str, expand: str) -> Iterator[Content]:
    parameters = {"cql": query, "expand": expand}
    for content in api.read_list(Results[Content], _SEARCH_PATH, parameters):
        if content.status == "current":
            yield content


CHEAP = 25  # requests; a whole listing that takes no more is made every time
_FILE_PREFIX = "att"  # of the ids of attached files
_FILES_SUFFIX = "/attachments"  # after a page's id: its files that cannot be listed


class _ConfluenceState(SyncState):
    """State with the time up to which changes are known, and the requests that a whole listing takes."""

    since: AwareDatetime
    requests: int


class ConfluenceSource(Source):
    """Wiki in the Cloud or on a server.

    The search finds changes, but no pages that were deleted, moved or labelled: so all pages are listed once
    a day, and every time where that takes few requests.
    """

    def __init__(
        self,
        settings: ConfluenceSettings,
        credentials: Credentials,
        fetcher: Fetcher,
        *,
        max_bytes: int = MAX_BYTES,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        cheap: int = CHEAP,
        first_wait: float = FIRST_WAIT,
    ):
        self._settings, self._max_bytes, self._now, self._cheap = settings, max_bytes, now, cheap
        self._of = digest(settings, "email", "credential")
        self._api = ConfluenceApi(settings, credentials, fetcher, first_wait=first_wait)
        self._wiki: Wiki = CloudWiki(self._api) if settings.cloud else ServerWiki(self._api)

    def test(self) -> str:
        """Sign in, find the spaces and pages of the settings, and return their names."""
        name = self._api.signed_in()
        scope = self._wiki.scope(self._settings)
        names = [space.name or space.key for space in scope.spaces]
        names += [N_("“{title}” with all below it", title=root.title) for root in scope.roots]
        who = N_("Signed in as {name}.", name=name) if name else N_("The token is accepted.")
        return N_("{who} Can be read: {names}.", who=who, names=", ".join(names))

    def list(self, cursor: str | None = None, cancelled: Cancel = never) -> Iterator[Listed]:
        """Yield all items, or the changes."""
        self._api.cancelled, began = cancelled, self._now()
        state = _ConfluenceState.parse(cursor, self._of)
        self._api.signed_in()
        scope = self._wiki.scope(self._settings)
        if state is None or state.requests <= self._cheap or state.is_old(began):
            yield from self._all(scope, began)
        else:
            yield from self._changed(scope, state.since)
            yield Checkpoint(state.model_copy(update={"since": began}).model_dump_json(), whole=False)

    def fetch(self, item: Item, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield a page in storage format, packed under its title, or an attached file."""
        self._api.cancelled = cancelled
        if item.id.startswith(_FILE_PREFIX):
            yield from self._wiki.file(item.id)
            return
        page = self._wiki.page(item.id)
        if page.storage is None or page.status != "current":
            raise ItemRefused(N_("{title} is no longer among the wiki's pages.", title=page.title))
        yield pack(page.title, page.storage, self._api.mentioned(page.storage))

    def _all(self, scope: SyncScope, began: datetime) -> Iterator[Listed]:
        """Yield every page and its files; the pages are listed first, before any can move."""
        before = self._api.requests
        pages = {page.id: page for page in self._wiki.pages(scope)}
        requests = self._api.requests - before + (len(pages) if self._settings.attachments else 0)
        unlisted = []
        for page in pages.values():
            yield page.page_item(self._api.web)
            for listed in self._files(page):
                if isinstance(listed, Unreadable) and listed.id == page.id + _FILES_SUFFIX:
                    unlisted.append(listed)
                yield listed
        again = any(not files.lasting for files in unlisted)  # then the next listing is whole, too
        state = _ConfluenceState(since=began, whole=began, requests=0 if again else requests, of=self._of)
        yield Checkpoint(state.model_dump_json(), whole=not unlisted)

    def _files(self, page: Content) -> Iterator[Item | Unreadable]:
        if not self._settings.attachments:
            return
        try:
            for file in self._wiki.attachments(page.id):
                if file.holds_text:
                    yield file.file_item(self._api.web, self._max_bytes)
        except ItemFailed as error:
            lasting = isinstance(error, ItemRefused)
            yield Unreadable(
                page.id + _FILES_SUFFIX,
                N_("Files attached to {title}", title=page.title),
                str(error),
                lasting,
            )

    def _changed(self, scope: SyncScope, since: datetime) -> Iterator[Item | Unreadable]:
        query = f"type = page and {within(scope)} and {changed_since(since)}"
        for page in list(_search(self._api, query, "version")):
            yield page.page_item(self._api.web)
        if self._settings.attachments:
            for file in list(changed_files(self._api, scope, since)):
                if file.holds_text:
                    yield file.file_item(self._api.web, self._max_bytes)
