import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from storage.accounts import People
from storage.audit_log import AuditLog
from storage.conversations import Conversations, delete_discarded, interrupt_pending
from storage.documents import Documents
from storage.errors import AccountClosed, AnswerPending, NotFound
from storage.records import ChunkSpan, CitationRecord, LeftOutRecord, PassageRecord
from storage.tables import MessageRow

FOUND = {"bm25": {"rank": 1, "score": 7.5, "normalised": 1.0}}
PASSAGE = PassageRecord(1, "d-00000", "d", "보고서.pdf", "f" * 64, 2, "Guide", 4, 9, "words", 0.75, FOUND)
PASSAGES = (PASSAGE, replace(PASSAGE, number=2, page=None, heading="", text="日本語", found_by={}))
CITATIONS = (
    CitationRecord(2, 0, 7, "verified", 4, 7, "日本語"),
    CitationRecord(1, 8, 15, "related", 4, 9, "words"),
)


@pytest.fixture
def chats(database):
    return Conversations(database, "ann")


@pytest.fixture
def chat(chats):
    return chats.create("A chat").id


def answered(chats, chat, question="why?", answer="because", title=""):
    turn = chats.begin_turn(chat, question, title=title)
    chats.finish(turn.answer_id, "complete", answer)
    return turn


def test_a_conversation_is_found_again(chats):
    made = chats.create("여행 旅行")
    assert chats.open(made.id) == made
    assert chats.list() == [made]
    assert made.created == made.updated
    assert chats.messages(made.id) == []


def test_a_conversation_is_renamed_and_deleted(chats, chat):
    chats.rename(chat, "Another name")
    assert chats.open(chat).title == "Another name"
    turn = answered(chats, chat)
    chats.delete(chat)
    assert chats.list() == []
    for action in (chats.open, chats.delete, chats.messages):
        with pytest.raises(NotFound, match=chat):
            action(chat)
    with pytest.raises(NotFound):
        chats.message(turn.question_id)


def test_a_conversation_is_being_answered_until_its_answer_has_ended(chats, chat):
    answered(chats, chats.create("Another").id)
    assert chats.being_answered() == set()
    turn = chats.begin_turn(chat, "why?")
    assert chats.being_answered() == {chat}
    chats.finish(turn.answer_id, "stopped", "because")
    assert chats.being_answered() == set()


def test_the_last_used_conversation_comes_first(chats):
    first, second = chats.create("first").id, chats.create("second").id
    assert [chat.id for chat in chats.list()] == [second, first]
    answered(chats, first)
    assert [chat.id for chat in chats.list()] == [first, second]
    chats.rename(second, "renamed")
    assert [chat.id for chat in chats.list()] == [first, second]


def test_a_question_is_kept_with_its_empty_answer(chats, chat):
    turn = chats.begin_turn(chat, "무엇입니까?")
    question, answer = chats.messages(chat)
    assert (question.id, question.role, question.content) == (turn.question_id, "user", "무엇입니까?")
    assert (question.state, question.question_id) == ("complete", None)
    assert (answer.id, answer.role, answer.content) == (turn.answer_id, "assistant", "")
    assert (answer.state, answer.question_id) == ("pending", turn.question_id)
    assert turn.conversation_id == chat


def test_a_first_question_names_its_conversation_and_no_later_one_does(chats):
    chat = chats.create().id
    answered(chats, chat, title="Walls")
    answered(chats, chat, title="Gates")
    assert chats.open(chat).title == "Walls"
    assert [found.id for found in chats.list("walls")] == [chat] and not chats.list("gates")


def test_a_turn_is_read_by_its_answer_as_it_was_when_it_began(chats, chat):
    opening = chats.begin_turn(chat, "無いか?\0")
    assert (opening.question.content, opening.answer.state) == ("無いか?\ufffd", "pending")
    assert chats.turn(opening.answer_id) == opening and opening.follows is None
    chats.finish(opening.answer_id, "complete", "無い。")
    following = chats.begin_turn(chat, "why?")
    assert chats.turn(following.answer_id) == following and following.follows == opening.answer_id
    with pytest.raises(NotFound):
        chats.turn(following.question_id)


def test_who_is_being_removed_begins_no_more_turns(database, chats, chat):
    answered = chats.begin_turn(chat, "first?")
    chats.finish(answered.answer_id, "stopped", "It")
    People(database).mark("ann")
    for begin in (
        lambda: chats.begin_turn(chat, "second?"),
        lambda: chats.begin_version(answered.question_id, "otherwise?"),
        lambda: chats.begin_retry(answered.answer_id),
        lambda: chats.begin_continuation(answered.answer_id),
    ):
        with pytest.raises(AccountClosed):
            begin()
    assert len(chats.messages(chat)) == 2 and chats.pending(chat) is None


