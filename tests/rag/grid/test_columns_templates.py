"""Templates of grids in English, Korean and Japanese."""

import pytest

from rag.errors import GridRefused
from rag.grid.columns import LANGUAGES, TEMPLATES, Column, find_template
from rag.grid.terms import known_fields
from rag.text.language import language


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.id)
@pytest.mark.parametrize("code", LANGUAGES)
def test_the_columns_of_a_template_can_be_read(template, code: str):
    columns = template.columns(code)
    assert len({column.id for column in columns}) == len({column.name for column in columns}) == len(columns)
    for column in columns:
        column.check()
        assert Column.from_json(column.to_json()) == column


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.id)
@pytest.mark.parametrize("code", LANGUAGES)
def test_questions_are_in_the_language_of_their_template(template, code: str):
    assert template.title(code)
    assert {language(column.question) for column in template.columns(code)} == {code}


def test_a_language_without_templates_has_english_ones():
    assert find_template("filing").columns("fr") == find_template("filing").columns("en")


def test_a_column_is_recognised_by_name_in_any_language_and_by_kind():
    assert [field.id for field in known_fields(Column("c", "매출액", kind="money"))] == ["revenue"]
    assert [field.id for field in known_fields(Column("c", "governing LAW"))] == ["law"]
    assert known_fields(Column("c", "Revenue", kind="date")) == ()
    assert known_fields(Column("c", "Colour of the door")) == ()


def test_an_unknown_template_is_refused_with_those_there_are():
    with pytest.raises(GridRefused, match="contract, filing, paper, cv, invoice"):
        find_template("poem")
