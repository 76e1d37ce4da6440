"""Drawn shapes of PDF pages: thin ones are lines."""

from collections.abc import Iterable, Iterator
from ctypes import PYFUNCTYPE, byref, c_float, c_int, c_uint, c_void_p, cast, sizeof
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage


def address(pointer: Any) -> int:
    """Return the address that a pointer of ctypes holds."""
    return cast(pointer, c_void_p).value or 0


# Functions of pdfium on addresses: pypdfium2's own make a Python object of each pointer, which is slower.
# They are too short to let other threads run meanwhile.
_object_at = PYFUNCTYPE(c_void_p, c_void_p, c_int)(address(pdfium.FPDFPage_GetObject))
_type_of = PYFUNCTYPE(c_int, c_void_p)(address(pdfium.FPDFPageObj_GetType))
_bounds_of = PYFUNCTYPE(c_int, c_void_p, *[c_void_p] * 4)(address(pdfium.FPDFPageObj_GetBounds))
box_of = PYFUNCTYPE(c_int, c_void_p, c_int, c_void_p)(address(pdfium.FPDFText_GetLooseCharBox))
_count_of = PYFUNCTYPE(c_int, c_void_p)(address(pdfium.FPDFPath_CountSegments))
_segment_at = PYFUNCTYPE(c_void_p, c_void_p, c_int)(address(pdfium.FPDFPath_GetPathSegment))
_point_of = PYFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)(address(pdfium.FPDFPathSegment_GetPoint))
_segment_type = PYFUNCTYPE(c_int, c_void_p)(address(pdfium.FPDFPathSegment_GetType))
_closes = PYFUNCTYPE(c_int, c_void_p)(address(pdfium.FPDFPathSegment_GetClose))
_matrix_of = PYFUNCTYPE(c_int, c_void_p, c_void_p)(address(pdfium.FPDFPageObj_GetMatrix))
_mode_of = PYFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)(address(pdfium.FPDFPath_GetDrawMode))
_fill_of = PYFUNCTYPE(c_int, c_void_p, *[c_void_p] * 4)(address(pdfium.FPDFPageObj_GetFillColor))

_THIN = 2.5  # points: the thickness of a line
_FINE = 64  # pdfium maps to whole pixels: ask for a picture so many times larger
_APART = 4.5  # points between two lines that are not one
_MAX_SHAPES = 100_000
_MANY = 1000  # objects of a page
_STEP = 3  # at most the number of upright lines of a table
_PAPER = 250  # of 255, each of red, green and blue
_MAX_OUTLINES = 3_000  # shapes of a page, or segments of a shape: a map or a drawing has more
_GROUND = 5  # points of a rectangle
_STRAIGHT = 0.5  # points by which the ends of a line may differ

_DRAWN = frozenset(
    (
        pdfium.FPDF_PAGEOBJ_PATH,
        pdfium.FPDF_PAGEOBJ_IMAGE,
        pdfium.FPDF_PAGEOBJ_SHADING,
        pdfium.FPDF_PAGEOBJ_FORM,
    )
)

Direction = tuple[float, float]
Rectangle = tuple[float, float, float, float]  # left, top, right, bottom; in points left, bottom, right, top
Point = tuple[float, float]
Bounds = tuple[float, float, float, float]  # left, right, bottom, top


class Edge(NamedTuple):
    """Straight part of a drawing in points: its height, or its place from the left, and its ends."""

    at: float
    low: float
    high: float


class Drawing:
    """Shapes of a page along a direction of reading, read when they are first asked for."""

    def __init__(self, sheet: PdfPage, along: Direction) -> None:
        self.sheet, self.along = sheet, along

    @cached_property
    def shapes(self) -> list[tuple[int, Bounds]]:
        """Address and bounds of each shape."""
        return list(self._measured(1))

    def _measured(self, step: int) -> Iterator[tuple[int, Bounds]]:
        edges = (c_float * 4)()
        pointers = [byref(edges, place * sizeof(c_float)) for place in range(4)]
        for shape in _shapes(self.sheet, step):
            if not _bounds_of(shape, *pointers):
                continue
            left, bottom, right, top = edges
            bounds = left, right, bottom, top
            if self.along[0] != 1:
                bounds = turned_box(pdfium.FS_RECTF(bounds[0], bounds[3], bounds[1], bounds[2]), self.along)
            yield shape, bounds

    def _has_upright_lines(self) -> bool:
        """Return whether a page may hold the upright lines of a table, at least three, drawn in one go.

        Where each letter is an object, to look at all of them takes long.
        """
        if pdfium.FPDFPage_CountObjects(self.sheet) < _MANY:
            return True
        return any(
            right - left < _THIN < top - bottom or (top - bottom >= _THIN and _is_drawn(shape))
            for shape, (left, right, bottom, top) in self._measured(_STEP)
        )

    @cached_property
    def rules(self) -> list[tuple[float, float, float]]:
        """Left, right and height of thin shapes; those that touch are one."""
        found = [
            (left, right, round((top + bottom) / 2))
            for _, (left, right, bottom, top) in self.shapes
            if top - bottom < _THIN < right - left
        ]
        joined: list[tuple[float, float, float]] = []
        for left, right, height in sorted(found, key=lambda rule: (rule[2], rule[0])):
            if joined and joined[-1][2] == height and left - joined[-1][1] < _APART:
                joined[-1] = joined[-1][0], max(right, joined[-1][1]), height
            else:
                joined.append((left, right, height))
        return joined

    @cached_property
    def edges(self) -> tuple[list[Edge], list[Edge]]:
        """Horizontal and vertical lines: thin shapes, and the straight sides of drawn ones."""
        level: list[Edge] = []
        upright: list[Edge] = []
        if not self._has_upright_lines() or len(self.shapes) > _MAX_OUTLINES:
            return level, upright
        for shape, (left, right, bottom, top) in self.shapes:
            if top - bottom < _THIN:
                level.append(Edge((top + bottom) / 2, left, right))
            elif right - left < _THIN:
                upright.append(Edge((left + right) / 2, bottom, top))
            elif _is_drawn(shape):
                for first, last in _sides(shape):
                    _add_edge(level, upright, self._turned(first), self._turned(last))
        return level, upright

    @cached_property
    def grounds(self) -> list[Bounds]:
        """Bounds of what is drawn as a ground for text."""
        if len(self.shapes) > _MAX_OUTLINES:
            return []
        return [
            box
            for shape, box in self.shapes
            if min(box[1] - box[0], box[3] - box[2]) >= _THIN and _is_filled(shape)
        ]

    def _turned(self, point: tuple[float, float]) -> tuple[float, float]:
        (x, y), along = point, self.along
        return x * along[0] + y * along[1], y * along[0] - x * along[1]


