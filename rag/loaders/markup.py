"""HTML by markitdown, and other XML as the text between its tags."""

import html
import re
from pathlib import Path

from rag.loaders.document import LoadedDocument, clean
from rag.loaders.markdown import headings, tidy, title
from rag.loaders.office import PLAIN
from rag.loaders.text import decode

_CHARSET = re.compile(rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I)
_UNSEEN = re.compile(
    r"<(script|style|noscript|template|svg|iframe|object|head)\b.*?</\1\s*>|<!--.*?-->", re.I | re.S
)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.I | re.S)
_DOCTYPE = re.compile(r"<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.I | re.S)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.S)
_INLINE = re.compile(
    r"</?(?:b|i|u|em|strong|bold|italic|sub|sup|span|a|xref|ext-link|sc|tt|code)(?:\s[^<>]*)?/?>"
)
_TAG = re.compile(r"<[^<>]*>")
_SPACES = re.compile(r"[ \t]+")
_LINES = re.compile(r"\n\s*\n\s*")


def read_html(path: Path) -> LoadedDocument:
    """Read a web page as it is kept in a file: what a reader sees, scripts and styles dropped."""
    from markitdown.converters import HtmlConverter

    source = _decode(path.read_bytes())
    page_title = _TITLE.search(source)
    markdown = HtmlConverter().convert_string(_UNSEEN.sub(" ", source), **PLAIN).markdown
    text = clean(tidy(markdown))
    named = html.unescape(page_title[1]).strip() if page_title else title(text)
    return LoadedDocument(text, (), clean(named), "text/html", headings(text))


def read_xml(path: Path) -> LoadedDocument:
    """Read XML without a parser, so that no entity is ever expanded: the text between the tags."""
    source = _DOCTYPE.sub("", _UNSEEN.sub(" ", _decode(path.read_bytes())))
    source = _CDATA.sub(lambda data: html.escape(data[1], quote=False), source)
    text = html.unescape(_TAG.sub("\n", _INLINE.sub("", source)))
    text = _LINES.sub("\n", _SPACES.sub(" ", clean(text))).strip()
    return LoadedDocument(text, media_type="application/xml")


def _decode(content: bytes) -> str:
    """Decode by the file's own declaration where that works, else as any text."""
    declared = _CHARSET.search(content[:4096])
    if declared and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return content.decode(declared[1].decode("ascii"))
        except (LookupError, UnicodeDecodeError):
            return decode(content)
    return decode(content)
