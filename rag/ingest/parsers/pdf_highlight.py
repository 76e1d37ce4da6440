"""Highlighting on PDF pages; nothing is marked where a page no longer reads as it was stored."""

import io
import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from ctypes import byref, c_double
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage, PdfTextPage

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers import sandbox
from rag.ingest.parsers.pdf import INSERTED, PageText, Span, open_pdf, readings
from rag.ingest.parsers.pdf_lines import characters_of
from rag.ingest.parsers.pdf_shapes import Rectangle, device_box, union

_MAX_SIDE = 4000  # pixels: a poster would otherwise take gigabytes


# Least height of a box, as shares of the font size around the baseline. More below would make the box of a
# line without descenders taller than nine tenths of its ink.
_BELOW, _ABOVE = 0.08, 0.72
_FRAME = 5  # pixels from a box to the outside of its frame
_ROW = "| "  # what a table row begins with
TIMEOUT = 20.0  # seconds: someone waits for the page
MEMORY = 1 << 30


class Box(NamedTuple):
    """Rectangle in pixels from the top left of the page's picture."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class PageImage:
    """Rendered page; `boxes` is empty when the place of the words is not `certain`.

    `current` are those of the boxes that are framed.
    """

    png: bytes
    width: int
    height: int
    boxes: tuple[Box, ...]
    certain: bool
    current: tuple[Box, ...] = ()


def page_image(
    path: Path,
    page: int,
    text: str,
    spans: Sequence[tuple[int, int]],
    *,
    current: int | None = None,
    scale: float = 2.0,
) -> PageImage:
    """Render a page (from 1) at `scale` pixels a point, with `spans` of its stored `text` marked.

    The `current` one of them, counted from 0, is framed, too. Offsets count from the start of the page's own
    text. Raises DocumentRefused.
    """
    for start, end in spans:
        if not 0 <= start < end <= len(text):
            raise ValueError(f"[{start}, {end}) is no span of a page of {len(text)} characters")
    request = {"number": page, "text": text, "spans": list(spans), "current": current, "scale": scale}
    facts, png = sandbox.run("page", path, "The document", timeout=TIMEOUT, memory=MEMORY, **request)
    boxes, framed = (tuple(Box(*box) for box in facts[name]) for name in ("boxes", "current"))
    return PageImage(png, facts["width"], facts["height"], boxes, facts["certain"], framed)


def locate(
    path: Path,
    *,
    number: int,
    text: str,
    spans: Sequence[tuple[int, int]],
    current: int | None,
    scale: float,
) -> tuple[dict[str, Any], bytes]:
    """Find `spans` of a page's stored text, and render the page with them marked."""
    with open_pdf(path) as pdf:
        if not 1 <= number <= len(pdf):
            raise DocumentRefused(N_("has no page {number}.", number=number))
        sheet = pdf[number - 1]
        scale = min(scale, _MAX_SIDE / max(sheet.get_size()))
        characters = characters_of(sheet)
        found_again = (read.as_stored(text) for read in readings(pdf, number - 1, sheet, characters))
        read = next((page for page in found_again if page), None)
        certain = read is not None
        found = [_boxes(sheet, characters, read, *span, scale) for span in spans] if read else []
        boxes = [box for line in found for box in line]
        framed = found[current] if found and current is not None else []
        width, height = (math.ceil(side * scale) for side in sheet.get_size())
        facts = {"certain": certain, "boxes": boxes, "current": framed, "width": width, "height": height}
        return facts, _picture(sheet, scale, boxes, framed)


def _boxes(
    sheet: PdfPage, characters: PdfTextPage, read: PageText, start: int, end: int, scale: float
) -> list[Rectangle]:
    """Return a box for each marked line, a row of a table being one; a cell's headers are marked with it."""
    starts = [line.start for line in read.lines]
    boxes = []
    for line in range(max(bisect_right(starts, start) - 1, 0), bisect_right(starts, end - 1)):
        first, last = starts[line], starts[line + 1] if line + 1 < len(starts) else len(read.text)
        row = _row(read, first)
        marked = _visible(read, max(start, first), min(end, last))
        if marked:
            whole = marked if row else _visible(read, first, last)
            boxes.append(_box(sheet, characters, marked, whole, read.lines[line].size, scale))
    for head in _heads(read, start, end):
        size = read.lines[bisect_right(starts, head[0]) - 1].size
        cells = _stacked(characters, _visible(read, *head), size)
        boxes += [_box(sheet, characters, marked, marked, size, scale) for marked in cells]
    return boxes


