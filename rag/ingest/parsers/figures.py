"""Figures of Word files and presentations: a line of text in their place, and the picture behind it."""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers import ooxml, sandbox
from rag.ingest.parsers.ooxml import attribute, descendants, local_name, number_attribute
from rag.text.markdown import description

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


def all_figures(text: str) -> Iterator[tuple[str, int, int, int]]:
    r"""Yield (line, number among equal lines from 0, start, end) of the figures of a text.

    >>> list(all_figures("[Figure: Tar]\n\n[Figure: Tar]"))
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
