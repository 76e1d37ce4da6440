from dataclasses import replace

import pytest

from rag.citations.support import place_name, remarks
from storage.records import CitationRecord, Message
from tests.ui.conftest import TEXT, passage
from ui.chat.citations import cited_numbers, links, passage_numbers, resolve, target_of
from ui.components.markdown import safe_answer

FIRST, SECOND = "The harbour handled 4.1 million containers in 2024.", "It employed 1,204 people."
ANSWER = f"{FIRST} [1] {SECOND} [1] Nobody knows more [2]."


def cited(start: int, end: int, quote: str, status: str = "verified", marker: int = 1) -> CitationRecord:
    at = 100 + TEXT.find(quote) if quote else 0
    return CitationRecord(marker, start, end, status, at, at + len(quote), quote)


@pytest.fixture
def message() -> Message:
    first, second = len(FIRST) + 4, len(FIRST) + 4 + len(SECOND) + 5
    return Message(
        id="a1",
        role="assistant",
        content=ANSWER,
        state="complete",
        question_id="q1",
        standalone_question=None,
        model=None,
        error=None,
        timings_ms={},
        created=None,
        passages=(passage(1), passage(2, "Something else.", page=None)),
        citations=(
            cited(0, first, FIRST),
            cited(first + 1, second, SECOND),
            cited(second + 1, len(ANSWER), "", "unsupported", marker=2),
        ),
    )


def test_each_marker_opens_the_words_of_its_own_sentence(message: Message):
    opened = [link for _, link in links(message)]
    assert [link.target for link in opened] == ["a1-0", "a1-1", "a1-2"]
    assert opened[0].hint == f"“{FIRST}” — report.pdf, page 3, Figures"
    assert SECOND in opened[1].hint


def test_a_statement_not_found_in_its_source_opens_the_whole_passage(message: Message):
    assert links(message)[2][1].hint.startswith("“Something else.”")
    evidence = resolve(message, "2")
    assert evidence is not None and not evidence.exact and evidence.quote == "Something else."


def test_a_marker_shows_what_was_verified_and_what_differs_and_nothing_else(message: Message):
    first, *others = message.citations
    written = replace(message, model="fake")
    shown = {
        status: links(replace(written, citations=(replace(first, status=status), *others)))[0][1]
        for status in ("verified", "differs", "related", "unsupported")
    }
    assert [link.sign for link in shown.values()] == ["✓", "≠", "", ""]
    assert shown["verified"].hint.startswith("Verified: “")
    assert shown["differs"].hint.startswith("Differs from the source: “")
    assert shown["related"].hint.startswith("“")


def test_quotes_are_counted_and_a_model_s_sources_are_numbered_as_passages(message: Message):
    assert [link.shown or link.number for _, link in links(message)] == [1, 2, 3]
    written = links(replace(message, model="fake"))
    assert [link.shown or link.number for _, link in written] == [1, 1, 2]
    assert "[1]" in safe_answer(ANSWER, links(message)).replace("\\", "")
    assert "[3]" in safe_answer(ANSWER, links(message)).replace("\\", "")


def test_a_passage_is_called_by_the_numbers_that_the_answer_shows(message: Message):
    assert passage_numbers(message) == {1: "1, 2", 2: "3"}
    assert passage_numbers(replace(message, model="fake")) == {1: "1", 2: "2"}
    first, second, _ = message.citations
    one_quoted = replace(message, content=ANSWER.replace(" [2]", ""), citations=(first, second))
    assert passage_numbers(one_quoted) == {1: "1, 2"}


def test_quotes_of_an_answer_without_a_model_bear_no_sign(message: Message):
    assert {link.sign for _, link in links(message)} == {""}


def test_what_the_source_says_and_calculations_are_said_and_nothing_else(message: Message):
    stated = (("differs", "8,284"), ("related", ""), ("unsupported", ""), ("verified", "2 + 3 = 5"))
    citations = tuple(
        CitationRecord(1, at * 10, at * 10 + 8, status, 0, 0, "", note=note)
        for at, (status, note) in enumerate(stated)
    )
    said = remarks(replace(message, content="A claim.  " * 4, citations=citations))
    assert said == [(8, "Source says: 8,284"), (38, "Calculated: 2 + 3 = 5")]


def test_a_statement_that_one_of_its_sources_says_has_no_note(message: Message):
    citations = (cited(0, 50, FIRST), cited(0, 50, "", "unsupported", marker=2))
    assert remarks(replace(message, citations=citations)) == []


def test_what_is_said_of_a_tables_row_stands_in_its_last_cell(message: Message):
    row = "| Oslo | 95 tonnes [1] |"
    citation = replace(cited(2, len(row), "", "differs"), note="80")
    assert remarks(replace(message, content=row, citations=(citation,)))[0][0] == row.index(" |", 10)


def test_a_marker_without_a_citation_opens_its_passage(message: Message):
    bare = replace(message, citations=())
    assert [link.target for _, link in links(bare)] == ["a1-p1", "a1-p1", "a1-p2"]


def test_a_marker_of_a_passage_that_was_not_given_opens_nothing(message: Message):
    assert links(replace(message, content="So [9].")) == []
    assert cited_numbers(replace(message, content="So [9][1][1].")) == [1]


@pytest.mark.parametrize("place", ["0", "1", "p1", "p2"])
def test_a_target_names_what_it_came_from(message: Message, place: str):
    evidence = resolve(message, place)
    assert evidence is not None
    assert target_of(evidence) == f"a1-{place}"


@pytest.mark.parametrize("place", ["", "9", "p0", "p9", "-1", "x", "p", "p-1", "99999999999999999999", "²"])
def test_a_target_that_names_nothing_is_nothing(message: Message, place: str):
    assert resolve(message, place) is None


def test_a_place_is_named_with_its_page_where_there_is_one(message: Message):
    assert [place_name(found) for found in message.passages] == ["report.pdf, page 3", "report.pdf"]