def test_one_answer_at_a_time(chats, chat):
    turn = chats.begin_turn(chat, "first?")
    with pytest.raises(AnswerPending, match="Still answering"):
        chats.begin_turn(chat, "second?")
    with pytest.raises(AnswerPending):
        chats.begin_retry(turn.answer_id)
    assert len(chats.messages(chat)) == 2
    assert chats.begin_turn(chats.create("another").id, "meanwhile?")
    chats.finish(turn.answer_id, "stopped", "")
    chats.begin_turn(chat, "second?")


def test_of_questions_asked_at_once_one_is_taken_and_the_others_are_told(chats, chat):
    def ask(number):
        try:
            return chats.begin_turn(chat, f"{number}?")
        except AnswerPending:
            return None

    with ThreadPoolExecutor(8) as pool:
        turns = [turn for turn in pool.map(ask, range(8)) if turn]
    assert len(turns) == 1
    assert len(chats.messages(chat)) == 2


def test_a_checkpoint_keeps_what_there_is_so_far(chats, chat):
    turn = chats.begin_turn(chat, "and the second?")
    chats.checkpoint(turn.answer_id, "", standalone_question="What is the second?", passages=PASSAGES)
    chats.checkpoint(turn.answer_id, "It is")
    answer = chats.message(turn.answer_id)
    assert (answer.content, answer.state) == ("It is", "pending")
    assert answer.standalone_question == "What is the second?"
    assert answer.passages == PASSAGES
    chats.checkpoint(turn.answer_id, "It is", passages=PASSAGES[:1])
    assert chats.message(turn.answer_id).passages == PASSAGES[:1]


def test_a_finished_answer_has_its_evidence_in_order(chats, chat):
    turn = chats.begin_turn(chat, "why?")
    chats.checkpoint(turn.answer_id, "", passages=PASSAGES)
    timings = {"retrieval": 12.5, "answer": 800.0}
    chats.finish(turn.answer_id, "complete", "すべて", citations=CITATIONS, model="m", timings_ms=timings)
    answer = chats.messages(chat)[1]
    assert (answer.content, answer.state, answer.model, answer.error) == ("すべて", "complete", "m", None)
    assert answer.passages == PASSAGES
    assert answer.citations == CITATIONS
    assert answer.timings_ms == timings
    assert chats.message(turn.answer_id) == answer


@pytest.mark.parametrize("state", ["complete", "stopped", "failed", "interrupted"])
def test_an_answer_ends_once(chats, chat, state):
    turn = chats.begin_turn(chat, "why?")
    chats.finish(turn.answer_id, state, "first", citations=CITATIONS, error="The server is down.")
    before = chats.message(turn.answer_id)
    chats.finish(turn.answer_id, "failed", "second", error="Another.")
    chats.checkpoint(turn.answer_id, "third", passages=PASSAGES)
    assert chats.message(turn.answer_id) == before
    assert before.error == "The server is down."


def test_a_deleted_conversation_stays_deleted_when_its_answer_ends(chats, chat):
    turn = chats.begin_turn(chat, "why?")
    chats.delete(chat)
    for end in (chats.checkpoint, lambda *answer: chats.finish(answer[0], "complete", answer[1])):
        with pytest.raises(NotFound):
            end(turn.answer_id, "because")
    assert chats.list() == []


def test_a_discarded_conversation_is_found_by_nothing_until_it_is_restored(database, chats, chat):
    chats.rename(chat, "Harbour")
    turn = answered(chats, chat)
    chats.rate(turn.answer_id, "up")
    messages = chats.messages(chat)
    chats.discard(chat)
    assert chats.list() == chats.list("harbour") == [] and chats.rated("up") == []
    for action in (chats.open, chats.discard, chats.messages, chats.pending):
        with pytest.raises(NotFound, match=chat):
            action(chat)
    with pytest.raises(NotFound):
        chats.message(turn.answer_id)
    assert Conversations(database, "someone else").discarded() == []
    assert [(one.id, one.title) for one in chats.discarded()] == [(chat, "Harbour")]
    chats.restore(chat)
    assert chats.messages(chat) == messages and chats.discarded() == []
    kinds = [entry.kind for entry in AuditLog(database, "ann").list()]
    assert kinds == ["chat_restored", "chat_discarded"]


