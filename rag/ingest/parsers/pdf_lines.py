"""Lines of PDF pages: their text as pdfium has it, made readable, and their places."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from ctypes import PYFUNCTYPE, byref, c_char, c_double, c_int, c_ulong, c_ushort, c_void_p
from dataclasses import dataclass

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage, PdfTextPage

from rag.ingest.parsers.pdf_glyph_names import OpenedPdf
from rag.ingest.parsers.pdf_shapes import address, box_of, turned_box

_SAMPLE = 50  # characters that decide the direction of a page
_HYPHEN = "\x02"  # pdfium's code for a hyphen that splits a word over two lines
_LINE_END = re.compile("\r?\n|\x02")
_UNSURE = re.compile("\ufffe")  # a hyphen, or a letter without a name
_SPECIAL = re.compile(
    "[\x00-\x1f\x7f-\xa0\u1100-\u11ff\u200b\u2028\ud800-\udfff\ue000-\uf8ff\ufb00-\ufb06\ufeff\ufffc\ufffe\uffff]"
)
_DROPPED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\ufeff\ufffe\uffff]")
_NAMED = "\ufffc"  # in the place of a ligature whose letters its glyph's name tells
_BULLETS = frozenset("\uf0b7\uf0a7\uf076\uf0d8\uf0fc")  # Symbol and Wingdings, as Word writes its lists
# A ligature without a character: none, one of private use, a symbol at a word, or punctuation within one.
_DOUBTFUL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
    f"|(?![{''.join(sorted(_BULLETS))}])[\ue000-\uf8ff]"
    "|(?<=[A-Za-z])[\u2190-\u2bff]|[\u2190-\u2bff](?=[a-z])"
    "|(?<=[A-Za-z])[!-&(-,:-@\\[-`{-~](?=[a-z])"
)
_BOLD = re.compile(rb"bold|black|heavy|medi(?!um)|demi", re.I)
_BOLD_WEIGHT = 600
_NAME_LENGTH = 128
_FontName = c_char * _NAME_LENGTH
# Letters that words run on with over a line end.
JOINING = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff、。，．！？」』）〉》】ー々]"
)  # letters without a space between words

_is_code = PYFUNCTYPE(c_int, c_void_p, c_int)(address(pdfium.FPDFText_HasUnicodeMapError))
_is_hyphen = PYFUNCTYPE(c_int, c_void_p, c_int)(address(pdfium.FPDFText_IsHyphen))
_is_generated = PYFUNCTYPE(c_int, c_void_p, c_int)(address(pdfium.FPDFText_IsGenerated))
_matrix_at = PYFUNCTYPE(c_int, c_void_p, c_int, c_void_p)(address(pdfium.FPDFText_GetMatrix))
_origin_of = PYFUNCTYPE(c_int, c_void_p, c_int, c_void_p, c_void_p)(address(pdfium.FPDFText_GetCharOrigin))
_size_of = PYFUNCTYPE(c_double, c_void_p, c_int)(address(pdfium.FPDFText_GetFontSize))
_weight_of = PYFUNCTYPE(c_int, c_void_p, c_int)(address(pdfium.FPDFText_GetFontWeight))
_font_of = PYFUNCTYPE(c_ulong, c_void_p, c_int, c_void_p, c_ulong, c_void_p)(
    address(pdfium.FPDFText_GetFontInfo)
)


@dataclass
class Line:
    """Line of a page in points along its own direction; ``indices[i]`` is pdfium's index of ``text[i]``."""

    text: str
    indices: Sequence[int]
    hyphenated: bool
    left: float = 0.0
    right: float = 0.0
    baseline: float = 0.0
    size: float = 0.0
    angle: float = 0.0
    bold: bool = False


def characters_of(page: PdfPage) -> PdfTextPage:
    """Return a page's characters in reading order, which pdfium gives in reverse where they run down."""
    characters = page.get_textpage()
    rotation, angle = page.get_rotation(), _main_angle(characters)
    if (angle - rotation) % 360 != 270:
        return characters
    characters.close()
    page.set_rotation(angle)
    characters = page.get_textpage()
    page.set_rotation(rotation)
    return characters


