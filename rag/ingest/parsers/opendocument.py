"""ODT, ODS and ODP: headings, lists, tables, comments; each slide of a presentation is a page."""

import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.ingest.parsers import ooxml as archive
from rag.ingest.parsers.docx import formed
from rag.ingest.parsers.ooxml import attribute, local, named, parsed
from rag.ingest.parsers.tables import markdown_table
from rag.text.document import BETWEEN_PAGES, LOCKED, LoadedDocument, clean, page_spans
from rag.text.markdown import headings, title

# Lists of OpenDocument as Markdown's: which are numbered, how and from where, their styles say.
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
_DEEPEST = 10  # levels that a style describes


@dataclass(frozen=True)
class _Level:
    """How a level of a list is numbered: ``shown`` is how many levels stand in a number, as in 1.2."""

    form: str
    before: str
    after: str
    start: int
    shown: int


class Lists:
    """The lists of one document, by its styles in `roots` (lxml); their numbers are counted as they come."""

    def __init__(self, *roots: Any):
        styles = [style for root in roots for style in named(root, "list-style")]
        self._levels = {attribute(style, "name"): _levels(style) for style in styles}
        self._counts: dict[tuple[str, int], int] = {}

    def lines(
        self, listed: Any, words: Callable[[Any], str], style: str = "", depth: int = 1, indent: str = ""
    ) -> Iterator[str]:
        """Yield a line for each paragraph of a list and of lists within it; `words` tells what it says."""
        style = attribute(listed, "style-name") or style
        if attribute(listed, "continue-numbering") != "true" and not attribute(listed, "continue-list"):
            self._counts.pop((style, depth), None)
        for item in (part for part in listed if isinstance(part.tag, str)):
            mark = self._mark(item, style, depth)
            lead = indent + mark
            for part in (part for part in item if isinstance(part.tag, str)):
                if local(part) == "list":
                    yield from self.lines(part, words, style, depth + 1, indent + " " * min(len(mark), 3))
                elif said := words(part):
                    yield lead + said
                    lead = indent + " " * len(mark)

    def _mark(self, item: Any, style: str, depth: int) -> str:
        """Count an item that has a paragraph of its own, and return what stands before it."""
        level = self._levels.get(style, {}).get(depth)
        if level is None or not any(isinstance(part.tag, str) and local(part) in ("p", "h") for part in item):
            return "- "
        given = attribute(item, "start-value")
        counted = self._counts.get((style, depth), level.start - 1) + 1
        self._counts[style, depth] = int(given) if given.isdecimal() else counted
        number = ".".join(
            formed(self._counts.get((style, place), 1), level.form)
            for place in range(max(1, depth - level.shown + 1), depth + 1)
        )
        written = f"{level.before}{number}{level.after}".strip()
        is_markdowns = written in (f"{self._counts[style, depth]}.", f"{self._counts[style, depth]})")
        return f"{written} " if is_markdowns else f"- {written} "


def _levels(style: Any) -> dict[int, _Level]:
    """Return the levels of a list's style that are numbered, by their depth from 1 on."""
    found = {}
    for level in named(style, "list-level-style-number"):
        depth, start, shown = (
            int(given) if (given := attribute(level, name)).isdecimal() else 1
            for name in ("level", "start-value", "display-levels")
        )
        if depth <= _DEEPEST and (form := attribute(level, "num-format")):
            before, after = attribute(level, "num-prefix"), attribute(level, "num-suffix")
            found[depth] = _Level(_FORMS.get(form, "decimal"), before, after, start, shown)
    return found


_TYPE = "application/vnd.oasis.opendocument."
_UNNAMED = re.compile(r"page\d+")  # what LibreOffice writes and never shows
_MAX_REPEATED = 1000  # cells or rows; sheets fill themselves up with millions of empty ones
_SILENT = (
    "annotation",
    "note",
    "frame",
    "custom-shape",
    "tracked-changes",
)  # told apart from their paragraph


def read_odt(path: Path) -> LoadedDocument:
    """Read a text document."""
    body, lists = _body(path, "text")
    text = clean("\n\n".join(filter(None, _blocks(body, lists))))
    return LoadedDocument(text, (), title(text), _TYPE + "text", headings(text))


def read_ods(path: Path) -> LoadedDocument:
    """Read a spreadsheet: each sheet a heading and a table."""
    sheets = [
        (attribute(sheet, "name"), list(_table(sheet)))
        for sheet in named(_body(path, "spreadsheet")[0], "table")
    ]
    text = clean("\n\n".join("\n\n".join([f"## {name}", *said]) for name, said in sheets if said))
    return LoadedDocument(text, (), "", _TYPE + "spreadsheet", headings(text))


def read_odp(path: Path) -> LoadedDocument:
    """Read a presentation; the first box of a slide that is called its title is its heading."""
    body, lists = _body(path, "presentation")
    slides = [clean("\n\n".join(_headed(slide, lists))) for slide in named(body, "page")]
    text = BETWEEN_PAGES.join(slides)
    return LoadedDocument(text, page_spans(slides), title(text), _TYPE + "presentation", headings(text))


