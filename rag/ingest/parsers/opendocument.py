"""ODT, ODS and ODP: headings, lists, tables, comments; each slide of a presentation is a page."""

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers import ooxml
from rag.ingest.parsers.docx import format_number
from rag.ingest.parsers.ooxml import attribute, children, descendants, local_name, number_attribute
from rag.ingest.parsers.plain_text import markdown_document, table_text
from rag.text.document import LoadedDocument
from rag.text.normalize import canonical

_TYPE = "application/vnd.oasis.opendocument."
_UNNAMED = re.compile(r"page\d+")  # LibreOffice writes such names of slides and never shows them
_MAX_REPEATED = 1000  # cells or rows with text
_MAX_REPEATED_EMPTY = 50  # sheets fill themselves up with millions of empty cells
_MAX_ROWS = 1 << 20  # rows that a sheet has
_DEEPEST = 10  # levels that a style describes
_ANCHORED = ("annotation", "note", "frame", "custom-shape", "tracked-changes")
_SKIPPED = ("tracked-changes", "forms", "sequence-decls", "notes")
_FORMS = {
    "1": "decimal",
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
    "가, 나, 다, ...": "ganada",
    "ㄱ, ㄴ, ㄷ, ...": "chosung",
    "ア, イ, ウ, ...": "aiueo",
    "一, 二, 三, ...": "japaneseCounting",
}


def read_odt(path: Path) -> LoadedDocument:
    """Read a text document."""
    body, lists = _body(path, "text")
    return markdown_document(canonical("\n\n".join(filter(None, _blocks(body, lists)))), _TYPE + "text")


def read_ods(path: Path) -> LoadedDocument:
    """Read a spreadsheet: each sheet a heading and a table with a line for each row."""
    body, _ = _body(path, "spreadsheet")
    sheets = ((attribute(sheet, "name"), list(_sheet(sheet))) for sheet in descendants(body, "table"))
    return ooxml.sheets_document(sheets, _TYPE + "spreadsheet")


def read_odp(path: Path) -> LoadedDocument:
    """Read a presentation; the first title box of a slide is its heading."""
    body, lists = _body(path, "presentation")
    slides = (_slide(slide, lists) for slide in descendants(body, "page"))
    return ooxml.slides_document(slides, _TYPE + "presentation")


def _body(path: Path, kind: str) -> tuple[Any, "Lists"]:
    from lxml import etree  # type: ignore[import-untyped]

    ooxml.inspect(path)
    with zipfile.ZipFile(path) as container:
        names = container.namelist()
        ooxml.refuse_encrypted(container)
        if "content.xml" not in names:
            raise DocumentRefused(N_("is damaged: the part that holds its text is missing."))
        content = container.read("content.xml")
        styles = [ooxml.parse_part(container, "styles.xml")] if "styles.xml" in names else []
    try:
        root = ooxml.parse_strictly(content)
    except etree.XMLSyntaxError as error:
        raise DocumentRefused(N_("is damaged: its text is no sound XML.")) from error
    body = next((part for found in descendants(root, "body") for part in children(found, kind)), None)
    if body is None:
        raise DocumentRefused(N_("is damaged: the part that holds its text is empty."))
    return body, Lists(*styles, root)


class _Level(NamedTuple):
    """Numbering of one level of a list; ``displayed`` is how many levels a number shows, as 2 in 1.2."""

    form: str
    before: str
    after: str
    start: int
    displayed: int


class Lists:
    """Lists of one document as Markdown, by its styles in `roots` (lxml); numbers are counted in order."""

    def __init__(self, *roots: Any):
        styles = [style for root in roots for style in descendants(root, "list-style")]
        self._levels = {attribute(style, "name"): _levels(style) for style in styles}
        self._counts: dict[tuple[str, int], int] = {}

    def lines(
        self, listed: Any, text_of: Callable[[Any], str], style: str = "", depth: int = 1, indent: str = ""
    ) -> Iterator[str]:
        """Yield a line for each paragraph of a list and of the lists within it."""
        style = attribute(listed, "style-name") or style
        if attribute(listed, "continue-numbering") != "true" and not attribute(listed, "continue-list"):
            self._counts.pop((style, depth), None)
        for item in children(listed):
            mark = self._mark(item, style, depth)
            lead = indent + mark
            for part in children(item):
                if local_name(part) == "list":
                    yield from self.lines(part, text_of, style, depth + 1, indent + " " * min(len(mark), 3))
                elif text := text_of(part):
                    yield lead + text
                    lead = indent + " " * len(mark)

    def _mark(self, item: Any, style: str, depth: int) -> str:
        """Return the number or bullet of an item; one that has a paragraph of its own is counted."""
        level = self._levels.get(style, {}).get(depth)
        if level is None or next(children(item, "p", "h"), None) is None:
            return "- "
        count = number_attribute(item, "start-value", self._counts.get((style, depth), level.start - 1) + 1)
        self._counts[style, depth] = count
        number = ".".join(
            format_number(self._counts.get((style, place), 1), level.form)
            for place in range(max(1, depth - level.displayed + 1), depth + 1)
        )
        written = f"{level.before}{number}{level.after}".strip()
        return f"{written} " if written in (f"{count}.", f"{count})") else f"- {written} "


