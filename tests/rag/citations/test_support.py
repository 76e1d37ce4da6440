from dataclasses import replace

import pytest

from rag.chat.extractive import DOUBTFUL, NOT_FOUND
from rag.citations.support import (
    Backing,
    backing,
    declines,
    found_nothing,
    place_and_heading,
    rests_on_nothing,
    statements,
)
from storage.records import CitationRecord, Message, PassageRecord

PASSAGE = PassageRecord(1, "d-0", "d", "a.pdf", "f" * 64, None, "", 0, 5, "words", 1.0)


def cited(start: int, status: str, marker: int = 1) -> CitationRecord:
    return CitationRecord(marker, start, start + 5, status, 0, 5, "words")


def answer(content: str = "word " * 20, citations: tuple = (), passages: tuple = (PASSAGE,)) -> Message:
    timings = {"retrieve": 1.0, "total": 2.0}
    return Message(
        "a1", "assistant", content, "complete", "q1", None, "fake", None, timings, None, passages, citations
    )


def test_the_place_of_a_row_is_its_sheet_and_not_the_header_of_its_table():
    row = replace(PASSAGE, document="bikes.xlsx", heading="Bikes > Bike no. | Model | Type")
    assert str(place_and_heading(row)) == "bikes.xlsx, Bikes"
    assert str(place_and_heading(replace(row, heading="Bike no. | Model"))) == "bikes.xlsx"


def test_a_statement_with_several_citations_counts_once_by_its_best():
    citations = (cited(0, "related"), cited(0, "verified"), cited(5, "unsupported", 0), cited(10, "related"))
    assert [one.status for one in statements(answer(citations=citations))] == [
        "verified",
        "unsupported",
        "related",
    ]
    assert backing(answer(citations=citations)) == Backing(1, 3)
    assert backing(replace(answer(citations=citations), model=None)) is None


@pytest.mark.parametrize(
    ("backed", "total", "said"),
    [
        (7, 8, "7 of 8 statements verified"),
        (0, 8, "0 of 8 statements verified"),
        (1, 1, "1 of 1 statement verified"),
    ],
)
def test_the_count_is_said_in_words_that_fit(backed: int, total: int, said: str):
    assert Backing(backed, total).sentence == said


def test_nothing_is_counted_where_nothing_is_stated_or_no_document_was_read():
    assert backing(answer()) is None
    assert backing(answer(citations=(cited(0, "unsupported", 0),), passages=())) is None


def test_a_sentence_that_only_declines_states_nothing():
    text = "The documents do not say."
    declined = CitationRecord(0, 0, len(text), "unsupported", 0, 0, "")
    assert backing(answer(text, (declined,))) is None
    assert backing(answer(text, (CitationRecord(1, 0, len(text), "verified", 0, 5, "words"),))) == Backing(
        1, 1
    )


def test_the_header_of_a_table_states_nothing():
    text = "| Crane | Lifts |\n|---|---|\n| Kobe | 80 tonnes [1] |\n"
    citations = (
        CitationRecord(0, 2, 15, "unsupported", 0, 0, ""),
        CitationRecord(1, 30, 50, "verified", 0, 5, "words"),
    )
    assert [one.status for one in statements(answer(text, citations))] == ["verified"]


def test_only_an_answer_that_was_looked_for_can_have_found_nothing():
    assert found_nothing(answer()) and rests_on_nothing("", ())
    assert not found_nothing(answer(citations=(cited(0, "related"),)))
    greeting = Message("a", "assistant", "Hello.", "complete", "q", None, None, None, {"total": 0.1}, None)
    assert not found_nothing(greeting)


@pytest.mark.parametrize("lead", DOUBTFUL.values(), ids=DOUBTFUL)
def test_an_answer_that_doubts_itself_is_not_counted_and_has_found_nothing(lead: str):
    text = f"{lead}\n\nThe moat is deep. [1]"
    quoted = CitationRecord(1, len(lead) + 2, len(text), "verified", 0, 5, "words")
    assert backing(answer(text, (quoted,))) is None and found_nothing(answer(text, (quoted,)))
    plain = CitationRecord(1, 0, 21, "verified", 0, 5, "words")
    assert backing(answer(text[len(lead) + 2 :], (plain,))) == Backing(1, 1)


@pytest.mark.parametrize(
    "sentence",
    [
        "The documents do not answer this.",
        "The provided passages don't mention the number of moons.",
        "There is no information about this in the documents.",
        "I could not find an answer in the passages.",
        "문서에는 이에 대한 답이 없습니다.",
        *NOT_FOUND.values(),
        "文書には記載がありません。",
    ],
)
def test_sentences_that_decline(sentence: str):
    assert declines(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The harbour does not open on Sundays.",
        "No crane lifts more than 80 tonnes.",
        "Receipts that are not in the office within thirty days are not paid.",
        "The report was written in 2024.",
        "연차 휴가는 다음 해로 넘어가지 않습니다.",
        "残りの休暇は翌年に繰り越されません。",
        "The documents must be signed by the head of department.",
    ],
)
def test_sentences_that_state_something(sentence: str):
    assert not declines(sentence)
