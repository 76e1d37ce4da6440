"""Confluence's REST API: version 1 on a server, version 2 in the Cloud, and the names of people."""

import base64
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

from rag.connectors.base import Credentials
from rag.connectors.confluence.models import (
    GATEWAY,
    ConfluenceRecord,
    ConfluenceSettings,
    Content,
    Label,
    Person,
    Reference,
    Results,
    Space,
)
from rag.connectors.http import Fetched, Fetcher
from rag.connectors.rest import FIRST_WAIT, Parameters, Rest
from rag.errors import ItemFailed, ItemRefused, SourceError
from rag.jobs import Cancel

R = TypeVar("R", bound=ConfluenceRecord)

PAGE = 250
"""Things in one answer: the most that version 2 gives; where version 1 gives fewer, it says how to go on."""
_ONWARD = ("cursor", "start")


class ConfluenceApi(Rest):
    """One wiki, asked in somebody's name. `web` is its address for people."""

    def __init__(
        self,
        settings: ConfluenceSettings,
        credentials: Credentials,
        fetcher: Fetcher,
        *,
        first_wait: float = FIRST_WAIT,
    ):
        super().__init__(fetcher, settings.url, first_wait=first_wait)
        self.web, self._secret = settings.url, settings.credential
        token = credentials.get(settings.credential).get_secret_value().strip()
        if settings.cloud:
            pair = base64.b64encode(f"{settings.email}:{token}".encode()).decode("ascii")
            self._authorization = f"Basic {pair}"
        else:
            self._authorization = f"Bearer {token}"

    def read(self, record: type[R], path: str, parameters: Parameters, cancelled: Cancel) -> R:
        """Return what the wiki says at a path below its address."""
        return self.get(record, self._base + path, parameters, cancelled)

    def listed(
        self, results: type[Results[R]], path: str, parameters: Parameters, cancelled: Cancel
    ) -> Iterator[R]:
        """Yield all of a listing. A link to its next page gives the place to go on from, and never a host."""
        onward: Mapping[str, str] = {}
        seen: set[tuple[tuple[str, str], ...]] = set()
        while True:
            asked = {"limit": PAGE, **parameters, **onward}
            answer = self.read(results, path, asked, cancelled)
            self._learn(answer.links.base)
            yield from answer.results
            if not answer.links.next:
                return
            onward = {k: v for k, v in parse_qsl(urlsplit(answer.links.next).query) if k in _ONWARD}
            place = tuple(sorted(onward.items()))
            if not place or place in seen:
                raise SourceError(f"{self._host} lists the same again and again, so its list has no end.")
            seen.add(place)

    def signed_in(self, cancelled: Cancel) -> str:
        """Return the name of who asks, or nothing where it is not told; SourceError for nobody.

        A wiki that anyone may read answers an expired token as if nobody had asked, with the few pages that
        are public: all the others would seem to be gone.
        """
        try:
            person = self.read(Person, "/rest/api/user/current", {}, cancelled)
        except ItemFailed:  # a token that may read pages need not be one that may read accounts
            return ""
        if person.kind == "anonymous":
            raise self._signed_out()
        return person.display_name or person.public_name

    def file(self, path: str, cancelled: Cancel) -> Iterator[bytes]:
        """Yield a file at a path below the wiki's address; ItemFailed where that is no such path."""
        context = urlsplit(self._base).path
        below = path.removeprefix(context) if path.startswith(f"{context}/") else path
        if not below.startswith("/") or below.startswith("//"):
            raise ItemFailed(f"{self._host} does not say where the file is. Try again later.")
        yield from self.download(self._base + below, {}, cancelled)

    def _headers(self, cancelled: Cancel) -> Mapping[str, str]:
        del cancelled
        return {"Authorization": self._authorization}

    def _refused(self, answer: Fetched) -> SourceError:
        if answer.status == 401:
            return self._signed_out()
        reasons = {
            400: "did not understand what was asked of it",
            403: "does not let this account read it",
            404: "has it no longer, or does not show it to this account",
            410: "has it no longer",
        }
        if answer.status in reasons:
            return ItemRefused(f"{self._host} {reasons[answer.status]} (status {answer.status}).")
        return ItemFailed(f"{self._host} could not answer just now (status {answer.status}).")

    def _signed_out(self) -> SourceError:
        return SourceError(
            f"{self._host} does not accept the token. It may have expired, been revoked, or lack a "
            f"scope: make a new one and put it into the secret {self._secret!r}."
        )

    def _learn(self, base: str) -> None:
        """Learn the wiki's own address, which whoever goes by way of the gateway does not know."""
        if urlsplit(self._base).hostname == GATEWAY and base.startswith("https://"):
            self.web = base.rstrip("/")