def _body(path: Path, kind: str) -> tuple[Any, Lists]:
    """Return what a document consists of (lxml), and how its lists are numbered."""
    from lxml import etree  # type: ignore[import-untyped]

    archive.inspect(path)
    with zipfile.ZipFile(path) as container:
        names = container.namelist()
        if "META-INF/manifest.xml" in names and b"encryption-data" in container.read("META-INF/manifest.xml"):
            raise DocumentRefused(LOCKED)
        if "content.xml" not in names:
            raise DocumentRefused("is damaged: the part that holds its text is missing.")
        content = container.read("content.xml")
        styles = [parsed(container, "styles.xml")] if "styles.xml" in names else []
    try:
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, huge_tree=True))
    except etree.XMLSyntaxError as error:
        raise DocumentRefused("is damaged: its text is no sound XML.") from error
    body = next((part for found in named(root, "body") for part in found if local(part) == kind), None)
    if body is None:
        raise DocumentRefused("is damaged: the part that holds its text is empty.")
    return body, Lists(*styles, root)


def _blocks(element: Any, lists: Lists) -> Iterator[str]:
    """Yield what stands below an element, block by block."""
    for part in element:
        name = local(part) if isinstance(part.tag, str) else ""
        if name == "h":
            level = attribute(part, "outline-level")
            yield f"{'#' * min(int(level) if level.isdecimal() else 1, 6)} {_words(part)}"
        elif name == "p":
            yield _words(part)
            yield from _aside(part, lists)
        elif name == "list":
            yield "\n".join(lists.lines(part, _words))
        elif name == "table":
            yield from _table(part)
        elif name == "annotation":
            yield _comment(part)
        elif name not in ("tracked-changes", "forms", "sequence-decls", "notes"):
            yield from _blocks(part, lists)


def _aside(paragraph: Any, lists: Lists) -> Iterator[str]:
    """Yield what is anchored in a paragraph: boxes, footnotes, comments."""
    for part in paragraph:
        name = local(part) if isinstance(part.tag, str) else ""
        if name == "annotation":
            yield _comment(part)
        elif name in _SILENT:
            yield from _blocks(part, lists)
        elif name:
            yield from _aside(part, lists)


def _words(element: Any) -> str:
    """Return the words of a paragraph on one line."""
    return " ".join(_raw(element).split())


def _raw(element: Any) -> str:
    said = element.text or ""
    for part in element:
        name = local(part) if isinstance(part.tag, str) else "comment"
        if name in ("s", "tab", "line-break"):
            said += " "
        elif name not in _SILENT and name != "comment":
            said += _raw(part)
        said += part.tail or ""
    return said


def _comment(annotation: Any) -> str:
    author, when = (
        next((part.text or "" for part in named(annotation, name)), "") for name in ("creator", "date")
    )
    said = " ".join(_words(part) for part in named(annotation, "p"))
    return (
        f"Comment{' by ' + author if author else ''}{', ' + when[:10] if when else ''}: {said}"
        if said
        else ""
    )


def _table(table: Any) -> Iterator[str]:
    lines = list(markdown_table(_rows(table)))
    if lines:
        yield "\n".join(lines)
    yield from (said for note in named(table, "annotation") if (said := _comment(note)))


def _rows(table: Any) -> Iterator[list[str]]:
    for row in named(table, "table-row"):
        cells: list[str] = []
        for cell in row:
            if isinstance(cell.tag, str) and local(cell) in ("table-cell", "covered-table-cell"):
                said = " ".join(
                    filter(None, (_words(part) for part in named(cell, "p") if _is_of(part, cell)))
                )
                cells += [said] * _times(cell, "number-columns-repeated", said)
        yield from [cells] * _times(row, "number-rows-repeated", "".join(cells))


def _is_of(paragraph: Any, cell: Any) -> bool:
    """Whether a paragraph is a cell's own, not one of a comment on it."""
    parent = paragraph.getparent()
    return parent is cell or local(parent) != "annotation"


def _times(element: Any, name: str, said: str) -> int:
    times = attribute(element, name)
    return min(int(times), _MAX_REPEATED if said.strip() else 50) if times.isdecimal() else 1


def _headed(slide: Any, lists: Lists) -> list[str]:
    """Return what a slide says; one without a title goes by the name it was given."""
    said = [block for block in _slide(slide, lists) if block]
    name = attribute(slide, "name")
    is_titled = not name or _UNNAMED.fullmatch(name) or any(block.startswith("# ") for block in said)
    return said if is_titled or not said else [f"# {name}", *said]


def _slide(slide: Any, lists: Lists) -> Iterator[str]:
    is_titled = False
    for shape in slide:
        if not isinstance(shape.tag, str):
            continue
        blocks = [block for block in _blocks(shape, lists) if block]
        if attribute(shape, "class") == "title" and blocks and not is_titled:
            is_titled = True
            yield f"# {' '.join(blocks)}"
        elif local(shape) == "notes":
            yield "\n\n".join(["### Notes", *blocks]) if blocks else ""
        elif local(shape) == "annotation":
            yield _comment(shape)
        else:
            yield from blocks
