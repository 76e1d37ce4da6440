"""Client of Confluence: settings, records, and its REST API, version 1 on a server and 2 in the Cloud."""

import base64
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Generic, Self, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import AfterValidator, AliasChoices, AliasPath, BaseModel, ConfigDict, Field, model_validator

from rag.connectors.base import Credentials, Item, Unreadable
from rag.connectors.http import Fetcher, Response
from rag.connectors.rest import FIRST_WAIT, Parameters, RestClient, too_large
from rag.errors import ItemFailed, ItemRefused, SourceError
from rag.i18n import N_

_KEY = re.compile(r"~?[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_PAGE = re.compile(r"(\d{1,20})|https?://\S*?(?:/pages/(?:edit-v2/)?|[?&]pageId=)(\d{1,20})(?:[/?#&].*)?")
_CLOUD = ".atlassian.net"
GATEWAY = "api.atlassian.com"  # for tokens with scopes; its responses name the wiki's own address


def _address(given: str) -> str:
    """Return a wiki's base address for REST paths: https://a.atlassian.net -> .../wiki."""
    text = given.strip().rstrip("/")
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise ValueError(N_("copy it from the browser: https://your-company.atlassian.net/wiki")) from error
    host = parts.hostname or ""
    if parts.scheme not in ("https", "http") or not host or parts.username or parts.password:
        raise ValueError(N_("it must begin with https:// and hold no password"))
    if host.endswith(_CLOUD):
        return f"https://{host}/wiki"
    if host == GATEWAY and not parts.path.endswith("/wiki"):
        return f"{text}/wiki"
    return f"{parts.scheme}://{parts.netloc}{parts.path}"


def _space(given: str) -> str:
    if not _KEY.fullmatch(given.strip()):
        raise ValueError(
            N_(
                "{given} is no key of a space. It stands in the space's address: /spaces/KEY",
                given=repr(given),
            )
        )
    return given.strip()


def _page(given: str) -> str:
    """Return the number of a page, given as a number or an address."""
    found = _PAGE.fullmatch(given.strip())
    if found is None:
        raise ValueError(
            N_(
                "{given} is no page. Give its address with its number: .../pages/123456/Title",
                given=repr(given),
            )
        )
    return found[1] or found[2]


def _label(given: str) -> str:
    label = given.strip().lower()
    if not label or len(label) > 255 or any(character.isspace() for character in label):
        raise ValueError(N_("{given} is no label: a label is one word", given=repr(given)))
    return label


class ConfluenceSettings(BaseModel):
    """Address of a wiki and what is read of it; `credential` names a secret and never holds it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: Annotated[str, AfterValidator(_address)] = Field(
        title=N_("Address"),
        description=N_(
            "https://your-company.atlassian.net/wiki, or that of your own server up to where its "
            "pages begin: https://wiki.example.com/confluence"
        ),
    )
    email: Annotated[str, AfterValidator(str.strip)] = Field(
        "",
        title=N_("E-mail address"),
        description=N_(
            "Of the account whose API token is used, in the Cloud. Leave it empty for your own "
            "server, where a personal access token is enough."
        ),
    )
    credential: Annotated[str, AfterValidator(str.strip)] = Field(
        title=N_("Name of the secret"),
        description=N_(
            "The token itself is kept outside Footnote's database: the secret wiki is "
            "FOOTNOTE_SECRET_WIKI in the server's environment, or wiki under [sources] in its secrets file."
        ),
    )
    spaces: tuple[Annotated[str, AfterValidator(_space)], ...] = Field(
        (), title=N_("Spaces"), description=N_("Keys of spaces to read whole, one a line: DOCS")
    )
    pages: tuple[Annotated[str, AfterValidator(_page)], ...] = Field(
        (),
        title=N_("Page trees"),
        description=N_("Addresses of pages to read with all that is below them, one a line."),
    )
    labels: tuple[Annotated[str, AfterValidator(_label)], ...] = Field(
        (),
        title=N_("Labels"),
        description=N_("Only pages with one of these labels, one a line. Empty: all pages."),
    )
    attachments: bool = Field(
        False, title=N_("Attached files, too"), description=N_("Pictures, sounds and films are left out.")
    )

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.spaces and not self.pages:
            raise ValueError(N_("name at least one space or one page"))
        return self

    @property
    def cloud(self) -> bool:
        """True for Atlassian's Cloud, where a token belongs to an e-mail address."""
        return bool(self.email)


R = TypeVar("R")
_NO_TEXT = ("image/", "video/", "audio/")


class ConfluenceRecord(BaseModel):
    """Record of a response: ids may be numbers, and unknown fields are ignored."""

    model_config = ConfigDict(
        frozen=True, coerce_numbers_to_str=True, populate_by_name=True, hide_input_in_errors=True
    )


class Links(ConfluenceRecord):
    """Links as paths; of `next` only its parameters are ever used."""

    webui: str = ""
    download: str = ""
    next: str = ""
    base: str = ""


class Results(ConfluenceRecord, Generic[R]):
    """One page of a listing."""

    results: tuple[R, ...]
    links: Links = Field(Links(), alias="_links")


class Person(ConfluenceRecord):
    """User account; `kind` is "anonymous" where nobody is signed in."""

    kind: str = Field("known", alias="type")
    display_name: str = Field("", alias="displayName")
    public_name: str = Field("", alias="publicName")


class Space(ConfluenceRecord):
    """Space: `id` is for the newer API, `key` for people."""

    id: str
    key: str
    name: str = ""


class Label(ConfluenceRecord):
    """Label of a page."""

    id: str = ""
    name: str
    prefix: str = "global"


class Reference(ConfluenceRecord):
    """Reference to another record by its id."""

    id: str
    type: str = ""


class Content(ConfluenceRecord):
    """Page or attached file; its fields depend on the request."""

    id: str
    title: str
    status: str = "current"
    type: str = ""
    version: int = Field(0, validation_alias=AliasPath("version", "number"))
    links: Links = Field(Links(), alias="_links")
    space: Space | None = None
    space_id: str = Field("", alias="spaceId")
    page_id: str = Field("", alias="pageId")
    ancestors: tuple[Reference, ...] = ()
    label_records: tuple[Label, ...] = Field((), validation_alias=AliasPath("metadata", "labels", "results"))
    container_id: str = Field("", validation_alias=AliasPath("container", "id"))
    storage: str | None = Field(None, validation_alias=AliasPath("body", "storage", "value"))
    media_type: str = Field(
        "", validation_alias=AliasChoices("mediaType", AliasPath("extensions", "mediaType"))
    )
    size: int = Field(0, validation_alias=AliasChoices("fileSize", AliasPath("extensions", "fileSize")))
    webui_link: str = Field("", alias="webuiLink")

    @property
    def labels(self) -> frozenset[str]:
        """Labels of the page, if they were requested."""
        return frozenset(label.name for label in self.label_records)

    @property
    def holds_text(self) -> bool:
        """True unless the media type of an attached file rules out text."""
        return not self.media_type.startswith(_NO_TEXT)

    def page_item(self, web: str) -> Item:
        """Return a page as an item; `web` is the wiki's address for people."""
        return Item(self.id, f"{self.title}.html", self._version(), self._url(web))

    def file_item(self, web: str, max_bytes: int) -> Item | Unreadable:
        """Return an attached file as an item, if it has at most `max_bytes`."""
        if self.size > max_bytes:
            return Unreadable(self.id, self.title, too_large(self.size, max_bytes), lasting=True)
        return Item(self.id, self.title, self._version(), self._url(web))

    def _version(self) -> str:
        return str(self.version) if self.version else ""

    def _url(self, web: str) -> str:
        path = self.links.webui or self.webui_link
        if not path.startswith("/") or path.startswith("//"):
            path = f"/pages/viewpage.action?pageId={self.id}"
        return web + path


T = TypeVar("T", bound=ConfluenceRecord)
PAGE = 250  # records in one response, the most that version 2 gives; version 1 may give fewer
_CURSOR_PARAMETERS = ("cursor", "start")
_MENTION = re.compile(r'<ri:user\b[^>]*?\bri:(account-id|userkey)="([^"<>&]{1,128})"')
_PARAMETERS = {"account-id": "accountId", "userkey": "key"}
_MAX_USERS = 100  # requested for one page


class ConfluenceApi(RestClient):
    """REST API of one wiki for one account. `web` is its address for people."""

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
        self._names: dict[str, str] = {}
        token = credentials.get(settings.credential).get_secret_value().strip()
        if settings.cloud:
            pair = base64.b64encode(f"{settings.email}:{token}".encode()).decode("ascii")
            self._authorization = f"Basic {pair}"
        else:
            self._authorization = f"Bearer {token}"

    def read_list(self, results: type[Results[T]], path: str, parameters: Parameters) -> Iterator[T]:
        """Yield all records of a list; of the link to its next page only the cursor is used."""
        position: Mapping[str, str] = {}
        seen: set[tuple[tuple[str, str], ...]] = set()
        while True:
            answer = self.get(results, path, {"limit": PAGE, **parameters, **position})
            if urlsplit(self._base).hostname == GATEWAY and answer.links.base.startswith("https://"):
                self.web = answer.links.base.rstrip("/")  # the wiki's own address
            yield from answer.results
            if not answer.links.next:
                return
            position = {
                k: v for k, v in parse_qsl(urlsplit(answer.links.next).query) if k in _CURSOR_PARAMETERS
            }
            place = tuple(sorted(position.items()))
            if not place or place in seen:
                raise SourceError(
                    N_("{host} lists the same again and again, so its list has no end.", host=self._host)
                )
            seen.add(place)

    def signed_in(self) -> str:
        """Return the account's name, if it can be read; raise SourceError where nobody is signed in.

        A public wiki treats an expired token as an anonymous request and lists only public pages: all others
        would seem to be gone.
        """
        try:
            person = self.get(Person, "/rest/api/user/current", {})
        except ItemFailed:  # a token for pages need not have the right to read accounts
            return ""
        if person.kind == "anonymous":
            raise self._signed_out()
        return person.display_name or person.public_name

    def mentioned(self, storage: str) -> dict[str, str]:
        """Return the names of the users that a page mentions by their ids, without unknown ones."""
        found = dict.fromkeys((kind, id_) for kind, id_ in _MENTION.findall(storage))
        named = {id_: self._name(kind, id_) for kind, id_ in list(found)[:_MAX_USERS]}
        return {id_: name for id_, name in named.items() if name}

    def _name(self, kind: str, id_: str) -> str:
        if id_ not in self._names:
            try:
                person = self.get(Person, "/rest/api/user", {_PARAMETERS[kind]: id_})
                self._names[id_] = person.display_name or person.public_name
            except ItemFailed:  # a closed or hidden account
                self._names[id_] = ""
        return self._names[id_]

    def file(self, path: str) -> Iterator[bytes]:
        """Yield a file at a path below the wiki's address; raise ItemFailed for any other path."""
        context = urlsplit(self._base).path
        below = path.removeprefix(context) if path.startswith(f"{context}/") else path
        if not below.startswith("/") or below.startswith("//"):
            raise ItemFailed(N_("{host} does not say where the file is. Try again later.", host=self._host))
        yield from self.download(below, {})

    def _headers(self) -> Mapping[str, str]:
        return {"Authorization": self._authorization}

    def _refusal(self, answer: Response) -> SourceError:
        if answer.status == 401:
            return self._signed_out()
        reasons = {
            400: "did not understand what was asked of it",
            403: "does not let this account read it",
            404: "has it no longer, or does not show it to this account",
            410: "has it no longer",
        }
        if answer.status in reasons:
            return ItemRefused(
                N_(
                    "{host} {reasons} (status {status}).",
                    host=self._host,
                    reasons=reasons[answer.status],
                    status=answer.status,
                )
            )
        return ItemFailed(
            N_("{host} could not answer just now (status {status}).", host=self._host, status=answer.status)
        )

    def _signed_out(self) -> SourceError:
        return SourceError(
            N_(
                "{host} does not accept the token. It may have expired, been revoked, or lack a "
                "scope: make a new one and put it into the secret {secret}.",
                host=self._host,
                secret=repr(self._secret),
            )
        )


@dataclass(frozen=True)
class Root:
    """Root page of a page tree to sync."""

    id: str
    title: str
    space: Space


@dataclass(frozen=True)
class SyncScope:
    """Part of a wiki to sync: spaces, page trees, and of both only pages with these labels."""

    spaces: tuple[Space, ...]
    roots: tuple[Root, ...]
    labels: frozenset[str]

    @property
    def around(self) -> tuple[Space, ...]:
        """Spaces that contain the whole scope, each once."""
        spaces = [*self.spaces, *(root.space for root in self.roots)]
        return tuple({space.key: space for space in spaces}.values())

    @property
    def trees(self) -> tuple[Root, ...]:
        """Page trees outside the spaces of the scope."""
        keys = {space.key for space in self.spaces}
        return tuple(root for root in self.roots if root.space.key not in keys)


class Wiki(ABC):
    """Wiki on a server or in the Cloud. Raises SourceError, and ItemFailed where one page or file fails."""

    def __init__(self, api: ConfluenceApi):
        self.api = api

    def scope(self, settings: ConfluenceSettings) -> SyncScope:
        """Return the scope; raise SourceError where a part is missing, before its pages seem to be gone."""
        found = {space.key.lower(): space for space in self._spaces(settings.spaces)}
        missing = [key for key in settings.spaces if key.lower() not in found]
        if missing:
            raise SourceError(
                N_(
                    "There is no space {missing} in this wiki that the account may read. Correct its "
                    "key, or ask for access.",
                    missing=missing[0],
                )
            )
        roots = tuple(self._find_root(page) for page in settings.pages)
        return SyncScope(tuple(found.values()), roots, frozenset(settings.labels))

    @abstractmethod
    def pages(self, scope: SyncScope) -> Iterator[Content]:
        """Yield every page of a scope, as the wiki's database has it; some may come twice."""

    @abstractmethod
    def attachments(self, page_id: str) -> Iterator[Content]:
        """Yield the files that are attached to a page."""

    @abstractmethod
    def page(self, page_id: str) -> Content:
        """Return a page with its body."""

    @abstractmethod
    def file(self, file_id: str) -> Iterator[bytes]:
        """Yield an attached file in pieces."""

    @abstractmethod
    def _spaces(self, keys: tuple[str, ...]) -> Iterator[Space]:
        """Yield those of the spaces that the account can see."""

    @abstractmethod
    def _root(self, page_id: str) -> Root:
        """Return the root page of a tree."""

    def _find_root(self, page_id: str) -> Root:
        try:
            return self._root(page_id)
        except ItemFailed as error:
            raise SourceError(
                N_(
                    "Page {page_id} cannot be read: {reason} Take it out of the page trees, or ask for "
                    "access.",
                    page_id=page_id,
                    reason=error,
                )
            ) from error


_SERVER_API = "/rest/api"


class ServerWiki(Wiki):
    """Wiki on a server, with a personal access token."""

    def pages(self, scope: SyncScope) -> Iterator[Content]:
        """Yield the pages of the scope space by space; their ancestors decide which tree they are in."""
        whole = {space.key for space in scope.spaces}
        roots = {root.id for root in scope.roots}
        expanded = [
            "version",
            *(["ancestors"] if roots else []),
            *(["metadata.labels"] if scope.labels else []),
        ]
        for space in scope.around:
            for page in self._of_space(space, ",".join(expanded)):
                above = {page.id, *(ancestor.id for ancestor in page.ancestors)}
                labelled = not scope.labels or bool(page.labels & scope.labels)
                if labelled and (space.key in whole or above & roots):
                    yield page

    def attachments(self, page_id: str) -> Iterator[Content]:
        """Yield the files that are attached to a page."""
        path = f"{_SERVER_API}/content/{page_id}/child/attachment"
        yield from self.api.read_list(Results[Content], path, {"expand": "version"})

    def page(self, page_id: str) -> Content:
        """Return a page with its body."""
        parameters = {"expand": "version,body.storage"}
        return self.api.get(Content, f"{_SERVER_API}/content/{page_id}", parameters)

    def file(self, file_id: str) -> Iterator[bytes]:
        """Yield an attached file from its download link."""
        file = self.api.get(Content, f"{_SERVER_API}/content/{file_id}", {"expand": "version"})
        return self.api.file(file.links.download)

    def _of_space(self, space: Space, expand: str) -> list[Content]:
        """Return the pages of a space: by a scan, which a deletion cannot disturb, since version 7.18."""
        parameters = {"spaceKey": space.key, "type": "page", "status": "current", "expand": expand}
        try:
            return list(self.api.read_list(Results[Content], f"{_SERVER_API}/content/scan", parameters))
        except ItemFailed:
            path = f"{_SERVER_API}/space/{quote(space.key, safe='~')}/content/page"
            return list(self.api.read_list(Results[Content], path, {"expand": expand}))

    def _spaces(self, keys: tuple[str, ...]) -> Iterator[Space]:
        if keys:
            parameters = {"spaceKey": keys}
            yield from self.api.read_list(Results[Space], f"{_SERVER_API}/space", parameters)

    def _root(self, page_id: str) -> Root:
        page = self.api.get(Content, f"{_SERVER_API}/content/{page_id}", {"expand": "space"})
        if page.space is None or page.status != "current":
            raise ItemFailed(N_("{title} is in the trash, or not a page.", title=page.title))
        return Root(page.id, page.title, page.space)


_CLOUD_API = "/api/v2"
_DEPTH = 5  # levels of descendants in one list, the most that the API gives
_CONTAINERS = {
    "page": "pages",
    "folder": "folders",
    "whiteboard": "whiteboards",
    "database": "databases",
    "embed": "embeds",
}


class _Below(Reference):
    depth: int = 1


class CloudWiki(Wiki):
    """Wiki in the Cloud, with an e-mail address and an API token."""

    def pages(self, scope: SyncScope) -> Iterator[Content]:
        """Yield the pages of the spaces, then those of the trees."""
        for space in scope.spaces:
            yield from _current(self._of_space(space, scope.labels))
        for root in scope.trees:
            ids = list(self._tree(root.id))
            if scope.labels:
                labelled = {page.id for page in self._of_space(root.space, scope.labels)}
                ids = [id_ for id_ in ids if id_ in labelled]
            yield from _current(self._pages_by_id(ids))

    def attachments(self, page_id: str) -> Iterator[Content]:
        """Yield the files that are attached to a page."""
        path = f"{_CLOUD_API}/pages/{page_id}/attachments"
        yield from _current(self.api.read_list(Results[Content], path, {"status": "current"}))

    def page(self, page_id: str) -> Content:
        """Return a page with its body."""
        return self.api.get(Content, f"{_CLOUD_API}/pages/{page_id}", {"body-format": "storage"})

    def file(self, file_id: str) -> Iterator[bytes]:
        """Yield an attached file by version 1 of the API, which redirects to a file store."""
        file = self.api.get(Content, f"{_CLOUD_API}/attachments/{file_id}", {})
        path = f"/rest/api/content/{file.page_id}/child/attachment/{file.id}/download"
        return self.api.file(path)

    def _spaces(self, keys: tuple[str, ...]) -> Iterator[Space]:
        if keys:
            parameters = {"keys": ",".join(keys)}
            yield from self.api.read_list(Results[Space], f"{_CLOUD_API}/spaces", parameters)

    def _root(self, page_id: str) -> Root:
        page = self.api.get(Content, f"{_CLOUD_API}/pages/{page_id}", {})
        parameters = {"ids": page.space_id}
        for space in self.api.read_list(Results[Space], f"{_CLOUD_API}/spaces", parameters):
            if page.status == "current":
                return Root(page.id, page.title, space)
        raise ItemFailed(
            N_(
                "{title} is in the trash, in the archive, or in a space that cannot be seen.",
                title=page.title,
            )
        )

    def _of_space(self, space: Space, labels: frozenset[str]) -> Iterator[Content]:
        """Yield the pages of a space, or once for each of the labels that they have."""
        if not labels:
            path, parameters = f"{_CLOUD_API}/spaces/{space.id}/pages", {"status": "current"}
            yield from self.api.read_list(Results[Content], path, parameters)
            return
        of_space = f"{_CLOUD_API}/spaces/{space.id}/content/labels"
        for label in list(self.api.read_list(Results[Label], of_space, {})):
            if label.prefix == "global" and label.name.lower() in labels:
                path = f"{_CLOUD_API}/labels/{label.id}/pages"
                yield from self.api.read_list(Results[Content], path, {"space-id": space.id})

    def _tree(self, root: str) -> Iterator[str]:
        """Yield the ids of a page and of all pages below it, through folders between them."""
        yield root
        starts, seen = [("pages", root)], {root}
        while starts:
            kind, start = starts.pop()
            path, parameters = f"{_CLOUD_API}/{kind}/{start}/descendants", {"depth": _DEPTH}
            for below in self.api.read_list(Results[_Below], path, parameters):
                if below.id in seen:
                    continue
                seen.add(below.id)
                if below.type == "page":
                    yield below.id
                if below.depth == _DEPTH and below.type in _CONTAINERS:
                    starts.append((_CONTAINERS[below.type], below.id))

    def _pages_by_id(self, ids: list[str]) -> Iterator[Content]:
        for start in range(0, len(ids), PAGE):
            parameters = {"id": ",".join(ids[start : start + PAGE]), "status": "current"}
            yield from self.api.read_list(Results[Content], f"{_CLOUD_API}/pages", parameters)


def _current(contents: Iterable[Content]) -> Iterator[Content]:
    return (content for content in contents if content.status == "current")