_MENTION = re.compile(r'<ri:user\b[^>]*?\bri:(account-id|userkey)="([^"<>&]{1,128})"')
_PARAMETERS = {"account-id": "accountId", "userkey": "key"}
_MOST = 100  # people of one page who are asked for


class UserNames:
    """Names by the ids of accounts, each asked for once."""

    def __init__(self, api: ConfluenceApi):
        self._api = api
        self._names: dict[str, str] = {}

    def mentioned(self, storage: str, cancelled: Cancel) -> dict[str, str]:
        """Return the names of those whom a page mentions, by their ids; who is not found is left out."""
        found = dict.fromkeys((kind, id_) for kind, id_ in _MENTION.findall(storage))
        named = {id_: self._name(kind, id_, cancelled) for kind, id_ in list(found)[:_MOST]}
        return {id_: name for id_, name in named.items() if name}

    def _name(self, kind: str, id_: str, cancelled: Cancel) -> str:
        if id_ not in self._names:
            asked = {_PARAMETERS[kind]: id_}
            try:
                person = self._api.read(Person, "/rest/api/user", asked, cancelled)
                self._names[id_] = person.display_name or person.public_name
            except ItemFailed:  # an account that was closed, or one that is nobody's business
                self._names[id_] = ""
        return self._names[id_]


@dataclass(frozen=True)
class Root:
    """A page that is wanted with all that is below it."""

    id: str
    title: str
    space: Space


@dataclass(frozen=True)
class SyncScope:
    """The part of a wiki that is wanted: spaces, page trees, and of both only pages with these labels."""

    spaces: tuple[Space, ...]
    roots: tuple[Root, ...]
    labels: frozenset[str]

    @property
    def around(self) -> tuple[Space, ...]:
        """The spaces in which all of it lies, each once."""
        spaces = [*self.spaces, *(root.space for root in self.roots)]
        return tuple({space.key: space for space in spaces}.values())

    @property
    def trees(self) -> tuple[Root, ...]:
        """The trees that no wanted space holds anyway."""
        keys = {space.key for space in self.spaces}
        return tuple(root for root in self.roots if root.space.key not in keys)


class Wiki(ABC):
    """A wiki of one kind. Raises SourceError, and ItemFailed for what concerns one page or file."""

    def __init__(self, api: ConfluenceApi):
        self.api = api

    def scope(self, settings: ConfluenceSettings, cancelled: Cancel) -> SyncScope:
        """Find what is wanted; SourceError where it is not there, before its pages seem to be gone."""
        found = {space.key.lower(): space for space in self._spaces(settings.spaces, cancelled)}
        missing = [key for key in settings.spaces if key.lower() not in found]
        if missing:
            raise SourceError(
                f"There is no space {missing[0]} in this wiki that the account may read. Correct its key, "
                "or ask for access."
            )
        roots = tuple(self._found_root(page, cancelled) for page in settings.pages)
        return SyncScope(tuple(found.values()), roots, frozenset(settings.labels))

    @abstractmethod
    def pages(self, scope: SyncScope, cancelled: Cancel) -> Iterator[Content]:
        """Yield every page of a scope, as the wiki's database has it; some may come twice."""

    @abstractmethod
    def attachments(self, page_id: str, cancelled: Cancel) -> Iterator[Content]:
        """Yield the files that are attached to a page."""

    @abstractmethod
    def page(self, page_id: str, cancelled: Cancel) -> Content:
        """Return a page with its body."""

    @abstractmethod
    def file(self, file_id: str, cancelled: Cancel) -> Iterator[bytes]:
        """Yield an attached file in pieces."""

    @abstractmethod
    def _spaces(self, keys: tuple[str, ...], cancelled: Cancel) -> Iterator[Space]:
        """Yield those of the spaces that can be seen."""

    @abstractmethod
    def _root(self, page_id: str, cancelled: Cancel) -> Root:
        """Return the page that a tree begins with."""

    def _found_root(self, page_id: str, cancelled: Cancel) -> Root:
        try:
            return self._root(page_id, cancelled)
        except ItemFailed as error:
            raise SourceError(
                f"Page {page_id} cannot be read: {error} Take it out of the page trees, or ask for access."
            ) from error


