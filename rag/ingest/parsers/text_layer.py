"""Text layer of a PDF: its quality, ligatures told by the names of glyphs, and Korean words over line ends.

Text layer quality: the share of a page's letters that cannot be its words.

A wrong encoding leaves characters without a name, letters of many alphabets, syllables and ideographs that
nobody writes, or letters in an order that no language has. Poor recognition leaves fewer of the last.

Ligatures of PDF fonts that are told by their glyphs' names only, as "ffi" or "f_f_i".

Some programs give such a glyph the wrong character or none: a PDF saved by macOS has U+0000 or an arrow for
"ffi" and "ff". pdfium follows, and does not tell the names, so they are read from the file. Only what is
sure counts: where glyphs of one font have the same wrong character and other names, it stays as it is.

The file is searched once, from object to object, over the content of its streams; steps and sizes are
limited. In a file that is beyond a limit, or whose parts are not as they should be, no ligature is read.

Korean words that run over the line ends of a PDF, which may hold no space where one word ends.

Korean lines break between words in some documents and at any syllable in others. The room at the ends of a
document's lines and the letters around them tell which; in the latter, a line end parts or joins two words
as its letters do in running text (weights of `scripts/korean_spacing.py`) and elsewhere in the document.
"""

import json
import math
import mmap
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import chain, islice, pairwise
from operator import itemgetter
from pathlib import Path
from string import ascii_letters, digits
from typing import Any, NamedTuple

import pypdfium2

# Limits, so that a file made to be slow is read in time and memory in proportion to its size:
_LONGEST = 1 << 16  # bytes of a dictionary
_UNPACKED = 1 << 24  # bytes of one stream
_ALL_UNPACKED = 1 << 27  # bytes of all streams of a file
_OBJECTS = 1_000_000  # objects, and their ends
_FONTS = 10_000  # fonts that name their glyphs
_HEAD = 1 << 20  # bytes of an object stream's list of objects
_CODES = 256  # of a font whose codes have one byte, and of its table
_NUMBERED = 24  # bytes of an object's number before "obj"
_OBJECT = re.compile(rb"endobj|(?<!\d)(\d{1,9})\s{1,4}\d{1,5}\s{1,4}obj\b")
_STREAM = re.compile(rb"stream\r?\n")
_PAIR = re.compile(rb"(?<!\d)(\d{1,9})\s{1,4}(\d{1,9})(?!\d)")
_BASE_FONT = re.compile(rb"/BaseFont\s{0,4}/([^\s/<>\[\]()]{1,127})")
_ENCODING = re.compile(rb"/Encoding\s{1,4}(\d{1,9})\s{1,4}\d{1,5}\s{1,4}R")
_TO_UNICODE = re.compile(rb"/ToUnicode\s{1,4}(\d{1,9})\s{1,4}\d{1,5}\s{1,4}R")
_DIFFERENCES = re.compile(rb"/Differences\s*\[([^\[\]]*)\]")
_NAME_OR_CODE = re.compile(rb"/([^\s/<>\[\]()]+)|(\d{1,9})")
_ESCAPED = re.compile(rb"#([0-9A-Fa-f]{2})")
_SUBSET = re.compile(r"^[A-Z]{6}\+")
_CHARACTER = re.compile(rb"<([0-9A-Fa-f\s]+)>\s*<([0-9A-Fa-f\s]+)>")
_RANGE = re.compile(rb"<([0-9A-Fa-f\s]+)>\s*<([0-9A-Fa-f\s]+)>\s*(?:<([0-9A-Fa-f\s]+)>|\[([^\[\]]*)\])")
_HEX = re.compile(rb"<([0-9A-Fa-f\s]+)>")
_SIMPLE = frozenset({"ff", "fi", "fl", "ffi", "ffl"})
_COMPOUND = re.compile(r"[A-Za-z](?:_[A-Za-z]){1,3}")


def ligature(name: str) -> str | None:
    """Return the letters of a ligature by its glyph's name; None for any other glyph.

    >>> ligature("ffi"), ligature("T_h"), ligature("f_i.alt"), ligature("a"), ligature("f_longs")
    ('ffi', 'Th', 'fi', None, None)
    """
    base = name.partition(".")[0]
    if base in _SIMPLE:
        return base
    return base.replace("_", "") if _COMPOUND.fullmatch(base) else None


