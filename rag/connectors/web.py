"""Web pages by their addresses as a source; each page is requested again for changes."""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from email.message import Message
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rag.connectors.base import Checkpoint, Deferred, Gone, Item, Listed, Source, Unreadable
from rag.connectors.http import Fetcher, Response
from rag.connectors.ssrf import display_url, parse_url
from rag.errors import (
    AddressRefused,
    DocumentRefused,
    FootnoteError,
    ItemFailed,
    ItemRefused,
    RequestRejected,
    SourceError,
)
from rag.i18n import N_, N_plural
from rag.ingest.parsers import sandbox
from rag.jobs import Cancel, never

SECONDS, MEMORY = 60.0, 1 << 30
_MAX_NAME = 120  # characters
_NOT_IN_NAMES = re.compile(r'[/\\\x00-\x1f\x7f<>:"|?*]+')
_HTML = ("text/html", "application/xhtml+xml")
# Kinds that are the suffix of their names, too; text may have any.
_SUFFIXED = frozenset(
    ("doc", "docx", "epub", "html", "hwp", "hwpx", "msg", "pdf", "ppt", "pptx", "rtf", "xls", "xlsx", "zip")
)


@dataclass(frozen=True)
class WebDocument:
    """Document made of a web response."""

    name: str
    content: bytes

    @property
    def version(self) -> str:
        """A hash of name and content, so that changes around the content make no new version."""
        return digest(self.name.encode() + b"\0" + self.content)


def to_document(fetched: Response) -> WebDocument:
    """Return a response as a document; raise DocumentRefused where it holds no readable text."""
    media_type, encoding = content_type(fetched.headers)
    name = file_name(fetched.url, fetched.headers)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "answer"
        path.write_bytes(fetched.body)
        name_for_kind = f"{name}.html" if media_type in _HTML else name
        facts, text = sandbox.run(
            "web", path, name_for_kind, timeout=SECONDS, memory=MEMORY, encoding=encoding
        )
    if facts["kind"] != "html":
        return WebDocument(_with_suffix(name, facts["kind"]), fetched.body)
    if not any(character.isalnum() for character in text.decode()):
        raise DocumentRefused(
            N_(
                "{url} holds no text without its scripts, and Footnote does not run them.",
                url=display_url(fetched.url),
            )
        )
    return WebDocument(f"{_valid_name(facts['title']) or name}.md", text)


def content_type(headers: Mapping[str, str]) -> tuple[str, str]:
    """Return the media type and the encoding that a response declares, or nothing.

    >>> content_type({"content-type": "text/html; charset=EUC-KR"})
    ('text/html', 'euc-kr')
    """
    given = Message()
    given["content-type"] = headers.get("content-type", "application/octet-stream")
    return given.get_content_type(), given.get_content_charset("")


def file_name(url: str, headers: Mapping[str, str]) -> str:
    """Return the declared file name of a response, else the last part of its URL.

    >>> file_name("https://example.org/papers/a%20b.pdf?page=2", {})
    'a b.pdf'
    """
    given = Message()
    given["content-disposition"] = headers.get("content-disposition", "")
    parts = urlsplit(url)
    last = unquote(PurePosixPath(parts.path).name, errors="replace")
    return (
        _valid_name(given.get_filename(""))
        or _valid_name(last)
        or _valid_name(parts.hostname or "")
        or "page"
    )


def digest(content: bytes) -> str:
    """Return a short hash of content."""
    return hashlib.sha256(content).hexdigest()[:32]


def _with_suffix(name: str, kind: str) -> str:
    ending = f".{kind}" if kind in _SUFFIXED else ""
    if kind == "text" and not PurePosixPath(name).suffix:
        ending = ".txt"
    return name if name.lower().endswith(ending) else name + ending


def _valid_name(name: str) -> str:
    """Return a name without characters that file names must not have, and not too long."""
    plain = " ".join(_NOT_IN_NAMES.sub(" ", name).split()).strip(". ")
    return plain if len(plain) <= _MAX_NAME else plain[: _MAX_NAME - 1] + "…"


_ACCEPT = {"Accept": "text/html,application/xhtml+xml,application/pdf;q=0.9,*/*;q=0.8"}
_GONE = (404, 410)
_NOT_MODIFIED = 304
_TEMPORARY = (408, 425, 429)  # too slow, too early, too often


