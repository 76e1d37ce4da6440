"""What Confluence's REST API answers, as far as it is used; both its versions say most of it alike."""

from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from rag.sources.rest import too_large
from rag.sources.source import Item, Unreadable

R = TypeVar("R")
_NO_TEXT = ("image/", "video/", "audio/")


class Record(BaseModel):
    """Part of an answer: numbers may stand for ids, and what is not named here is passed over."""

    model_config = ConfigDict(
        frozen=True, coerce_numbers_to_str=True, populate_by_name=True, hide_input_in_errors=True
    )


class Links(Record):
    """Where a thing is found, as paths; of `next` only its parameters are ever used."""

    webui: str = ""
    download: str = ""
    next: str = ""
    base: str = ""


class Results(Record, Generic[R]):
    """One page of a listing."""

    results: tuple[R, ...]
    links: Links = Field(Links(), alias="_links")


class Person(Record):
    """Somebody with an account; `kind` is "anonymous" for who is not signed in."""

    kind: str = Field("known", alias="type")
    display_name: str = Field("", alias="displayName")
    public_name: str = Field("", alias="publicName")


class Space(Record):
    """A space: `id` is what the newer API knows it by, `key` what people do."""

    id: str
    key: str
    name: str = ""


class Version(Record):
    """How often a thing has changed."""

    number: int


class Label(Record):
    """A word that pages are marked with."""

    id: str = ""
    name: str
    prefix: str = "global"


class Reference(Record):
    """Another thing, by its id."""

    id: str
    type: str = ""


class Metadata(Record):
    """What is said of a page by version 1 where it is asked for."""

    labels: Results[Label] = Results(results=())


class Storage(Record):
    """A page's content as the wiki stores it."""

    value: str


class Body(Record):
    """A page's content in the forms that were asked for."""

    storage: Storage


class Extensions(Record):
    """What version 1 says of a file apart."""

    media_type: str = Field("", alias="mediaType")
    size: int = Field(0, alias="fileSize")


class Content(Record):
    """A page or an attached file; which of its parts are there depends on what was asked."""

    id: str
    title: str
    status: str = "current"
    type: str = ""
    version: Version = Version(number=0)
    links: Links = Field(Links(), alias="_links")
    space: Space | None = None
    space_id: str = Field("", alias="spaceId")
    page_id: str = Field("", alias="pageId")
    ancestors: tuple[Reference, ...] = ()
    metadata: Metadata = Metadata()
    container: Reference | None = None
    body: Body | None = None
    media_type: str = Field("", alias="mediaType")
    size: int = Field(0, alias="fileSize")
    extensions: Extensions = Extensions()
    webui_link: str = Field("", alias="webuiLink")

    @property
    def labels(self) -> frozenset[str]:
        """The labels that stand with the page, where they were asked for."""
        return frozenset(label.name for label in self.metadata.labels.results)

    @property
    def holds_text(self) -> bool:
        """Whether an attached file can be a document at all, by what it says it is."""
        return not (self.media_type or self.extensions.media_type).startswith(_NO_TEXT)

    def page_item(self, web: str) -> Item:
        """Return a page as an item; `web` is the wiki's address for people."""
        return Item(self.id, f"{self.title}.html", self._version(), self._url(web))

    def file_item(self, web: str, most: int) -> Item | Unreadable:
        """Return an attached file as an item, if it has at most `most` bytes."""
        size = self.size or self.extensions.size
        if size > most:
            return Unreadable(self.id, self.title, too_large(size, most), lasting=True)
        return Item(self.id, self.title, self._version(), self._url(web))

    def _version(self) -> str:
        return str(self.version.number) if self.version.number else ""

    def _url(self, web: str) -> str:
        path = self.links.webui or self.webui_link
        if not path.startswith("/") or path.startswith("//"):
            path = f"/pages/viewpage.action?pageId={self.id}"
        return web + path
