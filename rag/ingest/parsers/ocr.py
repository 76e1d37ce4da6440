"""OCR of images, scans and photographs by Tesseract, where it is installed."""

import io
import logging
import math
import re
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rag.errors import Cancelled, DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers import sandbox
from rag.ingest.parsers.text_layer import GARBLED, is_better
from rag.text.document import LoadedDocument, LoadSteps, shown, with_pages
from rag.text.normalize import canonical

log = logging.getLogger(__name__)
PROGRAM = "tesseract"
INSTALL = N_(
    "Install Tesseract (the package tesseract-ocr, and tesseract-ocr-kor or -jpn for Korean or Japanese) "
    "where Footnote runs"
)
OCR_SECONDS = 1800.0  # for all pages of a file; a dense page takes three
_PAGE_SECONDS = 60.0
_MEMORY = 1 << 30  # bytes
_MIN_CONFIDENCE = 40.0  # of 100; below it a page is a photograph or a drawing
_GOOD_CONFIDENCE = 60.0  # below it other languages and layouts are tried
_ANY_LAYOUT, _ONE_BLOCK = "3", "6"  # page segmentation modes; the first takes some even lines for a picture
_SCRIPT = re.compile(r"^Script: (\w+)$", re.M)
_TURN = re.compile(r"^Rotate: (90|180|270)$", re.M)
_ROW = re.compile(r"(?:\d+\t){10}(-1|[\d.]+)\t(.*)|level\tpage_num\t.*")
_LANGUAGES = {
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
_SPACE_IN_CJK = re.compile(
    r"(?<=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]) (?=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef])"
)
_EMPTY = {
    True: N_("is an image in which no text could be recognised."),
    False: N_("holds no text: its pages have no readable text layer, and none could be recognised on them."),
}
_FAILED = N_("The text of {kind} could not be recognised.")
_AGAIN = N_("The text layer of {kind} was unreadable, and was recognised again.")
_LEFT_OUT = N_("The text layer of {kind} is unreadable, and was left out.")
_POOR = N_("The text layer of {kind} is full of errors.")
_NO_BETTER = N_("The text layer of {kind} reads badly, and recognising it again gave nothing better.")
_IN_PICTURES = N_("The text of {kind} was not read, since it is in pictures.")
FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP")
_MAX_PIXELS = 100_000_000
_MAX_FRAMES = 2_000
_INCH = 72.0  # points
_SHARP = 300.0  # pixels an inch, as in the training data of Tesseract
_MAX_SIDE = 5000  # pixels
_SMALL = 1500  # pixels of the longer side; a smaller picture is a screenshot, and read better enlarged


def recognise_pages(
    path: Path,
    name: str,
    document: LoadedDocument,
    program: str,
    seconds: float,
    cancelled: Callable[[], bool],
) -> LoadSteps:
    """Yield (done, all) while pages in pictures or with a bad text layer are recognised; return all text.

    After so many `seconds` no other page is begun. Raises DocumentRefused where there is no text at all.
    """
    command = shutil.which(program)
    if command is None:
        return _without_ocr(document, name)
    texts, note = yield from _page_texts(Tesseract(command), path, name, document, seconds, cancelled)
    recognised = _with_recognised(document, texts, note)
    if not _has_letters(recognised.text):
        empty = f"{shown(name)} {_EMPTY[document.media_type.startswith('image/')]}"
        raise DocumentRefused(f"{empty} {note}".rstrip())
    return recognised


def _page_texts(
    tesseract: "Tesseract",
    path: Path,
    name: str,
    document: LoadedDocument,
    seconds: float,
    cancelled: Callable[[], bool],
) -> Generator[tuple[int, int], None, tuple[dict[int, str], str]]:
    numbers = [*document.pictured, *(number for number, _ in document.doubtful)]
    texts: dict[int, str] = {}
    failed: list[int] = []
    deadline = time.monotonic() + seconds
    for done, number in enumerate(numbers):
        yield done, len(numbers)
        if cancelled():
            raise Cancelled(N_("Reading {name} was stopped.", name=shown(name)))
        if done and time.monotonic() >= deadline:
            return texts, " ".join(filter(None, (_too_late(numbers[done:], seconds), _said(_FAILED, failed))))
        try:
            render = partial(_rendered_page, path, name, number)
            texts[number] = tesseract.recognise(
                render, N_("Page {number} of {shown}", number=number, shown=shown(name))
            )
        except DocumentRefused as error:
            if len(document.pages) == 1:
                raise
            log.warning("%s", error)
            failed.append(number)
    yield len(numbers), len(numbers)
    return texts, _said(_FAILED, failed)


def _with_recognised(document: LoadedDocument, texts: Mapping[int, str], note: str) -> LoadedDocument:
    """Return a document with its recognised pages; a layer is replaced where that is more readable."""
    better = [number for number, share in document.doubtful if is_better(texts.get(number, ""), share)]
    dropped = _dropped(document, texts)
    replaced = dict.fromkeys(dropped, "") | {number: texts[number] for number in texts if number in better}
    replaced |= {number: texts[number] for number in texts if number in document.pictured}
    kept = [number for number, _ in document.doubtful if number not in replaced]
    notes = [note, _said(_AGAIN, better), _said(_LEFT_OUT, dropped), _said(_NO_BETTER, kept)]
    return replace(with_pages(document, replaced), note=" ".join(filter(None, notes)))


def _dropped(document: LoadedDocument, texts: Mapping[int, str]) -> list[int]:
    """Return the pages with a garbled layer and no recognised text; a poor layer is still of use."""
    return [
        number
        for number, share in document.doubtful
        if share > GARBLED and not _has_letters(texts.get(number, ""))
    ]


def _has_letters(text: str) -> bool:
    return any(map(str.isalnum, text))


def _said(sentence: str, numbers: Sequence[int]) -> str:
    return N_(sentence, kind=pages_in_words(numbers)) if numbers else ""


def _too_late(numbers: Sequence[int], seconds: float) -> str:
    return N_(
        "The text of {kind} was not recognised: that takes longer than {minutes} minutes. Raise "
        "FOOTNOTE_OCR_MINUTES, delete the document and add it again.",
        kind=pages_in_words(numbers),
        minutes=f"{seconds / 60:g}",
    )


def pages_in_words(numbers: Sequence[int]) -> str:
    """Return page numbers as text, with ranges.

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
    numbered = ", ".join(named[:10])
    if len(named) > 10:
        return N_("pages {numbers} and {more} more places", numbers=numbered, more=len(named) - 10)
    return (
        N_("page {number}", number=numbered) if len(numbers) == 1 else N_("pages {numbers}", numbers=numbered)
    )


def _without_ocr(document: LoadedDocument, name: str) -> LoadedDocument:
    """Return a document with the text that it has without recognition, and a note on its other pages."""
    dropped = _dropped(document, {})
    poor = [number for number, _ in document.doubtful if number not in dropped]
    kept = with_pages(document, dict.fromkeys(dropped, ""))
    if not _has_letters(kept.text):
        raise DocumentRefused(
            N_(
                "{name} {reason} {install}, and add it again.",
                name=shown(name),
                reason=_unreadable(document),
                install=INSTALL,
            )
        )
    said = [_said(_IN_PICTURES, document.pictured), _said(_LEFT_OUT, dropped), _said(_POOR, poor)]
    return replace(
        kept,
        note=N_(
            "{reason} {install}, and add it again.", reason=" ".join(filter(None, said)), install=INSTALL
        ),
    )


def _rendered_page(path: Path, name: str, number: int, turn: int) -> bytes:
    _, picture = sandbox.run(
        "picture", path, name, timeout=_PAGE_SECONDS, memory=_MEMORY, number=number, turn=turn
    )
    return picture


def _unreadable(document: LoadedDocument) -> str:
    if document.media_type.startswith("image/"):
        return N_("is an image, and nothing here reads the text of images.")
    if document.doubtful:
        return N_("has a text layer that is unreadable, and nothing here reads its pages as pictures.")
    return N_("looks scanned: its pages are pictures without a text layer, and nothing here reads those.")


class Tesseract:
    """The program at `command`; it detects a document's language and orientation."""

    def __init__(self, command: str):
        self._command = command
        listed = self._run(b"", N_("the list of languages"), "--list-langs").split("\n")[1:]
        self._installed = [language.strip() for language in listed if language.strip()]
        self._languages: list[str] = []

    def recognise(self, render: Callable[[int], bytes], page: str) -> str:
        """Return the text of a page; `render` gives it as PNG, turned clockwise by degrees."""
        best, highest, words = "", 0.0, False
        for languages, turn, layout in self._tries(render, page):
            if layout == _ONE_BLOCK and words:  # the layout was found, and holds no text
                break
            options = ("-l", "+".join(languages), "--psm", layout, "-c", "page_separator=", "txt", "tsv")
            text, confidence = text_and_confidence(self._run(render(turn), page, *options))
            words = words or (layout == _ANY_LAYOUT and bool(text))
            if confidence > highest:
                best, highest = text, confidence
            if confidence >= _GOOD_CONFIDENCE:
                self._languages = languages
                break
        return best if highest >= _MIN_CONFIDENCE else ""

    def _tries(self, render: Callable[[int], bytes], page: str) -> Iterator[tuple[list[str], int, str]]:
        """Yield languages, turn and layout to try, those of the page before first."""
        if self._languages:
            yield self._languages, 0, _ANY_LAYOUT
        languages, turn = self._detect(render(0), page)
        if languages != self._languages or turn:
            yield languages, turn, _ANY_LAYOUT
        yield languages, turn, _ONE_BLOCK
        for script in ("Latin", "Korean", "Japanese"):
            yield self._available(_LANGUAGES[script]), 0, _ONE_BLOCK

    def _detect(self, picture: bytes, page: str) -> tuple[list[str], int]:
        seen = ""
        if "osd" in self._installed:
            with suppress(DocumentRefused):  # Tesseract calls too few letters an error
                seen = self._run(picture, page, "--psm", "0", "-l", "osd")
        script, turn = _SCRIPT.search(seen), _TURN.search(seen)
        name = script[1] if script else ""
        return self._available(_LANGUAGES.get(name, _LANGUAGES["Latin"])), int(turn[1]) if turn else 0

    def _available(self, wanted: Sequence[str]) -> list[str]:
        found = [language for language in wanted if language in self._installed]
        return found or [language for language in self._installed if language != "osd"][:1] or ["eng"]

    def _run(self, picture: bytes, page: str, *options: str) -> str:
        names = ["stdin", "stdout"] if picture else []
        command = [self._command, *names, *options]
        return sandbox.run_program(command, picture, page, timeout=_PAGE_SECONDS, memory=_MEMORY).decode(
            "utf-8", "replace"
        )


def text_and_confidence(written: str) -> tuple[str, float]:
    """Return the text that Tesseract wrote, and the mean confidence of its letters, of 100."""
    lines, letters, total = [], 0, 0.0
    for line in written.split("\n"):
        row = _ROW.fullmatch(line)
        if row is None:
            lines.append(_SPACE_IN_CJK.sub("", line))
        elif row[1] not in (None, "-1"):
            letters += len(row[2].strip())
            total += float(row[1]) * len(row[2].strip())
    return canonical("\n".join(lines)).strip(), total / max(letters, 1)


def read_image(path: Path) -> LoadedDocument:
    """Read an image: each frame is a page whose text is to be recognised."""
    with _open_image(path) as image:
        count = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
        kind = "jpeg" if image.format == "MPO" else image.format.lower()  # several photographs in one JPEG
    if count > _MAX_FRAMES:
        raise DocumentRefused(
            N_("has more than {max_frames} pages. Split it and add the parts.", max_frames=f"{_MAX_FRAMES:,}")
        )
    numbers = range(1, count + 1)
    return LoadedDocument(
        "", tuple((number, 0, 0) for number in numbers), "", f"image/{kind}", (), tuple(numbers)
    )


def _open_image(path: Path) -> Any:
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # its size is checked here, its memory by the sandbox
    try:
        image = Image.open(path, formats=FORMATS)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise DocumentRefused(N_("is damaged: it cannot be opened as an image.")) from error
    if image.width * image.height > _MAX_PIXELS:
        raise DocumentRefused(
            N_(
                "is larger than {max_pixels} megapixels. Make it smaller and add it again.",
                max_pixels=_MAX_PIXELS // 1000000,
            )
        )
    return image


def render_page(path: Path, *, number: int, turn: int) -> bytes:
    """Return a page of a PDF or an image as a grey PNG at 300 pixels an inch, turned clockwise by degrees."""
    with path.open("rb") as file:
        is_pdf = b"%PDF-" in file.read(1024)
    image = _pdf_page(path, number) if is_pdf else _frame(path, number)
    output = io.BytesIO()
    image.rotate(-turn, expand=True).save(output, "PNG", compress_level=1)
    return output.getvalue()


def _pdf_page(path: Path, number: int) -> Any:
    from rag.ingest.parsers.pdf import open_pdf

    with open_pdf(path) as pdf:
        page = pdf[number - 1]
        longer = max(page.get_size())
        scale = min(_SHARP / _INCH, _native_scale(page), _MAX_SIDE / longer)
        return page.render(scale=scale * _zoom(longer * scale), grayscale=True).to_pil()


def _native_scale(page: Any) -> float:
    """Return the resolution of a page's finest picture in pixels a point; infinite where it has none."""
    import pypdfium2.raw as pdfium

    pictures = [found for found in page.get_objects(max_depth=2) if found.type == pdfium.FPDF_PAGEOBJ_IMAGE]
    widths = [(found.get_px_size()[0], found.get_bounds()) for found in pictures]
    return max(
        (pixels / (right - left) for pixels, (left, _, right, _) in widths if right > left), default=math.inf
    )


def _zoom(longer: float) -> float:
    """Return the factor by which a picture with so many pixels on its longer side is resized."""
    return 2.0 if longer < _SMALL else min(_MAX_SIDE / longer, 1.0)


def _frame(path: Path, number: int) -> Any:
    """Return a frame upright, on white, and of a readable size."""
    from PIL import Image, ImageOps

    with _open_image(path) as image:
        image.seek(number - 1)
        try:
            upright = ImageOps.exif_transpose(image)
            if "A" in upright.getbands() or "transparency" in upright.info:
                upright = Image.alpha_composite(
                    Image.new("RGBA", upright.size, "white"), upright.convert("RGBA")
                )
            grey = upright.convert("L")
        except (OSError, ValueError, SyntaxError) as error:
            raise DocumentRefused(N_("is damaged: its picture breaks off.")) from error
    scale = _zoom(max(grey.size))
    size = (max(round(grey.width * scale), 1), max(round(grey.height * scale), 1))
    return grey if scale == 1.0 else grey.resize(size, Image.Resampling.LANCZOS)
