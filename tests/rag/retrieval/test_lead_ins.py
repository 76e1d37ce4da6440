"""Quotes of lead-ins: a sentence or a label that says nothing without what follows it."""

import pytest

from rag.passage import Passage
from rag.retrieval.sentences import WIDEST_BLOCK, extract, width


def quotes(question: str, *texts: str) -> list[str]:
    passages = [
        Passage(f"c{number}", "d", "a.md", "", None, "", 0, len(text), text)
        for number, text in enumerate(texts)
    ]
    return [passages[p.number - 1].text[p.start : p.end] for p in extract(question, passages)]


@pytest.mark.parametrize(
    ("question", "lead_in", "items"),
    [
        ("What are the shifts?", "The shifts are as follows:", ["Early: 3:30", "Day: 9:00", "Late: 13:00"]),
        (
            "What are the duties of the warden?",
            "The warden has the duties listed below.",
            ["The gate is locked at dusk.", "Lamps are lit. Oil is kept in the shed.", "Dogs are fed."],
        ),
        (
            "진료시간은 어떻게 되나요?",
            "진료시간은 다음과 같다.",
            ["평일: 9시", "토요일: 10시", "공휴일: 휴진"],
        ),
        (
            "開館時間を教えてください",
            "開館時間は、次のとおりとする。",
            ["平日：9時", "土曜：10時", "休日：閉館"],
        ),
    ],
)
def test_a_lead_in_is_quoted_with_its_list(question: str, lead_in: str, items: list[str]):
    block = "\n\n".join([lead_in, "\n".join(f"- {item}" for item in items)])
    first, *others = quotes(question, f"{block}\n\nThe well is deep.")
    assert first == block
    assert not any(item in other for item in items for other in others)


@pytest.mark.parametrize(
    ("question", "lead_in"),
    [
        ("Which allowances are paid?", "The following allowances are paid:"),
        ("어떤 수당을 지급하나요?", "지급하는 수당은 다음 표와 같다."),
        ("支給する手当は何ですか", "支給する手当は次の表による。"),
    ],
)
def test_a_lead_in_is_quoted_with_its_table(question: str, lead_in: str):
    table = "| Code | £ |\n|---|---|\n| N1 | 14 |\n| N2 | 22 |"
    first = quotes(question, f"{lead_in}\n\n{table}\n\nThe well is deep.")[0]
    assert "| N1 | 14 |\n| N2 | 22 |" in first
    assert "deep" not in first


@pytest.mark.parametrize(
    ("question", "heading", "items", "after"),
    [
        (
            "What is not insured?",
            "4. Not insured",
            ["Rust of chains and anchors", "Boats that are on tow", "Damage by ice", "Lost oars and ropes"],
            "The well is deep.",
        ),
        (
            "제출 서류는 무엇인가요?",
            "제3조 제출 서류",
            ["서명한 신청서 원본", "본인 명의의 통장 사본", "재직 증명서 한 부", "신분증 앞뒤 사본"],
            "우물은 깊다.",
        ),
        (
            "対象外の費用は何ですか?",
            "第5条 対象外の費用",
            ["交通違反の罰金と反則金", "客室での飲み物の代金", "同行する家族の旅費", "衣類の洗濯代"],
            "井戸は深い。",
        ),
    ],
)
def test_a_list_is_quoted_whole_below_a_heading_that_is_asked_for(
    question: str, heading: str, items: list[str], after: str
):
    block = "\n".join(f"- {item}" for item in items)
    assert quotes(question, f"# A\n\n## {heading}\n\n{block}\n\n{after}")[0] == block


def test_an_item_that_is_asked_for_is_quoted_without_its_list_below_another_heading():
    text = "## Fees\n\n- The gate costs 5.\n- The shed costs 10.\n- The pier costs 20.\n- Oars cost 3."
    assert "Oars" not in quotes("What does the shed cost?", text)[0]


def test_a_row_that_is_asked_for_is_quoted_without_the_rest_of_its_table():
    text = "The following fees are due:\n\n| Key | Fee |\n|---|---|\n| Gate | 5 |\n| Shed | 10 |"
    assert quotes("What is the fee for the shed?", text)[0] == "| Shed | 10 |"


def test_a_sentence_that_announces_nothing_is_quoted_without_the_list_after_it():
    text = "The yearly fee is 6,480 pounds.\n\n- Ropes are checked.\n- Doors are oiled."
    assert quotes("How high is the yearly fee?", text)[0] == "The yearly fee is 6,480 pounds."


def test_a_label_alone_on_its_line_is_quoted_with_the_next_sentence():
    text = "E4\n\nThe boiler was swept.\n\nE5\n\nThe chimney cowl is replaced every ten years."
    assert quotes("What is E5?", text)[0] == "E5\n\nThe chimney cowl is replaced every ten years."


def test_a_lead_in_whose_list_is_in_another_passage_is_not_quoted_first():
    cut_off = "The well is deep. The members of the club are:"
    whole = "The members of the club are:\n\n- Ann Lee\n- Tom Roe"
    assert quotes("Who are the members of the club?", cut_off, whole)[0] == whole


def test_a_long_list_ends_at_an_item():
    items = "\n".join(f"- Rule {number} forbids the lighting of any fire." for number in range(1, 200))
    first = quotes("What are the rules?", f"The rules are as follows:\n\n{items}")[0]
    assert first.startswith("The rules are as follows:\n\n- Rule 1 forbids")
    assert first.endswith("fire.")
    assert WIDEST_BLOCK / 2 < width(first) <= WIDEST_BLOCK * 1.1