def _levels(style: Any) -> dict[int, _Level]:
    levels = {}
    for level in descendants(style, "list-level-style-number"):
        depth, form = number_attribute(level, "level", 1), attribute(level, "num-format")
        if depth <= _DEEPEST and form:
            levels[depth] = _Level(
                _FORMS.get(form, "decimal"),
                attribute(level, "num-prefix"),
                attribute(level, "num-suffix"),
                number_attribute(level, "start-value", 1),
                number_attribute(level, "display-levels", 1),
            )
    return levels


def _blocks(element: Any, lists: Lists) -> Iterator[str]:
    for part in children(element):
        name = local_name(part)
        if name == "h":
            yield f"{'#' * min(number_attribute(part, 'outline-level', 1), 6)} {_line(part)}"
        elif name == "p":
            yield _line(part)
            yield from _anchored(part, lists)
        elif name == "list":
            yield "\n".join(lists.lines(part, _line))
        elif name == "table":
            yield from _table(part)
        elif name == "annotation":
            yield _comment(part)
        elif name not in _SKIPPED:
            yield from _blocks(part, lists)


def _anchored(paragraph: Any, lists: Lists) -> Iterator[str]:
    """Yield the boxes, footnotes and comments that are anchored in a paragraph."""
    for part in children(paragraph):
        if local_name(part) == "annotation":
            yield _comment(part)
        else:
            yield from (_blocks if local_name(part) in _ANCHORED else _anchored)(part, lists)


def _line(element: Any) -> str:
    """Return the text of a paragraph on one line, without what is anchored in it."""
    return " ".join(_raw_text(element).split())


def _raw_text(element: Any) -> str:
    text = element.text or ""
    for part in element:  # a comment has a tail, too
        name = local_name(part)
        if name in ("s", "tab", "line-break"):
            text += " "
        elif name not in _ANCHORED and isinstance(part.tag, str):
            text += _raw_text(part)
        text += part.tail or ""
    return text


def _comment(annotation: Any) -> str:
    author, date = (
        next((part.text or "" for part in descendants(annotation, name)), "") for name in ("creator", "date")
    )
    text = " ".join(map(_line, descendants(annotation, "p")))
    return ooxml.comment_line(author, date, text) if text else ""


def _table(table: Any) -> Iterator[str]:
    """Yield a table, then the comments on it."""
    rows = (row for cells, times in _rows(table) for row in repeat(cells, min(times, _MAX_REPEATED)))
    yield from filter(None, (table_text(rows), *map(_comment, descendants(table, "annotation"))))


def _sheet(sheet: Any) -> Iterator[str]:
    """Yield a sheet's table, its rows counted, then the comments on it."""
    rows = [*_rows(sheet)]
    while rows and not any(rows[-1][0]):  # millions of them fill a sheet up
        rows.pop()
    table = table_text(islice(_counted(rows), _MAX_ROWS), counted=True)
    yield from filter(None, (table, *map(_comment, descendants(sheet, "annotation"))))


def _counted(rows: Iterable[tuple[list[str], int]]) -> Iterator[list[str]]:
    """Yield rows as often as they are repeated; beyond the limit, empty ones take the place of text."""
    for cells, times in rows:
        kept = min(times, _MAX_REPEATED) if any(cells) else 0
        yield from repeat(cells, kept)
        yield from repeat([], times - kept)


def _rows(table: Any) -> Iterator[tuple[list[str], int]]:
    """Yield the cells of each row, and how often it is repeated."""
    for row in descendants(table, "table-row"):
        cells: list[str] = []
        for cell in children(row, "table-cell", "covered-table-cell"):
            own = (part for part in descendants(cell, "p") if not _is_in_comment(part, cell))
            text = " ".join(filter(None, map(_line, own)))
            cells += [text] * _repeated(cell, "number-columns-repeated", text)
        yield cells, min(number_attribute(row, "number-rows-repeated", 1), _MAX_ROWS)


def _is_in_comment(paragraph: Any, cell: Any) -> bool:
    parent = paragraph.getparent()
    return parent is not cell and local_name(parent) == "annotation"


def _repeated(element: Any, name: str, text: str) -> int:
    limit = _MAX_REPEATED if text.strip() else _MAX_REPEATED_EMPTY
    return min(number_attribute(element, name, 1), limit)


def _slide(slide: Any, lists: Lists) -> list[str]:
    """Return the blocks of a slide; its own name is the heading where it has no title."""
    blocks = list(filter(None, _shapes(slide, lists)))
    name = attribute(slide, "name")
    is_titled = not name or _UNNAMED.fullmatch(name) or any(block.startswith("# ") for block in blocks)
    return blocks if is_titled or not blocks else [f"# {name}", *blocks]


def _shapes(slide: Any, lists: Lists) -> Iterator[str]:
    is_titled = False
    for shape in children(slide):
        blocks = [block for block in _blocks(shape, lists) if block]
        if attribute(shape, "class") == "title" and blocks and not is_titled:
            is_titled = True
            yield f"# {' '.join(blocks)}"
        elif local_name(shape) == "notes":
            yield "\n\n".join(["### Notes", *blocks]) if blocks else ""
        elif local_name(shape) == "annotation":
            yield _comment(shape)
        else:
            yield from blocks