def without_tag(font: str) -> str:
    """Return a font's name without the tag of its subset: "AAAAAN+CMR10" is "CMR10"."""
    return _SUBSET.sub("", font)


@dataclass
class _Glyphs:
    """Letters of the glyphs of all fonts of one name; None where they are none or not sure."""

    by_character: dict[int, str | None] = field(default_factory=dict)
    by_code: dict[int, str | None] = field(default_factory=dict)

    def add(self, letters: Mapping[int, str | None], characters: Mapping[int, int]) -> None:
        for code, character in characters.items():
            _agree(self.by_character, character, letters.get(code))
        for code in letters.keys() - characters.keys():
            _agree(self.by_code, code, letters[code])


def _agree(known: dict[int, str | None], key: int, letters: str | None) -> None:
    known[key] = letters if known.get(key, letters) == letters else None


class OpenedPdf(pypdfium2.PdfDocument):  # type: ignore[misc]  # pypdfium2 has no types
    """PDF file that knows the ligatures of its fonts."""

    def __init__(self, path: Path) -> None:
        """Open a file; raises PdfiumError."""
        super().__init__(path)
        self._path = path

    def letters(self, font: str, character: int, *, is_code: bool) -> str | None:
        """Return the letters of a ligature in a font; None where it is none or not sure.

        `character` is what the font's table of characters gives for it, or its code where it has none there.
        """
        glyphs = self._glyphs.get(without_tag(font))
        if glyphs is None:
            return None
        return (glyphs.by_code if is_code else glyphs.by_character).get(character)

    @cached_property
    def _glyphs(self) -> Mapping[str, _Glyphs]:
        with (
            self._path.open("rb") as file,
            closing(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) as data,
        ):
            try:
                return _File(data).glyphs()
            except (LookupError, ValueError):  # pdfium reads the text of such a file, so it is not refused
                return {}


class _TooLarge(ValueError):
    """File beyond a limit."""