def _stacked(characters: PdfTextPage, indices: Sequence[int], size: float) -> list[list[int]]:
    """Return the characters of a cell in its lines."""
    lines: list[list[int]] = []
    heights: list[float] = []
    matrix, x, y = pdfium.FS_MATRIX(), c_double(), c_double()
    for index in indices:
        pdfium.FPDFText_GetMatrix(characters, index, matrix)
        pdfium.FPDFText_GetCharOrigin(characters, index, byref(x), byref(y))
        height = (x.value * matrix.c + y.value * matrix.d) / (math.hypot(matrix.c, matrix.d) or 1.0)
        if lines and abs(height - heights[-1]) < size / 2:
            lines[-1].append(index)
        else:
            lines.append([index])
            heights.append(height)
    return lines


def _row(read: PageText, start: int) -> list[Span] | None:
    """Return the cells of the table row that begins at an offset."""
    rows = (row for table in read.tables for row in table)
    return next((row for row in rows if row[0][0] - len(_ROW) == start), None)


def _heads(read: PageText, start: int, end: int) -> Iterator[Span]:
    """Yield the label of the row and the header of the column of a span that lies in one cell."""
    for header, *rows in read.tables:
        for row in rows:
            inside = [place for place, (_, last) in enumerate(row) if start < last and end > row[place][0]]
            if len(inside) == 1 and row[0][0] <= start and end <= row[-1][1]:
                yield from ((row[0], header[inside[0]]) if inside[0] else (header[0],))


def _visible(read: PageText, start: int, end: int) -> list[int]:
    return [
        index
        for index, character in zip(read.indices[start:end], read.text[start:end], strict=True)
        if index != INSERTED and not character.isspace()
    ]


def _box(
    sheet: PdfPage, characters: PdfTextPage, marked: list[int], line: list[int], size: float, scale: float
) -> Rectangle:
    """Return a box as wide as the marked characters' advances and as high as the ink of their line."""
    along = union(device_box(sheet, characters.get_charbox(index, loose=True), scale) for index in marked)
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(characters, marked[0], matrix)
    if min(abs(matrix.a), abs(matrix.b)) > 0.02 * math.hypot(matrix.a, matrix.b):
        return along  # a slanted line has no upright band
    ink = [device_box(sheet, characters.get_charbox(index), scale) for index in line]
    across = union([*ink, device_box(sheet, _band(characters, marked[0], size, matrix), scale)])
    upright = (abs(matrix.b) < abs(matrix.a)) == (sheet.get_rotation() % 180 == 0)
    if upright:
        return along[0], across[1], along[2], across[3]
    return across[0], along[1], across[2], along[3]


def _band(characters: PdfTextPage, index: int, size: float, matrix: pdfium.FS_MATRIX) -> Rectangle:
    """Return the least height of a line, at one character's origin, in points."""
    x, y = c_double(), c_double()
    pdfium.FPDFText_GetCharOrigin(characters, index, byref(x), byref(y))
    length = math.hypot(matrix.c, matrix.d) or 1.0
    up = (matrix.c / length * size, matrix.d / length * size)
    xs = (x.value - _BELOW * up[0], x.value + _ABOVE * up[0])
    ys = (y.value - _BELOW * up[1], y.value + _ABOVE * up[1])
    return min(xs), min(ys), max(xs), max(ys)


def _picture(sheet: PdfPage, scale: float, boxes: list[Rectangle], framed: list[Rectangle]) -> bytes:
    """Render a page as PNG, its boxes yellow and underlined, so that they are visible without colour.

    What is framed has a dark line around it.
    """
    from PIL import Image, ImageChops, ImageDraw

    image = sheet.render(scale=scale).to_pil().convert("RGB")
    layer = Image.new("RGB", image.size, "white")
    draw = ImageDraw.Draw(layer)
    for left, top, right, bottom in boxes:
        draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=(255, 236, 130))
        draw.line((left - 1, bottom + 1, right + 1, bottom + 1), fill=(200, 120, 0), width=2)
    for left, top, right, bottom in framed:
        around = (left - _FRAME, top - _FRAME, right + _FRAME, bottom + _FRAME)
        draw.rectangle(around, fill=(255, 190, 90), outline=(120, 50, 0), width=3)
    file = io.BytesIO()
    ImageChops.multiply(image, layer).save(file, "PNG")
    return file.getvalue()
