"""Values in the page's language, and what people type read back."""

from datetime import date
from decimal import Decimal

import pytest

from rag.errors import GridRefused
from rag.grid.cells import Amount, CellValue, Day, Items, Words, YesNo
from rag.grid.columns import Column, Kind
from rag.i18n import in_language
from ui.grid.view import shown_value, typed_form, typed_value


def day(label: str, first: str) -> Day:
    return Day(label, date.fromisoformat(first))


@pytest.mark.parametrize(
    ("value", "english", "korean", "japanese"),
    [
        (day("2024-05-01", "2024-05-01"), "1 May 2024", "2024. 5. 1.", "2024/05/01"),
        (day("2024-05", "2024-05-01"), "May 2024", "2024년 5월", "2024年5月"),
        (day("2024", "2024-01-01"), "2024", "2024", "2024"),
        (Amount(Decimal(132000), "JPY"), "¥132,000", "JP¥132,000", "￥132,000"),
        (Amount(Decimal("-1200.5"), "USD"), "-$1,200.50", "-US$1,200.50", "-$1,200.50"),
        (Amount(Decimal(90), "days"), "90 days", "90일", "90日"),
        (Amount(Decimal(1), "years"), "1 year", "1년", "1年"),
        (Amount(Decimal(15634232), "shares"), "15,634,232 shares", "15,634,232 shares", "15,634,232 shares"),
        (YesNo(False), "No", "아니요", "いいえ"),
        (Words("Ireland"), "Ireland", "Ireland", "Ireland"),
        (None, "", "", ""),
    ],
)
def test_a_value_is_shown_in_the_language_of_the_page(
    value: CellValue | None, english: str, korean: str, japanese: str
):
    shown = []
    for code in ("en", "ko", "ja"):
        with in_language(code):
            shown.append(shown_value(value))
    assert shown == [english, korean, japanese]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("date", day("2024-05-01", "2024-05-01")),
        ("date", day("2023-Q3", "2023-07-01")),
        ("money", Amount(Decimal("1200.5"), "CHF")),
        ("money", Amount(Decimal(-7), "EUR")),
        ("number", Amount(Decimal("12.5"), "%")),
        ("number", Amount(Decimal(15), "widgets")),
        ("number", Amount(Decimal(90), "days")),
        ("list", Items(("Brunn Mills Ltd", "Castle, Trust"))),
        ("text", Words("the laws of Ireland")),
    ],
)
def test_what_a_field_shows_is_read_back(kind: Kind, value: CellValue):
    assert typed_value(Column("c", "C", kind=kind), typed_form(value)) == value


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("money", "€ 1,200", Amount(Decimal(1200), "EUR")),
        ("money", "1.2 million USD", Amount(Decimal(1_200_000), "USD")),
        ("money", "1200", Amount(Decimal(1200), "GBP")),
        ("date", "2024년 5월 1일", day("2024-05-01", "2024-05-01")),
        ("date", "1 May 2024", day("2024-05-01", "2024-05-01")),
    ],
)
def test_people_may_write_a_value_in_their_way(kind: Kind, text: str, value: CellValue):
    assert typed_value(Column("c", "C", kind=kind, unit="GBP"), f" {text} ") == value


def test_typed_money_keeps_its_decimals():
    total = Column("total", "Total", kind="money")
    typed = {text: typed_value(total, text) for text in ("120,355.50", "1,200.50 EUR", "97,850.00", "64")}
    assert {text: shown_value(value) for text, value in typed.items()} == {
        "120,355.50": "120,355.50",
        "1,200.50 EUR": "€1,200.50",
        "97,850.00": "97,850.00",
        "64": "64",
    }
    assert [typed_form(value) for value in typed.values()] == list(typed)


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [("date", "soon", "not a date"), ("money", "much", "not a number"), ("text", " ", "no value")],
)
def test_what_is_no_value_of_the_column_is_refused(kind: Kind, text: str, said: str):
    with pytest.raises(GridRefused, match=said):
        typed_value(Column("c", "C", kind=kind), text)
