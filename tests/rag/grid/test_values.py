"""Values read from words, for columns of each kind."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.grid.cells import Amount, CellValue, Day, Words
from rag.grid.columns import KINDS, Column
from rag.grid.values import find_values, split_items

MONEY, NUMBER = Column("m", "M", kind="money"), Column("n", "N", kind="number")


@pytest.mark.parametrize(
    ("text", "column", "values"),
    [
        ("EUR 1,200 and 3.5 million", MONEY, [Amount(Decimal(1200), "EUR"), Amount(Decimal(3500000))]),
        ("총 4,800만 원", MONEY, [Amount(Decimal(48000000), "KRW")]),
        ("合計132,000円", MONEY, [Amount(Decimal(132000), "JPY")]),
        ("$12 for 3 rooms", NUMBER, [Amount(Decimal(3))]),
        ("1.50 EUR", MONEY, [Amount(Decimal("1.5"), "EUR")]),
        ("1.2 million USD", MONEY, [Amount(Decimal(1200000), "USD")]),
        ("1.5 억원", MONEY, [Amount(Decimal(150000000), "KRW")]),
        ("2.1 It is 30 days", NUMBER, [Amount(Decimal(30), "days")]),
        ("제2조 기간은 30일", NUMBER, [Amount(Decimal(30), "days")]),
        ("ninety (90) days", NUMBER, [Amount(Decimal(90), "days")]),
        ("30일 전에", NUMBER, [Amount(Decimal(30), "days")]),
        (
            "from 12% to 14%",
            Column("p", "P", kind="number", unit="%"),
            [Amount(Decimal(n), "%") for n in (12, 14)],
        ),
        ("12 of them", Column("p", "P", kind="number", unit="%"), []),
        ("on 3 May 2024", Column("d", "D", kind="date"), [Day("2024-05-03", date(2024, 5, 3))]),
        ("2024年5月", Column("d", "D", kind="date"), [Day("2024-05", date(2024, 5, 1))]),
        (
            "Irish law",
            Column("l", "L", kind="choice", options=("irish law", "law")),
            [Words("irish law"), Words("law")],
        ),
        ("lawless", Column("l", "L", kind="choice", options=("law", "less")), []),
    ],
)
def test_values_of_a_kind_are_found_in_order(text: str, column: Column, values: list[CellValue]):
    assert [one.value for one in find_values(text, column)] == values


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("A, B, and C", ("A", "B", "C")),
        (
            "the Americas, Greater China and Rest of Asia Pacific.",
            ("Americas", "Greater China", "Rest of Asia Pacific"),
        ),
        ('"Compute & Networking" and "Graphics," as said', ("Compute & Networking", "Graphics")),
        ("영업, 개발 및 지원", ("영업", "개발", "지원")),
        ("東京、大阪及び京都", ("東京", "大阪", "京都")),
        ("", ()),
    ],
)
def test_an_enumeration_is_split_into_its_items(text: str, items: tuple[str, ...]):
    assert split_items(text) == items


@given(st.text(), st.sampled_from(KINDS))
def test_any_text_has_values_within_it(text: str, kind):
    column = Column("c", "C", kind=kind, options=("a", "b"))
    for one in find_values(text, column):
        assert 0 <= one.start < one.end <= len(text)
