"""HTML, web pages and EPUB as Markdown, and other XML as the text between its tags."""

import html
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers import ooxml
from rag.ingest.parsers.plain_text import decode_as, markdown_document
from rag.text.document import LoadedDocument
from rag.text.markdown import description, escape_bars, tidy
from rag.text.normalize import canonical

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
_NAMESPACE = re.compile(r"\{[^}]*\}")
_SPACES = re.compile(r"[ \t]+")
_LINES = re.compile(r"\n\s*")

# Elements that are no content on any page.
_NEVER_CONTENT = (
    "//script|//style|//noscript|//template|//svg|//iframe|//comment()|//processing-instruction()"
)
_AROUND = (
    "//nav|//*[@role='navigation' or @role='banner' or @role='contentinfo' or @role='search' or @hidden]"
)
_MAIN = "//main|//*[@role='main']"
# Elements that may hold a box of links, a form, or a bar at the side.
_BOXES = ("aside", "div", "dl", "figure", "footer", "form", "header", "ol", "section", "table", "ul")
_ADDED = ("aside", "footer", "form")
_ADDITION = re.compile(
    r"(?i)(?:^|[ _-])(?:ads?|advert|banner|breadcrumb|comment|cookie|footer|login|menu|nav|newsletter|promo"
    r"|recommend|related|share|sharing|sidebar|social|sponsor|subscri|toc|toolbar|widget)"
)
_SPACE = re.compile(r"\s+")
_NEAR = 5_000  # characters after the last piece in which the next one is looked for first
_SEARCHED = 1_000_000_000  # characters looked through for pieces that are not near: some seconds
_LEAST = 20  # characters without spaces; shorter words occur anywhere by chance
_SHARE = 0.5  # of a box's characters
_SOME = 0.25  # of the content found
_NEARLY = 0.9  # of the content found
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
    """Read a saved web page: all that a reader sees, without scripts and menus."""
    text, title = to_markdown(decode_declared(path.read_bytes()))
    return markdown_document(text, "text/html", title=title or None)


def read_xml(path: Path) -> LoadedDocument:
    """Read XML without a parser, so that no entity is ever expanded: the text between the tags."""
    source = _DOCTYPE.sub("", _COMMENT.sub(" ", decode_declared(path.read_bytes())))
    source = _CDATA.sub(lambda data: html.escape(data[1], quote=False), source)
    text = html.unescape(_TAG.sub("\n", _INLINE.sub("", source)))
    text = _LINES.sub("\n", _SPACES.sub(" ", canonical(text))).strip()
    return LoadedDocument(text, media_type="application/xml")


