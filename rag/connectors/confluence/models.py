"""Settings of a Confluence source, and records of its REST API as far as they are used."""

import re
from typing import Annotated, Generic, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, AliasChoices, AliasPath, BaseModel, ConfigDict, Field, model_validator

from rag.connectors.base import Item, Unreadable
from rag.connectors.rest import too_large

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
        raise ValueError("copy it from the browser: https://your-company.atlassian.net/wiki") from error
    host = parts.hostname or ""
    if parts.scheme not in ("https", "http") or not host or parts.username or parts.password:
        raise ValueError("it must begin with https:// and hold no password")
    if host.endswith(_CLOUD):
        return f"https://{host}/wiki"
    if host == GATEWAY and not parts.path.endswith("/wiki"):
        return f"{text}/wiki"
    return f"{parts.scheme}://{parts.netloc}{parts.path}"


def _space(given: str) -> str:
    if not _KEY.fullmatch(given.strip()):
        raise ValueError(f"{given!r} is no key of a space. It stands in the space's address: /spaces/KEY")
    return given.strip()


def _page(given: str) -> str:
    """Return the number of a page, given as a number or an address."""
    found = _PAGE.fullmatch(given.strip())
    if found is None:
        raise ValueError(f"{given!r} is no page. Give its address with its number: .../pages/123456/Title")
    return found[1] or found[2]


def _label(given: str) -> str:
    label = given.strip().lower()
    if not label or len(label) > 255 or any(character.isspace() for character in label):
        raise ValueError(f"{given!r} is no label: a label is one word")
    return label


class ConfluenceSettings(BaseModel):
    """Address of a wiki and what is read of it; `credential` names a secret and never holds it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: Annotated[str, AfterValidator(_address)] = Field(
        title="Address",
        description="https://your-company.atlassian.net/wiki, or that of your own server up to where its "
        "pages begin: https://wiki.example.com/confluence",
    )
    email: Annotated[str, AfterValidator(str.strip)] = Field(
        "",
        title="E-mail address",
        description="Of the account whose API token is used, in the Cloud. Leave it empty for your own "
        "server, where a personal access token is enough.",
    )
    credential: Annotated[str, AfterValidator(str.strip)] = Field(
        title="Name of the secret",
        description="The token itself is kept outside Footnote's database: the secret wiki is "
        "FOOTNOTE_SECRET_WIKI in the server's environment, or wiki under [sources] in its secrets file.",
    )
    spaces: tuple[Annotated[str, AfterValidator(_space)], ...] = Field(
        (), title="Spaces", description="Keys of spaces to read whole, one a line: DOCS"
    )
    pages: tuple[Annotated[str, AfterValidator(_page)], ...] = Field(
        (),
        title="Page trees",
        description="Addresses of pages to read with all that is below them, one a line.",
    )
    labels: tuple[Annotated[str, AfterValidator(_label)], ...] = Field(
        (), title="Labels", description="Only pages with one of these labels, one a line. Empty: all pages."
    )
    attachments: bool = Field(
        False, title="Attached files, too", description="Pictures, sounds and films are left out."
    )

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.spaces and not self.pages:
            raise ValueError("name at least one space or one page")
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
