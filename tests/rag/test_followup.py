import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.condense import condense
from rag.followup import goes_on, last_answer, leans
from tests.rag.followup_turns import OFFER, STATEMENT, turns

MORE = """
Tell me more
why?
Why not?
Okay, tell me more
Can you explain that further?
more details please
Give me an example
Really?
더 알려줘
더 자세히 알려줘
자세히 설명해 주세요
왜요?
예를 들면?
계속해줘
もっと詳しく
もっと詳しく教えてください
なぜ?
どうしてですか?
例えば?
続けてください
"""
SOMETHING = """
And in 2023?
What about the second one?
Why is the sky blue?
Tell me more about glaciers
more rice
왜 하늘은 파란가요?
예금 알려줘
환불 규정을 설명해 주세요
なぜ空は青いの?
理由は何だったの?
東京について教えて
"""


def lines(text: str) -> list[str]:
    return text.strip().split("\n")


@pytest.mark.parametrize("round_", range(4))
@pytest.mark.parametrize("language", ["en", "ko", "ja"])
def test_nine_in_ten_of_the_turns_that_lean_are_told_and_of_those_told_lean(language, round_):
    asked = turns(language, round_)
    assert len(asked) == 50
    told = [turn for turn in asked if leans(turn.text, turn.answer)]
    right = sum(turn.leans for turn in told)
    assert right / len(told) >= 0.9
    assert right / sum(turn.leans for turn in asked) >= 0.9


@pytest.mark.parametrize("question", lines(MORE))
def test_more_of_the_same_is_asked_for(question):
    assert goes_on(question)
    assert leans(question)


@pytest.mark.parametrize("question", lines(SOMETHING))
def test_something_else_is_asked_for(question):
    assert not goes_on(question)


@pytest.mark.parametrize(("code", "yes"), [("en", "Yes please"), ("ko", "네"), ("ja", "はい")])
def test_yes_leans_on_the_question_before_it_and_on_nothing_else(code, yes):
    asked = [("user", "When does the lease end?")]
    assert condense(yes, [*asked, ("assistant", OFFER[code])]) != yes
    assert goes_on(yes, OFFER[code])
    assert not leans("ok", STATEMENT[code])


@pytest.mark.parametrize(
    "question",
    [
        "By the way, when was it built?",
        "Thanks. And the price?",
        "다른 질문인데요, 그건 언제야?",
        "ところで、それはいつ?",
    ],
)
def test_a_polite_opening_hides_nothing_that_is_missing(question):
    assert leans(question)


@pytest.mark.parametrize(
    "question",
    [
        "Android permissions of the app FieldNotes",
        "Software of Brightwater?",
        "Sometimes the harbour of Ostia freezes",
    ],
)
def test_a_word_that_begins_like_and_leads_nowhere(question):
    assert not leans(question)


@pytest.mark.parametrize(
    "question",
    ["By the way, how are the cyclones formed?", "참, 회의실은 어떻게 되나요?", "ところで、食堂の時間は?"],
)
def test_where_the_subject_changes_only_a_pronoun_leans(question):
    assert not leans(question)


@pytest.mark.parametrize(
    "question",
    [
        "Could you break that down?",
        "Why is that a problem?",
        "Any cures for it?",
        "담당자는 누구야?",
        "担当者は誰ですか?",
    ],
)
def test_what_stands_for_something_or_belongs_to_something_unsaid_leans(question):
    assert leans(question)


@pytest.mark.parametrize(
    ("question", "does"),
    [
        ("Who won the world cup in 2018?", False),
        ("2018년 월드컵은 누가 우승했어?", False),
        ("2018年のW杯は誰が勝った?", False),
        ("Who won in 2018?", True),
        ("Who won the gold medal in 2018?", True),
        ("Who became club president in 2018?", True),
        ("2018년에는 누가 이겼어?", True),
    ],
)
def test_who_did_what_and_when_leans_only_where_the_what_is_not_all_there(question, does):
    assert leans(question) == does


@pytest.mark.parametrize(
    "question", ["도서관 운영 시간은 어떻게 되나요?", "Is it true that bees sleep at night?"]
)
def test_a_subject_with_what_has_it_stands_alone(question):
    assert not leans(question)


def test_the_last_answer_is_the_newest_one():
    history = [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"), ("user", "e")]
    assert last_answer(history) == "d"
    assert last_answer(history[:1]) == ""


@given(st.text(st.sampled_from("더 좀해설명예를왜もっと詳しくtell me more,oh wow.?네요です"), max_size=400))
def test_any_text_is_judged_and_what_asks_for_more_leans(text):
    assert leans(text) or not goes_on(text)
