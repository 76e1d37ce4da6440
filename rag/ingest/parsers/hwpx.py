"""HWPX: OWPML (KS X 6101) in a ZIP container."""

import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers import ooxml
from rag.ingest.parsers.cells import Cell, table_blocks
from rag.ingest.parsers.hangul import DAMAGED_PART, Level, Outline, ParagraphHead
from rag.ingest.parsers.ooxml import attribute, children, descendants, local_name, number_attribute
from rag.ingest.parsers.plain_text import markdown_document
from rag.text.document import LOCKED, LoadedDocument, clean

_SECTION = re.compile(r"Contents/section(\d{1,6})\.xml", re.I)
_HEADER = "Contents/header.xml"
_SPACES = {"tab": "\t", "lineBreak": "\n", "nbSpace": " ", "fwSpace": " ", "hyphen": "-"}
_COUNTED = ("PICTURE", "TABLE", "EQUATION")
_UNSEEN = ("header", "footer", "hiddenComment", "masterPage", "parameters", "shapeComment")


def read_hwpx(path: Path) -> LoadedDocument:
    """Read an HWPX document."""
    from lxml import etree  # type: ignore[import-untyped]

    ooxml.inspect(path)
    with zipfile.ZipFile(path) as container:
        names = container.namelist()
        if "META-INF/manifest.xml" in names and b"encryption-data" in container.read("META-INF/manifest.xml"):
            raise DocumentRefused(LOCKED)
        sections = sorted(filter(None, map(_SECTION.fullmatch, names)), key=lambda found: int(found[1]))
        if not sections:
            raise DocumentRefused(N_("is damaged: the part that holds its text is missing."))
        reader, note = _Reader(container), ""
        blocks: list[str] = []
        for section in sections:
            try:
                root = ooxml.parse_strictly(container.read(section[0]))
            except etree.XMLSyntaxError:
                root, note = ooxml.parse_part(container, section[0]), DAMAGED_PART
            blocks += reader.section(root)
    document = markdown_document(clean("\n\n".join(filter(None, blocks))), "application/hwp+zip")
    return replace(document, note=note)


class _Reader:
    """Text of one document, block by block."""

    def __init__(self, container: zipfile.ZipFile):
        self._container, self._notes_read = container, 0
        self._outline, self._heads = Outline({}), dict[str, ParagraphHead]()
        if _HEADER in container.namelist():
            header = ooxml.parse_part(container, _HEADER)
            lists = descendants(header, "numbering")
            self._outline = Outline({number_attribute(one, "id", 0): _levels(one) for one in lists})
            self._heads = {attribute(one, "id"): _head(one) for one in descendants(header, "paraPr")}

    def section(self, root: Any) -> Iterator[str]:
        """Yield the paragraphs and tables of a section."""
        for properties in descendants(root, "secPr"):
            self._outline.outline_id = number_attribute(properties, "outlineShapeIDRef", 0)
        yield from self._paragraphs(root, in_table=False)

    def _paragraphs(self, element: Any, *, in_table: bool) -> Iterator[str]:
        for paragraph in children(element, "p"):
            yield from filter(None, self._paragraph(paragraph, in_table=in_table))

    def _paragraph(self, paragraph: Any, *, in_table: bool) -> Iterator[str]:
        """Yield a paragraph, then the tables, boxes and notes that are anchored in it."""
        anchored: list[str] = []
        runs = children(paragraph, "run")
        text = "".join(self._below(run, anchored, in_table=in_table) for run in runs)
        lines = (" ".join(line.split()) for line in text.split("\n"))
        head = self._heads.get(attribute(paragraph, "paraPrIDRef"), ParagraphHead())
        yield self._outline.block("\n".join(filter(None, lines)), head, in_table=in_table)
        yield from anchored

    def _below(self, element: Any, anchored: list[str], *, in_table: bool) -> str:
        return "".join(self._inline(part, anchored, in_table=in_table) for part in children(element))

    def _inline(self, part: Any, anchored: list[str], *, in_table: bool) -> str:
        """Return what a part of a run writes into the line; its blocks go to `anchored`."""
        name = local_name(part)
        if name in _WRITTEN:
            return _WRITTEN[name](part)
        if name in ("footNote", "endNote"):
            self._notes_read += 1
            mark = f"[{self._notes_read}]"
            anchored.append(" ".join([mark, *self._listed(part, in_table=True)]))
            return mark
        if name == "tbl":
            anchored += self._table(part)
        elif name == "subList":
            anchored += self._paragraphs(part, in_table=in_table)
        elif name == "chart":
            anchored += self._chart(attribute(part, "chartIDRef"))
        elif name == "fieldBegin" and attribute(part, "type") == "MEMO":
            anchored.append(ooxml.comment_line("", "", " ".join(self._listed(part, in_table=True))))
        elif name not in _UNSEEN:
            return self._below(part, anchored, in_table=in_table)
        return ""

    def _listed(self, element: Any, *, in_table: bool) -> list[str]:
        lists = children(element, "subList")
        return [block for one in lists for block in self._paragraphs(one, in_table=in_table)]

    def _table(self, table: Any) -> Iterator[str]:
        """Yield the caption of a table, and its cells."""
        for caption in children(table, "caption"):
            yield from self._listed(caption, in_table=True)
        yield from table_blocks(
            [
                _cell(cell, row, column, self._listed(cell, in_table=True))
                for row, cells in enumerate(children(table, "tr"))
                for column, cell in enumerate(children(cells, "tc"))
            ]
        )

    def _chart(self, part: str) -> Iterator[str]:
        if part in self._container.namelist():
            yield from ooxml.chart_blocks(ooxml.parse_part(self._container, part))


def _text(element: Any) -> str:
    """Return the text of a run, without what a tracked change has deleted."""
    text, is_deleted = element.text or "", False
    for part in children(element):
        name = local_name(part)
        is_deleted = name == "deleteBegin" or (is_deleted and name != "deleteEnd")
        text += "" if is_deleted else _SPACES.get(name, "") + (part.tail or "")
    return text


def _automatic_number(element: Any) -> str:
    return attribute(element, "num") if attribute(element, "numType") in _COUNTED else ""


_WRITTEN: dict[str, Callable[[Any], str]] = {
    "t": _text,
    "autoNum": _automatic_number,
    "compose": lambda element: attribute(element, "composeText"),
    "mainText": lambda element: element.text or "",  # of a word with its reading
    "script": lambda element: element.text or "",  # of an equation
}


def _cell(cell: Any, row: int, column: int, blocks: list[str]) -> Cell:
    """Return a cell at its address, else at its place in the file."""
    place, span = (next(children(cell, name), cell) for name in ("cellAddr", "cellSpan"))
    return Cell(
        number_attribute(place, "rowAddr", row),
        number_attribute(place, "colAddr", column),
        number_attribute(span, "rowSpan", 1),
        blocks,
    )


def _head(properties: Any) -> ParagraphHead:
    heading = next(descendants(properties, "heading"), properties)
    list_id, level = (number_attribute(heading, name, 0) for name in ("idRef", "level"))
    return ParagraphHead(attribute(heading, "type"), list_id, level)


def _levels(numbering: Any) -> list[Level]:
    heads = sorted(children(numbering, "paraHead"), key=lambda head: number_attribute(head, "level", 1))
    return [
        Level("".join(head.itertext()), attribute(head, "numFormat"), number_attribute(head, "start", 1))
        for head in heads
    ]
