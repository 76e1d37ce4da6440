import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.chat.rewrite import rejection_reason

ENGLISH = [("user", "What is the refund policy of Acme Cloud?"), ("assistant", "Refunds take 14 days [1].")]
KOREAN = [("user", "삼성전자의 2022년 매출은 얼마인가요?"), ("assistant", "매출은 302조 원입니다 [1].")]
JAPANESE = [("user", "トヨタの2022年の売上高はいくらですか?"), ("assistant", "売上高は37兆円です[1]。")]


@pytest.mark.parametrize(
    ("question", "history", "written"),
    [
        ("How long does it take?", ENGLISH, "How long does a refund from Acme Cloud take?"),
        ("Why?", ENGLISH, "Explain why refunds at Acme Cloud take 14 days."),
        ("그럼 영업이익은?", KOREAN, "삼성전자의 2022년 영업이익은 얼마인가요?"),
        ("그 이유는?", KOREAN, "삼성전자의 2022년 매출 이유는 무엇인가요?"),
        ("営業利益は?", JAPANESE, "トヨタの2022年の営業利益はいくらですか?"),
        ("OAuth는?", KOREAN, "OAuth는 무엇인가요?"),
    ],
)
def test_a_rewrite_in_the_words_of_the_conversation_is_sound(question, history, written):
    assert rejection_reason(written, question, history) == ""
    assert rejection_reason(question, question, history) == "", "it may return the question unchanged"


@pytest.mark.parametrize(
    ("question", "history", "written", "reason"),
    [
        ("How long?", ENGLISH, "", "it is empty"),
        ("How long?", ENGLISH, "?!", "it is empty"),
        ("How long?", ENGLISH, "Here it is:\nHow long do refunds take?", "it is more than one line"),
        ("How long?", ENGLISH, "환불은 얼마나 걸리나요?", "it is in another language"),
        ("그건?", KOREAN, "What is the revenue?", "it is in another language"),
        ("OAuth는?", KOREAN, "What is OAuth?", "it is in another language"),
        ("利益は?", JAPANESE, "What is the profit?", "it is in another language"),
        ("How long?", ENGLISH, "How long do the 30 days take?", "it brings in the number 30"),
        ("그럼?", KOREAN, "2021년 매출은 얼마인가요?", "it brings in the number 2021"),
        ("How long?", ENGLISH, "How long does Globex take?", "it names Globex"),
        ("그럼?", KOREAN, "하이닉스의 매출은 얼마인가요?", "it names 하이닉스"),
        ("利益は?", JAPANESE, "ホンダの利益はいくらですか?", "it names ホンダ"),
    ],
)
def test_anything_new_is_rejected_with_the_reason(question, history, written, reason):
    assert rejection_reason(written, question, history).startswith(reason)


SAID = "how long does the refund policy of acme cloud take in days"
words = st.lists(st.sampled_from(SAID.split()), min_size=1)


@given(words)
def test_words_that_were_said_are_never_rejected(said: list[str]):
    assert rejection_reason(" ".join(said), "How long does it take in days?", ENGLISH) == ""


@given(words, st.integers(15, 10**9))
def test_a_number_that_was_not_said_is_always_rejected(said: list[str], number: int):
    assert rejection_reason(f"{' '.join(said)} {number}", "How long?", ENGLISH)


@given(words, st.sampled_from(["Globex", "Zürich", "B52", "iPhone", "NATO"]))
def test_a_name_that_was_not_said_is_always_rejected(said: list[str], name: str):
    assert rejection_reason(f"{' '.join(said)} {name}", "How long?", ENGLISH)


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_is_judged(written: str, question: str):
    rejection_reason(written, question, ENGLISH)
