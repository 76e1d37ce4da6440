import pytest

from rag.citations.tables import cells


def shown(text: str) -> list[tuple[str, str, str, list[tuple[int, int]]]]:
    return [(c.section, c.row, c.column, [(p.year, p.months) for p in c.periods]) for c in cells(text)]


def test_spans_days_years_and_changes_over_rows_without_lines_are_laid_out_by_column():
    text = (
        "Three Months Ended\nMay 31,\nChange\nSix Months Ended\nMay 31,\nChange\n"
        "2023 2022 2023 2022\nSales $ 5 $ 4 25% $ 9 $ 8 12%\nCosts 3 2 50% 6 5 20%"
    )
    assert [periods for _, row, _, periods in shown(text) if row == "Sales"] == [
        [(2023, 3)], [(2022, 3)], [(2023, 3)], [(2023, 6)], [(2022, 6)], [(2023, 6)]
    ]  # fmt: skip
    assert [c.is_change for c in cells(text)][:6] == [False, False, True] * 2


def test_a_line_between_rows_is_their_section_and_a_date_heads_the_rows_after_it():
    text = (
        "(in millions)\nMay 31, 2022\nOld New\nUlm\nLamps 1,000 2,000\nBonn\nLamps 3,000 4,000\n"
        "May 31, 2023\nOld New\nLamps 5,000 6,000"
    )
    found = shown(text)
    assert [section for section, _, _, _ in found][::2] == ["Ulm", "Bonn", ""]
    assert [periods[0][0] for _, _, _, periods in found][::2] == [2022, 2022, 2023]
    assert {str(c.quantity.value) for c in cells(text)} >= {"1000000000", "6000000000"}


def test_the_mark_of_a_footnote_is_no_number():
    text = "2023 2024\nLeases 30 40\nLoans (1) 10 20\nOthers 50 60"
    assert [(c.row, str(c.quantity.value)) for c in cells(text)][2:4] == [("Loans", "10"), ("Loans", "20")]


@pytest.mark.parametrize(
    ("head", "row", "dated"),
    [
        ("Three Months Ended\nMay 31,\nChange\n2023 2022", "Sales $ 5 $ 4 25%", [2023, 2022, "change"]),
        ("Three Months Ended May 31, 2023 2022", "Sales $ 5 $ 4", [2023, 2022]),
    ],
)
def test_columns_are_told_by_what_stands_in_them(head: str, row: str, dated: list[object]):
    found = cells(f"(in millions)\n{head}\n{row}\n{row.replace('Sales', 'Costs')}")
    assert ["change" if c.is_change else c.periods[0].year for c in found if c.row == "Sales"] == dated
    assert {(p.months, p.month, p.day) for c in found for p in c.periods} == {(3, 5, 31)}


def test_a_label_goes_on_after_a_line_that_does_not_end():
    found = cells("2023 2022\nHome &\nGarden 5 4\nLamps 3 2")
    assert [c.row for c in found][::2] == ["Home & Garden", "Lamps"]
