import pytest

from rag.retrieval.spelling import corrected

TOLD = [{"gross", "margin", "harbour"}]


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("waht is the margin", "what is the margin"),
        ("the harbuor", "the harbour"),
        ("the harbor", "the harbour"),
        ("the margins", "the margins"),
        ("the elephant", "the elephant"),
        ("여백은 what", "여백은 what"),
    ],
)
def test_a_word_one_slip_from_a_told_one_is_read_as_it(typed: str, read: str):
    assert corrected(typed, TOLD) == read
