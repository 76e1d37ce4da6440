"""Labelled lines one under the other are statements of their own, each on its line."""

import pytest

from rag.text.labels import label_of
from rag.text.sentences import sentences

CARDS = {
    "en": "Date: 12 May, 10:00 to 11:30\nPresent: Ann Lee (chair),\nTom Roe\nExcused: Mia Kim",
    "ko": "일시: 5월 12일 10:00\n참석: 이안나(의장),\n노토마\n불참: 김미아",
    "ja": "日時：5月12日 10:00\n出席：山本（議長）、\n佐藤\n欠席：木村",
}


@pytest.mark.parametrize("language", CARDS)
def test_each_labelled_line_is_a_sentence_with_the_lines_that_it_runs_on_over(language: str) -> None:
    text = CARDS[language]
    date, present, goes_on, excused = text.split("\n")
    assert [text[slice(*span)] for span in sentences(text)] == [date, f"{present}\n{goes_on}", excused]


@pytest.mark.parametrize(
    "text",
    [
        "We met in the hall with one aim: to agree\non this: nobody pays more.",
        "Date: see the notice at\nhttps://example.org/dates",
    ],
)
def test_a_line_of_prose_goes_on_over_a_colon(text: str) -> None:
    assert [text[slice(*span)] for span in sentences(text)] == [text]


@pytest.mark.parametrize("part", [" ", "*", " *", "x ", "- "])
def test_a_long_line_of_marks_takes_no_time(part: str) -> None:
    assert label_of(part * 100_000) == ""
