import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.chat.small_talk import (
    LANGUAGES,
    MAX_NAMES,
    accepts_offer,
    is_continuation,
    is_small_talk,
    nothing_to_search,
    phrase_file,
    reply_to,
)

OFFERS = {
    "en": "The lease ends in May [1]. Shall I list the conditions?",
    "ko": "계약은 5월에 끝납니다 [1]. 조건도 알려 드릴까요?",
    "ja": "契約は5月に終わります[1]。条件も一覧にしましょうか?",
}
STATEMENT = "The lease ends in May [1]."


@pytest.mark.parametrize(
    ("message", "code", "kind"),
    [
        ("Hi!", "en", "greeting"),
        ("  THANK you, very much!! ", "en", "thanks"),
        ("Ok, thanks. Bye", "en", "thanks"),
        ("I see.", "en", "other"),
        ("안녕하세요!", "ko", "greeting"),
        ("네, 감사합니다.", "ko", "thanks"),
        ("こんにちは。", "ja", "greeting"),
        ("なるほど、ありがとうございます", "ja", "thanks"),
        ("Hello! What can you do?", "en", "capabilities"),
        ("무엇을 할 수 있나요?", "ko", "capabilities"),
        ("何ができますか?", "ja", "capabilities"),
    ],
)
def test_small_talk_is_answered_in_its_language(message: str, code: str, kind: str):
    assert reply_to(message) == phrase_file(code)["replies"][kind]


@pytest.mark.parametrize(
    "question", ["Which documents do I have?", "어떤 문서가 있나요?", "どんな文書がありますか?"]
)
def test_the_documents_are_listed(question: str):
    reply = reply_to(question, documents=lambda: ["lease.pdf", "rent\n2024.xlsx"])
    assert reply is not None and reply.split("\n")[2:] == ["- lease.pdf", "- rent 2024.xlsx"]
    assert "2" in reply.split("\n")[0]


def test_the_documents_that_a_chat_searches_are_not_called_all():
    reply = reply_to("Which documents do I have?", documents=lambda: ["lease.pdf"], chosen=True)
    assert reply == "Documents that this chat searches (1):\n\n- lease.pdf"


def test_of_many_documents_the_others_are_counted():
    reply = reply_to("List my documents", documents=lambda: [f"{at}.txt" for at in range(MAX_NAMES + 3)])
    assert reply is not None and reply.endswith(f"- {MAX_NAMES - 1}.txt\n- and 3 more")


def test_without_documents_the_reason_is_told():
    asked = "Which documents do I have?"
    assert reply_to(asked, status=lambda: "empty") == nothing_to_search("When?", "empty")
    assert nothing_to_search("When?", "filled") is None
    assert reply_to(asked) is not None, "it is no search even where nobody knows the documents"


@pytest.mark.parametrize(
    "question",
    [
        "Thanks, what is OAuth?",
        "Hello, what is due?",
        "What can you do about rust on a bridge?",
        "Which documents do I have to sign?",
        "History",
        "네트워크",
        "예금은 언제 만기인가요?",
        "네, 그럼 환불은?",
        "大丈夫な温度は何度ですか",
        "はい、では費用は?",
        "?!",
        "",
        *("Question?", "R", "부", "時"),
    ],
)
def test_a_question_is_no_small_talk(question: str):
    assert reply_to(question) is None and not is_small_talk(question)


@pytest.mark.parametrize(
    "message",
    [
        "Tell me more",
        "why?",
        "Thanks! Tell me more.",
        "더 자세히 알려줘",
        "왜요?",
        "もっと詳しく",
        "なぜですか?",
    ],
)
def test_a_continuation_is_searched_and_goes_on(message: str):
    assert is_continuation(message) and reply_to(message) is None


@pytest.mark.parametrize(
    "message", ["Tell me more about glaciers", "Why did it close?", "왜 문을 닫았나요?", "Thanks"]
)
def test_a_message_that_asks_for_something_is_no_continuation(message: str):
    assert not is_continuation(message)


@pytest.mark.parametrize(("code", "yes"), [("en", "Yes"), ("en", "Sure!"), ("ko", "네"), ("ja", "はい")])
def test_assent_takes_up_an_offer_and_nothing_else(code: str, yes: str):
    assert accepts_offer(yes, OFFERS[code])
    assert not accepts_offer(yes, STATEMENT) and not accepts_offer(yes, "")


@pytest.mark.parametrize("request_", ["Please do", "Yes, go ahead", "네, 부탁해요", "はい、お願いします"])
def test_a_request_needs_no_offer(request_: str):
    assert accepts_offer(request_, STATEMENT)


@pytest.mark.parametrize(
    "message", ["No", "no thanks", "아니요", "いいえ、結構です", "Yes, when?", "Thanks", ""]
)
def test_a_refusal_or_a_question_accepts_nothing(message: str):
    assert not any(accepts_offer(message, offer) for offer in OFFERS.values())


def test_every_language_has_the_same_lists_and_replies():
    english = phrase_file("en")
    for code in LANGUAGES:
        assert phrase_file(code).keys() == english.keys()
        assert phrase_file(code)["replies"].keys() == english["replies"].keys()


@given(st.text(max_size=200))
def test_any_text_is_taken(text: str):
    reply_to(text)
    accepts_offer(text, text)