def to_markdown(source: str) -> tuple[str, str]:
    """Return HTML as clean Markdown, and the page's title; too deep a nesting leaves its plain text."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(source, "html.parser")
    title = canonical(soup.title.get_text(" ", strip=True)) if soup.title else ""
    for element in soup(_UNSEEN):
        element.decompose()
    for picture in soup("img"):
        picture.replace_with(description(str(picture.get("alt", ""))))
    for box in soup("input", type="checkbox"):
        box.replace_with("[x] " if box.has_attr("checked") else "[ ] ")
    for table in soup("table"):
        _unfold(table) if _is_layout(table) else _fill_spans(table)
    for words in soup.find_all(string=lambda text: text is not None and "|" in text):
        if words.find_parent(["td", "th"]):
            words.replace_with(escape_bars(words))
    try:
        markdown = MarkdownConverter(**_PLAIN).convert_soup(soup)
    except RecursionError:
        markdown = soup.get_text("\n", strip=True)
    return canonical(tidy(markdown)), title


def _language(block: Any) -> str:
    """Return the declared language of a block of code, as in `<code class="language-python">` does."""
    names = [
        name for element in (block, block.code) if element for name in element.get_attribute_list("class")
    ]
    return next((name[9:] for name in names if name and re.fullmatch(r"language-[\w+#.-]{1,30}", name)), "")


def _own(table: Any) -> list[Any]:
    parts = table(["thead", "tbody", "tfoot", "tr", "td", "th"])
    return [part for part in parts if part.find_parent("table") is table]


def _is_layout(table: Any) -> bool:
    """Return whether a table only lays out a page: it holds tables and names no column."""
    return table.find("table") is not None and all(part.name != "th" for part in _own(table))


def _unfold(table: Any) -> None:
    for part in [*_own(table), table]:
        part.name = "div"


def _fill_spans(table: Any) -> None:
    """Repeat a cell that spans rows in each of them, so that every row is complete."""
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


# Main content of web pages: trafilatura finds the words, the page itself gives their structure.


def read_web_page(source: bytes, encoding: str = "") -> tuple[str, str]:
    """Return a page's main content as Markdown, and its title; `encoding` is what the server declared."""
    from lxml import etree, html  # type: ignore[import-untyped]

    text = decode_page(source, encoding)
    try:
        parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
        tree = html.document_fromstring(text.encode(), parser=parser)
    except etree.ParserError:  # nothing but comments
        return "", ""
    _drop(tree.xpath(_NEVER_CONTENT))
    titles = [*tree.xpath("//meta[@property='og:title']/@content"), tree.findtext(".//head/title") or ""]
    headings_before = _main_headings(tree)
    page = _content(tree, _extracted_text(text))
    title = _page_title([_line(title) for title in titles], _main_headings(page), headings_before)
    markdown, _ = to_markdown(html.tostring(page, encoding="unicode"))
    markdown = markdown or to_markdown(text)[0]  # nested more deeply than lxml reads
    is_headed = markdown.startswith("# ") or f"\n# {title}\n" in markdown
    return markdown if is_headed or not title or not markdown else f"# {title}\n\n{markdown}", title


def decode_page(source: bytes, encoding: str) -> str:
    """Decode a page by its byte order mark, then the server's declaration, then its own."""
    if encoding and not source.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        with suppress(LookupError, UnicodeDecodeError):  # servers are often wrong
            return canonical(source.decode(encoding))
    return canonical(decode_declared(source))


def _extracted_text(text: str) -> str:
    import trafilatura

    return trafilatura.extract(text, include_comments=False, include_tables=True, favor_recall=True) or ""


def _page_title(titles: Iterable[str], content: Iterable[str], everywhere: Iterable[str]) -> str:
    """Return a page's title: the heading that its title repeats, else the title with the site's name in it.

    >>> _page_title(["Duck - Wikipedia"], ["Ducks in art"], ["Contents", "Duck"])
    'Duck'
    """
    named = [title for title in titles if title]
    for heading in content:
        if heading and (not named or any(heading in title for title in named)):
            return heading
    for heading in everywhere:
        if heading and any(title.startswith(heading) for title in named):
            return heading
    return next(iter(named), "")


def _main_headings(element: Any) -> list[str]:
    return [_line(heading.text_content()) for heading in element.iter("h1")]


def _line(text: str) -> str:
    return canonical(" ".join(str(text).split()))


def _content(tree: Any, found: str) -> Any:
    """Return the element that holds the content `found`, without the boxes in it that are not content."""
    _drop(tree.xpath(_AROUND))
    body = tree.find("body")
    body = tree if body is None else body
    coverage = _coverage(body, _FoundText(found))
    mains = [main for main in tree.xpath(_MAIN) if coverage[main].found >= _SOME * coverage[body].found]
    page = mains[0] if len(mains) == 1 else body
    if found:
        _drop(_foreign_boxes(page, coverage, sure=page is not body))
    return page


def _foreign_boxes(page: Any, coverage: dict[Any, "_Coverage"], *, sure: bool) -> list[Any]:
    """Return the boxes with hardly anything of the content found.

    In its core they must look like additions, too, since such a box may be an overlooked part. The core is
    `sure` to be content unless it is a whole page.
    """
    nearly = _NEARLY * coverage[page].found
    core = next(e for e in reversed(list(page.iter())) if coverage[e].found >= nearly)
    inside, around = set(core.iter()), {core, *core.iterancestors()}
    strict = core is page and not sure
    boxes = [box for box in page.iter(*_BOXES) if box not in around and coverage[box].is_foreign]
    return [box for box in boxes if strict or box not in inside or _is_addition(box)]


