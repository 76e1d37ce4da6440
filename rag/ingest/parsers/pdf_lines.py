"""Lines of PDF pages: their text as pdfium has it, their places, and the rows of words at one height."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from ctypes import PYFUNCTYPE, byref, c_char, c_double, c_int, c_ulong, c_ushort, c_void_p
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import NamedTuple

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


TIGHT = 1.6  # distance of two lines of one cell, in font sizes
_JOINED = 0.5  # widest space within a cell, in font sizes
_JUSTIFIED_WORDS = 6  # fewest words of a line of prose
_JUSTIFIED = 1.5  # widest space between them, in font sizes
_EVEN = 2.0  # the widest space over the median one
_GLUED = 18.0  # widest gap between a currency sign and its figure
_CLOSING = 2.0  # widest gap between a figure and its per cent sign
_SAME_ROW = 0.35
_RAISED = 0.8  # greatest size of a note's mark, in sizes of the text
_BACK_UP = 10.0  # a line so much higher than the last begins another column of the page

_SIGNS = r"[-–—−+±~<>≤≥▲△]"
_MONEY = r"(?:(?:US|HK|NT|A|C|S|R)?[$€£¥₩₹￦￥])"
_UNIT = (
    r"%|％|\)|x|×|bps?|pts?|[KMBkm]|bn|mn|million|billion|years?|months?|days?|hours?"
    r"|천원|백만원|억원|만원|원|명|개|건|세|円|万円|百万円|人|件|歳"
)
_NOTE = r"(?:\s?(?:\(\w\)|\[\w\]|[*†‡]))*"
_FIGURE = re.compile(
    rf"(?:\(|{_SIGNS})*{_MONEY}?(?:\(|{_SIGNS})*\d+(?:[,.’' :]\d+)*(?:\s?(?:{_UNIT}))*{_NOTE}"
)
_BLANK = re.compile(r"[$€£¥₩]?[-–—−]{1,3}(?:\s?%)?\)?|[Nn]/?[AaMm]|\*+|…|\.{3}")
_OPENING = re.compile(rf"(?:\(|{_SIGNS})*{_MONEY}(?:\(|{_SIGNS})*|\(")
_CLOSERS = re.compile(r"[%％)]{1,2}")
_OPENING_LENGTH = 8
_AFTER_OPENING = frozenset("0123456789(-–—−.")
_BEFORE_CLOSER = frozenset("0123456789)-–—−")
_YEAR = re.compile(r"(?:(?:FY|CY)?\s?(?:19|20)\d\d[AEF]?|\d{1,2})(?:\s?\(\d\))?")
_MARK = re.compile(r"\(\w\)|\[\w\]|[*†‡]")
_HYPHENATED = re.compile(r"[^\W\d]-$")


class Word(NamedTuple):
    """Word of a page: ``lines[line].text[start:end]``."""

    text: str
    left: float
    right: float
    middle: float
    size: float
    line: int
    start: int
    end: int


class Segment:
    """Words without a wide gap between them; a word whose place is in ``glued`` follows without a space."""

    def __init__(self, words: Sequence[Word], glued: Iterable[int] = ()) -> None:
        self.words = words
        self.glued = frozenset(glued)
        self.left = words[0].left
        self.right = words[-1].right
        self.text = " ".join([word.text for word in words])
        if self.glued:
            self.text = "".join(
                " " * (place > 0 and place not in self.glued) + word.text for place, word in enumerate(words)
            )

    @cached_property
    def is_figure(self) -> bool:
        """Return whether this is a number or the dash that stands for one."""
        return is_figure(self.text)

    @cached_property
    def is_year(self) -> bool:
        """Return whether this is a year."""
        return len(self.text) >= 4 and bool(_YEAR.fullmatch(self.text))

    @cached_property
    def core(self) -> tuple[float, float]:
        """Left and right edge without a currency sign that stands apart."""
        if len(self.words) == 1:
            return self.left, self.right
        words = self.words
        start = next((word.left for word in words if not _OPENING.fullmatch(word.text)), self.left)
        return start, self.right


def is_figure(text: str) -> bool:
    """Return whether a cell holds a number, or a sign for none.

    >>> [is_figure(text) for text in ("$39,669", "(2)%", "—", "1.", "1)", "Note 7", "12백만원")]
    [True, True, True, False, False, False, True]
    """
    if _BLANK.fullmatch(text):
        return True
    return bool(_FIGURE.fullmatch(text)) and text.count(")") <= text.count("(")


@dataclass
class Row:
    """Words of a page at one height, in segments from left to right."""

    segments: list[Segment]
    middle: float
    size: float

    @cached_property
    def left(self) -> float:
        """Left edge in points."""
        return self.segments[0].left

    @cached_property
    def figures(self) -> list[Segment]:
        """Segments that hold numbers; a first one is a row's name where others follow."""
        return [segment for segment in self.segments if segment.is_figure]

    @cached_property
    def is_data(self) -> bool:
        """Return whether figures follow a label, or stand alone, several in a row."""
        return any(segment.is_figure for segment in self.segments[1:]) and not self.is_years

    @cached_property
    def is_years(self) -> bool:
        """Return whether all figures are years, as above columns."""
        return bool(self.figures) and all(segment.is_year for segment in self.figures)


Cell = list[Segment]


def row_blocks(words: Sequence[Word]) -> Iterator[list[Row]]:
    """Yield the rows of each column of a page; words are in the page's order."""
    for block in _blocks(words):
        yield _rows(block)


