"""Shapes of texts: what a column asks for, and what is found."""

import pytest

from rag.grid.columns import Column
from rag.grid.values import CODE, EMAIL, LINK, PHONE, is_name, shape_of


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("Email", EMAIL),
        ("メールアドレス", EMAIL),
        ("Telephone number", PHONE),
        ("연락처", PHONE),
        ("Website", LINK),
        ("Invoice no.", CODE),
        ("주문번호", CODE),
        ("Landlord", None),
    ],
)
def test_a_column_asks_for_a_shape_by_its_name(name: str, shape: object):
    assert shape_of(Column("c", name)) is shape


@pytest.mark.parametrize(
    ("shape", "text", "found"),
    [
        (EMAIL, "Write to ann.lee@example.org.", ["ann.lee@example.org"]),
        (PHONE, "Call (425) 111-1111 or +46 8 123 456 78", ["(425) 111-1111", "+46 8 123 456 78"]),
        (PHONE, "연락처 010-5550-0000", ["010-5550-0000"]),
        (LINK, "See https://example.org/a.", ["https://example.org/a"]),
        (CODE, "Order AB-12/9 of May", ["AB-12/9"]),
    ],
)
def test_values_of_a_shape_are_found(shape: object, text: str, found: list[str]):
    assert [match[0] for match in shape.find(text)] == found  # type: ignore[attr-defined]


def test_a_name_is_told_from_other_words():
    assert is_name("Ada M. Brunn") and not is_name("the Mill") and not is_name("Ada")
