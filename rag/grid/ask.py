# ruff: noqa: E501 - the words of one operation on a line each
"""Questions over a grid, answered from its cells by rule: the highest, a sum, how many, or the cells named.

No document is searched and no model asked. Each statement names the cells it rests on, whose quotes are its
evidence; one that is calculated says so.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rag.errors import QuestionRefused
from rag.grid.cells import Amount, CellValue, Day, Items, Words, YesNo, folded_words, value_text
from rag.grid.columns import Column
from rag.grid.figures import counts, figures, is_confirmed
from rag.grid.grids import DocumentCell, DocumentRow
from rag.grid.terms import terms_of, words
from rag.grid.values import find_values
from rag.i18n import N_, N_plural, translated

MAX_GRID_QUESTION = 1000  # characters
LEAST_NAMED = 0.6  # share of a term's words that a question has where it names the column
MOST_LISTED = 50  # cells that an answer lists
Asked = Literal["sum", "mean", "highest", "lowest", "earliest", "latest", "count", "cells"]
OPERATIONS: tuple[tuple[Asked, re.Pattern[str]], ...] = (
    ("latest", re.compile(r"\b(?:latest|newest|most recent|last)\b|가장 (?:늦|최근)|마지막|最も(?:遅|新し)|一番(?:遅|新し)|最新|最後", re.IGNORECASE)),
    ("earliest", re.compile(r"\b(?:earliest|oldest|soonest|first)\b|가장 (?:이른|이르|빠른|빠르|먼저|오래)|최초|最も(?:早|古)|一番(?:早|古)|最初", re.IGNORECASE)),
    ("lowest", re.compile(r"\b(?:lowest|smallest|(?<!at )least|minimum|cheapest|shortest)\b|가장 (?:낮|적|작|싼|싸|짧)|최소|최저|(?:最も|一番)(?:低|少な|小さ|安|短)|最小|最低|最短", re.IGNORECASE)),
    ("highest", re.compile(r"\b(?:highest|largest|biggest|greatest|(?<!at )most|maximum|longest)\b|가장 (?:높|많|큰|크|비싼|비싸|긴|길)|최대|최고|(?:最も|一番)(?:高|多|大き|長)|最大|最高|最長", re.IGNORECASE)),
    ("mean", re.compile(r"\b(?:average|mean)\b|평균|平均", re.IGNORECASE)),
    ("sum", re.compile(r"\b(?:sum|total|altogether|combined|in all)\b|합계|총액|총 |모두 (?:얼마|합)|合計|総額|全部で", re.IGNORECASE)),
    ("count", re.compile(r"\bhow many\b|\bnumber of\b|몇 ?(?:개|건|곳|명|부)|개수|何(?:件|個|社|通)|いくつ|件数", re.IGNORECASE)),
)  # fmt: skip
"""Operations and their words, in this order: “most recent” is no maximum."""
_OF_DATES: dict[Asked, Asked] = {"highest": "latest", "lowest": "earliest"}
_OF_AMOUNTS: dict[Asked, Asked] = {"latest": "highest", "earliest": "lowest"}
NEGATED = re.compile(
    r"\b(?:not|no|without|never)\b|n['’]t\b|않|없|못|불가|ない|ません|なし|不可", re.IGNORECASE
)
OVER = re.compile(r"\b(?:more than|over|above|at least|after|exceed\w*|longer than)\b|이상|초과|넘|이후|以上|超|以降|より(?:高|多|大き|長)", re.IGNORECASE)  # fmt: skip
UNDER = re.compile(r"\b(?:less than|under|below|at most|before|up to|shorter than)\b|이하|미만|이전|以下|未満|以前|より(?:低|少な|小さ|安|短)", re.IGNORECASE)  # fmt: skip
Keeps = Callable[[DocumentRow], bool]


@dataclass(frozen=True)
class GridStatement:
    """A statement of an answer and the cells that it rests on."""

    text: str
    cells: tuple[DocumentCell, ...]
    calculated: bool = False

    @property
    def unconfirmed(self) -> bool:
        """True where a cell of it is not confirmed."""
        return not all(map(is_confirmed, self.cells))


@dataclass(frozen=True)
class GridAnswer:
    """Answer of a grid; `understood` says which column, documents and calculation were asked for."""

    statements: tuple[GridStatement, ...]
    understood: str


@dataclass(frozen=True)
class _Filter:
    told: str
    keeps: Keeps


def ask_grid(question: str, columns: Sequence[Column], rows: Sequence[DocumentRow]) -> GridAnswer:
    """Answer a question from the cells; raises QuestionRefused for an empty or a very long one.

    An answer without statements says what it would need.
    """
    asked = " ".join(question.split())
    if not asked or len(asked) > MAX_GRID_QUESTION:
        raise QuestionRefused(N_("Ask a question of at most {count} characters.", count=MAX_GRID_QUESTION))
    named = _named(asked, columns)
    filters = [
        *_by_name(asked, rows),
        *(one for column in columns for one in _filters(asked, column, rows, named)),
    ]
    target = _target(asked, named)
    if target is None and not filters:
        names = ", ".join(column.name for column in columns)
        return GridAnswer(
            (), N_("The question names no column of this grid. There are: {names}.", names=names)
        )
    left = [row for row in rows if all(one.keeps(row) for one in filters)]
    told = "; ".join([*([target.name] if target else []), *(one.told for one in filters)])
    return GridAnswer(tuple(_statements(asked, target, left, len(rows), bool(filters))), told)


def operation_of(question: str) -> Asked:
    """Return what is asked of a column's values.

    >>> operation_of("Which contract has the highest fee?"), operation_of("What is the fee?")
    ('highest', 'cells')
    """
    return next((name for name, pattern in OPERATIONS if pattern.search(question)), "cells")


def _named(question: str, columns: Sequence[Column]) -> list[Column]:
    """Return the columns that a question names, the best first."""
    said = words(question)
    scored = [
        (max((len(term & said) / len(term) for term in terms_of(c).token_sets), default=0.0), c)
        for c in columns
    ]
    ranked = sorted(scored, key=lambda one: -one[0])
    return [column for score, column in ranked if score >= LEAST_NAMED]


def _target(question: str, named: Sequence[Column]) -> Column | None:
    """Return the column whose values are asked for: one that can be calculated where that is asked."""
    operation = operation_of(question)
    if operation == "count":
        return next((column for column in named if column.kind not in ("money", "number")), None)
    if operation != "cells":
        able = [column for column in named if column.kind in ("money", "number", "date")]
        return able[0] if able else None
    return named[0] if named else None


def _by_name(question: str, rows: Sequence[DocumentRow]) -> list[_Filter]:
    """Return the filter by the documents that a question names by their files."""
    said = folded_words(question)
    found = {row.document.id: row.document.name for row in rows if _says(said, _stem(row.document.name))}
    if not found:
        return []
    return [_Filter(", ".join(found.values()), lambda row: row.document.id in found)]


def _filters(
    question: str, column: Column, rows: Sequence[DocumentRow], named: Sequence[Column]
) -> list[_Filter]:
    """Return the filters that a question has for a column: a value of it, yes or no, more or less than."""
    if column.kind == "yes_no":
        return _yes_no(question, column) if column in named and operation_of(question) != "cells" else []
    if column.kind in ("money", "number", "date"):
        return _compared(question, column) if column in named else []
    said = folded_words(question)
    values = {folded_words(text) for row in rows for text in _texts(row.cell(column.id).value)}
    held = {text for text in values if len(text) > 1 and _says(said, text)}
    if not held:
        return []
    return [_Filter(f"{column.name}: {', '.join(sorted(held))}", lambda row: _holds(row, column, held))]


def _yes_no(question: str, column: Column) -> list[_Filter]:
    wanted = YesNo(not NEGATED.search(question))
    told = f"{column.name}: {value_text(wanted)}"
    return [_Filter(told, lambda row: row.cell(column.id).value == wanted)]


def _compared(question: str, column: Column) -> list[_Filter]:
    over, under = OVER.search(question), UNDER.search(question)
    found = next(find_values(question, column), None)
    if found is None or bool(over) == bool(under):
        return []
    limit = found.value
    told = f"{column.name} {'>' if over else '<'} {value_text(limit)}"
    return [_Filter(told, lambda row: _beyond(row.cell(column.id).value, limit, over=bool(over)))]


def _beyond(value: CellValue | None, limit: CellValue, *, over: bool) -> bool:
    match value, limit:
        case Amount(amount, unit), Amount(bound, other) if not other or unit == other:
            return amount >= bound if over else amount <= bound
        case Day(_, first), Day(_, bound):
            return first >= bound if over else first <= bound
    return False


def _statements(
    question: str, target: Column | None, rows: Sequence[DocumentRow], total: int, narrowed: bool
) -> list[GridStatement]:
    operation = operation_of(question)
    if operation == "count":
        return _counted(target, rows, total, narrowed=narrowed)
    if target is None:
        return [told(row, row.cells[0]) for row in rows[:MOST_LISTED] if row.cells]
    if operation == "cells":
        cells = [(row, row.cell(target.id)) for row in rows]
        return [told(row, cell) for row, cell in cells if cell.value is not None][:MOST_LISTED]
    wanted = (_OF_DATES if target.kind == "date" else _OF_AMOUNTS).get(operation, operation)
    by_key = {cell.key: (row, cell) for row in rows for cell in row.cells}
    found: list[GridStatement] = []
    for figure in figures(rows, target):
        if figure.operation == wanted and figure.counted is None:
            at = [by_key[key] for key in figure.cells]
            found.append(GridStatement(figure.sentence, tuple(cell for _, cell in at), calculated=True))
            found += [told(row, cell) for row, cell in at[:MOST_LISTED] if wanted not in ("sum", "mean")]
    return found


def _counted(
    target: Column | None, rows: Sequence[DocumentRow], total: int, *, narrowed: bool
) -> list[GridStatement]:
    if not narrowed and target is not None:
        return [
            GridStatement(figure.sentence, cells_of(rows, figure.cells), calculated=True)
            for figure in figures(rows, target)
            if figure.operation == "count"
        ]
    names = ", ".join(row.document.name for row in rows[:MOST_LISTED])
    text = N_plural(
        "{found} of {count} document: {names}",
        "{found} of {count} documents: {names}",
        total,
        found=len(rows),
        names=names or "–",
    )
    cells = tuple(cell for row in rows for cell in row.cells if counts(cell))
    return [GridStatement(translated(text), cells, calculated=True)]


def cells_of(rows: Sequence[DocumentRow], keys: Sequence[tuple[str, str]]) -> tuple[DocumentCell, ...]:
    """Return the cells of these keys."""
    wanted = set(keys)
    return tuple(cell for row in rows for cell in row.cells if cell.key in wanted)


def told(row: DocumentRow, cell: DocumentCell) -> GridStatement:
    """Return the statement of a cell's value."""
    return GridStatement(f"{row.document.name} – {cell.column.name}: {value_text(cell.value)}", (cell,))


def _holds(row: DocumentRow, column: Column, wanted: set[str]) -> bool:
    return any(folded_words(text) in wanted for text in _texts(row.cell(column.id).value))


def _texts(value: CellValue | None) -> tuple[str, ...]:
    match value:
        case Words(text):
            return (text,)
        case Items(items):
            return items
    return ()


def _says(text: str, words: str) -> bool:
    """Return True where a folded text has these words, not as a part of longer ones."""
    if not words:
        return False
    if not words.isascii():
        return words in text
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def _stem(name: str) -> str:
    return folded_words(re.sub(r"[-_]+", " ", name.rpartition("/")[2].rpartition(".")[0] or name))
