"""Values of cells on their way into the ledger and out of it."""

from datetime import date
from decimal import Decimal

import pytest

from rag.grid.cells import Amount, Day, Items, Words, YesNo, value_from_json, value_to_json

VALUES = [
    None,
    Words("서울특별시"),
    Day("2023-07", date(2023, 7, 1)),
    Amount(Decimal("-39.70"), "USD"),
    Amount(Decimal("1E+9")),
    YesNo(False),
    Items(("iPhone", "Mac")),
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_value_comes_back_as_it_was(value):
    assert value_from_json(value_to_json(value)) == value


@pytest.mark.parametrize("fields", [{}, {"text": 3}, {"amount": "3"}, {"yes": "no"}])
def test_what_is_no_value_is_an_error(fields):
    with pytest.raises(ValueError, match="not a value of a cell"):
        value_from_json(fields)