def _add_edge(level: list[Edge], upright: list[Edge], first: Point, last: Point) -> None:
    (x1, y1), (x2, y2) = first, last
    if abs(y1 - y2) <= _STRAIGHT:
        level.append(Edge((y1 + y2) / 2, min(x1, x2), max(x1, x2)))
    elif abs(x1 - x2) <= _STRAIGHT:
        upright.append(Edge((x1 + x2) / 2, min(y1, y2), max(y1, y2)))


def _is_drawn(shape: int) -> bool:
    """Return whether a shape is stroked, or consists of filled parts and not of one ground."""
    stroke = c_int()
    stroked = bool(_mode_of(shape, byref(c_int()), byref(stroke)) and stroke.value)
    return stroked or (_count_of(shape) > _GROUND and _is_filled(shape))


def _is_filled(shape: int) -> bool:
    """Return whether a shape is filled with another colour than paper."""
    fill = c_int()
    if not _mode_of(shape, byref(fill), byref(c_int())) or not fill.value:
        return False
    colours = [c_uint() for _ in range(4)]
    _fill_of(shape, *map(byref, colours))
    *paint, alpha = [colour.value for colour in colours]
    return alpha > 0 and min(paint) < _PAPER


def _sides(shape: int) -> Iterator[tuple[Point, Point]]:
    """Yield the straight segments of a shape in the page's coordinates."""
    count = _count_of(shape)
    if count > _MAX_OUTLINES:
        return
    matrix, x, y = pdfium.FS_MATRIX(), c_float(), c_float()
    _matrix_of(shape, byref(matrix))
    start = last = (0.0, 0.0)
    for number in range(count):
        segment = _segment_at(shape, number)
        _point_of(segment, byref(x), byref(y))
        point = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        kind = _segment_type(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == pdfium.FPDF_SEGMENT_LINETO:
            yield last, point
        if _closes(segment):
            yield point, start
        last = point


def _objects(sheet: PdfPage, step: int) -> Iterator[int]:
    count = min(pdfium.FPDFPage_CountObjects(sheet), _MAX_SHAPES)
    return map(_object_at, repeat(address(sheet.raw)), range(0, count, step))


def _shapes(sheet: PdfPage, step: int = 1) -> Iterator[int]:
    """Yield the addresses of a page's drawn shapes, which most of its objects are not."""
    objects = list(_objects(sheet, step))
    kinds = map(_type_of, objects)
    return (shape for shape, kind in zip(objects, kinds, strict=True) if kind == pdfium.FPDF_PAGEOBJ_PATH)


def turned_box(box: pdfium.FS_RECTF, along: tuple[float, float]) -> tuple[float, float, float, float]:
    """Return left, right, bottom, top of a box along a direction."""
    if along[0] == 1:
        return box.left, box.right, box.bottom, box.top
    corners = [
        (x * along[0] + y * along[1], y * along[0] - x * along[1])
        for x in (box.left, box.right)
        for y in (box.bottom, box.top)
    ]
    xs, ys = zip(*corners, strict=True)
    return min(xs), max(xs), min(ys), max(ys)


def union(boxes: Iterable[Rectangle]) -> Rectangle:
    """Return the smallest rectangle around some."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def device_box(sheet: PdfPage, box: Rectangle, scale: float) -> Rectangle:
    """Turn a box in points into pixels of the rendered page, its rotation and crop included."""
    left, bottom, right, top = box
    width, height = (round(side * scale * _FINE) for side in sheet.get_size())
    corners = []
    for x, y in ((left, bottom), (right, top)):
        column, row = c_int(), c_int()
        pdfium.FPDF_PageToDevice(sheet, 0, 0, width, height, 0, x, y, byref(column), byref(row))
        corners.append((column.value / _FINE, row.value / _FINE))
    (x1, y1), (x2, y2) = corners
    return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


def drawn_bounds(sheet: PdfPage) -> Iterator[Rectangle]:
    """Yield left, bottom, right and top of a page's pictures, shapes and groups of them."""
    first, low, last, high = edges = [c_float() for _ in range(4)]
    pointers = [byref(edge) for edge in edges]
    for found in _objects(sheet, 1):
        if _type_of(found) in _DRAWN and _bounds_of(found, *pointers):
            yield first.value, low.value, last.value, high.value
