"""Answers under leases: what a process writes is neither cut off nor written by another one."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import update

from storage.conversations import ANSWER, Conversations, interrupt_pending
from storage.database import Database
from storage.errors import LeaseLost
from storage.jobs import JobQueue
from storage.tables import JobRow


@pytest.fixture
def chats(database: Database) -> Conversations:
    return Conversations(database, "ann")


@pytest.fixture
def theirs(database) -> Conversations:
    """The same person's conversations as another process sees them."""
    other = Database(database.directory, database._engine, database._lock)
    yield Conversations(other, "ann")
    other.queue.close()


@pytest.fixture
def pending(chats) -> str:
    return chats.begin_turn(chats.create("t").id, "why?").answer_id


def run_out(database):
    with database.sharing() as session:
        session.execute(update(JobRow).values(leased_until=JobRow.run_at))


def test_an_answer_that_another_process_writes_is_not_interrupted(chats, theirs, pending):
    assert not theirs.interrupt(pending) and interrupt_pending(theirs._database) == 0
    assert chats.message(pending).state == "pending"
    assert theirs.is_written_elsewhere(pending) and not chats.is_written_elsewhere(pending)
    chats.finish(pending, "complete", "because")
    assert chats.message(pending).content == "because"


def test_an_answer_whose_lease_is_over_is_interrupted_once(database, chats, theirs, pending):
    chats.checkpoint(pending, "beca")
    run_out(database)
    assert interrupt_pending(theirs._database) == 1
    answer = chats.message(pending)
    assert (answer.state, answer.content) == ("interrupted", "beca")
    assert not theirs.interrupt(pending) and database.queue.of("ann", [ANSWER]) == []


def test_an_answer_that_nobody_holds_is_interrupted_by_its_own_process(chats, pending):
    with chats.answering(pending):
        assert not chats.interrupt(pending)
    assert chats.interrupt(pending)


@pytest.mark.parametrize("write", ["checkpoint", "finish"])
def test_a_frozen_writer_writes_nothing_into_an_answer_that_was_taken_up_again(
    database, chats, theirs, pending, write
):
    with chats.answering(pending):
        run_out(database)
        with ThreadPoolExecutor(1) as another:
            assert another.submit(theirs.interrupt, pending).result()
            another.submit(theirs.begin_retry, pending).result()
            another.submit(theirs.checkpoint, pending, "theirs").result()
        with pytest.raises(LeaseLost):
            if write == "checkpoint":
                chats.checkpoint(pending, "mine")
            else:
                chats.finish(pending, "complete", "mine")
    assert (theirs.message(pending).state, theirs.message(pending).content) == ("pending", "theirs")


@pytest.mark.parametrize("again", ["retry", "continuation"])
def test_an_answer_that_is_taken_up_again_has_a_lease(chats, theirs, pending, again):
    chats.finish(pending, "stopped", "beca")
    (chats.begin_retry if again == "retry" else chats.begin_continuation)(pending)
    assert not theirs.interrupt(pending)
    with pytest.raises(LeaseLost), theirs.answering(pending):
        pass


def test_another_version_has_a_lease_and_answers_elsewhere_are_counted(chats, theirs, pending):
    chats.finish(pending, "complete", "because")
    version = chats.begin_version(chats.message(pending).question_id, "why not?")
    assert not theirs.interrupt(version.answer_id)
    assert (theirs.answers_elsewhere(), chats.answers_elsewhere()) == (1, 0)


def test_stop_reaches_the_process_that_writes(database, chats, theirs, pending):
    (lease,) = [database.queue.resume("ann", ANSWER, pending)]
    theirs.stop_answer(pending)
    assert database.queue.renew([lease]) == {lease}
    with chats.answering(pending):
        chats.finish(pending, "stopped", "beca")
    assert chats.message(pending).state == "stopped"
    theirs.stop_answer(pending)


def test_a_new_process_has_another_name(database):
    assert JobQueue(database).worker != database.queue.worker


def test_a_chat_that_is_deleted_leaves_no_job_of_its_answer(database, chats, pending):
    chats.delete(chats.turn(pending).conversation_id)
    assert database.queue.of("ann", [ANSWER]) == []
