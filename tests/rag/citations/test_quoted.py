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
HOURS = """The pool

| | Single | Pass |
|---|---|---|
| Adults | 5,000원 | 45,000원 |
| Children | 2,500원 | 22,500원 |
"""
PLACES = (
    "Weekdays the desk closes at 9, on Sundays it closes at 6. In 1865 his father died and he was crowned, "
    "and in 1884 the liberals fell. The prize went to Mia Roth, the coach. Ida Lang sold tea. "
    "韮山代官の江川英龍と勘定奉行の川路聖謨が任命された。ビクターは学費を援助し、コロムビアは曲を発売した。"
    " 매월 둘째 주 월요일은 휴관한다."
)
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


@pytest.mark.parametrize(
    ("true", "false", "words"),
    [
        ("On Sundays the desk closes at 6.", "On Sundays the desk closes at 9.", "Weekdays"),
        ("In 1865 he was crowned.", "In 1884 he was crowned.", "In 1865"),
        ("Mia Roth won the prize.", "Ida Lang won the prize.", PLACES),
        (
            "韮山代官の江川英龍と、勘定奉行の川路聖謨が選ばれた。",
            "韮山代官の川路聖謨と、勘定奉行の江川英龍が選ばれた。",
            "韮山",
        ),
        ("둘째 주 월요일에 쉰다.", "첫째 주 월요일에 쉰다.", "매월"),
        ("ビクターは学費を援助していた。", "コロムビアは学費を援助していた。", "ビクター"),
    ],
)
def test_a_number_a_time_or_a_name_of_another_clause_is_another_fact(true: str, false: str, words: str):
    assert is_supported(true, PLACES, words)
    assert not is_supported(false, PLACES, words)


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("A pass for children costs 22,500원.", "A pass for adults costs 22,500원."),
        (
            "Two adults and one of the children pay 12,500원.",
            "Two adults and one of the children pay 13,500원.",
        ),
        (
            "All adults and children pay nine times as much for a pass.",
            "All adults and children pay eight times as much for a pass.",
        ),
    ],
)
def test_rows_quoted_together_say_whose_a_number_is_and_what_follows_from_them(true: str, false: str):
    assert is_supported(true, HOURS, HOURS)
    assert not is_supported(false, HOURS, HOURS)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("2 mills were sold in 2018–19, 3 in 2020–21.", "2 mills were sold in 2018–19, 3 mills in 2020–21."),
        ("Dogs are not admitted.", "We exclude dogs from the hall."),
        ("Its reign lasted 44 years.", "The reign began in 1865 and ended in 1909."),
        ("Sales fell by 762 pounds to 1,900.", "Sales were 1,900, down 762 pounds."),
        (
            "It was shown for the first time in 1954.",
            "First shown in 1954, it is the most widely seen event.",
        ),
    ],
)
def test_what_follows_in_other_words_is_left_to_the_reader(said: str, told: str):
    assert is_supported(said, told, told)