class _File:
    """Dictionaries of fonts and encodings in the bytes of a PDF, and the places of its streams."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._room = _ALL_UNPACKED
        self._objects_left = _OBJECTS
        self._streams: dict[int, tuple[int, int]] = {}
        self._tables: dict[int, dict[int, int] | None] = {}
        self._encodings: dict[int, bytes] = {}
        self._letters: dict[int, Mapping[int, str | None]] = {}
        self._fonts: list[bytes] = []

    def glyphs(self) -> Mapping[str, _Glyphs]:
        for number, body in self._objects():
            if listed := _DIFFERENCES.search(body):
                self._encodings[number] = listed[1]
            if b"/BaseFont" in body and (listed or _ENCODING.search(body)):
                self._fonts.append(body)
            if max(len(self._fonts), len(self._encodings)) > _FONTS:
                raise _TooLarge
        found: dict[str, _Glyphs] = {}
        for body in self._fonts:
            name, letters = _BASE_FONT.search(body), self._named(body)
            characters = self._characters(body)
            if name and letters and characters is not None:
                font = without_tag(_unescaped(name[1]))
                found.setdefault(font, _Glyphs()).add(letters, characters)
        return found

    def _objects(self) -> Iterator[tuple[int, bytes]]:
        """Yield the numbers and dictionaries of all objects; keep where their streams are."""
        mark = self._mark(0, len(self._data))
        while mark:
            at, following = mark.end(), None
            if mark[1]:
                following = self._mark(at, at + _LONGEST)
                body = self._data[at : following.start() if following else at + _LONGEST]
                if stream := _STREAM.search(body):
                    start = at + stream.end()
                    at, following = self._data.find(b"endstream", start), None
                    if at < 0:
                        return
                    body = body[: stream.start()]
                    self._streams[int(mark[1])] = start, at
                    if b"/ObjStm" in body:
                        yield from self._packed(int(mark[1]))
                yield int(mark[1]), body
            mark = following or self._mark(at, len(self._data))

    def _mark(self, start: int, end: int) -> re.Match[bytes] | None:
        """Return the next begin or end of an object."""
        at = start - 1
        while (at := self._data.find(b"obj", at + 1, end)) >= 0:
            self._count()
            if mark := _OBJECT.search(self._data, max(start, at - _NUMBERED), at + len(b"obj") + 1):
                return mark
        return None

    def _count(self) -> None:
        self._objects_left -= 1
        if self._objects_left < 0:
            raise _TooLarge

    def _packed(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield the objects in an object stream; none has bytes of another."""
        content = self._unpacked(number)
        head = content[:_HEAD].partition(b"<")[0]
        pairs = [(int(one), int(at)) for one, at in _PAIR.findall(head)]
        first = len(head) - pairs[0][1] if pairs else 0
        pairs.sort(key=itemgetter(1))
        for (one, at), (_, end) in pairwise([*pairs, (0, len(content) - first)]):
            self._count()
            yield one, content[first + at : first + min(end, at + _LONGEST)]

    def _unpacked(self, number: int) -> bytes:
        """Return the content of a stream that is deflated or plain; nothing where it cannot be read."""
        start, end = self._streams.get(number, (0, 0))
        packed = self._data[start : min(end, start + _UNPACKED)]
        try:
            content = zlib.decompressobj().decompress(packed, _UNPACKED)
        except zlib.error:
            content = packed if b"begincmap" in packed else b""
        self._room -= len(content)
        if self._room < 0:
            raise _TooLarge
        return content

    def _named(self, font: bytes) -> Mapping[int, str | None]:
        """Return the letters that a font's encoding gives to the codes it names."""
        reference = _ENCODING.search(font)
        if reference is None:
            listed = _DIFFERENCES.search(font)
            return _letters(listed[1]) if listed else {}
        number = int(reference[1])
        if number not in self._letters:
            self._letters[number] = _letters(self._encodings.get(number, b""))
        return self._letters[number]

    def _characters(self, font: bytes) -> dict[int, int] | None:
        """Return a font's single characters by code; None where it has a table that cannot be read."""
        reference = _TO_UNICODE.search(font)
        if reference is None:
            return {}
        number = int(reference[1])
        if number not in self._tables:
            table = self._unpacked(number)
            self._tables[number] = dict(_mapped(table)) if b"begincmap" in table else None
        return self._tables[number]


def _letters(listed: bytes) -> dict[int, str | None]:
    """Return the letters of the glyphs that an encoding lists, by code."""
    letters: dict[int, str | None] = {}
    code = 0
    for token in islice(_NAME_OR_CODE.finditer(listed), 2 * _CODES):
        if token[2]:
            code = int(token[2])
        else:
            letters[code] = ligature(_unescaped(token[1]))
            code += 1
    return letters


def _unescaped(name: bytes) -> str:
    return _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), name).decode("latin-1")


def _mapped(table: bytes) -> Iterator[tuple[int, int]]:
    """Yield the codes of one byte in a table of characters, each with the first unit of its text."""
    parts = _parts(table, b"beginbfchar", b"endbfchar")
    for match in islice(chain.from_iterable(map(_CHARACTER.finditer, parts)), _CODES):
        yield _low(match[1]), _first(match[2])
    parts = _parts(table, b"beginbfrange", b"endbfrange")
    for match in islice(chain.from_iterable(map(_RANGE.finditer, parts)), _CODES):
        codes = range(_low(match[1]), _low(match[2]) + 1)
        if match[3]:
            yield from ((code, _first(match[3]) + at) for at, code in enumerate(codes))
        else:
            yield from zip(codes, (_first(text[1]) for text in _HEX.finditer(match[4])), strict=False)


def _parts(table: bytes, begin: bytes, end: bytes) -> Iterator[bytes]:
    """Yield what is between each begin and end."""
    start = table.find(begin)
    while start >= 0 and (closed := table.find(end, start)) >= 0:
        yield table[start + len(begin) : closed]
        start = table.find(begin, closed)


def _low(code: bytes) -> int:
    """Return the last byte of a code in hexadecimal."""
    return int(b"".join(code.split())[-2:] or b"0", 16)


