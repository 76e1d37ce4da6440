"""Figures over typed columns, rows compared, and cells that disagree."""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal

from rag.grid.cells import Amount, CellResult, CellState, CellValue, Day, Items, Words, YesNo
from rag.grid.columns import Column
from rag.grid.figures import Comparable, comparable, compare, disagreements, figures
from rag.grid.grids import DocumentCell, DocumentRow
from rag.i18n import in_language
from storage.records import DocumentRecord

FEE = Column("fee", "Fee", kind="money")
NOW = datetime(2026, 5, 4, tzinfo=UTC)


def record(number: int) -> DocumentRecord:
    return DocumentRecord(f"d{number}", f"{number}.md", "a" * 64, 1, "ready", None, 1, 1, None, NOW, NOW)


def rows(
    column: Column, values: Iterable[CellValue | None], state: CellState = "verified"
) -> list[DocumentRow]:
    made = []
    for number, value in enumerate(values):
        found = CellResult(state if value is not None else "absent", value)
        made.append(DocumentRow(record(number), (DocumentCell(f"d{number}", column, found, outdated=False),)))
    return made


def euros(*amounts: int) -> list[CellValue | None]:
    return [Amount(Decimal(amount), "EUR") for amount in amounts]


def by_operation(table: list[DocumentRow], column: Column) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for figure in figures(table, column):
        found.setdefault(figure.operation, []).append(figure.sentence)
    return found


def test_a_sum_names_its_cells_and_its_calculation():
    table = rows(FEE, euros(100, 250, 50))
    (total,) = [figure for figure in figures(table, FEE) if figure.operation == "sum"]
    assert total.value == Amount(Decimal(400), "EUR")
    assert total.cells == (("d0", "fee"), ("d1", "fee"), ("d2", "fee"))
    assert total.sentence == "Sum of Fee over 3 documents: 400 EUR. Calculated: 100 + 250 + 50."


def test_amounts_of_two_units_are_never_added():
    table = rows(FEE, [*euros(100, 50), Amount(Decimal(7), "USD"), None])
    said = by_operation(table, FEE)
    assert said["sum"] == [
        "Sum of Fee over 2 documents: 150 EUR. Calculated: 100 + 50.",
        "Sum of Fee over 1 document: 7 USD.",
    ]
    assert said["count"] == ["Count of Fee over 3 documents: 3."]
    assert {figure.left_out for figure in figures(table, FEE)} == {1}


def test_shares_have_a_mean_and_no_sum():
    rate = Column("rate", "Rate", kind="number")
    said = by_operation(rows(rate, [Amount(Decimal(4), "%"), Amount(Decimal(5), "%")]), rate)
    assert "sum" not in said
    assert said["mean"] == ["Mean of Rate over 2 documents: 4.5 %. Calculated: (4 + 5) / 2."]


def test_what_the_source_denies_is_left_out_and_what_is_not_confirmed_is_told():
    denied, doubted = rows(FEE, euros(1), "differs"), rows(FEE, euros(2, 3), "unconfirmed")
    (total,) = [one for one in figures(denied + doubted, FEE) if one.operation == "sum"]
    assert total.value == Amount(Decimal(5), "EUR")
    assert total.left_out == 1
    assert total.sentence.endswith("2 of the cells are not confirmed.")


def test_a_correction_counts_in_place_of_what_was_found():
    (row,) = rows(FEE, euros(1), "differs")
    corrected = DocumentCell("d0", FEE, row.cells[0].found, Amount(Decimal(9), "EUR"), locked=True)
    assert figures([DocumentRow(row.document, (corrected,))], FEE)[0].value == Amount(Decimal(9), "EUR")


def test_dates_have_a_first_and_a_last_and_choices_are_counted():
    begin = Column("begin", "Begin", kind="date")
    days = [Day("2024-05", date(2024, 5, 1)), Day("2023", date(2023, 1, 1)), None]
    assert by_operation(rows(begin, days), begin) == {
        "earliest": ["Earliest of Begin over 1 document: 2023."],
        "latest": ["Latest of Begin over 1 document: 2024-05."],
        "count": ["Count of Begin over 2 documents: 2."],
    }
    pets = Column("pets", "Pets", kind="yes_no")
    said = by_operation(rows(pets, [YesNo(True), YesNo(False), YesNo(True)]), pets)
    assert said["count"][:2] == ["Pets: No in 1 document.", "Pets: Yes in 2 documents."]


def test_a_figure_is_told_in_the_readers_language():
    (total,) = [one for one in figures(rows(FEE, euros(1, 2)), FEE) if one.operation == "sum"]
    for code in ("ko", "ja"):
        with in_language(code):
            said = total.sentence
        assert "3 EUR" in said and "Sum" not in said and "Calculated" not in said


def test_two_rows_are_compared_by_value():
    first, second = rows(FEE, euros(100, 150))
    (compared,) = compare(first, second)
    assert (compared.same, compared.difference) == (False, Amount(Decimal(50), "EUR"))
    law = Column("law", "Law")
    first, second = rows(law, [Words("Laws of Norway"), Words("laws of  norway")])
    assert compare(first, second)[0].same
    first, second = rows(law, [Items(("a", "b")), Items(("b", "a"))])
    assert compare(first, second)[0].same
    first, second = rows(law, [Words("Norway"), None])
    assert not compare(first, second)[0].same


def test_documents_that_say_another_thing_than_most_are_found():
    law = Column("law", "Law")
    table = rows(law, [Words("Norway"), Words("norway"), Words("France"), None, Words("Norway")])
    (found,) = disagreements(table)
    assert (found.usual, found.agreeing) == (Words("Norway"), 3)
    assert [cell.document_id for cell in found.cells] == ["d2"]
    assert disagreements(rows(law, [Words("a"), Words("b")])) == ()
    assert disagreements([]) == ()


def test_what_can_be_compared_are_columns_with_two_values():
    law = Column("law", "Law")
    agreed = [Words("Norway"), Words("norway"), None]
    assert comparable(rows(law, agreed), {"law"}) == Comparable(3, 2, 1, 0)
    assert comparable(rows(law, [Words("a"), Words("b"), None]), {"law"}) == Comparable(3, 2, 1, 1)
    assert comparable(rows(law, [Words("a"), None, None]), {"law"}) == Comparable(3, 1, 0, 0)
    assert comparable(rows(law, agreed), {"fee"}) == Comparable(0, 0, 0, 0)
    assert comparable(rows(law, agreed, "differs"), {"law"}) == Comparable(3, 0, 0, 0)
    assert comparable([], {"law"}) == Comparable(0, 0, 0, 0)
