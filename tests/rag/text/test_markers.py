import pytest

from rag.text.markers import MarkerFilter, inert


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ("| 가격 | 4만 원 |", "가격 · 4만 원"),
        ("Prices:\n| a | 1 |\n| b |  |\n\nAfter.", "Prices: a · 1; b After."),
        ("| one | two |\n|:--|--:|\n| 1 | 2", "one · two; 1 · 2"),
        ("|---|:--:|", ""),
        (r"| `a \| b` | x\|y |", "`a | b` · x|y"),
        ("use a | b in a shell", "use a | b in a shell"),
    ],
)
def test_of_a_table_in_a_quote_the_cells_stay(rows: str, shown: str):
    assert inert(rows) == shown


def test_a_cell_that_poses_as_a_marker_or_an_image_is_neither():
    assert "[1]" not in inert("| yes [1] | ![x](http://a) |")
    assert "![" not in inert("| yes [1] | ![x](http://a) |")


@pytest.mark.parametrize(
    ("marker", "passed"),
    [("[1-3]", "[1][2][3]"), ("[1-20]", "".join(f"[{n}]" for n in range(1, 21))), ("[1-21]", "[1][21]")],
)
def test_a_range_of_up_to_twenty_markers_is_each_of_them(marker: str, passed: str):
    markers = MarkerFilter(30)
    assert markers.feed(f"Yes{marker}.") + markers.flush() == f"Yes{passed}."


@pytest.mark.parametrize("text", ["Yes [1].", "Yes[1].", "Yes  [1][2].", "\t[2]"])
def test_the_space_before_a_marker_stays_as_it_was(text: str):
    markers = MarkerFilter(2)
    assert markers.feed(text) + markers.flush() == text