def _is_addition(box: Any) -> bool:
    return box.tag in _ADDED or _ADDITION.search(f"{box.get('class', '')} {box.get('id', '')}") is not None


class _Coverage(NamedTuple):
    """Counts of an element's characters: all, those in the content found, those of the longest such piece."""

    all: int = 0
    found: int = 0
    longest: int = 0

    @property
    def is_foreign(self) -> bool:
        """True where less than half of some text is in the content, and no long piece of it."""
        return self.all > 0 and self.longest < _LEAST and self.found < _SHARE * self.all


class _FoundText:
    """The words of the content without spaces. Pieces are looked up in their order, mostly."""

    def __init__(self, found: str):
        self._found, self._at, self._left = _SPACE.sub("", found), 0, _SEARCHED

    def coverage(self, text: str | None) -> _Coverage:
        piece = _SPACE.sub("", text or "")
        at = self._place(piece) if piece else -1
        if at < 0:
            return _Coverage(len(piece))
        self._at = at
        return _Coverage(len(piece), len(piece), len(piece))

    def _place(self, piece: str) -> int:
        """Return the offset of a piece: near the last one, else anywhere while that takes no minutes."""
        at = self._found.find(piece, self._at, self._at + len(piece) + _NEAR)
        if at >= 0 or self._left <= 0:
            return at
        self._left -= len(self._found)
        return self._found.find(piece)


def _coverage(page: Any, found: _FoundText) -> dict[Any, _Coverage]:
    elements = list(page.iter())
    counts = {element: found.coverage(element.text) for element in elements}
    tails = {element: found.coverage(element.tail) for element in elements}
    for element in reversed(elements):
        parent = element.getparent()
        if parent in counts:
            every, found_in, longest = zip(counts[parent], counts[element], tails[element], strict=True)
            counts[parent] = _Coverage(sum(every), sum(found_in), max(longest))
    return counts


def _drop(elements: Iterable[Any]) -> None:
    """Remove elements, each with all that is in it; the root stays."""
    for element in elements:
        if element.getparent() is not None:
            element.drop_tree()


def read_epub(path: Path) -> LoadedDocument:
    """Read an e-book: its title and authors, then its chapters in the order of its spine."""
    ooxml.inspect(path, doctype_allowed=True)
    with zipfile.ZipFile(path) as container:
        try:
            package = _package(container)
        except (KeyError, ElementTree.ParseError) as error:
            raise DocumentRefused(N_("is damaged: it does not say which chapters it has.")) from error
        chapters = [
            to_markdown(decode_declared(container.read(name)))[0] for name in _spine(container, *package)
        ]
        title, creator = (_metadata(package[1], tag) for tag in ("title", "creator"))
    text = "\n\n".join(filter(None, [title, creator, *chapters]))
    return markdown_document(text, "application/epub+zip", title=title or None)


def _package(container: zipfile.ZipFile) -> tuple[str, list[ElementTree.Element]]:
    """Return the package file's name and its elements, namespaces taken off."""
    roots = ElementTree.fromstring(container.read("META-INF/container.xml")).iter()  # noqa: S314 - inspected
    name = next(root.attrib["full-path"] for root in roots if root.tag.endswith("rootfile"))
    elements = list(ElementTree.fromstring(container.read(name)).iter())  # noqa: S314 - inspected
    for element in elements:
        element.tag = _NAMESPACE.sub("", element.tag)
    return name, elements


def _spine(container: zipfile.ZipFile, package: str, elements: list[ElementTree.Element]) -> Iterator[str]:
    present = set(container.namelist())
    items = {element.get("id"): element.get("href", "") for element in elements if element.tag == "item"}
    for element in elements:
        if element.tag == "itemref":
            name = posixpath.join(posixpath.dirname(package), unquote(items.get(element.get("idref"), "")))
            if posixpath.normpath(name) in present:
                yield posixpath.normpath(name)


def _metadata(elements: list[ElementTree.Element], tag: str) -> str:
    return ", ".join(element.text.strip() for element in elements if element.tag == tag and element.text)
