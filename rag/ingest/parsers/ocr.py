"""Text that is only in pictures, scans and photographs, recognised by Tesseract where it is installed."""

import io
import logging
import math
import re
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rag.errors import Cancelled, DocumentRefused
from rag.ingest.parsers import sandbox
from rag.ingest.parsers.pdf import open_pdf
from rag.text.document import LoadedDocument, clean, shown, with_pages

log = logging.getLogger(__name__)
PROGRAM = "tesseract"
INSTALL = (
    "Install Tesseract (the package tesseract-ocr, and tesseract-ocr-kor or -jpn for Korean or Japanese) "
    "where Footnote runs"
)
LONGEST = 1800.0
"""Seconds that all pages of a file may take together; at three for a dense one that is 600 pages."""
_PAGE = 60.0  # seconds that one page may take; a dense one takes three
_MEMORY = 1 << 30
_SURE = 40.0  # a page whose words are less certain, of 100, is a photograph or a drawing
_DOUBTFUL = 60.0  # below it a page is tried otherwise
_ANY_LAYOUT, _ONE_BLOCK = "3", "6"  # "page segmentation modes"; the first takes some even lines for a picture
_SCRIPT = re.compile(r"^Script: (\w+)$", re.M)
_TURN = re.compile(r"^Rotate: (90|180|270)$", re.M)
_ROW = re.compile(r"(?:\d+\t){10}(-1|[\d.]+)\t(.*)|level\tpage_num\t.*")
_OF_SCRIPT = {
    "Latin": ("eng", "deu", "fra", "spa", "ita", "por", "nld", "vie"),
    "Korean": ("kor", "eng"),
    "Hangul": ("kor", "eng"),
    "Japanese": ("jpn", "eng"),
    "Han": ("chi_sim", "chi_tra", "jpn", "eng"),
    "Cyrillic": ("rus", "ukr", "eng"),
    "Arabic": ("ara", "fas", "eng"),
    "Greek": ("ell", "eng"),
    "Hebrew": ("heb", "eng"),
    "Thai": ("tha", "eng"),
    "Devanagari": ("hin", "eng"),
}
_BETWEEN_WIDE = re.compile(
    r"(?<=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]) (?=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef])"
)
_EMPTY = {
    True: "is an image in which no text could be recognised.",
    False: "holds no text: its pages have no text layer, and none could be recognised on them.",
}
Reading = Generator[tuple[int, int], None, LoadedDocument]


def recognised(
    path: Path,
    name: str,
    document: LoadedDocument,
    program: str,
    seconds: float,
    cancelled: Callable[[], bool],
) -> Reading:
    """Yield (done, all) as the pictured pages of a document are recognised; return it with their text.

    After so many `seconds` no other page is begun; a note names those without text. Raises DocumentRefused
    where there is no such program, or where it fails; Cancelled between two pages.
    """
    command = shutil.which(program)
    if command is None:
        return _without(document, name)
    pages = _texts(Tesseract(command), path, name, document.pictured, seconds, cancelled)
    texts, note = yield from pages
    read = replace(with_pages(document, texts), note=note)
    if not _says(read):
        empty = f"{shown(name)} {_EMPTY[document.media_type.startswith('image/')]}"
        raise DocumentRefused(f"{empty} {note}".rstrip())
    return read


def _texts(
    tesseract: "Tesseract",
    path: Path,
    name: str,
    numbers: Sequence[int],
    seconds: float,
    cancelled: Callable[[], bool],
) -> Generator[tuple[int, int], None, tuple[dict[int, str], str]]:
    """Read pages one after the other, and say which were left out: those that fail, or come too late."""
    texts: dict[int, str] = {}
    failed: list[int] = []
    until = time.monotonic() + seconds
    for done, number in enumerate(numbers):
        yield done, len(numbers)
        if cancelled():
            raise Cancelled(f"Reading {shown(name)} was stopped.")
        if done and time.monotonic() >= until:
            return texts, " ".join(filter(None, (_too_late(numbers[done:], seconds), _failed(failed))))
        try:
            draw = partial(_picture, path, name, number)
            texts[number] = tesseract.read(draw, f"Page {number} of {shown(name)}")
        except DocumentRefused as error:
            if len(numbers) == 1:
                raise
            log.warning("%s", error)
            failed.append(number)
    yield len(numbers), len(numbers)
    return texts, _failed(failed)


def _too_late(numbers: Sequence[int], seconds: float) -> str:
    return (
        f"The text of {pages_in_words(numbers)} was not recognised: that takes longer than {seconds / 60:g} "
        "minutes. Raise FOOTNOTE_OCR_MINUTES, delete the document and add it again."
    )


def _failed(numbers: Sequence[int]) -> str:
    return f"The text of {pages_in_words(numbers)} could not be recognised." if numbers else ""