def _first(text: bytes) -> int:
    """Return the first unit of a text in hexadecimal."""
    return int(b"".join(text.split())[:4] or b"0", 16)


WEIGHTS = Path(__file__).with_name("korean_spacing.json")
_LETTERS = "\uac00-\ud7a30-9A-Za-z"
_BETWEEN = re.compile(rf"(?<=[{_LETTERS}%)\]\"'”’〉》」』])( ?)(?=[{_LETTERS}(\[\"'“‘〈《「『])")
_LEFT = re.compile(r"\S{1,4}\Z")
_RIGHT = re.compile(r"\S{1,4}")
_CLASSES = str.maketrans({**dict.fromkeys(digits, "0"), **dict.fromkeys(ascii_letters, "a")})
_SIZES = ((1, 1), (2, 1), (1, 2))  # characters before and after a place that are counted
# Fitted to half of the articles of KorQuAD 1.0; docs/benchmarks/parsing.md has the other half.
_WEIGHT = 0.56
_COUNT_WEIGHTS = (0.89, 1.26, 0.67)
_PARTED = 0.29  # share of places between Korean letters that have a space
# Share of line ends, of those that have no room for the next word, that have no room for a letter either:
# where lines break inside words, and where they break between words.
_TIGHT_INSIDE, _TIGHT_BETWEEN = 0.95, 0.45
_SURE = 3.0  # log of the odds that lines break inside words, from which words are joined
_ENTRY = re.compile(r"제\s?\d+\s?[조장절항]|\([가나다라마바사아자차카타파하]\)\s|\(?\d{1,3}[.)]\s")


class LineEnd(NamedTuple):
    """Line end in a text that may part a Korean word; ``tight`` where the line has no room for a letter."""

    place: int
    tight: bool


def may_run_on(before: str, after: str) -> bool:
    """Return whether a Korean word may run from one line into the next.

    >>> may_run_on("이익은 37억 원", "으로"), may_run_on("줄었다.", "이익은"), may_run_on("in 2025", "and")
    (True, False, False)
    >>> may_run_on("계약의 목적", "제2조 임대차 기간")
    False
    """
    around = f"{before[-1:]} {after[:1]}"
    return not _ENTRY.match(after) and bool(_HANGUL.search(around) and _BETWEEN.search(around))


def inside_words(pages: Sequence[tuple[str, Sequence[LineEnd]]]) -> list[list[int]]:
    """Return, for each page's text and line ends, the places of those that part a word."""
    ends = [(text, end) for text, found in pages for end in found]
    contexts = [_context(text, end.place) for text, end in ends]
    evidence = list(_evidence(contexts, _counts((text for text, _ in pages), contexts)))
    if not _break_inside(zip((end.tight for _, end in ends), evidence, strict=True)):
        return [[] for _ in pages]
    joined = iter(evidence)
    return [[end.place for end in found if next(joined) < 0 and end.tight] for _, found in pages]


def _break_inside(ends: Iterable[tuple[bool, float]]) -> bool:
    """Return whether lines that end so break inside words, too, as the likelier of the two."""
    balance = 0.0
    for tight, evidence in ends:
        inside, between = (
            (_TIGHT_INSIDE, _TIGHT_BETWEEN) if tight else (1 - _TIGHT_INSIDE, 1 - _TIGHT_BETWEEN)
        )
        spaced = 1 / (1 + math.exp(-evidence))
        balance += math.log(inside / between) + math.log(_PARTED / max(spaced, 0.01))
    return balance > _SURE


Context = tuple[str, str]


def _context(text: str, place: int) -> Context:
    """Return the ends of the words before and after a place, with a blank where a word begins or ends."""
    before, after = text[max(place - 4, 0) : place], text[place + 1 : place + 5]
    return _around(before, after)


def _around(before: str, after: str) -> Context:
    left, right = _LEFT.search(before), _RIGHT.match(after)
    return (
        (" " + left[0] if left else " ")[-4:].translate(_CLASSES),
        (right[0] + " " if right else " ")[:4].translate(_CLASSES),
    )


