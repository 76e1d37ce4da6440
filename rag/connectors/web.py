"""Web pages by their addresses as a source: what changed is told by asking each one."""

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

from rag.connectors.base import Gone, Item, Listed, Mark, Resting, Source, Unreadable
from rag.connectors.http import Fetched, Fetcher
from rag.connectors.ssrf import shown, target
from rag.errors import (
    AddressRefused,
    DocumentRefused,
    FootnoteError,
    ItemFailed,
    ItemRefused,
    RequestRejected,
    SourceError,
)
from rag.ingest.parsers import sandbox
from rag.jobs import Cancel, never

SECONDS, MEMORY = 60.0, 1 << 30
_LONGEST = 120  # characters of a name
_NOT_IN_NAMES = re.compile(r'[/\\\x00-\x1f\x7f<>:"|?*]+')
_HTML = ("text/html", "application/xhtml+xml")
# By which ending of its name a kind is known to people; text may have any.
_ENDINGS = {
    "docx": ".docx",
    "epub": ".epub",
    "html": ".html",
    "pdf": ".pdf",
    "pptx": ".pptx",
    "xlsx": ".xlsx",
}


@dataclass(frozen=True)
class WebDocument:
    """A document as it is kept."""

    name: str
    content: bytes

    @property
    def version(self) -> str:
        """A hash of what is kept: what else a page changes around it makes no new version."""
        return digest(self.name.encode() + b"\0" + self.content)


def document(fetched: Fetched) -> WebDocument:
    """Make a document of an answer; DocumentRefused where it holds nothing that can be read.

    What the answer is, is told by its bytes, in the child process that reads it.
    """
    kind, encoding = content_type(fetched.headers)
    name = file_name(fetched.url, fetched.headers)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "answer"
        path.write_bytes(fetched.body)
        asked = f"{name}.html" if kind in _HTML else name
        facts, text = sandbox.run("web", path, asked, timeout=SECONDS, memory=MEMORY, encoding=encoding)
    if facts["kind"] != "html":
        return WebDocument(_ended(name, facts["kind"]), fetched.body)
    if not any(character.isalnum() for character in text.decode()):
        raise DocumentRefused(
            f"{shown(fetched.url)} holds no text without its scripts, and Footnote does not run them."
        )
    return WebDocument(f"{_fit(facts['title']) or name}.md", text)


def content_type(headers: Mapping[str, str]) -> tuple[str, str]:
    """Return the media type and the encoding that an answer names, or nothing.

    >>> content_type({"content-type": "text/html; charset=EUC-KR"})
    ('text/html', 'euc-kr')
    """
    given = Message()
    given["content-type"] = headers.get("content-type", "application/octet-stream")
    return given.get_content_type(), given.get_content_charset("")


def file_name(url: str, headers: Mapping[str, str]) -> str:
    """Return the name that an answer gives itself, else the last part of its address.

    >>> file_name("https://example.org/papers/a%20b.pdf?page=2", {})
    'a b.pdf'
    """
    given = Message()
    given["content-disposition"] = headers.get("content-disposition", "")
    parts = urlsplit(url)
    last = unquote(PurePosixPath(parts.path).name, errors="replace")
    return _fit(given.get_filename("")) or _fit(last) or _fit(parts.hostname or "") or "page"


def digest(content: bytes) -> str:
    """Return a short hash that tells contents apart."""
    return hashlib.sha256(content).hexdigest()[:32]


def _ended(name: str, kind: str) -> str:
    ending = _ENDINGS.get(kind, ".txt" if kind == "text" and not PurePosixPath(name).suffix else "")
    return name if name.lower().endswith(ending) else name + ending


def _fit(name: str) -> str:
    """Return a name without what no file's name may hold, and not too long."""
    plain = " ".join(_NOT_IN_NAMES.sub(" ", name).split()).strip(". ")
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"


_ACCEPT = {"Accept": "text/html,application/xhtml+xml,application/pdf;q=0.9,*/*;q=0.8"}
_GONE = (404, 410)
_NOT_MODIFIED = 304
_PASSING = (408, 425, 429)  # too slow, too early, too often


