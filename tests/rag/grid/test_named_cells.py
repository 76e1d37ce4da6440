"""Cells of a grid from the row and the heading that a column names, in the price lists of spreadsheets."""

from decimal import Decimal
from io import BytesIO

import pytest

from rag.factory import make_cell_reader
from rag.grid.cells import Amount, CellResult, CellValue, Words
from rag.grid.columns import Column, Kind
from rag.ingest.library import Library
from storage.database import Database
from tests.rag.word_vectors import WordVectors

Rows = list[list[str | float | None]]
ENGLISH: Rows = [
    ["Model", "Description", "Price (USD)", "Stock"],
    ["MK-410", "Mixer, small", 129.0, 14],
    ["MK-420", "Mixer, large", 189.5, 7],
    ["MK-420-B", "Mixer, large, black", 199, 2],
]
TITLED: Rows = [["Price list 2024"], ["Article", "Unit price", "Minimum order"], ["MK-420", "$189.50", 10]]
KOREAN: Rows = [
    ["모델", "품명", "단가(원)", "재고"],
    ["MK-410", "믹서 소형", 129000, 14],
    ["MK-420", "믹서 대형", 189500, 7],
]
JAPANESE: Rows = [
    ["型番", "品名", "単価(円)", "在庫"],
    ["MK-410", "ミキサー小", 12900, 14],
    ["MK-420", "ミキサー大", 18950, 7],
]


@pytest.fixture
def library(database: Database) -> Library:
    return Library(database, "ann", lambda: WordVectors("words"))


def read(library: Library, rows: Rows, name: str, question: str, kind: Kind) -> tuple[CellResult, str]:
    """Return a cell of the row of a workbook, and the workbook's text."""
    from openpyxl import Workbook

    book, content = Workbook(), BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(content)
    record, _ = library.add("prices.xlsx", content.getvalue())
    list(library.read(record.id))
    column = Column("asked", name, question, kind)
    [(_, result)] = make_cell_reader(library, None).read_row(record.id, [column])
    return result, library.documents.text(record.id)


def money(amount: str, unit: str) -> Amount:
    return Amount(Decimal(amount), unit)


@pytest.mark.parametrize(
    ("rows", "name", "question", "kind", "value"),
    [
        (ENGLISH, "Price of MK-420", "", "money", money("189.5", "USD")),
        (ENGLISH, "Price", "How much is the MK-420?", "money", money("189.5", "USD")),
        (ENGLISH, "MK-420", "How much is the MK-420?", "money", money("189.5", "USD")),
        (ENGLISH, "Stock of MK-420-B", "", "number", Amount(Decimal(2))),
        (ENGLISH, "Description of MK-410", "", "text", Words("Mixer, small")),
        (TITLED, "Price", "What does the MK-420 cost?", "money", money("189.5", "USD")),
        (KOREAN, "MK-420 단가", "MK-420의 단가는 얼마인가요?", "money", money("189500", "KRW")),
        (KOREAN, "MK-420 재고", "", "number", Amount(Decimal(7))),
        (JAPANESE, "MK-420の単価", "MK-420の単価はいくらですか？", "money", money("18950", "JPY")),
        (JAPANESE, "MK-410の品名", "", "text", Words("ミキサー小")),
    ],
)
def test_the_cell_where_the_named_row_and_heading_meet_is_the_value(
    library: Library, rows: Rows, name: str, question: str, kind: Kind, value: CellValue
) -> None:
    result, text = read(library, rows, name, question, kind)
    assert (result.state, result.value) == ("verified", value)
    [quote] = result.quotes
    assert text[quote.start : quote.end] == quote.text
    assert quote.text.startswith("| MK-4")


def test_a_row_that_stands_twice_is_not_sure(library: Library) -> None:
    result, _ = read(library, [*ENGLISH, ["MK-420", "Mixer, old", 99, 1]], "Price of MK-420", "", "money")
    assert result.state == "unconfirmed"


def test_the_first_of_several_values_of_a_named_row_is_not_sure(library: Library) -> None:
    result, _ = read(library, ENGLISH, "MK-420", "How much is the MK-420?", "text")
    assert result.state != "verified"


def test_a_row_that_is_not_named_is_not_taken(library: Library) -> None:
    result, _ = read(library, ENGLISH[:2], "Price of MK-420", "", "money")
    assert result.state != "verified"


@pytest.mark.parametrize(
    ("total", "name", "question"),
    [
        ("Total", "Total current assets", "What were the total current assets?"),
        ("합계", "유동자산 합계", "유동자산 합계는 얼마인가요?"),
        ("合計", "流動資産合計", "流動資産の合計はいくらですか？"),
    ],
)
def test_the_total_of_one_table_is_not_that_of_something_else(
    library: Library, total: str, name: str, question: str
) -> None:
    rows: Rows = [
        ["Fund", "Days", "Value (USD)"],
        ["Money", 3, 85.0],
        ["Bonds", 7, 40.0],
        [total, None, 125.0],
    ]
    result, _ = read(library, rows, name, question, "money")
    assert result.state != "verified"