def places(text: str) -> Iterator[tuple[Context, bool]]:
    """Yield the context of each place where a Korean word may end, and whether a space is there."""
    for found in _BETWEEN.finditer(text):
        start, end = found.span()
        if _HANGUL.match(text[start - 1]) or _HANGUL.match(text[end]):
            yield _around(text[max(start - 4, 0) : start], text[end : end + 4]), start < end


def features(context: Context) -> list[str]:
    """Return the parts of a context that have weights: ends of the word before, starts of the word after.

    >>> features((" 억원", "으로 "))[:5]
    ['원|', '억원|', ' 억원|', '|으', '|으로']
    """
    left, right = context
    return [
        *(f"{left[-size:]}|" for size in range(1, len(left) + 1)),
        *(f"|{right[:size]}" for size in range(1, len(right) + 1)),
        *(f"{left[-before:]}|{right[:after]}" for before, after in (*_SIZES, (2, 2))),
    ]


def _counts(texts: Iterable[str], contexts: Iterable[Context]) -> Counter[tuple[str, str, bool]]:
    """Count, over the texts, the letters around each context's place with and without a space."""
    wanted = {pair for context in contexts for pair in _pairs(context)}
    return Counter(
        (*pair, spaced)
        for text in texts
        for context, spaced in (places(text) if wanted else ())
        for pair in _pairs(context)
        if pair in wanted
    )


def _pairs(context: Context) -> list[tuple[str, str]]:
    return [(context[0][-before:], context[1][:after]) for before, after in _SIZES]


def _evidence(contexts: Iterable[Context], counts: Counter[tuple[str, str, bool]]) -> Iterator[float]:
    """Yield the log odds that each place parts two words."""
    weights = _weights()
    for context in contexts:
        learned = weights[""] + sum(weights.get(feature, 0) for feature in features(context))
        own = [
            math.log((counts[*pair, True] + 0.5) / (counts[*pair, False] + 0.5)) for pair in _pairs(context)
        ]
        weighted = sum(weight * value for weight, value in zip(_COUNT_WEIGHTS, own, strict=True))
        yield _WEIGHT * learned / 10 + weighted


@lru_cache
def _weights() -> dict[str, int]:
    weights: dict[str, int] = json.loads(WEIGHTS.read_text("utf-8"))
    return weights


GARBLED = 0.3  # share of unreadable letters; that of good pages is .04, and at most .2
_POOR = 0.1  # share in a layer that a scanner's program wrote behind a picture
_ENOUGH = 60  # letters that are needed for a judgement
_SAMPLE = 1000  # characters from the middle of a page that are looked at
_CID = re.compile(r"\(cid:\d+\)")
_UNNAMED = "\ufffe"  # also a hyphen at the end of a line
_NAMELESS = re.compile(f"[\x00-\x01\x03-\x08\x0e-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd\uffff]+|{_UNNAMED}{{2,}}")
_LATIN1_RUN = re.compile("[\x80-\xff]{3,}")  # bytes of another encoding: `ì•ˆ`, `¾È³ç`
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile("[a-z]{4,}")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_HAN = re.compile("[\u3400-\u9fff]")
_OTHER = re.compile("[\u0250-\u10ff\u1200-\u1dff\u1f00-\u1fff\u2c00-\u2dff\ua4d0-\uabff]")
_COMMON_HAN = {"gb2312": 0xD7, "shift_jis": 0x97, "big5": 0xC6}  # last first byte of the common ones
_GAIN = 2 / 3  # of the share before; a page of codes reads as badly from its picture


def is_better(recognised: str, share: float) -> bool:
    """Return whether the recognised text of a page replaces a layer with that unreadable share."""
    return any(map(str.isalnum, recognised)) and unreadable_share(recognised) < _GAIN * share


def doubt(page: Any, characters: Any) -> float:
    """Return the unreadable share of a PDF page's characters if it should be recognised again, else 0."""
    count = characters.count_chars()
    share = unreadable_share(characters.get_text_range(_middle(count), min(count, _SAMPLE)))
    return share if share > GARBLED or (share > _POOR and _is_hidden(page)) else 0.0


