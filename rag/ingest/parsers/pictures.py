"""Images and scanned pages as pictures in which text can be recognised."""

import io
import math
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.ingest.parsers.pdf import open_pdf
from rag.text.document import LoadedDocument

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