class WebSettings(BaseModel):
    """Which pages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    urls: tuple[str, ...] = Field(
        title="Addresses",
        description="The address of a page a line, such as https://example.org/guide. What they link to is "
        "not followed.",
    )

    @field_validator("urls")
    @classmethod
    def _are_addresses(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        kept = tuple(dict.fromkeys(filter(None, map(str.strip, urls))))
        if not kept:
            raise ValueError("write at least one address, such as https://example.org/guide")
        for url in kept:
            try:
                target(url)
            except AddressRefused as error:
                raise ValueError(str(error).rstrip(".")) from error
        return kept


@dataclass(frozen=True)
class _Known:
    """What a page was when it was last read: enough to ask whether it still is that."""

    name: str
    version: str
    answer: str  # a hash of the bytes that came
    etag: str = ""
    modified: str = ""

    @property
    def conditions(self) -> dict[str, str]:
        """The headers that ask for the page only if it has changed."""
        asked = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in asked.items() if value}


class WebSource(Source):
    """Pages by address. Each listing is whole; the cursor holds what each page was."""

    def __init__(self, settings: WebSettings, fetcher: Fetcher):
        self._urls, self._fetcher = settings.urls, fetcher
        self._resting: frozenset[str] = frozenset()
        self._latest: tuple[Item, WebDocument] | None = (
            None  # read for its version, and about to be asked for
        )

    def test(self) -> str:
        """Fetch the first page, and say what it is called."""
        made = document(self._fetcher.get(self._urls[0], headers=_ACCEPT).checked())
        others = len(self._urls) - 1
        more = f" There {'is 1 other' if others == 1 else f'are {others} others'}." if others else ""
        return f"{shown(self._urls[0])} is {made.name!r}.{more}"

    def list(self, cursor: str | None = None, cancelled: Cancel = never) -> Iterator[Listed]:
        """Yield every page as it is now; one that is gone only where it was there before."""
        before = {url: _Known(**known) for url, known in json.loads(cursor or "{}").items()}
        now: dict[str, _Known] = {}
        for url in self._urls:
            if cancelled():
                return
            listed, known = self._look(url, before.get(url), cancelled)
            now |= {url: known} if known else {}
            yield listed
        yield Mark(json.dumps({url: asdict(known) for url, known in now.items()}), whole=True)

    def rest(self, ids: Collection[str]) -> None:
        """Ask for none of these pages in the next listing."""
        self._resting = frozenset(ids)

    def fetch(self, item: Item, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield a page's content. Raises ItemFailed."""
        if self._latest and self._latest[0] == item:
            yield self._latest[1].content
            return
        try:
            yield document(self._get(item.id, {}, cancelled).checked()).content
        except (SourceError, DocumentRefused) as error:
            raise ItemFailed(str(error)) from error

    def _look(self, url: str, known: _Known | None, cancelled: Cancel) -> tuple[Listed, _Known | None]:
        """Ask for a page, and read it where it is another one than the last time."""
        if url in self._resting:
            return Resting(url), known
        try:
            fetched = self._get(url, known.conditions if known else {}, cancelled)
            if known and fetched.status in _GONE:
                return Gone(url), None
            if known and (fetched.status == _NOT_MODIFIED or known.answer == digest(fetched.checked().body)):
                return Item(url, known.name, known.version, url), known
            made = document(fetched.checked())
        except (SourceError, DocumentRefused) as error:
            return Unreadable(url, shown(url), str(error), _lasts(error)), known
        item = Item(url, made.name, made.version, url)
        self._latest = item, made
        return item, _known(made, fetched)

    def _get(self, url: str, headers: Mapping[str, str], cancelled: Cancel) -> Fetched:
        return self._fetcher.get(url, headers={**_ACCEPT, **headers}, cancelled=cancelled)


def _lasts(error: FootnoteError) -> bool:
    """Whether asking for a page again soon is of no use: it is not there, not for us, or too large."""
    if isinstance(error, RequestRejected):
        return 400 <= error.status < 500 and error.status not in _PASSING
    return isinstance(error, (ItemRefused, AddressRefused))


def _known(made: WebDocument, fetched: Fetched) -> _Known:
    headers = fetched.headers
    return _Known(
        made.name,
        made.version,
        digest(fetched.body),
        headers.get("etag", ""),
        headers.get("last-modified", ""),
    )
