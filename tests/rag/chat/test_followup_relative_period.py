"""Follow-ups that name a period by another one: the year before, the next quarter."""

import pytest

from rag.chat.followup import relative_period
from rag.chat.rewrite import make_standalone

ENGLISH = "What were the net sales in Q1 2023?"


@pytest.mark.parametrize(
    ("first", "then", "meant"),
    [
        ("How much is the annual rent in 2025?", "And the year before?", "2024"),
        ("How much is the annual rent in 2025?", "And what will it be in the following year?", "2026"),
        (ENGLISH, "And the previous quarter?", "Q4 2022"),
        (ENGLISH, "What about a year earlier?", "Q1 2022"),
        ("2025년 임대료는 얼마인가요?", "그 전년도는요?", "2024년"),
        ("2023년 4분기 매출은 얼마인가요?", "다음 분기는요?", "2024년 1분기"),
        ("2025年の家賃はいくらですか。", "その前の年は？", "2024年"),
        ("2023年第1四半期の売上は？", "前の四半期は？", "2022年第4四半期"),
        ("令和7年度の入館者数は？", "その前の年度は？", "令和6年度"),
        ("令和7年度の入館者数は？", "前年度は？", "令和6年度"),
        ("令和7年度の入館者数は？", "昨年度はどうでしたか。", "令和6年度"),
        ("令和元年度の入館者数は？", "前年度は？", "平成30年度"),
        ("平成30年の家賃は？", "翌年は？", "令和元年"),
    ],
)
def test_a_step_from_the_last_period_is_taken(first: str, then: str, meant: str):
    history = [("user", first), ("assistant", "£53,250 [1]")]
    assert relative_period(then, history) == meant
    assert meant in make_standalone(then, history).text


def test_steps_add_up():
    history = [("user", "How much is the rent in 2025?"), ("user", "And the year before?")]
    assert relative_period("And the year before that?", history) == "2023"


@pytest.mark.parametrize(
    "question",
    [
        "How did it change compared with the year before?",
        "And in 2021, the year before?",
        "전년 동기 대비 얼마나 늘었나요?",
        "前年同期比では？",
        "And the services?",
        "이전 해지 조건은 무엇인가요?",
        "직전 해당 조항은요?",
        "충전년도는 언제인가요?",
        "11年前の契約は？",
        "昨年度の貸出冊数は？",
        "What happened in the year before the merger?",
        "Is a notice one year before the end required?",
        "What is planned for next year?",
    ],
)
def test_a_comparison_or_another_question_takes_no_step(question: str):
    assert relative_period(question, [("user", ENGLISH)]) == ""


def test_without_a_period_before_it_there_is_none():
    assert relative_period("And the year before?", [("user", "How much is the rent?")]) == ""
    assert relative_period("And the previous quarter?", [("user", "What was the rent in 2025?")]) == ""
