"""Rows as a person looks at them: filtered by words, limits and states, sorted, grouped."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from rag.errors import GridRefused
from rag.grid.cells import Amount, CellResult, CellState, CellValue, Day, Words
from rag.grid.columns import Column
from rag.grid.grids import DocumentCell, DocumentRow
from storage.records import DocumentRecord
from ui.grid.view import GridView, cell_words, filtered, flags, grouped, mark, ordered

RENT, START, LAW = (
    Column("rent", "Rent", kind="money"),
    Column("start", "Start", kind="date"),
    Column("law", "Law"),
)


def document(name: str) -> DocumentRecord:
    day = datetime(2026, 1, 1, tzinfo=UTC)
    return DocumentRecord(name, name, "0" * 64, 1, "ready", None, None, 1, None, day, day)


def euros(amount: int) -> Amount:
    return Amount(Decimal(amount), "EUR")


def cell(name: str, column: Column, value: CellValue | None, state: CellState = "verified") -> DocumentCell:
    return DocumentCell(name, column, CellResult(state, value), outdated=False)


def row(
    name: str, rent: CellValue | None, start: str | None, law: str, state: CellState = "verified"
) -> DocumentRow:
    day = None if start is None else Day(start, date.fromisoformat(start))
    cells = (cell(name, RENT, rent, state), cell(name, START, day), cell(name, LAW, Words(law)))
    return DocumentRow(document(name), cells)


ROWS = [
    row("a.md", euros(900), "2024-05-01", "Ireland"),
    row("b.md", None, "2023-01-01", "Norway", "absent"),
    row("c.md", euros(1500), None, "ireland", "unconfirmed"),
    row("d.md", Amount(Decimal(1200), "USD"), "2025-01-01", "Norway"),
]


def names(rows: list[DocumentRow]) -> list[str]:
    return [row.document.name[0] for row in rows]


@pytest.mark.parametrize(
    ("view", "left"),
    [
        (GridView(words="NORWAY"), ["b", "d"]),
        (GridView(words="c.md"), ["c"]),
        (GridView(words="c.md", inside="law"), []),
        (GridView(words="> 1,000 EUR", inside="rent"), ["c"]),
        (GridView(words=">= 1,200", inside="rent"), ["c", "d"]),
        (GridView(words="< 2024-05", inside="start"), ["b"]),
        (GridView(states=frozenset({"absent", "unconfirmed"})), ["b", "c"]),
        (GridView(states=frozenset({"unconfirmed"}), inside="law"), []),
    ],
)
def test_rows_are_filtered_by_words_limits_and_states(view: GridView, left: list[str]):
    assert names(filtered(ROWS, view)) == left


def test_a_limit_that_is_none_is_refused():
    with pytest.raises(GridRefused, match="not a date"):
        filtered(ROWS, GridView(words="> soon", inside="start"))


def test_rows_are_sorted_with_those_without_a_value_last():
    view = GridView().by("start")
    assert names(ordered(ROWS, view)) == ["b", "a", "d", "c"]
    assert names(ordered(ROWS, view.by("start"))) == ["d", "a", "b", "c"]
    assert names(ordered(ROWS, GridView().by(""))) == ["d", "c", "b", "a"]
    assert names(ordered(ROWS, GridView(sort="gone"))) == ["a", "b", "c", "d"]


def test_rows_are_grouped_by_equal_values_in_their_order():
    groups = grouped(list(reversed(ROWS)), GridView(group="law"))
    assert [(name, names(rows)) for name, rows in groups] == [("ireland", ["c", "a"]), ("Norway", ["d", "b"])]
    assert [name for name, _ in grouped(ROWS, GridView(group="rent"))] == [
        "€900",
        "€1,500",
        "$1,200",
        "No value",
    ]


def test_a_cell_says_its_state_in_words():
    found = cell("a.md", RENT, euros(900))
    locked = DocumentCell("a.md", RENT, found.found, euros(950), locked=True)
    assert cell_words(locked) == "Rent: €950. Corrected by hand. Locked"
    assert (mark(locked), flags(locked)) == ("corrected", ["locked"])
    assert cell_words(DocumentCell("a.md", RENT)) == "Rent: Not read yet"
    assert flags(DocumentCell("a.md", RENT, found.found)) == ["outdated"]
