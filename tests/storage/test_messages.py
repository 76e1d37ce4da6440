"""A question asked in another way stands beside the first one; what followed each stays with it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.conversations import Conversations
from storage.database import Database
from storage.errors import AnswerPending, NotFound, NotUnfinished
from tests.storage.many import repeat_turn
from tests.storage.test_conversations import CITATIONS, PASSAGES


@pytest.fixture
def chats(database):
    return Conversations(database, "ann")


@pytest.fixture
def chat(chats):
    return chats.create("A chat").id


def ask(chats, chat, question):
    turn = chats.begin_turn(chat, question)
    chats.finish(turn.answer_id, "complete", question.upper())
    return turn


def otherwise(chats, question_id, question, searched=None):
    turn = chats.begin_version(question_id, question, searched=searched)
    chats.finish(turn.answer_id, "complete", question.upper())
    return turn


def shown(chats, chat):
    return [message.content for message in chats.messages(chat)]


def test_a_version_is_shown_in_place_of_the_question_and_of_all_that_followed_it(chats, chat):
    first, second = ask(chats, chat, "a"), ask(chats, chat, "b")
    ask(chats, chat, "c")
    other = otherwise(chats, second.question_id, "b2")
    assert shown(chats, chat) == ["a", "A", "b2", "B2"]
    assert [m.content for m in chats.messages(chat, before=other.question_id)] == ["a", "A"]
    ask(chats, chat, "d")
    assert shown(chats, chat) == ["a", "A", "b2", "B2", "d", "D"]
    both = (second.question_id, other.question_id)
    assert [message.versions for message in chats.messages(chat)] == [(), (), both, (), (), ()]
    chats.show_version(second.question_id)
    assert shown(chats, chat) == ["a", "A", "b", "B", "c", "C"]
    chats.show_version(other.question_id)
    assert shown(chats, chat) == ["a", "A", "b2", "B2", "d", "D"]
    assert chats.messages(chat, limit=3)[0].id == other.answer_id
    assert chats.message(first.question_id).versions == ()


def test_a_version_is_shown_with_the_branch_that_was_read_last(chats, chat):
    first, second = ask(chats, chat, "a"), ask(chats, chat, "b")
    read = ask(chats, chat, "c")
    chats.show_version(second.question_id)
    otherwise(chats, second.question_id, "b2")  # a newer branch below the first version
    otherwise(chats, first.question_id, "a2")
    chats.show_version(first.question_id)
    assert shown(chats, chat) == ["a", "A", "b2", "B2"]
    chats.show_version(first.question_id, second.answer_id)
    assert shown(chats, chat) == ["a", "A", "b", "B", "c", "C"]
    elsewhere = ask(chats, chats.create().id, "elsewhere")
    for unrelated in (elsewhere.answer_id, "gone"):
        chats.show_version(first.question_id, unrelated)
        assert shown(chats, chat) == ["a", "A", "b2", "B2"]
    chats.show_version(first.question_id, read.answer_id)
    assert shown(chats, chat)[-1] == "C"


def test_the_version_with_the_later_questions_is_told(chats, chat):
    first, _second = ask(chats, chat, "a"), ask(chats, chat, "b")
    assert chats.version_that_goes_on(first.question_id) is None
    other = otherwise(chats, first.question_id, "a2")
    assert chats.version_that_goes_on(other.question_id) == first.question_id
    assert chats.version_that_goes_on(first.question_id) is None
    newest = otherwise(chats, first.question_id, "a3")
    chats.show_version(other.question_id)
    ask(chats, chat, "c")
    assert chats.version_that_goes_on(newest.question_id) == other.question_id


def test_the_first_question_has_versions_of_its_own(chats, chat):
    first = ask(chats, chat, "a")
    ask(chats, chat, "b")
    ask(chats, chats.create().id, "elsewhere")
    other = otherwise(chats, first.question_id, "a2")
    assert shown(chats, chat) == ["a2", "A2"]
    assert chats.message(other.question_id).versions == (first.question_id, other.question_id)
    last = ask(chats, chat, "b2")
    assert chats.opening(last.answer_id).content == "a2"
    assert chats.opening(other.question_id).content == "a2"
    chats.show_version(first.question_id)
    assert shown(chats, chat) == ["a", "A", "b", "B"]
    assert chats.opening(chats.messages(chat)[-1].id).content == "a"


def test_what_shall_be_searched_stays_with_the_question(chats, chat):
    first = ask(chats, chat, "and then?")
    other = otherwise(chats, first.question_id, "and then?", searched="What happened in 2024?")
    assert chats.message(other.question_id).standalone_question == "What happened in 2024?"
    chats.begin_retry(other.answer_id)
    assert chats.message(other.question_id).standalone_question == "What happened in 2024?"


def test_no_version_begins_or_is_shown_while_an_answer_is_on_its_way(chats, chat):
    first = ask(chats, chat, "a")
    waiting = chats.begin_version(first.question_id, "a2")
    assert chats.pending(chat) == waiting.answer_id
    with pytest.raises(AnswerPending):
        chats.begin_version(first.question_id, "a3")
    with pytest.raises(AnswerPending):
        chats.show_version(first.question_id)
    chats.finish(waiting.answer_id, "complete", "")
    assert chats.pending(chat) is None
    chats.show_version(first.question_id)


def test_only_questions_have_versions(chats, chat):
    turn = ask(chats, chat, "a")
    with pytest.raises(NotFound):
        chats.begin_version(turn.answer_id, "x")
    with pytest.raises(NotFound):
        chats.show_version(turn.answer_id)


def test_an_answer_that_ended_early_goes_on_with_what_it_has(chats, chat):
    turn = chats.begin_turn(chat, "why?")
    chats.checkpoint(turn.answer_id, "Because", standalone_question="Why so?", passages=PASSAGES)
    chats.finish(turn.answer_id, "stopped", "Because", citations=CITATIONS, model="m")
    again = chats.begin_continuation(turn.answer_id)
    answer = chats.message(turn.answer_id)
    assert (again.question, again.answer) == (turn.question, answer)
    assert (answer.state, answer.content, answer.passages) == ("pending", "Because", PASSAGES)
    assert (answer.standalone_question, answer.citations, answer.model) == ("Why so?", (), None)
    chats.finish(turn.answer_id, "complete", "Because it rained.")
    assert shown(chats, chat) == ["why?", "Because it rained."]


@pytest.mark.parametrize(("state", "content"), [("complete", "Because."), ("stopped", ""), ("failed", "")])
def test_a_whole_or_an_empty_answer_does_not_go_on(chats, chat, state, content):
    turn = chats.begin_turn(chat, "why?")
    chats.finish(turn.answer_id, state, content)
    with pytest.raises(NotUnfinished):
        chats.begin_continuation(turn.answer_id)
    assert chats.message(turn.answer_id).state == state


def test_a_conversation_of_a_thousand_messages_is_paged_and_deleted(database, chats, chat):
    repeat_turn(database, "ann", ask(chats, chat, "q0"), 599)
    last = chats.messages(chat, limit=3)
    assert [message.content for message in last] == ["Q598", "q599", "Q599"]
    assert [m.content for m in chats.messages(chat, before=last[0].id, limit=2)] == ["Q597", "q598"]
    assert len(chats.messages(chat, limit=5000)) == 1200
    otherwise(chats, chats.opening(last[0].id).id, "another beginning")
    chats.delete(chat)
    assert chats.list() == []


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_every_message_stays_reachable_by_its_versions(tmp_path_factory, data):
    database = Database.open(tmp_path_factory.mktemp("tree") / "data")
    chats = Conversations(database, "ann")
    chat = chats.create().id
    parents = {}
    for number in range(data.draw(st.integers(1, 8))):
        path = chats.messages(chat)
        questions = [message.id for message in path if message.role == "user"]
        edited = data.draw(st.sampled_from([None, *questions]))
        if edited is None:
            parent = path[-1].id if path else None
            turn = ask(chats, chat, f"q{number}")
        else:
            parent = path[[m.id for m in path].index(edited) - 1].id if edited != questions[0] else None
            turn = otherwise(chats, edited, f"q{number}")
        parents[turn.question_id], parents[turn.answer_id] = parent, turn.question_id
    for question in parents:
        if chats.message(question).role == "assistant":
            continue
        chats.show_version(question)
        ids = [message.id for message in chats.messages(chat)]
        assert question in ids
        assert [parents[id_] for id_ in ids] == [None, *ids[:-1]]
        assert set(chats.message(question).versions or (question,)) == {
            id_ for id_ in parents if parents[id_] == parents[question] and chats.message(id_).role == "user"
        }
    database.close()
