"""Questions over a grid, answered from its cells in three languages."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from rag.errors import QuestionRefused
from rag.grid.ask import GridAnswer, ask_grid
from rag.grid.cells import Amount, CellQuote, CellResult, CellValue, Day, Words, YesNo
from rag.grid.columns import Column
from rag.grid.grids import DocumentCell, DocumentRow
from storage.records import DocumentRecord

NOW = datetime(2026, 5, 4, tzinfo=UTC)
COLUMNS = (
    Column("rent", "Rent", kind="money"),
    Column("begin", "Beginning", kind="date"),
    Column("pets", "Pets allowed", kind="yes_no"),
    Column("law", "Governing law"),
)
VALUES: dict[str, tuple[int, str, bool, str]] = {
    "alder-street": (900, "2024-05-01", True, "Norway"),
    "birch-lane": (1500, "2022-01-15", False, "France"),
    "cedar-court": (1200, "2023-07-01", True, "Norway"),
}


def row(name: str, rent: int, begin: str, pets: bool, law: str) -> DocumentRow:
    values: tuple[CellValue, ...] = (
        Amount(Decimal(rent), "EUR"),
        Day(begin, date.fromisoformat(begin)),
        YesNo(pets),
        Words(law),
    )
    quotes = (CellQuote(0, 3, "The"),)
    cells = tuple(
        DocumentCell(name, column, CellResult("verified", value, quotes), outdated=False)
        for column, value in zip(COLUMNS, values, strict=True)
    )
    record = DocumentRecord(name, f"{name}.md", "a" * 64, 1, "ready", None, 1, 1, None, NOW, NOW)
    return DocumentRow(record, cells)


ROWS = [row(name, *values) for name, values in VALUES.items()]


def ask(question: str, columns: tuple[Column, ...] = COLUMNS) -> GridAnswer:
    return ask_grid(question, columns, ROWS)


def told(question: str) -> str:
    return "\n".join(statement.text for statement in ask(question).statements)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which lease has the highest rent?", "birch-lane.md – Rent: 1,500 EUR"),
        ("Which lease has the lowest rent?", "alder-street.md – Rent: 900 EUR"),
        ("Which beginning is the earliest?", "birch-lane.md – Beginning: 2022-01-15"),
        ("What is the most recent beginning?", "alder-street.md – Beginning: 2024-05-01"),
        (
            "What is the total rent?",
            "Sum of Rent over 3 documents: 3,600 EUR. Calculated: 900 +",
        ),
        ("What is the average rent?", "Mean of Rent over 3 documents: 1,200 EUR."),
        ("What is the average rent of those with pets allowed?", "Mean of Rent over 2 documents: 1,050 EUR."),
        ("What is the sum of the rent under the law of Norway?", "Sum of Rent over 2 documents: 2,100 EUR."),
        ("How many have Norway as governing law?", "2 of 3 documents: alder-street.md, cedar-court.md"),
        ("How many do not have pets allowed?", "1 of 3 documents: birch-lane.md"),
        ("What is the rent of birch lane?", "birch-lane.md – Rent: 1,500 EUR"),
        ("Which leases have a rent of at least EUR 1,500?", "birch-lane.md – Rent: 1,500 EUR"),
        ("Which leases have a rent of more than EUR 1,100?", "birch-lane.md – Rent: 1,500 EUR"),
    ],
)
def test_a_question_is_answered_from_the_cells(question: str, said: str):
    assert said in told(question)


def test_only_what_was_asked_for_is_told():
    assert told("What is the rent of birch lane?") == "birch-lane.md – Rent: 1,500 EUR"
    assert "alder" not in told("Which leases have a rent of more than EUR 1,100?")
    assert "alder" not in told("Which lease has the highest rent?")


@pytest.mark.parametrize(
    ("columns", "question", "said"),
    [
        (("임대료", "시작일", "반려동물", "준거법"), "임대료가 가장 높은 계약은 무엇인가요?", "1,500 EUR"),
        (("임대료", "시작일", "반려동물", "준거법"), "임대료 합계는 얼마인가요?", "3,600 EUR"),
        (("임대료", "시작일", "반려동물", "준거법"), "시작일이 가장 이른 계약은?", "2022-01-15"),
        (("賃料", "開始日", "ペット", "準拠法"), "賃料が最も高い契約はどれですか？", "1,500 EUR"),
        (("賃料", "開始日", "ペット", "準拠法"), "賃料の平均はいくらですか？", "1,200 EUR"),
        (("賃料", "開始日", "ペット", "準拠法"), "開始日が最も早いのはどれですか？", "2022-01-15"),
    ],
)
def test_korean_and_japanese_questions_are_understood(columns: tuple[str, ...], question: str, said: str):
    renamed = tuple(Column(old.id, name, kind=old.kind) for old, name in zip(COLUMNS, columns, strict=True))
    assert said in ask_grid(question, renamed, ROWS).statements[0].text


def test_each_statement_has_its_cells_and_says_where_it_is_calculated():
    total, *_ = ask("What is the total rent?").statements
    assert total.calculated
    assert [cell.key for cell in total.cells] == [(name, "rent") for name in VALUES]
    (single,) = ask("What is the rent of birch lane?").statements
    assert not single.calculated
    assert single.cells[0].found.quotes[0].text == "The"


def test_a_question_about_no_column_gets_no_made_up_answer():
    answer = ask("Who painted the ceiling?")
    assert answer.statements == ()
    assert "Rent, Beginning" in answer.understood
    with pytest.raises(QuestionRefused):
        ask("  ")
    with pytest.raises(QuestionRefused):
        ask("x" * 2000)
