"""RTF: headings by their styles, tables, notes and comments; text in its code pages or in Unicode."""

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers.ooxml import comment_line
from rag.ingest.parsers.plain_text import markdown_document
from rag.text.document import LoadedDocument
from rag.text.markdown import Cell, table_blocks
from rag.text.normalize import canonical

_TOKEN = re.compile(
    r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\(.)|([{}])|([^\\{}\r\n]+)|[\r\n]+", re.S
)
_FONT_SETS = dict(
    zip(
        (0, 77, 128, 129, 130, 134, 136, 161, 162, 163, 177, 178, 186, 204, 222, 238),
        (
            *("cp1252", "mac_roman", "cp932", "cp949", "johab", "gb18030", "cp950", "cp1253", "cp1254"),
            *("cp1258", "cp1255", "cp1256", "cp1257", "cp1251", "cp874", "cp1250"),
        ),
        strict=True,
    )
)
_PAGES = {"pc": "cp437", "pca": "cp850", "mac": "mac_roman"}  # words that name a code page
_NAMED = (
    *("tab", "line", "lquote", "rquote", "ldblquote", "rdblquote", "bullet", "endash", "emdash"),
    *("emspace", "enspace", "qmspace", "nestcell", "nestrow", "~", "_", "{", "}", "\\"),
)
_WRITTEN = dict(zip(_NAMED, " \n‘’“”•–—      -{}\\", strict=True))
_NOTES = ("footnote", "annotation")
_DESTINATIONS = (*_NOTES, "atnauthor", "fonttbl", "stylesheet")
_READ = (*_DESTINATIONS, "shpinst")  # destinations that begin with \* and are text; no others are
_UNREAD = frozenset(
    (
        *("colortbl", "info", "pict", "object", "fldinst", "listtable", "listoverridetable", "filetbl"),
        *("header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf"),
        *("nonshppict", "shprslt", "sp", "xe", "tc", "revtbl", "bkmkstart", "bkmkend", "private"),
        *("ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn", "nonesttables"),
    )
)
_HEADING = re.compile(r"(?:heading|제목|개요|見出し) ?(\d)", re.I)
_DEEPEST_HEADING = 6
_MAX_DEPTH = 10_000  # groups


@dataclass
class _Group:
    """State of a group of the file, which ends with it."""

    place: str = ""  # the destination that it is part of
    skipped: int = 1  # characters after each \u, for readers without Unicode
    font: int = -1
    style: int = 0
    level: int = 0  # of a heading
    in_table: bool = False


@dataclass
class _Flow:
    """Text of the document, or of a note in it."""

    line: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    anchored: list[str] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


def read_rtf(path: Path) -> LoadedDocument:
    """Read an RTF document."""
    return markdown_document(rtf_text(path.read_bytes()), "application/rtf")


def rtf_text(content: bytes) -> str:
    r"""Return RTF as clean Markdown, as far as it is sound.

    >>> rtf_text(rb"{\rtf1\ansi\ansicpg949{\fonttbl{\f0 Arial;}}{\stylesheet{\s1 heading 1;}}"
    ...          rb"\s1\outlinelevel0 \'c7\'d7\'b1\'b8\par\pard Opened in \u8364? 1887.\par}")
    '# 항구\n\nOpened in € 1887.'
    """
    return canonical("\n\n".join(_Reader(content.decode("latin-1")).blocks()))


