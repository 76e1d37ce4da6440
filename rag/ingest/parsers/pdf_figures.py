"""Figures of PDFs: what is drawn beside a caption, cut out when the caption or a mention of it is cited.

The text stays as it is: captions are its own. A picture without a caption is shown with its page only.
"""

import io
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pypdfium2 import PdfPage, PdfTextPage

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers import sandbox
from rag.ingest.parsers.pdf import open_pdf
from rag.ingest.parsers.pdf_lines import Line, characters_of, lines_of
from rag.ingest.parsers.pdf_shapes import Rectangle, device_box, drawn_bounds

TIMEOUT = 20.0  # seconds: someone waits for the picture
MEMORY = 1 << 30
_LENGTH = 300  # characters of a caption
_COMPARED = 24  # characters by which a caption is known on its page
_SIDE = 1600  # pixels of the picture that is shown
_SCALE = 2.5  # pixels a point
_MAX_PAGE = 4000  # pixels of a rendered page's side
_MAX_DRAWN = 20_000  # shapes of a page that are looked at
_PADDING = 4.0  # points around a figure
_SMALLEST = 30.0  # points of its sides
_GROUND = 0.85  # share of the page that a ground covers
_MARGIN = 0.07  # share of the page's height that holds its header or footer
_RULE = 3.0  # points: the thickness of a line
_PROSE = 45  # letters of a line; a wide one counts twice
_NEAR = 18.0  # points between a figure and its labels
_FAR = 120.0  # points between a figure and its caption
_CAPTION_LINES = 6

_KIND = r"(?P<kind>figure|fig\.?|chart|abbildung|abb\.?|figura|그림|도표|図表?|图|圖)"
_LABEL = re.compile(rf"(?<!\w){_KIND}\s*(?P<number>\d+(?:[.\-–]\d+)*(?![.\-–]?\d)|[IVX]+(?!\w))", re.I)
_CAPTION = re.compile(
    rf"^[ \t]*[\[<(〈【]?{_LABEL.pattern}(?=\s*[.:：．。\]>)〉】|–—-]|(?-i:\s+[^\sa-z(])|\s*$)"
    r"[^\n]*(?:\n[^\n]+)*",
    re.I | re.M,
)
_LEADERS = re.compile(r"(?:\.\s?){4,}|…{2,}|·{4,}")
_WIDE = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


class PdfFigure(NamedTuple):
    """Figure that a page, from 1, holds beside a caption."""

    page: int
    caption: str


def cited_figures(text: str, pages: Sequence[tuple[int, int, int]], start: int, end: int) -> list[PdfFigure]:
    r"""Return the figures whose captions a span of text lies in or names.

    ``pages`` holds (number, start, end) of each page.

    >>> text = "As Figure 2 shows, tar fell.\n\nFigure 2. Tar by year\n\nMore."
    >>> cited_figures(text, [(7, 0, len(text))], 0, 28)
    [PdfFigure(page=7, caption='Figure 2. Tar by year')]
    """
    captions = _captions_in(text)
    cited = [found for found in captions if found.start() < end and start < found.end()]
    for named in _LABEL.finditer(text, start, end):
        same = [found for found in captions if _name(found) == _name(named)]
        cited += [min(same, key=lambda found: abs(found.start() - start))] if same else []
    return [figure for figure, _, _ in _on_pages(dict.fromkeys(cited), pages)]


def all_figures(text: str, pages: Sequence[tuple[int, int, int]]) -> list[tuple[PdfFigure, int, int]]:
    r"""Return the figures of all captions of a text with the spans of those.

    >>> text = "As Figure 2 shows, tar fell.\n\nFigure 2. Tar by year\n\nMore."
    >>> all_figures(text, [(7, 0, len(text))])
    [(PdfFigure(page=7, caption='Figure 2. Tar by year'), 30, 51)]
    """
    return list(_on_pages(_captions_in(text), pages))


def _captions_in(text: str) -> list[re.Match[str]]:
    return [found for found in _CAPTION.finditer(text) if not _LEADERS.search(found[0])]


def _on_pages(
    captions: Iterable[re.Match[str]], pages: Sequence[tuple[int, int, int]]
) -> Iterator[tuple[PdfFigure, int, int]]:
    starts = [first for _, first, _ in pages]
    for found in captions:
        if starts and starts[0] <= found.start():
            number = pages[bisect_right(starts, found.start()) - 1][0]
            yield PdfFigure(number, _normal(found[0])[:_LENGTH]), *found.span()


