"""HTML as Markdown, and other XML as the text between its tags."""

import html
import re
from copy import copy
from pathlib import Path
from typing import Any

from rag.ingest.parsers.plain_text import decode_as
from rag.text.document import LoadedDocument, clean
from rag.text.markdown import description, headings, tidy, title

_CHARSET = re.compile(rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I)
_UNSEEN = ("title", "script", "style", "noscript", "template", "svg", "iframe", "nav", "select", "button")
_MAX_SPAN = 1000  # as browsers do
_DOCTYPE = re.compile(r"<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.I | re.S)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.S)
_INLINE = re.compile(
    r"</?(?:b|i|u|em|strong|bold|italic|sub|sup|span|a|xref|ext-link|sc|tt|code)(?:\s[^<>]*)?/?>"
)
_COMMENT = re.compile(r"<!--.*?-->|<\?.*?\?>", re.S)
_TAG = re.compile(r"<[^<>]*>")
_SPACES = re.compile(r"[ \t]+")
_LINES = re.compile(r"\n\s*")
# A quotation must read as the document does: no marks around words, no escapes.
_PLAIN: dict[str, Any] = {
    "heading_style": "atx",
    "bullets": "-",
    "escape_asterisks": False,
    "escape_underscores": False,
    "strong_em_symbol": "",
    "strip": ["a"],
    "table_infer_header": True,
    "code_language_callback": lambda block: _language(block),
}


def read_html(path: Path) -> LoadedDocument:
    """Read a web page as it is kept in a file: what a reader sees, without scripts and menus."""
    source = decode_declared(path.read_bytes())
    text, named = to_markdown(source)
    return LoadedDocument(text, (), named or title(text), "text/html", headings(text))


def read_xml(path: Path) -> LoadedDocument:
    """Read XML without a parser, so that no entity is ever expanded: the text between the tags."""
    source = _DOCTYPE.sub("", _COMMENT.sub(" ", decode_declared(path.read_bytes())))
    source = _CDATA.sub(lambda data: html.escape(data[1], quote=False), source)
    text = html.unescape(_TAG.sub("\n", _INLINE.sub("", source)))
    text = _LINES.sub("\n", _SPACES.sub(" ", clean(text))).strip()
    return LoadedDocument(text, media_type="application/xml")


def to_markdown(source: str) -> tuple[str, str]:
    """Turn HTML into clean Markdown and the page's title; too deep a nesting leaves its plain text."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(source, "html.parser")
    named = clean(soup.title.get_text(" ", strip=True)) if soup.title else ""
    for element in soup(_UNSEEN):
        element.decompose()
    for picture in soup("img"):
        picture.replace_with(description(str(picture.get("alt", ""))))
    for box in soup("input", type="checkbox"):
        box.replace_with("[x] " if box.has_attr("checked") else "[ ] ")
    for table in soup("table"):
        _unfold(table) if _is_layout(table) else _fill_spans(table)
    try:
        markdown = MarkdownConverter(**_PLAIN).convert_soup(soup)
    except RecursionError:
        markdown = soup.get_text("\n", strip=True)
    return clean(tidy(markdown)), named


def _language(block: Any) -> str:
    """Return the language that a block of code names, as `<code class="language-python">` does."""
    names = [
        name for element in (block, block.code) if element for name in element.get_attribute_list("class")
    ]
    return next((name[9:] for name in names if name and re.fullmatch(r"language-[\w+#.-]{1,30}", name)), "")


def _own(table: Any) -> list[Any]:
    """Return the rows and cells of a table, without those of the tables in it."""
    parts = table(["thead", "tbody", "tfoot", "tr", "td", "th"])
    return [part for part in parts if part.find_parent("table") is table]


def _is_layout(table: Any) -> bool:
    """Whether a table only lays out a page: it holds tables and names no column."""
    return table.find("table") is not None and all(part.name != "th" for part in _own(table))


def _unfold(table: Any) -> None:
    """Turn a table into stretches of text, one after the other."""
    for part in [*_own(table), table]:
        part.name = "div"


def _fill_spans(table: Any) -> None:
    """Repeat a cell that spans rows in each of them, so that every row says all of itself."""
    reaching: dict[int, tuple[int, Any]] = {}  # column -> rows still to fill, cell
    for row in table("tr"):
        if row.find_parent("table") is not table:
            continue
        cells = row.find_all(["td", "th"], recursive=False)
        column, following = 0, {}
        while cells or column in reaching:
            left, cell = reaching.pop(column, (0, None))
            if cell is not None:
                repeated = copy(cell)
                cells[0].insert_before(repeated) if cells else row.append(repeated)
            else:
                cell = cells.pop(0)
                left = _span(cell, "rowspan")
                del cell["rowspan"]
            if left > 1:
                following[column] = (left - 1, cell)
            column += _span(cell, "colspan")
        reaching = {**reaching, **following}


def _span(cell: Any, name: str) -> int:
    value = str(cell.get(name, "1"))
    return min(int(value), _MAX_SPAN) if value.isdecimal() and value != "0" else 1


def decode_declared(content: bytes) -> str:
    """Decode markup by its own declaration where that works, else as any text."""
    declared = _CHARSET.search(content[:4096])
    return decode_as(content, declared[1].decode("ascii", "replace") if declared else None)