class WebSettings(BaseModel):
    """Settings of a source of web pages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    urls: tuple[str, ...] = Field(
        title=N_("Addresses"),
        description=N_(
            "The address of a page a line, such as https://example.org/guide. What they link to is "
            "not followed."
        ),
    )

    @field_validator("urls")
    @classmethod
    def _are_addresses(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        kept = tuple(dict.fromkeys(filter(None, map(str.strip, urls))))
        if not kept:
            raise ValueError(N_("write at least one address, such as https://example.org/guide"))
        for url in kept:
            try:
                parse_url(url)
            except AddressRefused as error:
                raise ValueError(str(error)) from error
        return kept


@dataclass(frozen=True)
class _Known:
    """State of a page at the last reading, for a conditional request."""

    name: str
    version: str
    answer: str  # hash of the received bytes
    etag: str = ""
    modified: str = ""

    @property
    def conditions(self) -> dict[str, str]:
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in headers.items() if value}


class WebSource(Source):
    """Web pages by address. Each listing is whole; the cursor holds the last state of each page."""

    def __init__(self, settings: WebSettings, fetcher: Fetcher):
        self._urls, self._fetcher = settings.urls, fetcher
        self._deferred: frozenset[str] = frozenset()
        # The page whose version was just listed is the next to be fetched.
        self._latest: tuple[Item, WebDocument] | None = None

    def test(self) -> str:
        """Fetch the first page, and return its name."""
        made = to_document(self._fetcher.get(self._urls[0], headers=_ACCEPT).checked())
        others = len(self._urls) - 1
        said = {"address": display_url(self._urls[0]), "name": repr(made.name)}
        if not others:
            return N_("{address} is {name}.", **said)
        return N_plural(
            "{address} is {name}. There is {count} other.",
            "{address} is {name}. There are {count} others.",
            others,
            **said,
        )

    def list(self, cursor: str | None = None, cancelled: Cancel = never) -> Iterator[Listed]:
        """Yield every page in its present state; a missing one is gone only where it was there before."""
        before = {url: _Known(**known) for url, known in json.loads(cursor or "{}").items()}
        now: dict[str, _Known] = {}
        for url in self._urls:
            if cancelled():
                return
            listed, known = self._look(url, before.get(url), cancelled)
            now |= {url: known} if known else {}
            yield listed
        yield Checkpoint(json.dumps({url: asdict(known) for url, known in now.items()}), whole=True)

    def defer(self, ids: Collection[str]) -> None:
        """Request none of these pages in the next listing."""
        self._deferred = frozenset(ids)

    def fetch(self, item: Item, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield a page's content. Raises ItemFailed."""
        if self._latest and self._latest[0] == item:
            yield self._latest[1].content
            return
        try:
            yield to_document(self._get(item.id, {}, cancelled).checked()).content
        except (SourceError, DocumentRefused) as error:
            raise ItemFailed(str(error)) from error

    def _look(self, url: str, known: _Known | None, cancelled: Cancel) -> tuple[Listed, _Known | None]:
        if url in self._deferred:
            return Deferred(url), known
        try:
            fetched = self._get(url, known.conditions if known else {}, cancelled)
            if known and fetched.status in _GONE:
                return Gone(url), None
            if known and (fetched.status == _NOT_MODIFIED or known.answer == digest(fetched.checked().body)):
                return Item(url, known.name, known.version, url), known
            made = to_document(fetched.checked())
        except (SourceError, DocumentRefused) as error:
            return Unreadable(url, display_url(url), str(error), _is_lasting(error)), known
        item = Item(url, made.name, made.version, url)
        self._latest = item, made
        marks = (fetched.headers.get(name, "") for name in ("etag", "last-modified"))
        return item, _Known(made.name, made.version, digest(fetched.body), *marks)

    def _get(self, url: str, headers: Mapping[str, str], cancelled: Cancel) -> Response:
        return self._fetcher.get(url, headers={**_ACCEPT, **headers}, cancelled=cancelled)


def _is_lasting(error: FootnoteError) -> bool:
    """Return whether an early retry is useless: the page is missing, forbidden, or too large."""
    if isinstance(error, RequestRejected):
        return 400 <= error.status < 500 and error.status not in _TEMPORARY
    return isinstance(error, (ItemRefused, AddressRefused))