def _is_hidden(page: Any) -> bool:
    """Return whether most of a page's text is invisible: a scanner's program put it behind the picture."""
    import pypdfium2.raw as pdfium

    texts = [found for found in page.get_objects(max_depth=2) if found.type == pdfium.FPDF_PAGEOBJ_TEXT]
    modes = [pdfium.FPDFTextObj_GetTextRenderMode(text) for text in texts]
    return 2 * modes.count(pdfium.FPDF_TEXTRENDERMODE_INVISIBLE) > len(modes)


def unreadable_share(text: str) -> float:
    """Return the share of letters and nameless characters that cannot be words; 0 where they are few.

    >>> good = "The annual report of the company says that its sales have fallen in every quarter."
    >>> shifted = "".join(chr(ord(letter) - 29) for letter in good)
    >>> unreadable_share(good) < 0.1, unreadable_share(shifted) > 0.6
    (True, True)
    """
    start = _middle(len(text))
    text = text[start : start + _SAMPLE]
    if "(cid:" in text:
        text = _CID.sub(lambda found: len(found[0]) * "\uffff", text)
    strange = 0
    for unreadable in (_NAMELESS, _LATIN1_RUN):
        if found := unreadable.findall(text):
            strange += sum(map(len, found))
            text = unreadable.sub(" ", text)
    words = _WORD.findall(text)
    letters = strange + sum(map(len, words))
    if letters < _ENOUGH:
        return 0.0
    return min((strange + _alphabet_changes(text) + sum(map(_unreadable, words))) / letters, 1.0)


def _middle(length: int) -> int:
    return max((length - _SAMPLE) // 2, 0)


def _alphabet_changes(text: str) -> int:
    """Return how often a letter that is not Latin or East Asian follows one of another alphabet."""
    if text.isascii():
        return 0
    alphabets = map(_alphabet, _OTHER.findall(text))
    return sum(before != after for before, after in pairwise(alphabets))


@lru_cache(maxsize=1000)
def _alphabet(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


@lru_cache(maxsize=20_000)
def _unreadable(word: str) -> float:
    """Return how many letters of a word, or of a whole line in some languages, are unreadable."""
    if word.isascii():
        return _strange_latin(word.lower())
    uncommon = sum(not _is_common_hangul(syllable) for syllable in _HANGUL.findall(word))
    uncommon += sum(not _is_common_han(ideograph) for ideograph in _HAN.findall(word))
    return uncommon + _strange_latin(fold(word))


def fold(text: str) -> str:
    """Return text in lower case without accents.

    >>> fold("Élève Ⅷ")
    'eleve viii'
    """
    split = unicodedata.normalize("NFKD", text.lower())
    return "".join(letter for letter in split if not unicodedata.combining(letter))


def _strange_latin(word: str) -> float:
    """Return the number of Latin letters times the share of trigrams that no language commonly has."""
    return sum(len(part) * _rare(part) / (len(part) - 2) for part in _LATIN.findall(word))


def _rare(word: str) -> int:
    trigrams = zip(word, word[1:], word[2:], strict=False)
    return len(word) - 2 - sum(map(_common_trigrams().__contains__, trigrams))


@cache
def _common_trigrams() -> frozenset[tuple[str, ...]]:
    return frozenset(_read_trigrams(Path(__file__).with_name("common_trigrams.txt").read_text("ascii")))


def _read_trigrams(lines: str) -> Iterator[tuple[str, ...]]:
    for line in lines.splitlines():
        pair, _, following = line.partition(" ")
        yield from ((*pair, letter) for letter in following)


def _is_common_hangul(syllable: str) -> bool:
    """Return whether a syllable is one of the 2,350 of KS X 1001, out of 11,172."""
    try:
        return len(syllable.encode("euc-kr")) == 2
    except UnicodeEncodeError:
        return False


@lru_cache(maxsize=20_000)
def _is_common_han(ideograph: str) -> bool:
    """Return whether an ideograph is on the first level of a Chinese or Japanese standard."""
    codes = ((ideograph.encode(encoding, "ignore"), last) for encoding, last in _COMMON_HAN.items())
    return any(code and code[0] <= last for code, last in codes)
