"""Salutations and closings of letters, in three languages, with and without a name."""

import pytest

from rag.chat.letters import is_letter_phrase


@pytest.mark.parametrize(
    "sentence",
    [
        "Dear Ms Vogel,",
        "DEAR ALL",
        "Hi Tom and Ann!",
        "Kind regards,\nHelen Marsh",
        "Yours sincerely",
        "Good morning Dr. Brandt,",
        "안녕하세요, 김 팀장님.",
        "박서연 대리님께",
        "김하늘 드림",
        "お世話になっております。",
        "株式会社ミナト 森田様",
        "何卒よろしくお願い申し上げます。",
    ],
)
def test_a_greeting_or_a_closing_states_nothing(sentence: str):
    assert is_letter_phrase(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Dear guests pay EUR 9.",
        "Hello Harbour opened in 1931.",
        "Regards the lease, it ends in May.",
        "Thanks to Ann Lee the hall is open.",
        "안녕하세요, 서울의 숙박비 한도는 15만원입니다.",
        "김 팀장님이 승인합니다.",
        "森田様の宿泊費は1泊16,000円です。",
        "안녕하세요, 회의는 내일 열립니다.",
        "お疲れ様です、会議は明日開きます。",
        "The hall is open.",
        "",
    ],
)
def test_a_sentence_that_says_more_is_a_statement(sentence: str):
    assert not is_letter_phrase(sentence)
