"""A follow-up that names another member of a kind replaces the term of the question before it."""

import pytest

from rag.chat.followup import (
    named_alone,
    with_replaced_period,
    with_replaced_term,
    with_replaced_terms,
    with_terms,
)
from rag.chat.rewrite import make_standalone
from rag.models.embeddings import Embedder

LODGING = """| 役職区分 | 日当 | 宿泊料（東京・大阪） | 宿泊料（その他の地域） |
|---|---|---|---|
| 部長・課長 | 3,000円 | 14,000円 | 12,000円 |
| 一般社員 | 2,200円 | 12,000円 | 9,800円 |"""
TRAVEL = """| 직급 | 일비 | 숙박비(서울) | 숙박비(광역시) |
|---|---|---|---|
| 임원 | 30,000원 | 130,000원 | 110,000원 |
| 과장 | 20,000원 | 100,000원 | 80,000원 |"""
ROTA = "| Shift | Hours |\n|---|---|\n| A | 06:00 |\n| C | 17:00 |\n| D | 20:00 |"
RATES = "| Role | Rate |\n|---|---|\n| Attendants | £12.40 |\n| Managers | £19.50 |"
CITIES = "Night rates:\n\n- London: £150\n- Leeds: £95\n"
JAPANESE = "一般社員が大阪に出張するときの宿泊料は？"


def test_of_nothing_but_a_term_a_question_is_seen_to_name_another():
    asked = [
        "And for managers?",
        "What about Leeds?",
        "部長の場合は？",
        "임원은요?",
        "그럼 부산이면 어떤가요?",
    ]
    assert list(map(named_alone, asked)) == ["managers", "Leeds", "部長", "임원", "부산"]


@pytest.mark.parametrize(
    "question",
    [
        "And why?",
        "What is the rent?",
        "And the year before?",
        "In 2021?",
        "理由は？",
        "その前の年度は？",
        "그건요?",
    ],
)
def test_another_question_names_none(question: str):
    assert named_alone(question) == ""


@pytest.mark.parametrize(
    ("asked", "text", "question", "meant"),
    [
        ("What is the rate for attendants?", RATES, "And for managers?", "What is the rate for managers?"),
        ("What is the night rate in London?", CITIES, "And Leeds?", "What is the night rate in Leeds?"),
        ("When does shift C start?", ROTA, "And shift D?", "When does shift D start?"),
        (JAPANESE, LODGING, "部長の場合はどうですか。", "部長が大阪に出張するときの宿泊料は？"),
        (JAPANESE, LODGING, "東京は？", "一般社員が東京に出張するときの宿泊料は？"),
        (JAPANESE, LODGING, "日当は？", "一般社員が大阪に出張するときの日当は？"),
        ("서울 숙박비는 얼마인가요?", TRAVEL, "광역시는요?", "광역시 숙박비는 얼마인가요?"),
        ("과장은 일비가 얼마인가요?", TRAVEL, "임원은요?", "임원은 일비가 얼마인가요?"),
        ("숙박비는 얼마인가요?", TRAVEL, "일비는요?", "일비는 얼마인가요?"),
    ],
)
def test_a_term_of_the_same_column_or_list_is_replaced(asked: str, text: str, question: str, meant: str):
    standalone = make_standalone(
        question, [("user", asked), ("assistant", "12 [1].")], texts=lambda _: [text]
    )
    assert standalone.text == meant
    assert [variant.text for variant in standalone.variants] == [meant, question]


def test_replaced_terms_add_up():
    history = [("user", JAPANESE), ("user", "部長の場合は？")]
    meant = with_replaced_terms(history, lambda _: [LODGING])
    assert meant[1] == ("user", "部長が大阪に出張するときの宿泊料は？")
    assert (
        make_standalone("東京は？", history, texts=lambda _: [LODGING]).text
        == "部長が東京に出張するときの宿泊料は？"
    )


def test_a_term_of_another_table_replaces_none():
    assert (
        with_replaced_term(
            "And for managers?", "What is the night rate in London?", lambda _: [RATES, CITIES]
        )
        == ""
    )


@pytest.mark.parametrize(
    ("asked", "question", "meant"),
    [
        ("서울 출장 숙박비는 얼마인가요?", "부산이면요?", "부산 출장 숙박비는 얼마인가요?"),
        ("東京の家賃は？", "京都は？", "京都の家賃は？"),
        ("What is the night rate in London?", "And Bath?", "What is the night rate in Bath?"),
        ("日当が改定されたのはいつですか", "前回の改定の前は？", ""),
    ],
)
def test_a_term_that_no_document_has_replaces_the_nearest(
    asked: str, question: str, meant: str, embedder: Embedder
):
    assert with_replaced_term(question, asked, lambda _: ["宿泊料 숙박비 rate"], embedder) == meant


def test_a_known_term_is_not_replaced_by_nearness(embedder: Embedder):
    told = ["The sales of Apple rose.", "Services grew."]
    assert (
        with_replaced_term("And Services?", "What were the sales of Apple?", lambda _: told, embedder) == ""
    )


def test_only_the_term_of_such_a_question_is_carried():
    history = [("user", "서울 숙박비는 얼마인가요?"), ("user", "부산이면요?")]
    assert "부산이면" not in with_terms("왜 그런가요?", history)


@pytest.mark.parametrize(
    ("asked", "question", "meant"),
    [
        ("What was the rent in March 2025?", "And in 2024?", "What was the rent in March 2024?"),
        ("What was the rent in 2025?", "What about March 2024?", "What was the rent in March 2024?"),
        ("What was the rent in 2025?", "And the year before?", "What was the rent in 2024?"),
        ("2025년 9월 청소비는 얼마인가요?", "2024년은요?", "2024년 9월 청소비는 얼마인가요?"),
        ("2025년 9월 청소비는 얼마인가요?", "그럼 작년 같은 달은요?", "2024년 9월 청소비는 얼마인가요?"),
        ("2025年度の清掃費はいくらですか。", "2024年度は？", "2024年度の清掃費はいくらですか。"),
        ("令和7年度の清掃費は？", "前年度は？", "令和6年度の清掃費は？"),
    ],
)
def test_of_nothing_but_a_period_a_follow_up_asks_the_question_of_it(asked: str, question: str, meant: str):
    found = make_standalone(question, [("user", asked), ("assistant", "1,120 [1]")])
    assert (found.text, found.shifted) == (meant, True)


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        ("What was the rent in 2025?", "And the deposit in 2024?"),
        ("What was the rent?", "And in 2024?"),
        ("Did the rent rise from 2023 to 2024?", "And in 2025?"),
        ("2025년 청소비는 얼마인가요?", "2024년 경비비는요?"),
        ("2025年の家賃は？", "2024年の敷金は？"),
    ],
)
def test_a_period_beside_another_subject_or_of_several_replaces_none(asked: str, question: str):
    assert with_replaced_period(question, asked) == ""