def test_a_discarded_conversation_is_restored_or_deleted_by_its_owner_alone(database, chats, chat):
    chats.discard(chat)
    other = Conversations(database, "someone else")
    for action in (other.restore, other.delete):
        with pytest.raises(NotFound, match=chat):
            action(chat)
    chats.delete(chat)
    assert chats.discarded() == []
    with pytest.raises(NotFound):
        chats.restore(chat)


def test_the_answer_of_a_discarded_conversation_is_interrupted_with_its_text(chats, chat):
    turn = chats.begin_turn(chat, "why?")
    chats.checkpoint(turn.answer_id, "because")
    chats.discard(chat)
    with pytest.raises(NotFound):
        chats.finish(turn.answer_id, "complete", "because it is")
    assert chats.being_answered() == frozenset()
    chats.restore(chat)
    ended = chats.message(turn.answer_id)
    assert (ended.state, ended.content) == ("interrupted", "because")
    chats.begin_continuation(turn.answer_id)


def test_what_was_discarded_some_days_ago_is_deleted(database, chats, chat):
    kept = chats.create("Kept").id
    turn = answered(chats, chat)
    chats.discard(chat)
    (discarded,) = chats.discarded()
    assert delete_discarded(database, moment=discarded.until - timedelta(seconds=1)) == 0
    assert delete_discarded(database, moment=discarded.until + timedelta(seconds=1)) == 1
    assert chats.discarded() == [] and [one.id for one in chats.list()] == [kept]
    with database.reading() as session:
        assert session.get(MessageRow, turn.answer_id) is None


def test_a_question_is_no_answer(chats, chat):
    turn = answered(chats, chat)
    with pytest.raises(NotFound):
        chats.begin_retry(turn.question_id)
    with pytest.raises(NotFound):
        chats.finish(turn.question_id, "complete", "because")


def test_a_retry_empties_the_answer_and_keeps_its_place(chats, chat):
    turn = chats.begin_turn(chat, "why?")
    chats.checkpoint(turn.answer_id, "bec", standalone_question="Why so?", passages=PASSAGES)
    chats.finish(turn.answer_id, "failed", "bec", citations=CITATIONS, model="m", error="It broke off.")
    answered(chats, chat, "next?")
    assert chats.begin_retry(turn.answer_id) == turn
    retried = chats.messages(chat)[1]
    assert retried.id == turn.answer_id
    assert (retried.content, retried.state, retried.question_id) == ("", "pending", turn.question_id)
    assert (retried.standalone_question, retried.model, retried.error) == (None, None, None)
    assert (retried.passages, retried.citations, retried.timings_ms) == ((), (), {})
    with pytest.raises(AnswerPending):
        chats.begin_turn(chat, "meanwhile?")
    chats.finish(turn.answer_id, "complete", "because")
    assert [message.content for message in chats.messages(chat)] == ["why?", "because", "next?", "because"]


def test_an_answer_is_rated_until_it_is_made_anew(chats, chat):
    turn = answered(chats, chat)
    for rating in ("up", "down", None, "up"):
        chats.rate(turn.answer_id, rating)
        assert chats.message(turn.answer_id).rating == rating
    with pytest.raises(NotFound):
        chats.rate(turn.question_id, "up")
    chats.begin_retry(turn.answer_id)
    assert chats.message(turn.answer_id).rating is None


def test_rated_answers_of_all_conversations_come_newest_first(chats, chat):
    turns = [answered(chats, chat), answered(chats, chats.create().id), answered(chats, chat)]
    for turn, rating in zip(turns, ("up", "up", "down"), strict=True):
        chats.rate(turn.answer_id, rating)
    assert [message.id for message in chats.rated("up")] == [turns[1].answer_id, turns[0].answer_id]
    assert [message.id for message in chats.rated("up", limit=1)] == [turns[1].answer_id]


def test_what_was_left_out_of_the_search_is_kept_with_the_answer(chats, chat):
    gaps = [LeftOutRecord("similarity", "No model.\ud800"), LeftOutRecord("bm25", "x" * 1000)]
    turn = chats.begin_turn(chat, "why?")
    assert chats.message(turn.answer_id).left_out == ()
    chats.checkpoint(turn.answer_id, "be", left_out=gaps[:1])
    assert chats.message(turn.answer_id).left_out[0].what == "similarity"
    chats.checkpoint(turn.answer_id, "bec")
    chats.finish(turn.answer_id, "complete", "because")
    assert len(chats.message(turn.answer_id).left_out) == 1
    turn = chats.begin_turn(chat, "why?")
    chats.checkpoint(turn.answer_id, "because", left_out=gaps)
    chats.finish(turn.answer_id, "complete", "because")
    kept = chats.message(turn.answer_id).left_out
    assert [part.what for part in kept] == ["similarity", "bm25"]
    assert kept[0].reason == "No model.\ufffd"
    assert len(kept[1].reason) == 500