class _Reader:
    def __init__(self, source: str):
        self._source = source
        self._groups, self._flows = [_Group()], [_Flow()]
        self._bytes, self._left = bytearray(), 0  # undecoded, to be skipped
        self._page, self._fonts = "cp1252", dict[int, str]()
        self._levels: dict[int, int] = {}  # of the headings, by their styles
        self._merged: list[bool] = []  # cells of a row that go on from the row above
        self._goes_on, self._notes_read, self._author, self._name = False, 0, "", ""
        self._is_starred = False

    def blocks(self) -> Iterator[str]:
        """Return the paragraphs and tables of the document."""
        at = 0
        while at < len(self._source) and (token := _TOKEN.match(self._source, at)):
            at = token.end()
            word, number, code, symbol, brace, text = token.groups()
            if code or text:
                self._write(bytes.fromhex(code) if code else text.encode("latin-1"))
                continue
            self._decode()
            if brace:
                self._open() if brace == "{" else self._close()
            elif word == "bin":
                at += max(int(number or 0), 0)
            elif word:
                self._obey(word, None if number is None else int(number))
            elif symbol:
                self._obey_symbol(symbol)
        self._decode()
        while len(self._groups) > 1:
            self._close()
        self._end_paragraph()
        self._end_table()
        return filter(None, self._flows[0].blocks)

    @property
    def _group(self) -> _Group:
        return self._groups[-1]

    def _write(self, content: bytes) -> None:
        skipped = min(self._left, len(content))
        self._left -= skipped
        if self._group.place != "unread":
            self._bytes += content[skipped:]

    def _decode(self) -> None:
        """Append the bytes read so far in the code page of their font."""
        if self._bytes:
            page = self._fonts.get(self._group.font, self._page)
            self._append(self._bytes.decode(page, "replace"))
            self._bytes.clear()

    def _append(self, text: str) -> None:
        place = self._group.place
        if place == "stylesheet":
            self._name += text
            if found := _HEADING.match(self._name.strip()):
                self._levels[self._group.style] = int(found[1])
        elif place == "atnauthor":
            self._author = text.strip()
        elif place not in ("unread", "fonttbl"):
            self._flows[-1].line.append(text)

    def _open(self) -> None:
        self._left, self._name = 0, ""
        if len(self._groups) > _MAX_DEPTH:
            raise DocumentRefused(N_("is nested too deeply to read."))
        self._groups.append(replace(self._group))

    def _close(self) -> None:
        self._left = 0
        if len(self._groups) == 1:
            return
        ended = self._groups.pop()
        if ended.place in _NOTES and self._group.place != ended.place:
            self._end_paragraph()
            self._end_table()
            text = " ".join(" ".join(self._flows.pop().blocks).split())
            if ended.place == "annotation" and text:
                text = comment_line(self._author, "", text)
            elif ended.place == "footnote":
                text = f"[{self._notes_read}] {text}"
            self._flows[-1].anchored.append(text)

    def _obey_symbol(self, symbol: str) -> None:
        if symbol == "*":
            self._is_starred = True
        else:
            self._obey(symbol, None)

    def _obey(self, word: str, number: int | None) -> None:
        """Follow a control word: a destination, text, the end of something, or a property."""
        is_starred, self._is_starred = self._is_starred, False
        group = self._group
        if group.place == "unread":
            return
        if word in _UNREAD or (is_starred and word not in _READ):
            group.place = "unread"
        elif word in _DESTINATIONS:
            self._begin(word)
        elif word == "u" and number is not None:
            self._append(chr(number & 0xFFFF))
            self._left = group.skipped
        elif word in _WRITTEN:
            self._append(_WRITTEN[word])
        elif word in _ENDS:
            _ENDS[word](self)
        else:
            self._set(word, number, group)

    def _begin(self, place: str) -> None:
        self._group.place = place
        if place in _NOTES:
            self._flows.append(_Flow())
            self._group.in_table = False
        if place == "footnote":
            self._notes_read += 1
            self._flows[-2].line.append(f"[{self._notes_read}]")

    def _set(self, word: str, number: int | None, group: _Group) -> None:
        """Keep a property of the text that follows."""
        value = 0 if number is None else number
        if word == "pard":
            group.style, group.level, group.in_table = 0, 0, False
        elif word == "s":
            group.style, group.level = value, self._levels.get(value, 0)
        elif word == "outlinelevel":
            group.level = value + 1 if 0 <= value < _DEEPEST_HEADING else group.level
        elif word == "intbl":
            group.in_table = number != 0
        elif word in ("trowd", "clvmrg", "cellx"):
            self._define_row(word)
        else:
            self._set_encoding(word, value, group)

    def _define_row(self, word: str) -> None:
        if word == "trowd":
            self._merged = []
        elif word == "cellx":
            self._merged.append(self._goes_on)
        self._goes_on = word == "clvmrg"

    def _set_encoding(self, word: str, value: int, group: _Group) -> None:
        if word in ("f", "plain"):
            group.font = value if word == "f" else -1
        elif word == "fcharset" and value in _FONT_SETS:
            self._fonts[group.font] = _FONT_SETS[value]
        elif word == "uc":
            group.skipped = max(value, 0)
        elif word == "ansicpg" or word in _PAGES:
            self._page = _known(_PAGES.get(word, f"cp{value}"), self._page)

    def _line(self) -> str:
        """Return the text of the paragraph so far, its surrogates joined, and begin another."""
        flow = self._flows[-1]
        text = "".join(flow.line).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        flow.line = []
        return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))

    def _end_paragraph(self) -> None:
        flow, group = self._flows[-1], self._group
        if group.in_table:
            flow.line.append(" ")
            return
        self._end_table()
        line = self._line()
        flow.blocks.append(f"{'#' * group.level} {line}" if line and group.level else line)
        flow.blocks += flow.anchored
        flow.anchored = []

    def _end_cell(self) -> None:
        self._flows[-1].row.append(self._line())

    def _end_row(self) -> None:
        flow = self._flows[-1]
        above = flow.rows[-1] if flow.rows else []
        for place, (text, goes_on) in enumerate(zip(flow.row, self._merged, strict=False)):
            if goes_on and not text and place < len(above):
                flow.row[place] = above[place]
        flow.rows.append(flow.row)
        flow.row = []

    def _end_table(self) -> None:
        flow = self._flows[-1]
        if flow.rows:
            rows = enumerate(flow.rows)
            cells = [Cell(row, place, 1, [text]) for row, texts in rows for place, text in enumerate(texts)]
            flow.blocks += table_blocks(cells)
            flow.rows = []


_ENDS: dict[str, Callable[[_Reader], None]] = {
    **dict.fromkeys(("par", "sect", "page", "\r", "\n"), _Reader._end_paragraph),
    "cell": _Reader._end_cell,
    "row": _Reader._end_row,
}


def _known(page: str, otherwise: str) -> str:
    try:
        return codecs.lookup({"cp65001": "utf-8", "cp10000": "mac_roman"}.get(page, page)).name
    except LookupError:
        return otherwise