def _main_angle(characters: PdfTextPage) -> int:
    count = characters.count_chars()
    angles: Counter[int] = Counter()
    matrix, page = pdfium.FS_MATRIX(), address(characters.raw)
    for index in range(0, count, max(count // _SAMPLE, 1)):
        if not _is_generated(page, index):
            _matrix_at(page, index, byref(matrix))
            angles[round(math.degrees(math.atan2(matrix.b, matrix.a)) / 90) % 4 * 90] += 1
    return angles.most_common(1)[0][0] if angles else 0


def lines_of(page: PdfTextPage, *, named: bool = True) -> list[Line]:
    """Return the lines of a page that hold text, in reading order; `named` reads ligatures by their names."""
    lines = [line for line in _lines(page, named=named) if line.text.strip()]
    for line in lines:
        measure(page, line)
    return lines


def _lines(page: PdfTextPage, *, named: bool) -> Iterator[Line]:
    text = _codes(page)
    letters = named_ligatures(page, text) if named else {}
    text = _replaced(text, dict.fromkeys(letters, _NAMED))
    start = 0
    for end in _LINE_END.finditer(text):
        hyphenated = end.group() == _HYPHEN
        line = text[start : end.start()] + "-" * hyphenated
        yield _readable(line, range(start, start + len(line)), hyphenated, letters)
        start = end.end()
    yield _readable(text[start:], range(start, len(text)), False, letters)


def named_ligatures(page: PdfTextPage, text: str | None = None) -> dict[int, str]:
    """Return the letters of the ligatures that only their glyphs' names tell, by index."""
    pdf = page.page.pdf
    if not isinstance(pdf, OpenedPdf):
        return {}
    found: dict[int, str] = {}
    characters = address(page.raw)
    for match in _DOUBTFUL.finditer(_codes(page) if text is None else text):
        if match[0] == _HYPHEN and _is_hyphen(characters, match.start()) == 1:
            continue
        is_code = _is_code(characters, match.start()) == 1
        if is_code or not match[0].isascii() or match[0] < " ":
            letters = pdf.letters(
                font_name(page, match.start()).decode("latin-1"), ord(match[0]), is_code=is_code
            )
            if letters:
                found[match.start()] = letters
    return found


def _codes(page: PdfTextPage) -> str:
    """Return pdfium's code of each character; its quick text of a whole page may lack some."""
    raw, count = page.raw, page.count_chars()
    units = (c_ushort * (count + 1))()
    written = pdfium.FPDFText_GetText(raw, 0, count, units) - 1
    if written != count or pdfium.FPDFText_GetTextIndexFromCharIndex(raw, count - 1) != count - 1:
        return "".join([chr(pdfium.FPDFText_GetUnicode(raw, index)) for index in range(count)])
    text = "".join(map(chr, units[:count]))
    unsure = (found.start() for found in _UNSURE.finditer(text))
    return _replaced(text, {place: chr(pdfium.FPDFText_GetUnicode(raw, place)) for place in unsure})


def _replaced(text: str, characters: Mapping[int, str]) -> str:
    """Return a text with other characters in some places."""
    if not characters:
        return text
    changed = list(text)
    for place, character in characters.items():
        changed[place] = character
    return "".join(changed)


def _readable(text: str, indices: Sequence[int], hyphenated: bool, letters: Mapping[int, str]) -> Line:
    """Drop control characters, pair surrogates, compose accents, put in the letters of ligatures by index.

    Each character keeps its index.
    """
    if not _SPECIAL.search(text) and unicodedata.is_normalized("NFC", text):
        return Line(text, indices, hyphenated)
    clusters: list[str] = []
    firsts: list[int] = []
    for character, index in zip(text, indices, strict=True):
        if clusters and _continues(clusters[-1], character):
            clusters[-1] = _joined(clusters[-1], character)
        else:
            clusters.append(character)
            firsts.append(index)
    cleaned = [
        letters.get(index) or _cleaned(cluster) for index, cluster in zip(firsts, clusters, strict=True)
    ]
    repeated = [index for index, cluster in zip(firsts, cleaned, strict=True) for _ in cluster]
    return Line("".join(cleaned), repeated, hyphenated)


def _continues(before: str, character: str) -> bool:
    if "\udc00" <= character <= "\udfff":
        return "\ud800" <= before[-1] <= "\udbff"
    return unicodedata.combining(character) != 0 or "\u1160" <= character <= "\u11ff"


def _joined(before: str, character: str) -> str:
    if "\ud800" <= before[-1] <= "\udbff":
        return before[:-1] + (before[-1] + character).encode("utf-16", "surrogatepass").decode("utf-16")
    return before + character


def _cleaned(cluster: str) -> str:
    if cluster in _BULLETS:
        return "•"
    if cluster in ("\xa0", "\t", "\u2028"):
        return " "
    if "\ufb00" <= cluster <= "\ufb06":  # ligatures
        return unicodedata.normalize("NFKC", cluster)
    cluster = unicodedata.normalize("NFC", cluster)
    return _DROPPED.sub("", cluster) if not "\ud800" <= cluster[0] <= "\udfff" else ""


def measure(page: PdfTextPage, line: Line) -> None:
    """Set the line's position along its own direction, so that turned pages read like upright ones."""
    first = line.indices[len(line.text) - len(line.text.lstrip())]
    last = line.indices[len(line.text.rstrip()) - 1]
    characters, matrix, box = address(page.raw), pdfium.FS_MATRIX(), pdfium.FS_RECTF()
    _matrix_at(characters, first, byref(matrix))
    length = math.hypot(matrix.a, matrix.b) or 1.0
    along = (matrix.a / length, matrix.b / length)
    x, y = c_double(), c_double()
    _origin_of(characters, first, byref(x), byref(y))
    line.size = _size_of(characters, first) * math.hypot(matrix.c, matrix.d)
    line.angle = math.degrees(math.atan2(along[1], along[0]))
    line.left = x.value * along[0] + y.value * along[1]
    line.baseline = y.value * along[0] - x.value * along[1]
    box_of(characters, last, byref(box))
    line.right = turned_box(box, along)[1]
    line.bold = is_bold(page, first) and is_bold(page, last)


def is_bold(page: PdfTextPage, index: int) -> bool:
    """Return whether a character is bold."""
    bold = _BOLD.search(font_name(page, index))
    return bool(bold) or _weight_of(address(page.raw), index) >= _BOLD_WEIGHT


def font_name(page: PdfTextPage, index: int) -> bytes:
    """Return the name of a character's font."""
    name, flags = _FontName(), c_int()
    _font_of(address(page.raw), index, name, _NAME_LENGTH, byref(flags))
    return name.value
