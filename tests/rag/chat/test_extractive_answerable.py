from dataclasses import replace

import pytest

from rag.chat.extractive import decide
from rag.passage import Found, Passage

TEXT = "The castle of Aldenburg was built in 1432 by masons from Brunn. Its moat is nine metres deep."
KOREAN = "알덴부르크 성은 1432년에 석공들이 지었다. 해자의 깊이는 9미터이다."
JAPANESE = "アルデンブルク城は1432年に石工たちが建てた。堀の深さは9メートルである。"


def passage(text: str, **found: Found) -> Passage:
    return replace(Passage("c", "d", "made.txt", "", None, "", 0, len(text), text), found_by=found)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When was the castle of Aldenburg built?", TEXT),
        ("알덴부르크 성은 언제 지었나요?", KOREAN),
        ("アルデンブルク城はいつ建てられましたか。", JAPANESE),
    ],
)
def test_what_a_sentence_speaks_of_seems_answered(question: str, text: str):
    assert decide(question, [passage("Cats sleep." if text == TEXT else text), passage(text)]).answered


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which team won the football cup in Norway last year?", TEXT),
        ("작년에 노르웨이 축구컵에서 어느 팀이 우승했나요?", KOREAN),
        ("昨年ノルウェーのサッカー杯で優勝したチームはどこですか。", JAPANESE),
    ],
)
def test_what_no_sentence_speaks_of_does_not(question: str, text: str):
    assert not decide(question, [passage(text)]).answered


def test_rare_words_count_most():
    question = "Who owns the castle Grauwald?"
    rare = decide(question, [passage(TEXT)], lambda word: 9.0 if word == "grauwald" else 1.0)
    common = decide(question, [passage(TEXT)], lambda _: 1.0)
    assert rare.score < common.score


def test_meaning_counts_where_its_middle_is_known():
    near = passage(TEXT, similarity=Found(1, 0.95, 1.0))
    question = "When was the castle constructed?"
    assert decide(question, [near], middle=0.85).score == pytest.approx(decide(question, [near]).score + 0.1)


def test_across_languages_words_decide_nothing():
    assert decide("성은 언제 지었나요?", [passage(TEXT)]).answered


def test_a_passage_in_another_language_excuses_only_when_it_is_the_nearest():
    question = "Which team won the football cup in Norway last year?"
    own, other = passage(TEXT, similarity=Found(1, 0.84, 1.0)), passage(KOREAN, similarity=Found(2, 0.8, 0.9))
    assert not decide(question, [own, other]).answered
    nearest = passage(KOREAN, similarity=Found(1, 0.9, 1.0))
    assert decide(question, [own, nearest]).answered
    assert not decide(question, [passage(TEXT), passage(KOREAN)]).answered  # searched by words alone


def test_no_passage_answers_nothing():
    assert not decide("When was it built?", []).answered
