import pytest

from rag.passage import Passage
from rag.retrieval.question_type import QuestionType, defined_thing
from rag.retrieval.sentences import extract

REPORT = """\
Automotive revenue for the third quarter of fiscal year 2024 was $261 million. \
Revenue for the third quarter of fiscal year 2024 was $18.12 billion, up 206%. \
Revenue is recognised when goods are handed over."""


def first(question: str, text: str) -> str:
    passage = Passage("c", "d", "report.pdf", "", None, "", 0, len(text), text)
    best = extract(question, [passage])[0]
    return text[best.best_start : best.best_end]


@pytest.mark.parametrize(
    ("question", "thing"),
    [
        ("What is AutoGen?", "AutoGen"),
        ("what does RRF mean?", "RRF"),
        ("세운상가는 무엇인가요?", "세운상가"),
        ("RAGとは何ですか?", "RAG"),
        ("What is the capital of Norway?", ""),
        ("When did it open?", ""),
    ],
)
def test_the_thing_to_define_is_read(question: str, thing: str):
    assert defined_thing(question) == thing


@pytest.mark.parametrize(
    ("question", "text", "defining"),
    [
        (
            "What is Brunnite?",
            "Using Brunnite, masons built Brunnite houses. Brunnite is a soft grey stone. It is old.",
            "Brunnite is a soft grey stone.",
        ),
        (
            "브루나이트란 무엇인가요?",
            "석공들은 브루나이트를 써서 집을 지었다. 브루나이트는 부드러운 회색 돌이다.",
            "브루나이트는 부드러운 회색 돌이다.",
        ),
        (
            "ブルナイトとは何ですか?",
            "石工はブルナイトを使って家を建てた。ブルナイトとは柔らかい灰色の石である。",
            "ブルナイトとは柔らかい灰色の石である。",
        ),
    ],
)
def test_the_defining_sentence_comes_first(question: str, text: str, defining: str):
    assert first(question, text) == defining


def test_a_figure_is_that_of_the_measure_and_the_period_asked_for():
    assert first("Revenue Q3 FY2024", REPORT).startswith("Revenue for the third quarter")


def test_a_comparison_of_two_periods_names_both():
    text = (
        "Sales increased 2% in the third quarter of 2022 compared to the third quarter of 2021. "
        "Our sales decreased 1% in the third quarter of 2023 compared to the same quarter in 2022."
    )
    assert "decreased 1%" in first("How did sales change from Q3 2022 to Q3 2023?", text)


def test_a_number_in_the_question_is_no_amount():
    asked = QuestionType("What was the revenue in 2023?")
    assert asked.is_figure
    assert asked.cues("Revenue in 2023 is told below.")["amount"] == 0.0


def test_a_heading_in_capitals_answers_nothing():
    assert first("What is said of Brunn Stone?", "Brunn Stone Inc.\n\nBrunn stone was quarried.") == (
        "Brunn stone was quarried."
    )