def pages_in_words(numbers: Sequence[int]) -> str:
    """Name pages, those that follow each other by the first and the last.

    >>> pages_in_words([3]), pages_in_words([1, 2, 3, 7, 9, 10])
    ('page 3', 'pages 1 to 3, 7, 9 to 10')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    named = [f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    more = f" and {len(named) - 10} more places" if len(named) > 10 else ""
    return f"page{'' if len(numbers) == 1 else 's'} {', '.join(named[:10])}{more}"


def _without(document: LoadedDocument, name: str) -> LoadedDocument:
    """Return a document as it is where nothing recognises text, if its other pages say something."""
    if not _says(document):
        raise DocumentRefused(f"{shown(name)} {_unreadable(document)} {INSTALL}, and add it again.")
    pages = pages_in_words(document.pictured)
    note = f"The text of {pages} was not read, since it is in pictures. {INSTALL}, and add it again."
    return replace(document, note=note)


def _says(document: LoadedDocument) -> bool:
    return any(map(str.isalnum, document.text))


def _picture(path: Path, name: str, number: int, turn: int) -> bytes:
    _, picture = sandbox.run("picture", path, name, timeout=_PAGE, memory=_MEMORY, number=number, turn=turn)
    return picture


def _unreadable(document: LoadedDocument) -> str:
    if document.media_type.startswith("image/"):
        return "is an image, and nothing here reads the text of images."
    return "looks scanned: its pages are pictures without a text layer, and nothing here reads those."


class Tesseract:
    """The program at `command`; it finds out which of its languages a document is in, and which way up."""

    def __init__(self, command: str):
        self._command = command
        listed = self._run(b"", "the list of languages", "--list-langs").split("\n")[1:]
        self._installed = [language.strip() for language in listed if language.strip()]
        self._languages: list[str] = []

    def read(self, picture: Callable[[int], bytes], what: str) -> str:
        """Return the text of a page, its paragraphs apart by blank lines; nothing if it has none.

        `picture` draws the page as PNG, turned by so many degrees with the clock.
        """
        best, certainty, words = "", 0.0, False
        for languages, turn, layout in self._tries(picture, what):
            if layout == _ONE_BLOCK and words:  # the layout was found, and what it holds is no text
                break
            options = ("-l", "+".join(languages), "--psm", layout, "-c", "page_separator=", "txt", "tsv")
            text, sure = text_and_certainty(self._run(picture(turn), what, *options))
            words = words or (layout == _ANY_LAYOUT and bool(text))
            if sure > certainty:
                best, certainty = text, sure
            if sure >= _DOUBTFUL:
                self._languages = languages
                break
        return best if certainty >= _SURE else ""

    def _tries(self, picture: Callable[[int], bytes], what: str) -> Iterator[tuple[list[str], int, str]]:
        """Yield languages, turn and layout: as the page before, by its looks, as one block, without looks."""
        if self._languages:
            yield self._languages, 0, _ANY_LAYOUT
        languages, turn = self._look(picture(0), what)
        if languages != self._languages or turn:
            yield languages, turn, _ANY_LAYOUT
        yield languages, turn, _ONE_BLOCK
        for script in ("Latin", "Korean", "Japanese"):
            yield self._those_of(_OF_SCRIPT[script]), 0, _ONE_BLOCK

    def _look(self, picture: bytes, what: str) -> tuple[list[str], int]:
        """Return the languages of a picture's script, and by how much it has to be turned."""
        seen = self._seen(picture, what) if "osd" in self._installed else ""
        script, turn = _SCRIPT.search(seen), _TURN.search(seen)
        name = script[1] if script else ""
        return self._those_of(_OF_SCRIPT.get(name, _OF_SCRIPT["Latin"])), int(turn[1]) if turn else 0

    def _those_of(self, wanted: Sequence[str]) -> list[str]:
        """Return the wanted languages that are installed, or any that is."""
        found = [language for language in wanted if language in self._installed]
        return found or [language for language in self._installed if language != "osd"][:1] or ["eng"]

    def _seen(self, picture: bytes, what: str) -> str:
        try:
            return self._run(picture, what, "--psm", "0", "-l", "osd")
        except DocumentRefused:  # too few letters to tell from, which it calls an error
            return ""

    def _run(self, picture: bytes, what: str, *options: str) -> str:
        names = ["stdin", "stdout"] if picture else []
        command = [self._command, *names, *options]
        return sandbox.run_program(command, picture, what, timeout=_PAGE, memory=_MEMORY).decode(
            "utf-8", "replace"
        )