def _name(label: re.Match[str]) -> tuple[str, str]:
    """Return kind and number of a figure: "Fig. 3" is "Figure 3"."""
    kind = label["kind"].lower().rstrip(".")
    return {"figure": "fig", "abbildung": "abb"}.get(kind, kind), label["number"].replace("–", "-")


def _normal(text: str) -> str:
    return " ".join(text.split())


def pdf_figure(path: Path, figure: PdfFigure) -> bytes | None:
    """Return the picture of a figure as PNG, cut out in a child process. Raises DocumentRefused.

    None where nothing is drawn beside its caption.
    """
    request = {"number": figure.page, "caption": figure.caption}
    _, png = sandbox.run("cutout", path, "The document", timeout=TIMEOUT, memory=MEMORY, **request)
    return png or None


# Cutting out. Coordinates are points from the top left of the page as it is shown.


def cut_out(path: Path, *, number: int, caption: str) -> bytes:
    """Return the picture beside a caption of a page, from 1, as PNG of at most 1,600 pixels a side."""
    with open_pdf(path) as pdf:
        if not 1 <= number <= len(pdf):
            raise DocumentRefused(N_("has no page {number}.", number=number))
        sheet = pdf[number - 1]
        place = _Page.read(sheet).figure(caption)
        return _picture(sheet, place) if place else b""


def _picture(sheet: PdfPage, place: Rectangle) -> bytes:
    width, height = sheet.get_size()
    left, top = max(place[0] - _PADDING, 0), max(place[1] - _PADDING, 0)
    right, bottom = min(place[2] + _PADDING, width), min(place[3] + _PADDING, height)
    scale = min(_SCALE, _MAX_PAGE / max(width, height), _SIDE / max(right - left, bottom - top))
    image = sheet.render(scale=scale).to_pil().convert("RGB")
    file = io.BytesIO()
    image.crop((int(left * scale), int(top * scale), int(right * scale), int(bottom * scale))).save(
        file, "PNG"
    )
    return file.getvalue()


class _TextLine(NamedTuple):
    text: str
    box: Rectangle


class _Beside(NamedTuple):
    """Figure beside a caption: their distance, and the figure's place."""

    gap: float
    place: Rectangle


@dataclass
class _Page:
    """Lines of text and drawn shapes of a page, and its height."""

    lines: list[_TextLine]
    drawn: list[Rectangle]
    height: float

    @classmethod
    def read(cls, sheet: PdfPage) -> "_Page":
        """Read a page; grounds, and rules in its margins, are left out."""
        width, height = sheet.get_size()
        characters = characters_of(sheet)
        lines = [_TextLine(line.text, _line_box(sheet, characters, line)) for line in lines_of(characters)]
        boxes = (device_box(sheet, bounds, 1) for bounds in islice(drawn_bounds(sheet), _MAX_DRAWN))
        drawn = [box for box in boxes if not _is_ground(box, width, height) and not _is_margin(box, height)]
        return cls(lines, drawn, height)

    def figure(self, caption: str) -> Rectangle | None:
        """Return the place of what is drawn on the side of a caption on which the page has its figures."""
        wanted = _normal(caption)[:_COMPARED]
        captions = [place for place, line in enumerate(self.lines) if _CAPTION.match(line.text)]
        own = [place for place in captions if _begins_alike(_normal(self.lines[place].text), wanted)]
        if not own:
            return None
        above = {place: self._beside(place, captions, upwards=True) for place in captions}
        below = {place: self._beside(place, captions, upwards=False) for place in captions}
        more = sum(map(bool, above.values())) - sum(map(bool, below.values()))
        found = [beside for beside in (above[own[0]], below[own[0]]) if beside]
        if len(found) == 2 and more:
            return (found[0] if more > 0 else found[1]).place
        return min(found).place if found else None

    def _beside(self, number: int, captions: Sequence[int], *, upwards: bool) -> "_Beside | None":
        """Return what is drawn between a caption and the next text on one side of it."""
        caption = self._caption_box(number)
        limit = self._limit(number, caption, captions, upwards)
        band = (limit, caption[1]) if upwards else (caption[3], limit)
        others = (box for box in self.drawn if not _holds(box, caption))
        inside = [box for box in others if band[0] <= (box[1] + box[3]) / 2 <= band[1]]
        figure = _overlapping(inside, caption)
        if figure is None:
            return None
        figure = (figure[0], max(figure[1], band[0]), figure[2], min(figure[3], band[1]))
        gap = caption[1] - figure[3] if upwards else figure[1] - caption[3]
        if gap > _FAR or min(figure[2] - figure[0], figure[3] - figure[1]) < _SMALLEST:
            return None
        place = self._with_labels(figure, band)
        return _Beside(caption[1] - place[3] if upwards else place[1] - caption[3], place)

    def _caption_box(self, place: int) -> Rectangle:
        """Return the box of a caption's lines."""
        lines = [self.lines[place]]
        for line in self.lines[place + 1 : place + _CAPTION_LINES]:
            last = lines[-1].box
            if _CAPTION.match(line.text) or not 0 < line.box[1] - last[1] < 1.6 * (last[3] - last[1]):
                break
            lines.append(line)
        return _union([line.box for line in lines])

    def _limit(self, place: int, caption: Rectangle, captions: Sequence[int], upwards: bool) -> float:
        """Return the height at which the text next to a caption ends, or the page."""
        ends = [
            line.box[3] if upwards else line.box[1]
            for number, line in enumerate(self.lines)
            if number != place and _touch(line.box, caption) and (number in captions or number in self._prose)
        ]
        if upwards:
            return max((end for end in ends if end <= caption[1] + 1), default=0.0)
        return min((end for end in ends if end >= caption[3] - 1), default=self.height)

    @cached_property
    def _prose(self) -> set[int]:
        """Numbers of long lines outside of what is drawn, and of those that go on from them."""
        prose: set[int] = set()
        for number, line in enumerate(self.lines):
            long = _letters(line.text) >= _PROSE and not any(_holds(box, line.box) for box in self.drawn)
            if long or (number - 1 in prose and _goes_on(self.lines[number - 1].box, line.box)):
                prose.add(number)
        return prose

    def _with_labels(self, figure: Rectangle, band: tuple[float, float]) -> Rectangle:
        near = (figure[0] - _NEAR, figure[1] - _NEAR, figure[2] + _NEAR, figure[3] + _NEAR)
        labels = [
            line.box
            for number, line in enumerate(self.lines)
            if number not in self._prose
            and band[0] <= line.box[1] + 1
            and line.box[3] <= band[1] + 1
            and _holds(near, line.box)
        ]
        return _union([figure, *labels])