_SERVER_API = "/rest/api"


class ServerWiki(Wiki):
    """Asked with a personal access token."""

    def pages(self, scope: SyncScope, cancelled: Cancel) -> Iterator[Content]:
        """Yield the wanted pages of each space; which tree a page is in is told by its ancestors."""
        whole = {space.key for space in scope.spaces}
        roots = {root.id for root in scope.roots}
        expanded = [
            "version",
            *(["ancestors"] if roots else []),
            *(["metadata.labels"] if scope.labels else []),
        ]
        for space in scope.around:
            for page in self._of_space(space, ",".join(expanded), cancelled):
                above = {page.id, *(ancestor.id for ancestor in page.ancestors)}
                labelled = not scope.labels or bool(page.labels & scope.labels)
                if labelled and (space.key in whole or above & roots):
                    yield page

    def attachments(self, page_id: str, cancelled: Cancel) -> Iterator[Content]:
        """Yield the files that are attached to a page."""
        path = f"{_SERVER_API}/content/{page_id}/child/attachment"
        yield from self.api.listed(Results[Content], path, {"expand": "version"}, cancelled)

    def page(self, page_id: str, cancelled: Cancel) -> Content:
        """Return a page with its body."""
        asked = {"expand": "version,body.storage"}
        return self.api.read(Content, f"{_SERVER_API}/content/{page_id}", asked, cancelled)

    def file(self, file_id: str, cancelled: Cancel) -> Iterator[bytes]:
        """Yield an attached file, from where the server says that it is."""
        file = self.api.read(Content, f"{_SERVER_API}/content/{file_id}", {"expand": "version"}, cancelled)
        return self.api.file(file.links.download, cancelled)

    def _of_space(self, space: Space, expand: str, cancelled: Cancel) -> list[Content]:
        """Return the pages of a space, by the scan that 7.18 brought, or as all versions before list them.

        The scan goes on from a page, not from a number: what is deleted meanwhile hides no other page.
        """
        asked = {"spaceKey": space.key, "type": "page", "status": "current", "expand": expand}
        try:
            return list(self.api.listed(Results[Content], f"{_SERVER_API}/content/scan", asked, cancelled))
        except ItemFailed:
            path = f"{_SERVER_API}/space/{quote(space.key, safe='~')}/content/page"
            return list(self.api.listed(Results[Content], path, {"expand": expand}, cancelled))

    def _spaces(self, keys: tuple[str, ...], cancelled: Cancel) -> Iterator[Space]:
        if keys:
            asked = {"spaceKey": keys}
            yield from self.api.listed(Results[Space], f"{_SERVER_API}/space", asked, cancelled)

    def _root(self, page_id: str, cancelled: Cancel) -> Root:
        page = self.api.read(Content, f"{_SERVER_API}/content/{page_id}", {"expand": "space"}, cancelled)
        if page.space is None or page.status != "current":
            raise ItemFailed(f"{page.title} is in the trash, or not a page.")
        return Root(page.id, page.title, page.space)


_CLOUD_API = "/api/v2"
_DEPTH = 5
"""How far below a page its descendants are listed at once: the most that there is."""
_MAY_HOLD_PAGES = {
    "page": "pages",
    "folder": "folders",
    "whiteboard": "whiteboards",
    "database": "databases",
    "embed": "embeds",
}


class _Below(Reference):
    """Something below a page, and how far."""

    depth: int = 1