def text_and_certainty(written: str) -> tuple[str, float]:
    r"""Return the text that Tesseract wrote, and from its table how certain the letters are, of 100.

    The text is not put together from the table: its words have other spaces in Korean and Japanese.

    >>> row = "5\t1\t1\t1\t1\t1\t0\t0\t9\t9\t"
    >>> text_and_certainty(f"level\tpage_num\t...\nA bc\n{row}90\tA\n{row}60\tbc\n")
    ('A bc', 70.0)
    """
    lines, letters, sure = [], 0, 0.0
    for line in written.split("\n"):
        row = _ROW.fullmatch(line)
        if row is None:
            lines.append(_BETWEEN_WIDE.sub("", line))
        elif row[1] not in (None, "-1"):
            letters += len(row[2].strip())
            sure += float(row[1]) * len(row[2].strip())
    return clean("\n".join(lines)).strip(), sure / max(letters, 1)


# Images and scanned pages as pictures in which text can be recognised.
FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP")
_MAX_PIXELS = 100_000_000
_MAX_FRAMES = 2_000
_INCH = 72.0  # points
_SHARP = 300.0  # pixels an inch: what Tesseract was trained on
_MAX_SIDE = 5000  # pixels of what is given to it
_SMALL = (
    1500  # pixels: a picture whose longer side is less is a screenshot, and read better at twice the size
)


def read(path: Path) -> LoadedDocument:
    """Read an image: each of its frames is a page, and all text is in pictures."""
    with _opened(path) as image:
        count = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
        kind = "jpeg" if image.format == "MPO" else image.format.lower()  # several photographs in one JPEG
    if count > _MAX_FRAMES:
        raise DocumentRefused(f"has more than {_MAX_FRAMES:,} pages. Split it and add the parts.")
    numbers = range(1, count + 1)
    return LoadedDocument(
        "", tuple((number, 0, 0) for number in numbers), "", f"image/{kind}", (), tuple(numbers)
    )


def _opened(path: Path) -> Any:
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # its size is looked at here, and its memory is the sandbox's
    try:
        image = Image.open(path, formats=FORMATS)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise DocumentRefused("is damaged: it cannot be opened as an image.") from error
    if image.width * image.height > _MAX_PIXELS:
        raise DocumentRefused(
            f"is larger than {_MAX_PIXELS // 1_000_000} megapixels. Make it smaller and add it again."
        )
    return image


def picture(path: Path, name: str, *, number: int, turn: int) -> tuple[dict[str, Any], bytes]:
    """Return page `number` of a PDF or an image as a grey PNG of about 300 pixels an inch.

    `turn` is in degrees with the clock.
    """
    del name
    with path.open("rb") as file:
        is_pdf = b"%PDF-" in file.read(1024)
    image = _rendered(path, number) if is_pdf else _frame(path, number)
    output = io.BytesIO()
    image.rotate(-turn, expand=True).save(output, "PNG", compress_level=1)
    return {}, output.getvalue()


def _rendered(path: Path, number: int) -> Any:
    with open_pdf(path) as pdf:
        page = pdf[number - 1]
        longer = max(page.get_size())
        scale = min(_SHARP / _INCH, _native(page), _MAX_SIDE / longer)
        return page.render(scale=scale * _enlarged(longer * scale), grayscale=True).to_pil()


def _native(page: Any) -> float:
    """Return how many pixels a point the finest picture of a page has; many where it has none."""
    import pypdfium2.raw as pdfium

    pictures = [found for found in page.get_objects(max_depth=2) if found.type == pdfium.FPDF_PAGEOBJ_IMAGE]
    widths = [(found.get_px_size()[0], found.get_bounds()) for found in pictures]
    return max(
        (pixels / (right - left) for pixels, (left, _, right, _) in widths if right > left), default=math.inf
    )


def _enlarged(longer: float) -> float:
    """Return by how much a picture is enlarged whose longer side has so many pixels."""
    return 2.0 if longer < _SMALL else min(_MAX_SIDE / longer, 1.0)


def _frame(path: Path, number: int) -> Any:
    """Return a frame upright, on white, and of a size that can be read."""
    from PIL import Image, ImageOps

    with _opened(path) as image:
        image.seek(number - 1)
        try:
            upright = ImageOps.exif_transpose(image)
            if "A" in upright.getbands() or "transparency" in upright.info:
                upright = Image.alpha_composite(
                    Image.new("RGBA", upright.size, "white"), upright.convert("RGBA")
                )
            grey = upright.convert("L")
        except (OSError, ValueError, SyntaxError) as error:
            raise DocumentRefused("is damaged: its picture breaks off.") from error
    scale = _enlarged(max(grey.size))
    size = (max(round(grey.width * scale), 1), max(round(grey.height * scale), 1))
    return grey if scale == 1.0 else grey.resize(size, Image.Resampling.LANCZOS)
