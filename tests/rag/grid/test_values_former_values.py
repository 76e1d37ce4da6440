"""A cell holds the value that is in force, where a sentence states the former one, too."""

from decimal import Decimal

import pytest

from rag.factory import make_cell_reader
from rag.grid.cells import Amount, CellResult, Day
from rag.grid.columns import Column
from rag.ingest.library import Library
from storage.database import Database
from tests.rag.word_vectors import WordVectors


@pytest.fixture
def library(database: Database) -> Library:
    return Library(database, "ann", lambda: WordVectors("words"))


def read(library: Library, text: str, column: Column) -> CellResult:
    record, _ = library.add("a.md", text.encode())
    list(library.read(record.id))
    return make_cell_reader(library, None).read(record.id, column)


@pytest.mark.parametrize(
    ("text", "name", "unit", "present"),
    [
        ("The key deposit was raised from £15 to £20 on 1 May 2024.", "Key deposit", "GBP", "20"),
        ("The key deposit was raised to £20 from £15.", "Key deposit", "GBP", "20"),
        ("The key deposit is £20 instead of £15.", "Key deposit", "GBP", "20"),
        ("The key deposit was £15 and is now £20.", "Key deposit", "GBP", "20"),
        ("Until 2024 it was £15; the key deposit is now £20.", "Key deposit", "GBP", "20"),
        ("종전의 열쇠 보증금 15,000원은 20,000원으로 인상한다.", "열쇠 보증금", "KRW", "20000"),
        ("열쇠 보증금을 15,000원에서 20,000원으로 올린다.", "열쇠 보증금", "KRW", "20000"),
        ("鍵の保証金を1,500円から2,000円に引き上げた。", "鍵の保証金", "JPY", "2000"),
        ("鍵の保証金は、従来の1,500円を2,000円とする。", "鍵の保証金", "JPY", "2000"),
    ],
)
def test_value_that_was_replaced_is_not_the_cell_s(
    library: Library, text: str, name: str, unit: str, present: str
) -> None:
    result = read(library, f"# A\n\n{text}\n", Column("c", name, kind="money"))
    assert result.value == Amount(Decimal(present), unit)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("The course runs from 3 May 2024 to 9 June 2024.", "2024-05-03"),
        ("The course was moved from 3 May 2024 to 9 June 2024.", "2024-06-09"),
    ],
)
def test_first_day_of_a_span_is_no_former_value(library: Library, text: str, first: str) -> None:
    result = read(library, f"# A\n\n{text}\n", Column("c", "Course", kind="date"))
    assert isinstance(result.value, Day) and result.value.label == first