def test_at_the_start_pending_answers_of_everyone_become_interrupted(database, chats, chat):
    turn = chats.begin_turn(chat, "why?")
    chats.checkpoint(turn.answer_id, "It is bec", passages=PASSAGES)
    others = Conversations(database, "bob")
    others.begin_turn(others.create().id, "how?")
    answered(chats, chats.create().id)
    assert interrupt_pending(database) == 2
    assert interrupt_pending(database) == 0
    answer = chats.message(turn.answer_id)
    assert (answer.state, answer.content, answer.passages) == ("interrupted", "It is bec", PASSAGES)
    assert [found.id for found in chats.list("bec so")] == []
    assert [found.id for found in chats.list("is bec")] == [chat]
    assert chats.begin_retry(turn.answer_id) == turn


def test_messages_come_a_page_at_a_time_oldest_first(chats, chat):
    for number in range(10):
        answered(chats, chat, f"q{number}", f"a{number}")
    every = [word for number in range(10) for word in (f"q{number}", f"a{number}")]
    assert [message.content for message in chats.messages(chat)] == every
    newest = chats.messages(chat, limit=6)
    assert [message.content for message in newest] == every[-6:]
    before = chats.messages(chat, before=newest[0].id, limit=6)
    assert [message.content for message in before] == every[-12:-6]
    assert chats.messages(chat, before=chats.messages(chat)[0].id) == []
    with pytest.raises(NotFound):
        chats.messages(chat, before="nobody's")


def test_evidence_outlives_its_document(database, chats, chat):
    documents = Documents(database, "ann")
    record, _ = documents.add("보고서.pdf", "f" * 64, 1)
    documents.save_chunks(record.id, "the words stand here", [], [ChunkSpan(0, 20)])
    passage = replace(PASSAGE, document_id=record.id, chunk_id=f"{record.id}-00000")
    turn = chats.begin_turn(chat, "why?")
    chats.checkpoint(turn.answer_id, "", passages=[passage])
    chats.finish(turn.answer_id, "complete", "because [1]", citations=CITATIONS)
    before = chats.message(turn.answer_id)
    documents.delete(record.id)
    assert chats.message(turn.answer_id) == before
    assert before.passages == (passage,)
    assert before.citations == CITATIONS


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("quarterly", ["en"]),
        ("QUARTER", ["en"]),
        ("report grew", ["en"]),
        ("grew shrank", []),
        ("매출", ["ko"]),
        ("출은", ["ko"]),
        (unicodedata.normalize("NFD", "매출"), ["ko"]),
        ("売上", ["ja"]),
        ("ガイド", ["ja"]),
        ("ｶﾞｲﾄﾞ", ["ja"]),
        ("100%", ["en"]),
        ("0%_", []),
        ("_", []),
        ("\\", ["ja"]),
        ("straße", ["de"]),
        ("STRASSE", ["de"]),
        ("' OR 1=1 --", []),
        ("", ["de", "ja", "ko", "en"]),
        ("  ", ["de", "ja", "ko", "en"]),
        ("\x00", []),
        ("\ud800", []),
    ],
)
def test_search_finds_any_part_of_titles_and_messages_in_every_script(chats, search, found):
    said = {
        "en": ("Quarterly report", "Revenue grew by 100%."),
        "ko": ("분기 보고서", "매출은 얼마입니까?"),
        "ja": ("ガイド", "売上高は C:\\data にある。"),
        "de": ("Straße", "Größe"),
    }
    names = {}
    for name, (title, words) in said.items():
        made = chats.create(title)
        answered(chats, made.id, "?", words)
        names[made.id] = name
    assert [names[chat.id] for chat in chats.list(search)] == found


@pytest.mark.parametrize("words", ["a\x00b", "\ud800", "x" * 1_000_000, "<script>", "\u202eabc", "👩‍👩‍👧"])
def test_any_question_is_kept(chats, chat, words):
    turn = chats.begin_turn(chat, words)
    kept = chats.message(turn.question_id).content
    assert len(kept) == len(words)
    assert kept == words.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    chats.checkpoint(turn.answer_id, words, passages=[replace(PASSAGE, text=words, document=words)])
    chats.finish(turn.answer_id, "failed", words, error=words)