def _blocks(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Yield the columns of a page: runs of words that go down."""
    block: list[Word] = []
    for word in words:
        back_up = bool(block) and word.middle > block[-1].middle + _BACK_UP * word.size
        if back_up and not _is_mark(word, block[-1]):
            yield block
            block = []
        block.append(word)
    if block:
        yield block


def _is_mark(word: Word, before: Word) -> bool:
    """Return whether a word is a note's raised mark, which some programs draw after the page's text."""
    return bool(_MARK.fullmatch(word.text)) or (len(word.text) == 1 and word.size < _RAISED * before.size)


def _rows(words: Sequence[Word]) -> list[Row]:
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: -word.middle):
        if rows and rows[-1][0].middle - word.middle <= _SAME_ROW * max(word.size, rows[-1][0].size):
            rows[-1].append(word)
        else:
            rows.append([word])
    return [_row(row) for row in rows]


def _row(words: list[Word]) -> Row:
    words.sort(key=lambda word: word.left)
    middle = words[len(words) // 2]
    segments = [Segment(words)] if len(words) == 1 or _is_justified(words) else segments_of(words)
    return Row(segments, middle.middle, middle.size)


def _is_justified(words: Sequence[Word]) -> bool:
    """Return whether words stand evenly apart, as in a line of prose that fills its column."""
    if len(words) < _JUSTIFIED_WORDS:
        return False
    small = sum(word.text[0].isalpha() and not word.text[0].isupper() for word in words)
    if 2 * small < len(words):
        return False
    bulleted = not words[0].text[0].isalnum()
    gaps = [word.left - before.right for before, word in pairwise(words[bulleted:])]
    return max(gaps) < min(_EVEN * median(gaps), _JUSTIFIED * words[0].size)


def segments_of(words: Sequence[Word]) -> list[Segment]:
    """Return the words of a line in segments, figures joined with their signs."""
    groups: list[list[Word]] = []
    for word in words:
        last = groups[-1] if groups else None
        near = last is not None and word.left - last[-1].right <= _JOINED * word.size
        if last and near and not _begins_figure(last, word):
            last.append(word)
        else:
            groups.append([word])
    return _glued(groups)


def _begins_figure(words: Sequence[Word], word: Word) -> bool:
    """Return whether a currency sign after a figure begins the next one."""
    return _may_open(word.text) and is_figure(Segment(words, _inner_glue(words)).text)


def _may_open(text: str) -> bool:
    return not text[-1].isalnum() and len(text) < _OPENING_LENGTH and bool(_OPENING.fullmatch(text))


def _glued(groups: Sequence[Sequence[Word]]) -> list[Segment]:
    """Join currency signs, brackets and per cent signs with their figures."""
    kept: list[Segment] = []
    for words in groups:
        segment = Segment(words, _inner_glue(words))
        before = kept[-1] if kept else None
        if before and _glues(before, segment):
            shifted = (len(before.words) + place for place in segment.glued)
            kept[-1] = Segment([*before.words, *words], {*before.glued, len(before.words), *shifted})
        else:
            kept.append(segment)
    return kept


def _glues(before: Segment, segment: Segment) -> bool:
    size, gap = segment.words[0].size, segment.left - before.right
    if _may_open(before.text):
        return gap <= _GLUED * size and is_figure(before.text + segment.text.replace(" ", ""))
    if len(segment.text) < 3 and _CLOSERS.fullmatch(segment.text):
        return gap <= _CLOSING * size and bool(is_figure(before.text + segment.text))
    return False


def _inner_glue(words: Sequence[Word]) -> Collection[int]:
    if len(words) == 1:
        return ()
    return {
        place for place, (before, word) in enumerate(pairwise(words), 1) if _sticks(before.text, word.text)
    }


def _sticks(before: str, text: str) -> bool:
    if text[0] in _AFTER_OPENING and _may_open(before):
        return True
    return before[-1] in _BEFORE_CLOSER and len(text) < 3 and bool(_CLOSERS.fullmatch(text))


def is_blank(text: str) -> bool:
    """Return whether a cell holds a sign for no number."""
    return _BLANK.fullmatch(text) is not None


def touch(a: tuple[float, float], b: tuple[float, float]) -> bool:
    """Return whether two spans have a point in common."""
    return a[0] < b[1] and b[0] < a[1]


def overlap(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return the points that two spans have in common; negative where they are apart."""
    return min(a[1], b[1]) - max(a[0], b[0])


def cell_words(cell: Iterable[Segment]) -> Iterator[tuple[Word, bool]]:
    """Yield the words of a cell; True where a space stands before one."""
    before: Word | None = None
    for segment in cell:
        for place, word in enumerate(segment.words):
            split = place == 0 and before is not None and _runs_on(before, word)
            yield word, not (before is None or split or place in segment.glued)
            before = word


def _runs_on(before: Word, word: Word) -> bool:
    """Return whether a word goes on from the end of one line of a cell in the next."""
    joined = JOINING.match(before.text[-1]) and JOINING.match(word.text[0]) and before.line != word.line
    return bool(joined or _HYPHENATED.search(before.text))


def cell_text(cell: Iterable[Segment]) -> str:
    """Return the text of a cell as it stands in Markdown."""
    return "".join(" " * spaced + word.text.replace("|", "/") for word, spaced in cell_words(cell))
