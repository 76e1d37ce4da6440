"""Answers that are only a value, checked with their question."""

import pytest

from rag.citations.cite import cite
from rag.citations.elliptic import completed, is_only_a_value
from rag.passage import Passage

TABLE_KO = """\
| 항목 | 2023년 | 2024년 |
|---|---|---|
| 공사비 | 19,000원 | 21,000원 |
| 재료비 | 8,000원 | 9,500원 |
"""
TABLE_JA = """\
| 項目 | 2024年度 | 前年度 |
|---|---|---|
| 売上 | 5,130万円 | 4,800万円 |
| 経費 | 2,000万円 | 1,900万円 |
"""
FEES = "The annual membership fee is EUR 1,200. The deposit is EUR 300. Guests pay EUR 15 a day."
GATES = "The north gate cost EUR 1,200 in 2023. The south gate cost EUR 900 in 2024."
GATES_KO = "북쪽 문은 2023년에 1,200유로가 들었다. 남쪽 문은 2024년에 900유로가 들었다."
GATES_JA = "北門の費用は1,200ユーロである。南門の費用は900ユーロである。"
LEAVE = "Full-time staff have 12 days of leave. Part-time staff have 5 days of leave."
LEAVE_KO = "정규직의 휴가는 12일이다. 계약직의 휴가는 5일이다."
LEAVE_JA = "正社員の休暇は12日とする。契約社員の休暇は5日とする。"


def status(text: str, question: str, answer: str) -> str:
    _, citations = cite(
        answer, [Passage("c", "d", "a.txt", "", None, "", 0, len(text), text)], question=question
    )
    return citations[0].status


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (TABLE_KO, "2024년 공사비는 얼마입니까?", "21,000원입니다."),
        (TABLE_KO, "2023년 재료비는 얼마인가요?", "8,000원입니다."),
        (TABLE_JA, "2024年度の売上はいくらですか？", "5,130万円です。"),
        (TABLE_JA, "前年度の売上はいくらでしたか？", "4,800万円です。"),
        (FEES, "What is the annual membership fee?", "It is EUR 1,200."),
        (FEES, "How much is the deposit?", "EUR 300."),
        (GATES, "How much did the south gate cost?", "It is EUR 900."),
        (GATES_KO, "남쪽 문은 얼마가 들었습니까?", "900유로입니다."),
        (GATES_JA, "南門の費用はいくらですか？", "900ユーロです。"),
        (LEAVE, "How many days of leave do part-time staff have?", "5 days."),
        (LEAVE_KO, "계약직의 휴가는 며칠입니까?", "5일입니다."),
        (LEAVE_JA, "契約社員の休暇は何日ですか。", "5日です。"),
    ],
)
def test_a_value_is_verified_where_the_source_says_it_of_what_is_asked(text: str, question: str, answer: str):
    assert status(text, question, answer) == "verified"


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (TABLE_KO, "2024년 공사비는 얼마입니까?", "19,000원입니다."),  # another year's
        (TABLE_KO, "2024년 공사비는 얼마입니까?", "9,500원입니다."),  # another row's
        (TABLE_KO, "2024년 공사비는 얼마입니까?", "22,000원입니다."),
        (TABLE_JA, "2024年度の売上はいくらですか？", "4,800万円です。"),
        (TABLE_JA, "2024年度の売上はいくらですか？", "2,000万円です。"),
        (TABLE_JA, "前年度の売上はいくらでしたか？", "5,130万円です。"),
        (FEES, "What is the annual membership fee?", "It is EUR 300."),
        (FEES, "How much is the deposit?", "EUR 1,200."),
        (GATES, "How much did the south gate cost?", "It is EUR 1,200."),
        (GATES_KO, "남쪽 문은 얼마가 들었습니까?", "1,200유로입니다."),
        (GATES_JA, "南門の費用はいくらですか？", "1,200ユーロです。"),
        (LEAVE, "How many days of leave do part-time staff have?", "12 days."),
        (LEAVE_KO, "계약직의 휴가는 며칠입니까?", "12일입니다."),
        (LEAVE_JA, "契約社員の休暇は何日ですか。", "13日です。"),
    ],
)
def test_another_value_than_that_of_what_is_asked_differs(text: str, question: str, answer: str):
    assert status(text, question, answer) == "differs"


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (TABLE_KO, "2022년 공사비는 얼마입니까?", "19,000원입니다."),
        (TABLE_JA, "2022年度の売上はいくらですか？", "4,800万円です。"),
        (GATES, "How much did the west gate cost?", "EUR 900."),
        (GATES, "How much did the south gate not cost?", "EUR 900."),
        (GATES_KO, "서쪽 문은 얼마가 들었습니까?", "900유로입니다."),
        (GATES_JA, "西門の費用はいくらですか？", "900ユーロです。"),
        (LEAVE, "How many days of leave do managers have?", "5 days."),
        (LEAVE, "How many days of sick leave do part-time staff have?", "5 days."),
        (LEAVE_KO, "임원의 휴가는 며칠입니까?", "5일입니다."),
        (LEAVE_JA, "役員の休暇は何日ですか。", "5日です。"),
    ],
)
def test_a_value_of_another_subject_than_is_asked_for_is_not_verified(text: str, question: str, answer: str):
    assert status(text, question, answer) != "verified"


def test_without_a_question_a_value_of_a_table_says_nothing():
    assert status(TABLE_KO, "", "21,000원입니다.") == "unsupported"


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (LEAVE_KO, "", "5일입니다."),
        (LEAVE, "Do part-time staff have leave?", "5 days. [1]"),
        (FEES, "Which fees are there?", "It is EUR 1,300. [1]"),
    ],
)
def test_a_value_that_no_question_completes_is_neither_verified_nor_told_to_differ(
    text: str, question: str, answer: str
):
    assert status(text, question, answer) in ("related", "unsupported")


@pytest.mark.parametrize(
    ("text", "question", "answers"),
    [
        (
            "Tesla's patent for the lamp of 100 V came after that for the motor of 220 V.",
            "How many V did the lamp have?",
            ("100 V.", "220 V."),
        ),
        (
            "램프는 100V, 모터는 220V의 전압을 쓴다.",
            "램프의 전압은 얼마입니까?",
            ("100V입니다.", "220V입니다."),
        ),
    ],
)
def test_which_of_two_values_in_a_sentence_was_asked_for_is_not_known(
    text: str, question: str, answers: tuple[str, str]
):
    assert {status(text, question, f"{one} [1]") for one in answers} <= {"related", "unsupported"}


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("The fee is EUR 5.", "What is the fee?"),
        ("It is red.", "What is the colour?"),
        ("It is EUR 5.", "Is it EUR 5?"),
        ("It is EUR 5.", "What is the fee, and what is the deposit?"),
        ("It is EUR 5.", "What is the fee? I need it soon."),
        ("5일입니다.", "휴가는 5일입니까?"),
        ("5日です。", "休暇は5日ですか。"),
    ],
)
def test_a_statement_is_completed_only_where_one_value_is_asked_for(statement: str, question: str):
    assert completed(statement, question) == statement


def test_a_long_statement_is_no_value():
    assert not is_only_a_value(f"It is 5{' ' * 100_000}.") and is_only_a_value("It is 5  .")
