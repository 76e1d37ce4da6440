"""The truth of the grid benchmark can be read, its halves share no document, and values are compared."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from benchmarks.grid import is_right
from rag.grid.cells import Amount, Day, Items, Words, YesNo, value_from_json
from rag.grid.columns import Column

FOLDER = Path(__file__).parents[2] / "benchmarks" / "grid_truth"
TRUTHS = sorted(FOLDER.glob("*.json"))
KINDS = {"text": Words, "choice": Words, "date": Day, "money": Amount, "number": Amount, "yes_no": YesNo}


def truth(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("path", TRUTHS, ids=lambda path: path.stem)
def test_each_value_is_one_of_its_column(path: Path) -> None:
    read = truth(path)
    columns = {column.id: column for column in map(Column.from_json, read["columns"])}
    for name, cells in read["cells"].items():
        for column_id, values in cells.items():
            kind = columns[column_id].kind
            known = [value_from_json(value) for value in values]
            assert all(isinstance(value, KINDS.get(kind, Items)) for value in known), (name, column_id)


@pytest.mark.parametrize("path", TRUTHS, ids=lambda path: path.stem)
def test_the_halves_share_no_document(path: Path) -> None:
    read = truth(path)
    halves = read["halves"]
    assert not set(halves["fitted"]) & set(halves["reported"])
    assert {*halves["fitted"], *halves["reported"]} == set(read["cells"])


def test_the_filings_are_twenty_by_twelve_fields() -> None:
    cells = truth(FOLDER / "filings.json")["cells"]
    assert [len(cells), *{len(row) for row in cells.values()}] == [20, 12]


def test_a_value_is_right_where_it_is_one_of_the_true_ones() -> None:
    assert is_right(Amount(Decimal("5.0"), "USD"), [Amount(Decimal(5), "USD")])
    assert not is_right(Amount(Decimal(5), "EUR"), [Amount(Decimal(5), "USD")])
    assert is_right(Items(("Europe", "Japan")), [Items(("japan", "europe"))])
    assert not is_right(Words("x"), [])
