"""Figures of documents: those of PDFs, Word files and presentations.

One of a Word file or presentation is a line of text in its place, and the picture behind it. One of a PDF is
what is drawn beside a caption, cut out when the caption or a mention of it is cited. There the text stays as
it is: captions are its own. A picture without a caption is shown with its page only.
"""

import io
import re
import zipfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pypdfium2 import PdfPage, PdfTextPage

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers import ooxml, sandbox
from rag.ingest.parsers.ooxml import attribute, descendants, local_name, number_attribute
from rag.ingest.parsers.pdf import open_pdf
from rag.ingest.parsers.pdf_lines import Line, characters_of, lines_of
from rag.ingest.parsers.pdf_shapes import Rectangle, device_box, drawn_bounds, union
from rag.text.markdown import description

_COMPARED = 24  # characters by which a caption is known on its page
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
_PDF_CAPTION = re.compile(
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


def figures_of_pdf(text: str, pages: Sequence[tuple[int, int, int]]) -> list[tuple[PdfFigure, int, int]]:
    r"""Return the figures of all captions of a text with the spans of those.

    >>> text = "As Figure 2 shows, tar fell.\n\nFigure 2. Tar by year\n\nMore."
    >>> figures_of_pdf(text, [(7, 0, len(text))])
    [(PdfFigure(page=7, caption='Figure 2. Tar by year'), 30, 51)]
    """
    return list(_on_pages(_captions_in(text), pages))


def _captions_in(text: str) -> list[re.Match[str]]:
    return [found for found in _PDF_CAPTION.finditer(text) if not _LEADERS.search(found[0])]


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
        captions = [place for place, line in enumerate(self.lines) if _PDF_CAPTION.match(line.text)]
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
            if _PDF_CAPTION.match(line.text) or not 0 < line.box[1] - last[1] < 1.6 * (last[3] - last[1]):
                break
            lines.append(line)
        return union([line.box for line in lines])

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
        return union([figure, *labels])


def _line_box(sheet: PdfPage, characters: PdfTextPage, line: Line) -> Rectangle:
    stripped = line.text.rstrip()
    ends = line.indices[len(stripped) - len(stripped.lstrip())], line.indices[len(stripped) - 1]
    return union([device_box(sheet, characters.get_charbox(index, loose=True), 1) for index in ends])


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
        found = union([caption, *chosen])
    solid = any(box[2] - box[0] > _RULE and box[3] - box[1] > _RULE for box in chosen)
    return union(chosen) if solid or len(chosen) > 2 else None


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


TIMEOUT = 20.0  # seconds: someone waits for the picture
MEMORY = 1 << 30
_MARK = re.compile(r"\[Figure: ([^\[\]\n]+)\]")
_CAPTION = re.compile(
    r"[\[<(]?(?:(?:figure|fig\.?|abbildung|abb\.?|figura|그림|図|图|圖)\s*[\d０-９IVX])", re.I
)
_STYLE = "caption"
_FILE_NAME = re.compile(r"[\w .()-]+\.(?:png|jpe?g|gif|bmp|tiff?|webp|svg|emf|wmf)", re.I)
_LENGTH = 300  # characters of a label
_MAX_FIGURES = 500  # of a document
_TINY = 300_000  # EMU, a third of an inch: an icon or a bullet
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")
_MAX_BYTES, _MAX_PIXELS = 50_000_000, 100_000_000
_SIDE = 1600  # pixels of the picture that is shown


def figure_line(*labels: str) -> str:
    """Return the line that stands for a figure, or nothing where it has neither caption nor description.

    >>> figure_line("Figure 3. Sales", "bars [2023]"), figure_line("", "")
    ('[Figure: Figure 3. Sales – bars (2023)]', '')
    """
    told = (" ".join(label.split()) for label in labels if not _FILE_NAME.fullmatch(label))
    label = (
        " – ".join(dict.fromkeys(filter(None, told))).replace("[", "(").replace("]", ")")[:_LENGTH].strip()
    )
    return f"[Figure: {label}]" if label else ""


def figures_at(text: str, start: int, end: int) -> list[tuple[str, int]]:
    r"""Return (line, number among equal lines from 0) of the figures that a span of text cites.

    A span that lies in the caption above or below a figure cites that figure, too.

    >>> figures_at("[Figure: Figure 1. Tar]\n\nFigure 1. Tar\n\nMore.", 25, 38)
    [('[Figure: Figure 1. Tar]', 0)]
    """
    found, quote = [], " ".join(text[start:end].split())
    for mark in _MARK.finditer(text, max(start - 2 * _LENGTH, 0), end + 2 * _LENGTH):
        inside = mark.start() < end and start < mark.end()
        if inside or (_CAPTION.match(quote) and quote in mark[1]):
            found.append((mark[0], text.count(mark[0], 0, mark.start())))
    return found


def figures_of_office(text: str) -> Iterator[tuple[str, int, int, int]]:
    r"""Yield (line, number among equal lines from 0, start, end) of the figures of a text.

    >>> list(figures_of_office("[Figure: Tar]\n\n[Figure: Tar]"))
    [('[Figure: Tar]', 0, 0, 13), ('[Figure: Tar]', 1, 15, 28)]
    """
    seen: Counter[str] = Counter()
    for mark in _MARK.finditer(text):
        yield mark[0], seen[mark[0]], *mark.span()
        seen[mark[0]] += 1


def figure_label(line: str) -> str:
    """Return what a figure's line says: "[Figure: Tar]" -> "Tar"."""
    return line.removeprefix("[Figure: ").removesuffix("]")


def word_figures(root: Any) -> Iterator[tuple[Any, str, str]]:
    """Yield (drawing, relation id of its picture, line) of a Word document's described pictures (lxml)."""
    shown = (found for found in root.iter("{*}drawing") if not _is_decorative(found))
    drawings = list(islice(shown, _MAX_FIGURES))
    captions = _word_captions(drawings)
    for drawing, caption in zip(drawings, captions, strict=True):
        blip = next(descendants(drawing, "blip"), None)
        told = next(descendants(drawing, "docPr"), None)
        if blip is None or told is None:
            continue
        if line := figure_line(caption, description(attribute(told, "descr"))):
            yield drawing, attribute(blip, "embed"), line


def _is_decorative(drawing: Any) -> bool:
    extent = next(descendants(drawing, "extent"), None)
    sides = (
        [number_attribute(extent, side, _TINY) for side in ("cx", "cy")] if extent is not None else [_TINY]
    )
    marks = descendants(drawing, "decorative")
    return max(sides) < _TINY or any(attribute(mark, "val") in ("1", "true") for mark in marks)


def _word_captions(drawings: Sequence[Any]) -> Sequence[str]:
    """Return the caption of each drawing: in its paragraph, else on the side where the document has them."""
    paragraphs = [next(drawing.iterancestors("{*}p"), None) for drawing in drawings]
    own = [_caption_of(paragraph) for paragraph in paragraphs]
    below = ["" if paragraph is None else _caption_of(paragraph.getnext()) for paragraph in paragraphs]
    above = ["" if paragraph is None else _caption_of(paragraph.getprevious()) for paragraph in paragraphs]
    # Between two figures stands one caption: the first or the last shows to which they belong.
    beside = above if sum(map(bool, above)) > sum(map(bool, below)) else below
    return [inside or near for inside, near in zip(own, beside, strict=True)]


def _caption_of(paragraph: Any) -> str:
    if paragraph is None or local_name(paragraph) != "p":
        return ""
    text = "".join(part.text or "" for part in descendants(paragraph, "t")).strip()
    style = next((attribute(found, "val") for found in descendants(paragraph, "pStyle")), "")
    return text if _CAPTION.match(text) or style.lower() == _STYLE else ""


def slide_figure(shape: Any, others: Sequence[Any]) -> str:
    """Return the line of a slide's picture; its caption is the nearest box of `others` that reads as one."""
    if local_name(shape._element) != "pic" or max(shape.width or 0, shape.height or 0) < _TINY:
        return ""
    told = next(descendants(shape._element, "cNvPr"))
    bottom = (shape.top or 0) + (shape.height or 0)
    boxes = sorted(
        (abs((other.top or 0) - bottom), place)
        for place, other in enumerate(others)
        if other.has_text_frame and _CAPTION.match(other.text_frame.text.strip())
    )
    caption = others[boxes[0][1]].text_frame.text if boxes else ""
    return figure_line(caption, description(attribute(told, "descr")))


def _slide_pictures(shapes: Iterable[Any], part: Any) -> Iterator[tuple[str, bytes]]:
    listed = list(shapes)
    for shape in sorted(listed, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _slide_pictures(shape.shapes, part)
        elif line := slide_figure(shape, listed):
            blip = next(descendants(shape._element, "blip"), None)
            embedded = attribute(blip, "embed") if blip is not None else ""
            yield line, part.related_part(embedded).blob if embedded in part.rels else b""


def _pictures(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (line, bytes) of the figures of a file, in the order of its text."""
    ooxml.inspect(path)
    document = "word/document.xml"
    with path.open("rb") as file, zipfile.ZipFile(path) as container:
        if document not in container.namelist():
            from pptx import Presentation

            for slide in Presentation(file).slides:
                yield from _slide_pictures(slide.shapes, slide.part)
            return
        parts = ooxml.related_parts(container, document, "/image")
        for _, relation, line in word_figures(ooxml.parse_strictly(container.read(document))):
            yield line, container.read(parts[relation]) if relation in parts else b""


def extract(path: Path, *, line: str, number: int) -> bytes:
    """Return the picture of a figure as PNG of at most 1,600 pixels a side. Raises DocumentRefused."""
    same = (picture for found, picture in _pictures(path) if found == line)
    picture = next(islice(same, number, None), None)
    if picture is None:
        raise DocumentRefused(N_("holds no such figure."))
    return _encoded(picture)


def _encoded(picture: bytes) -> bytes:
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # its size is checked here, its memory by the sandbox
    if not picture:
        raise DocumentRefused(N_("does not hold this picture, only a link to it."))
    if len(picture) > _MAX_BYTES:
        raise DocumentRefused(
            N_("holds this picture in more than {max_bytes} MB.", max_bytes=_MAX_BYTES // 1000000)
        )
    try:
        with Image.open(io.BytesIO(picture), formats=_FORMATS) as image:
            if image.width * image.height > _MAX_PIXELS:
                raise DocumentRefused(N_("holds this picture in more pixels than can be shown."))
            shown = image.convert("RGBA")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise DocumentRefused(
            N_("holds this picture in a form that is not shown (EMF, WMF, SVG).")
        ) from error
    shown.thumbnail((_SIDE, _SIDE))
    paper = Image.new("RGB", shown.size, "white")
    paper.paste(shown, mask=shown.getchannel("A"))
    output = io.BytesIO()
    paper.save(output, "PNG")
    return output.getvalue()


def figure_image(path: Path, line: str, number: int) -> bytes:
    """Return the picture behind a figure's line as PNG, read in a child process. Raises DocumentRefused."""
    request = {"line": line, "number": number}
    _, png = sandbox.run("figure", path, "The document", timeout=TIMEOUT, memory=MEMORY, **request)
    return png
