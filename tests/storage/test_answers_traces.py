import pytest

from storage.answers import (
    LONGEST_SENT,
    MOST_SENT,
    MOST_UNSEARCHED,
    SentRecord,
    Trace,
    Traces,
)
from storage.conversations import Conversations
from storage.errors import NotFound
from storage.records import Unsearched

ASKED = SentRecord("answer", (("system", "Use only the passages."), ("user", "언제입니까?\n<passage>")))
TRACE = Trace({"retriever": "bm25", "k": 6, "model": None}, (ASKED,), 0, (Unsearched("a.pdf", "refused"),), 1)


@pytest.fixture
def chats(database):
    return Conversations(database, "ann")


@pytest.fixture
def traces(database):
    return Traces(database, "ann")


def finished(chats, trace):
    turn = chats.begin_turn(chats.create().id, "why?")
    chats.finish(turn.answer_id, "complete", "because", trace=trace)
    return turn.answer_id


def test_how_an_answer_was_made_is_read_as_it_was_kept(chats, traces):
    assert traces.get(finished(chats, TRACE)) == TRACE


def test_an_answer_of_which_nothing_was_kept_has_no_trace(chats, traces):
    assert traces.get(finished(chats, None)) is None


def test_what_is_kept_is_bounded_and_what_was_cut_is_counted(chats, traces):
    long = SentRecord("answer", (("user", "x" * (LONGEST_SENT - 10)), ("user", "y" * 25)))
    more = [SentRecord("check", (("user", "z" * 3),))] * MOST_SENT
    files = tuple(Unsearched(f"{number}.pdf", "queued") for number in range(MOST_UNSEARCHED + 5))
    settings = {"model": "m" * 5000}
    kept = traces.get(finished(chats, Trace(settings, (long, *more), 0, files, len(files))))
    assert sum(len(content) for sent in kept.sent for _, content in sent.messages) == LONGEST_SENT
    assert kept.cut == 15 + 3 * MOST_SENT and len(kept.sent) == MOST_SENT
    assert len(kept.unsearched) == MOST_UNSEARCHED and kept.unsearched_count == MOST_UNSEARCHED + 5
    assert len(kept.settings["model"]) == 300


def test_what_no_database_holds_is_replaced(chats, traces):
    odd = Trace(
        {}, (SentRecord("answer", (("user", "a\x00\ud800b"),)),), 0, (Unsearched("\ud800.pdf", "queued"),), 1
    )
    kept = traces.get(finished(chats, odd))
    assert kept.sent[0].messages == (("user", "a\ufffd\ufffdb"),)
    assert kept.unsearched[0].name == "\ufffd.pdf"


def test_an_answer_made_anew_forgets_how_it_was_made_before(chats, traces):
    answer_id = finished(chats, TRACE)
    chats.begin_retry(answer_id)
    assert traces.get(answer_id) is None
    chats.finish(answer_id, "complete", "so", trace=Trace({"k": 3}))
    assert traces.get(answer_id) == Trace({"k": 3})


def test_a_question_has_no_trace_and_a_deleted_chat_leaves_none(database, chats, traces):
    chat = chats.create().id
    turn = chats.begin_turn(chat, "why?")
    chats.finish(turn.answer_id, "complete", "because", trace=TRACE)
    with pytest.raises(NotFound):
        traces.get(turn.question_id)
    chats.delete(chat)
    with pytest.raises(NotFound):
        traces.get(turn.answer_id)
    with database.reading() as session:
        assert session.connection().exec_driver_sql("SELECT count(*) FROM traces").scalar() == 0