def _line_box(sheet: PdfPage, characters: PdfTextPage, line: Line) -> Rectangle:
    stripped = line.text.rstrip()
    ends = line.indices[len(stripped) - len(stripped.lstrip())], line.indices[len(stripped) - 1]
    return _union([device_box(sheet, characters.get_charbox(index, loose=True), 1) for index in ends])


def _is_ground(box: Rectangle, width: float, height: float) -> bool:
    return (box[2] - box[0]) * (box[3] - box[1]) > _GROUND * width * height


def _is_margin(box: Rectangle, height: float) -> bool:
    """Return whether something is drawn in a page's header or footer, as logos and lines are."""
    return box[3] < _MARGIN * height or box[1] > (1 - _MARGIN) * height


def _overlapping(boxes: Iterable[Rectangle], caption: Rectangle) -> Rectangle | None:
    """Return the union of boxes over or under a caption, and of those beside them that touch it."""
    found, rest = caption, list(boxes)
    chosen: list[Rectangle] = []
    while touching := [box for box in rest if _touch(box, found)]:
        rest = [box for box in rest if not _touch(box, found)]
        chosen += touching
        found = _union([caption, *chosen])
    solid = any(box[2] - box[0] > _RULE and box[3] - box[1] > _RULE for box in chosen)
    return _union(chosen) if solid or len(chosen) > 2 else None


def _begins_alike(line: str, wanted: str) -> bool:
    return line.startswith(wanted) or (len(line) >= 3 and wanted.startswith(line[:_COMPARED]))


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text)) + len(_WIDE.findall(text))


def _goes_on(above: Rectangle, below: Rectangle) -> bool:
    height = above[3] - above[1]
    return 0 < below[1] - above[1] < 1.6 * height and abs(above[0] - below[0]) < height


def _touch(one: Rectangle, other: Rectangle) -> bool:
    """Return whether two boxes stand over one another."""
    return one[0] < other[2] and other[0] < one[2]


def _holds(outer: Rectangle, inner: Rectangle) -> bool:
    left, top, right, bottom = outer
    within = left <= inner[0] + 1 and inner[2] - 1 <= right
    return within and top <= inner[1] + 1 and inner[3] - 1 <= bottom


def _union(boxes: Sequence[Rectangle]) -> Rectangle:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
