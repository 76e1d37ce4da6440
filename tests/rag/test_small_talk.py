import pytest

from rag.small_talk import assents, is_small_talk
from tests.rag.followup_turns import OFFER, STATEMENT, turns

ASSENTS = [(code, turn) for code in OFFER for turn in turns(code) if turn.kind == "assent"]
POLITE = [turn.text for code in OFFER for turn in turns(code) if turn.kind in ("greeting", "acknowledgement")]


@pytest.mark.parametrize(
    "text",
    [
        *POLITE,
        "that's helpful, thanks",
        "ok, noted",
        "Howdy",
        "Much appreciated!",
        "All right, thanks",
        "잘 자",
        "やあ",
        "おやすみなさい",
        "わかった、ありがとう",
    ],
)
def test_greetings_thanks_and_acknowledgements_ask_nothing(text):
    assert is_small_talk(text)
    assert not assents(text, STATEMENT["en"])


@pytest.mark.parametrize(("code", "turn"), ASSENTS, ids=lambda value: getattr(value, "text", value))
def test_assent_asks_for_what_was_offered(code, turn):
    assert assents(turn.text, OFFER[code])


@pytest.mark.parametrize("round_", [1, 2, 3])
@pytest.mark.parametrize("code", list(OFFER))
def test_nine_in_ten_greetings_ask_nothing_and_no_question_is_one(code, round_):
    polite = [is_small_talk(t.text) for t in turns(code, round_) if t.kind in ("greeting", "refusal")]
    assert sum(polite) >= 0.9 * len(polite)
    assert not any(is_small_talk(t.text) for t in turns(code, round_) if t.kind in ("standalone", "elliptic"))


@pytest.mark.parametrize("text", ["Yes", "Sure!", "네", "좋아요", "はい", "うん"])
def test_the_same_word_asks_for_nothing_where_nothing_was_offered(text):
    assert not assents(text, STATEMENT["en"])
    assert not assents(text, "")
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text", ["No", "no thanks", "아니요", "괜찮아요", "いいえ", "結構です", "Thanks", "Yes, when?"]
)
def test_a_refusal_thanks_or_a_question_is_no_assent(text):
    assert not any(assents(text, offer) for offer in OFFER.values())


@pytest.mark.parametrize(
    "text",
    [
        "Hello, what is due?",
        "네트워크",
        "예외",
        "예금은 언제 만기인가요?",
        "大丈夫ですか",
        "Nobody",
        "Histology",
    ],
)
def test_what_only_begins_like_small_talk_is_none(text):
    assert not is_small_talk(text)
