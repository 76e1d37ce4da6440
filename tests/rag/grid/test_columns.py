"""Columns of a grid as they are made, stored and read from a file that anyone wrote."""

import pytest

from rag.errors import GridRefused
from rag.grid.columns import Column


def test_a_column_comes_back_from_its_fields():
    law = Column("law", "Law", "Which law applies?", "choice", ("English", "Korean"), instructions="Briefly.")
    assert Column.from_json(law.to_json()) == law


def test_a_column_without_a_question_asks_its_name():
    assert Column("end", "End of the lease").asked == "End of the lease"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "Give the column a name"),
        ({"name": "x" * 121}, "needs a name"),
        ({"name": "Law", "kind": "poem"}, "no known kind"),
        ({"name": "Law", "kind": ["text"]}, "no known kind"),
        ({"name": "Law", "question": "?" * 1001}, "too long"),
        ({"name": "Law", "kind": "choice", "options": ["English", "English"]}, "2 to 50 different options"),
        ({"name": "Law", "options": 3}, "options of “Law” are no list"),
    ],
)
def test_a_column_that_cannot_be_read_is_refused_with_the_reason(fields, said):
    with pytest.raises(GridRefused, match=said):
        Column.from_json(fields)