class CloudWiki(Wiki):
    """Asked with an e-mail address and an API token."""

    def pages(self, scope: SyncScope, cancelled: Cancel) -> Iterator[Content]:
        """Yield the pages of the spaces, then those of the trees."""
        for space in scope.spaces:
            yield from _current(self._of_space(space, scope.labels, cancelled))
        for root in scope.trees:
            ids = list(self._tree(root.id, cancelled))
            if scope.labels:
                labelled = {page.id for page in self._of_space(root.space, scope.labels, cancelled)}
                ids = [id_ for id_ in ids if id_ in labelled]
            yield from _current(self._named(ids, cancelled))

    def attachments(self, page_id: str, cancelled: Cancel) -> Iterator[Content]:
        """Yield the files that are attached to a page."""
        path = f"{_CLOUD_API}/pages/{page_id}/attachments"
        yield from _current(self.api.listed(Results[Content], path, {"status": "current"}, cancelled))

    def page(self, page_id: str, cancelled: Cancel) -> Content:
        """Return a page with its body."""
        return self.api.read(Content, f"{_CLOUD_API}/pages/{page_id}", {"body-format": "storage"}, cancelled)

    def file(self, file_id: str, cancelled: Cancel) -> Iterator[bytes]:
        """Yield an attached file. Version 1 alone has its content, and leads on to a store of files."""
        file = self.api.read(Content, f"{_CLOUD_API}/attachments/{file_id}", {}, cancelled)
        path = f"/rest/api/content/{file.page_id}/child/attachment/{file.id}/download"
        return self.api.file(path, cancelled)

    def _spaces(self, keys: tuple[str, ...], cancelled: Cancel) -> Iterator[Space]:
        if keys:
            asked = {"keys": ",".join(keys)}
            yield from self.api.listed(Results[Space], f"{_CLOUD_API}/spaces", asked, cancelled)

    def _root(self, page_id: str, cancelled: Cancel) -> Root:
        page = self.api.read(Content, f"{_CLOUD_API}/pages/{page_id}", {}, cancelled)
        asked = {"ids": page.space_id}
        for space in self.api.listed(Results[Space], f"{_CLOUD_API}/spaces", asked, cancelled):
            if page.status == "current":
                return Root(page.id, page.title, space)
        raise ItemFailed(f"{page.title} is in the trash, in the archive, or in a space that cannot be seen.")

    def _of_space(self, space: Space, labels: frozenset[str], cancelled: Cancel) -> Iterator[Content]:
        """Yield the pages of a space: all, or those with one of the labels, as often as they have one."""
        if not labels:
            path, asked = f"{_CLOUD_API}/spaces/{space.id}/pages", {"status": "current"}
            yield from self.api.listed(Results[Content], path, asked, cancelled)
            return
        of_space = f"{_CLOUD_API}/spaces/{space.id}/content/labels"
        for label in list(self.api.listed(Results[Label], of_space, {}, cancelled)):
            if label.prefix == "global" and label.name.lower() in labels:
                path = f"{_CLOUD_API}/labels/{label.id}/pages"
                yield from self.api.listed(Results[Content], path, {"space-id": space.id}, cancelled)

    def _tree(self, root: str, cancelled: Cancel) -> Iterator[str]:
        """Yield the ids of a page and of all pages below it, folders between them passed through."""
        yield root
        starts, seen = [("pages", root)], {root}
        while starts:
            kind, start = starts.pop()
            path, asked = f"{_CLOUD_API}/{kind}/{start}/descendants", {"depth": _DEPTH}
            for below in self.api.listed(Results[_Below], path, asked, cancelled):
                if below.id in seen:
                    continue
                seen.add(below.id)
                if below.type == "page":
                    yield below.id
                if below.depth == _DEPTH and below.type in _MAY_HOLD_PAGES:
                    starts.append((_MAY_HOLD_PAGES[below.type], below.id))

    def _named(self, ids: list[str], cancelled: Cancel) -> Iterator[Content]:
        for start in range(0, len(ids), PAGE):
            asked = {"id": ",".join(ids[start : start + PAGE]), "status": "current"}
            yield from self.api.listed(Results[Content], f"{_CLOUD_API}/pages", asked, cancelled)


def _current(contents: Iterable[Content]) -> Iterator[Content]:
    return (content for content in contents if content.status == "current")
