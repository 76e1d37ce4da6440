"""What an address brought, as a document: a page's main content as Markdown, any other file as it is."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from rag.errors import DocumentRefused
from rag.loaders import sandbox
from rag.sources.http import Fetched
from rag.sources.ssrf import shown

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
