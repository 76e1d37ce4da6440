"""Tables in a text, read as cells with their exact spans."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.markdown import cells, markdown_table, read_tables, whole_caption

SALES = """\
Net sales by category (in millions):

| | Three Months Ended July 1, 2023 | June 25, 2022 |
|---|---|---|
| Mac | 6,840 | 7,382 |
| Services | 21,213 | 19,604 |
"""
CELL = st.text(st.characters(exclude_characters="\n\\", exclude_categories=("C", "Z")), max_size=8)


def test_a_table_has_its_caption_its_header_and_rows_with_their_spans():
    (table,) = read_tables(SALES)
    assert SALES[table.caption : table.start].strip() == "Net sales by category (in millions):"
    assert table.header == ("", "Three Months Ended July 1, 2023", "June 25, 2022")
    assert [row.cells[0] for row in table.rows] == ["Mac", "Services"]
    assert all(SALES[row.start : row.end].startswith(f"| {row.cells[0]} |") for row in table.rows)


def test_a_sentence_or_a_heading_above_is_no_caption():
    for above in ("It was a good year.\n", "# Sales\n\n", "| x |\n\n"):
        (table,) = read_tables(above + SALES.partition("\n\n")[2])
        assert table.caption == table.start


def test_a_line_with_bars_is_no_table():
    assert read_tables("a | b\nc | d\n\n| e | f |\n| g | h |\n") == []


@given(st.lists(st.lists(CELL, min_size=2, max_size=4), min_size=2, max_size=5))
def test_what_is_written_as_a_table_is_read_as_it_was(told):
    width = max(map(len, told))
    body = [[*row, *[""] * (width - len(row))] for row in told]
    (table,) = read_tables(markdown_table(body[0], body[1:]))
    assert [list(row.cells) for row in table.rows] == body[1:]
    assert list(table.header) == body[0]


def test_a_bar_in_a_cell_is_no_border():
    assert cells(r"| a \| b | c |") == ("a | b", "c")


@pytest.mark.parametrize(
    ("above", "caption"),
    [
        ("Net sales were as follows (in\nmillions):", "Net sales were as follows (in millions):"),
        ("Sales rose.\n\nin millions", "in millions"),
        ("# Note 2\nin millions", "in millions"),
        ("Some text\nProducts", "Products"),
    ],
)
def test_a_caption_is_read_from_the_line_its_sentence_began_on(above: str, caption: str):
    text = f"{above}\n| Mac | iPad |\n|---|---|\n| 6,840 | 5,791 |"
    assert whole_caption(text, read_tables(text)[0]) == caption
