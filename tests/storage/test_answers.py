from dataclasses import replace

import pytest

from storage.answers import Feedback
from storage.conversations import Conversations
from storage.errors import NotFound
from storage.records import CitationRecord

CITATIONS = (
    CitationRecord(1, 0, 7, "verified", 4, 7, "日本語"),
    CitationRecord(2, 8, 15, "related", 4, 9, "words"),
)


@pytest.fixture
def chats(database):
    return Conversations(database, "ann")


@pytest.fixture
def feedback(database):
    return Feedback(database, "ann")


def answered(chats, state="complete"):
    turn = chats.begin_turn(chats.create().id, "why?")
    chats.finish(turn.answer_id, state, "because [1]", citations=CITATIONS)
    return turn.answer_id


def test_a_citation_is_marked_and_the_mark_taken_back(chats, feedback):
    answer_id = answered(chats)
    feedback.mark(answer_id, 1, "wrong")
    assert chats.message(answer_id).citations == (CITATIONS[0], replace(CITATIONS[1], feedback="wrong"))
    feedback.mark(answer_id, 1, None)
    assert chats.message(answer_id).citations == CITATIONS


@pytest.mark.parametrize("position", [-1, 2])
def test_a_citation_that_is_not_there_cannot_be_marked(chats, feedback, position):
    with pytest.raises(NotFound, match="no citation"):
        feedback.mark(answered(chats), position, "wrong")


def test_why_an_answer_is_not_helpful_is_kept_with_the_rating_and_goes_with_it(chats, feedback):
    answer_id = answered(chats)
    feedback.explain(answer_id, "other", f"  {'가' * 501}")
    kept = chats.message(answer_id)
    assert (kept.rating, kept.rating_reason, kept.rating_note) == ("down", "other", "가" * 500)
    feedback.explain(answer_id, "incomplete")
    kept = chats.message(answer_id)
    assert (kept.rating, kept.rating_reason, kept.rating_note) == ("down", "incomplete", None)
    chats.rate(answer_id, "up")
    kept = chats.message(answer_id)
    assert (kept.rating, kept.rating_reason, kept.rating_note) == ("up", None, None)


def test_an_answer_made_anew_has_no_reason(chats, feedback):
    answer_id = answered(chats, "stopped")
    feedback.explain(answer_id, "wrong", "so it is")
    chats.begin_retry(answer_id)
    kept = chats.message(answer_id)
    assert (kept.rating, kept.rating_reason, kept.rating_note) == (None, None, None)


def test_answers_with_any_word_of_the_reader_are_listed_newest_first(chats, feedback):
    answered(chats)
    marked, rated, stopped = answered(chats), answered(chats), answered(chats, "stopped")
    feedback.mark(marked, 0, "wrong")
    feedback.mark(stopped, 0, "wrong")
    chats.rate(rated, "down")
    assert [message.id for message in feedback.answers()] == [rated, marked]
    assert [message.id for message in feedback.answers(limit=1)] == [rated]


def test_an_answer_made_anew_has_no_marks(chats, feedback):
    answer_id = answered(chats)
    feedback.mark(answer_id, 0, "wrong")
    chats.begin_retry(answer_id)
    chats.finish(answer_id, "complete", "because [1]", citations=CITATIONS)
    assert chats.message(answer_id).citations == CITATIONS and feedback.answers() == []
