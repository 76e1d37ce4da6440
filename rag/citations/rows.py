"""Row lookup: reads statements that name a row of a table, and the words of another cell of it.

"Shift C is led by Ines Duarte" is the row of shift C, and its cell under "Leader". A row is named by a cell
that no other row of its table has. All other words of the statement must be of that row, of the headers of
the cells named, or of what stands above the table. So the leader of another row, or a name under another
header, differs.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag.citations.asked import SUPERLATIVE, Reading, Span, TableText
from rag.citations.logic import MODES, QUANTIFIERS, is_hedged
from rag.citations.tables import HeadedRow, rows
from rag.text.facts import negations
from rag.text.tokenize import content_words

STEM = 4  # least letters that two forms of one word begin with: "coached", "Coach"
_IRREGULAR = {
    "led": "lead", "bought": "buy", "built": "build", "held": "hold", "kept": "keep", "taught": "teach",
    "sold": "sell", "drove": "drive", "driven": "drive", "wrote": "write", "written": "write",
}  # fmt: skip
_IRREGULAR_WORD = re.compile(rf"\b(?:{'|'.join(_IRREGULAR)})\b", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_SCRIPTS = tuple(
    map(re.compile, ("[\u3041-\u309f]", "[\u30a0-\u30ff]", "[\u3400-\u9fff]", "[\uac00-\ud7a3]"))
)
_AFTER_NOUN = re.compile(
    r"(?:이?(?:다|며|고|었다|였다|에요|예요)|입니다|(?:에서|에|께서)?(?:은|는|이|가|을|를|의|도|와|과|로|으로)?)(?![가-힣])"
)
"""Particle or copula after a Korean noun."""
_NAME = re.compile(r"(?:[A-ZÀ-Þ][\w.’'-]*\s)+[A-ZÀ-Þ][\w.’'-]*")
_TIMED = re.compile(
    r"\b(?:until|till|before|after|since|from|during|ago|again|then|formerly)\b|까지|부터|때|から|まで|以前|以降|当時",
    re.IGNORECASE,
)
"""Words of a time, of which a row states none."""
_PLACED = frozenset(content_words("located placed found kept stored belongs situated"))
"""Words that only say that a thing is somewhere."""


@dataclass(frozen=True)
class _Row:
    """Row of a numbered passage with the content words that stand above its table."""

    number: int
    row: HeadedRow
    above: frozenset[str]

    @property
    def table(self) -> tuple[int, int]:
        return self.number, self.row.table

    @property
    def reading_span(self) -> Span:
        return Span(self.number, self.row.start, self.row.end)

    def header(self, column: int) -> str:
        return self.row.head[column] if column < len(self.row.head) else ""


@dataclass(frozen=True)
class _Named:
    """Cell that a statement names: `text[start:end]` of the statement."""

    row: _Row
    column: int
    start: int
    end: int


class RowLookup:
    """Rows of the tables of numbered passages, in which statements without other numbers are looked up."""

    def __init__(self, texts: Sequence[TableText]):
        self._rows = [
            _Row(one.number, row, frozenset(content_words(f"{one.above} {one.document}")))
            for one in texts
            for row in rows(one.text, one.above)
        ]

    def read(self, claim: str, among: Collection[int] | None = None) -> Reading | None:
        """Return the reading of a statement in words; None where it is not about one row."""
        text = unicodedata.normalize("NFKC", claim)
        here = [row for row in self._rows if among is None or row.number in among]
        if not here or negations(text) or is_hedged(text) or _says_more(text) or _TIMED.search(text):
            return None
        tables = {row.table: [one for one in here if one.table == row.table] for row in here}
        found = [one for part in tables.values() if (one := _Table(part).read(text)) is not None]
        return next((one for one in found if one.holds), found[0] if len(found) == 1 else None)


def _says_more(text: str) -> bool:
    """Return True where a statement says more than what a row says: "only", "the most", "may", "expected"."""
    patterns = [*QUANTIFIERS.values(), *MODES.values(), SUPERLATIVE]
    return any(pattern.search(text) for pattern in patterns)


@dataclass(frozen=True)
class _Table:
    rows: Sequence[_Row]

    def read(self, text: str) -> Reading | None:
        named = _longest([one for row in self.rows for one in _cells_named(text, row)])
        if any(character.isdigit() for character in _blanked(text, named)):
            return None
        keys = [one for one in named if self._is_only(one)]
        subject = min(keys, key=lambda one: (one.column, one.start), default=None)
        if subject is None:
            return None
        row = subject.row
        own = {one.column for one in named if one.row is row}
        spans = {(one.start, one.end) for one in named if one.row is row}
        others = [one for one in named if (one.start, one.end) not in spans]
        words = [word for word in _words(_blanked(text, named)) if word not in row.above | _PLACED]
        columns = {word: _columns_of(word, row.row) for word in words}
        if not all(columns.values()):
            return None
        if not others and len(own) > 1 and all(own & of for of in columns.values()):
            return Reading(True, (row.reading_span,)) if _is_clear(row, own, columns) else None
        asked = set[int]().union(*columns.values()) - own - {0}
        said = row.row.cells[min(asked)] if len(asked) == 1 else ""
        if not _LETTER.search(said) or len([*own, *{one.column for one in others} - own]) != 2:
            return None
        return Reading(False, (row.reading_span,), said=said)

    def _is_only(self, one: _Named) -> bool:
        """Return True for a cell that no other row of the table has in its column."""
        cells = [row.row.cells[one.column] for row in self.rows if len(row.row.cells) > one.column]
        return cells.count(one.row.row.cells[one.column]) == 1


def _is_clear(row: _Row, own: Collection[int], columns: Mapping[str, Collection[int]]) -> bool:
    """Return True where a statement says of each person in it what the header says: coach, or captain."""
    people = {n for n, cell in enumerate(row.row.cells) if n and _NAME.fullmatch(cell)}
    return people & set(own) <= set[int]().union(*columns.values())


def _cells_named(text: str, row: _Row) -> Iterator[_Named]:
    for column, cell in enumerate(row.row.cells):
        told = unicodedata.normalize("NFKC", cell).strip("*_` ")
        if not told:
            continue
        short = len(told) == 1 or not _LETTER.search(told)
        for match in re.finditer(re.escape(told), text, 0 if len(told) < 3 else re.IGNORECASE):
            if not _stands_alone(text, match.start(), match.end()):
                continue
            head = row.header(column).split()[:1]
            if not short or (head and text[: match.start()].casefold().rstrip().endswith(head[0].casefold())):
                yield _Named(row, column, match.start(), match.end())


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Return True where words are no part of longer ones; a Korean or Japanese particle may follow."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if (before.isalnum() or before == "-") and not _changes_script(before, text[start]):
        return False
    if not (after.isalnum() or after == "-") or _changes_script(text[end - 1], after):
        return True
    return bool(_SCRIPTS[-1].match(after) and _AFTER_NOUN.match(text, end))


def _changes_script(one: str, other: str) -> bool:
    return [bool(script.match(one)) for script in _SCRIPTS] != [
        bool(script.match(other)) for script in _SCRIPTS
    ]


def _longest(named: Sequence[_Named]) -> list[_Named]:
    """Return the cells named, without those whose words are part of a longer cell's."""
    spans = {(one.start, one.end) for one in named}
    return [
        one
        for one in named
        if not any(a <= one.start and one.end <= b and (a, b) != (one.start, one.end) for a, b in spans)
    ]


def _blanked(text: str, named: Sequence[_Named]) -> str:
    for one in named:
        text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text


def _words(text: str) -> list[str]:
    return content_words(_IRREGULAR_WORD.sub(lambda found: _IRREGULAR[found[0].lower()], text))


def _columns_of(word: str, row: HeadedRow) -> set[int]:
    """Return the columns of a row whose headers have a word; where it is a header, only those."""
    heads = list(enumerate(row.head[: len(row.cells)]))
    return {n for n, head in heads if head == word} or {n for n, head in heads if _is_of(word, head)}


def _is_of(word: str, header: str) -> bool:
    """Return True where a header has a word, or another form of it: "coach" of "Coaches"."""
    if not word.isascii():
        return word in header
    return any(
        word == other or (min(len(word), len(other)) >= STEM and word[:STEM] == other[:STEM])
        for other in content_words(header)
    )
