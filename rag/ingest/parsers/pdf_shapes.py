"""Drawn shapes of PDF pages: thin ones are lines."""

from collections.abc import Iterator
from ctypes import CFUNCTYPE, byref, c_float, c_int, c_void_p, cast
from itertools import repeat
from typing import Any

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage


def address(pointer: Any) -> int:
    """Return the address that a pointer of ctypes holds."""
    return cast(pointer, c_void_p).value or 0


# Functions of pdfium on addresses: pypdfium2's own make a Python object of each pointer, which is slower.
_object_at = CFUNCTYPE(c_void_p, c_void_p, c_int)(address(pdfium.FPDFPage_GetObject))
_type_of = CFUNCTYPE(c_int, c_void_p)(address(pdfium.FPDFPageObj_GetType))
_bounds_of = CFUNCTYPE(c_int, c_void_p, *[c_void_p] * 4)(address(pdfium.FPDFPageObj_GetBounds))
box_of = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p)(address(pdfium.FPDFText_GetLooseCharBox))


_THIN = 2.5  # points: the thickness of a line
_APART = 4.5  # points between two lines that are not one
_MAX_SHAPES = 100_000


def rules_of(sheet: PdfPage, along: tuple[float, float]) -> list[tuple[float, float, float]]:
    """Return the left, right and height of thin shapes; those that touch are one."""
    found = []
    first, low, last, high = edges = [c_float() for _ in range(4)]
    pointers = [byref(edge) for edge in edges]
    for shape in _shapes(sheet):
        if not _bounds_of(shape, *pointers):
            continue
        if high.value - low.value < _THIN or last.value - first.value < _THIN:
            box = pdfium.FS_RECTF(first.value, high.value, last.value, low.value)
            left, right, bottom, top = turned_box(box, along)
            if top - bottom < _THIN < right - left:
                found.append((left, right, round((top + bottom) / 2)))
    joined: list[tuple[float, float, float]] = []
    for left, right, height in sorted(found, key=lambda rule: (rule[2], rule[0])):
        if joined and joined[-1][2] == height and left - joined[-1][1] < _APART:
            joined[-1] = joined[-1][0], max(right, joined[-1][1]), height
        else:
            joined.append((left, right, height))
    return joined


def _shapes(sheet: PdfPage) -> Iterator[int]:
    """Yield the addresses of a page's drawn shapes, which most of its objects are not."""
    count = min(pdfium.FPDFPage_CountObjects(sheet), _MAX_SHAPES)
    objects = list(map(_object_at, repeat(address(sheet.raw)), range(count)))
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
