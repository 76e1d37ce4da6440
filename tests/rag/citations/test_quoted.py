"""The facts that a statement must share with the words a reader quotes for it."""

import pytest

from rag.citations.asked import Span
from rag.citations.checker import Checker
from rag.evaluation.answers import as_passages

SALES = """Net sales by region (in millions)

| | 2022 | 2023 |
|---|---|---|
| Europe | 4,100 | 4,612 |
| Asia | 2,050 | 1,980 |
"""
PROSE = (
    "In 2021 we opened the mill, and in 2023 we sold it to Anna Reed. "
    "Revenue was $450 million, up $124 million. No guest was turned away. "
    "창고에는 1.5톤의 밀이 있다. 倉庫は閉鎖されず、コンテナが置かれた。"
)


def is_supported(said: str, text: str, words: str) -> bool:
    """Return whether a statement passes with the sentence or row that begins with some words as its quote."""
    start = text.index(words)
    span = Span(1, start, start + len(words))
    return Checker(as_passages([text])).supported_by(said, [span]).status == "verified"


@pytest.mark.parametrize(
    ("true", "false", "words"),
    [
        (
            "Europe had sales of 4.6 billion in 2023.",
            "Europe had sales of 4.8 billion in 2023.",
            "| Europe",
        ),
        (
            "Europe had sales of 4,612 million in 2023.",
            "Europe had sales of 4,612 million in 2022.",
            "| Europe",
        ),
    ],
)
def test_numbers_of_a_quoted_row_count_in_its_scale_and_its_year(true: str, false: str, words: str):
    assert is_supported(true, SALES, words)
    assert not is_supported(false, SALES, words)


@pytest.mark.parametrize(
    ("true", "false", "words"),
    [
        ("Revenue before that was $326 million.", "Revenue before that was $336 million.", "Revenue"),
        ("The mill was sold in 2023.", "The mill was sold in 2022.", "In 2021"),
        ("We opened the mill in 2021.", "We opened the mill for 2,021 pounds.", "In 2021"),
        ("Anna Reed bought the mill.", "Tom Reed bought the mill.", "In 2021"),
        ("Nobody was turned away.", "Guests were turned away.", "No guest"),
        ("창고에 밀 1,500kg이 보관되어 있다.", "창고에 밀 1,600kg이 보관되어 있다.", "창고에는"),
        ("倉庫にはコンテナがあります。", "倉庫は閉鎖されました。", "倉庫は"),
    ],
)
def test_other_words_pass_and_other_facts_do_not(true: str, false: str, words: str):
    assert is_supported(true, PROSE, words)
    assert not is_supported(false, PROSE, words)
