import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rag.citations.reader import MOST_FAILED
from rag.errors import LimitReached
from rag.services import Services
from rag.settings import LOCAL_OWNER, load
from rag.workspace import AnswerWith, Workspace
from storage.accounts import People
from storage.errors import AnswerPending, NotFound
from storage.records import TurnRecord
from tests.rag.fake_llm import FakeLLM, Reply, careful


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    monkeypatch.setenv("FOOTNOTE_DATA", str(tmp_path / "data"))
    with closing(Services(load())) as opened:
        yield opened


@pytest.fixture
def here(services: Services) -> Workspace:
    return services.workspace(LOCAL_OWNER)


def test_what_is_added_while_the_library_recovers_is_kept(here: Workspace):
    stop = threading.Event()

    def recover() -> None:
        while not stop.is_set():
            here.recover()

    recovering = threading.Thread(target=recover)
    recovering.start()
    try:
        added = [here.add(f"{number}.txt", f"Text {number}.".encode() * 50)[0] for number in range(20)]
    finally:
        stop.set()
        recovering.join()
    for record in added:
        assert here.library.files.path(record.sha256).exists()


def test_an_embedding_model_is_open_once_however_many_search_with_it(here: Workspace, services: Services):
    models = {id(services.workspace(name).library.indexes.embedder) for name in ("ann", "bob")}
    assert models == {id(here.library.indexes.embedder)}


def test_a_changed_model_is_used_from_the_next_answer_on(here: Workspace, services: Services):
    assert here.pipeline().llm is None
    services.apply({"llm_model": "one", "llm_base_url": "http://127.0.0.1:9/v1"})
    asked, connected = here.pipeline().llm, services.llm
    assert asked is not None and connected is not None and asked.settings is connected.settings


def test_an_answers_settings_are_frozen_with_it_and_no_key_is_among_them(here: Workspace, services: Services):
    unconnected = here.pipeline().made_with
    assert unconnected["retriever"] == "ensemble-cc" and unconnected["k"] == 6
    assert {"mixture", "checker", "embedding_model"} <= unconnected.keys() and "server" not in unconnected
    connection = {"llm_model": "one", "llm_base_url": "http://ann:pw@127.0.0.1:9/v1", "llm_api_key": "secret"}
    services.apply(connection)
    made_with = here.pipeline().made_with
    assert (made_with["model"], made_with["server"]) == ("one", "http://127.0.0.1:9")
    assert "secret" not in str(made_with) and "pw" not in str(made_with)


def test_a_question_without_a_model_is_answered_and_stored_once(here: Workspace):
    record, _ = here.add("notes.md", b"Receipts are due within thirty days of the journey.")
    chat = here.conversations.create().id
    turn = here.ask(chat, "When are receipts due?", after=[record.id])
    with pytest.raises(AnswerPending):
        here.ask(chat, "And then?")
    job = here.answering(turn.answer_id)
    assert job is None or job.wait(60)
    question, answer = here.conversations.messages(chat)
    assert (question.id, answer.id) == (turn.question_id, turn.answer_id)
    assert answer.state == "complete" and "thirty days" in answer.content and answer.citations


def test_a_question_that_opens_a_chat_is_asked_in_what_was_chosen_for_it(here: Workspace):
    record, _ = here.add("notes.md", b"Receipts are due within thirty days of the journey.")
    shelf = here.library.collections.create("Travel")
    turn = here.ask(None, "When are receipts due?", searching=([shelf.id], []), after=[record.id])
    job = here.answering(turn.answer_id)
    assert job is None or job.wait(60)
    assert [chosen.name for chosen in here.choices.of(turn.conversation_id)] == ["Travel", "notes.md"]
    assert here.conversations.message(turn.answer_id).passages
    assert [chat.title for chat in here.conversations.list()] == ["When are receipts due?"]


def test_a_question_that_is_refused_opens_no_chat(here: Workspace, services: Services):
    with pytest.raises(NotFound):
        here.ask(None, "When?", searching=(["deleted meanwhile"], []))
    People(services.database).set_limits(here.owner, {"tokens_a_day": 1})
    here.allowance.used(tokens=2)
    with pytest.raises(LimitReached):
        here.ask(None, "When?")
    assert here.conversations.list() == []


def test_a_deleted_chat_is_gone_and_its_answer_with_it(here: Workspace):
    chat = here.conversations.create().id
    turn = here.ask(chat, "When are receipts due?")
    here.delete_conversation(chat)
    job = here.answering(turn.answer_id)
    assert job is None or job.wait(60)
    with pytest.raises(NotFound):
        here.conversations.open(chat)


MOAT = "The water of its moat reaches nine metres down."


def _open_answer(here: Workspace, services: Services, server: FakeLLM) -> TurnRecord:
    """Ask a question whose answer has an open statement, and wait until it is written."""
    record, _ = here.add(
        "moat.md", b"The castle of Aldenburg stands on a hill. Its moat is nine metres deep."
    )
    services.apply({"llm_model": "one", "llm_base_url": server.url})
    turn = here.ask(None, "How deep is the moat of Aldenburg?", after=[record.id])
    job = here.answering(turn.answer_id)
    assert job is None or job.wait(60)
    return turn


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert holds()


def _wait_for_checks(here: Workspace) -> None:
    _wait_until(lambda: not here.checking())


def test_the_model_reads_for_open_statements_after_the_answer(here: Workspace, services: Services):
    with FakeLLM() as server:
        server.say(MOAT)
        server.read(replace(careful({MOAT: "Its moat is nine metres deep."}), hold_after=0))
        turn = _open_answer(here, services, server)
        answer = here.conversations.message(turn.answer_id)
        assert answer.state == "complete" and here.checking() == {turn.answer_id}
        assert [one.status for one in answer.citations] == ["unsupported"]
        server.released.set()
        _wait_for_checks(here)
        read_again = here.conversations.message(turn.answer_id)
    assert read_again.content == f"{MOAT[:-1]} [1]."
    assert [(one.status, one.marker) for one in read_again.citations] == [("verified", 1)]
    trace = here.traces.get(turn.answer_id)
    assert trace and [sent.purpose for sent in trace.sent] == ["answer", "check"]


def test_a_removed_chat_is_hidden_at_once_and_back_after_an_undo(here: Workspace):
    chat = here.conversations.create("About the harbour").id
    here.remove_conversation(chat, "About the harbour")
    assert here.conversations.list() == []
    assert here.deletions.undo() is not None
    assert [one.id for one in here.conversations.list()] == [chat]
    here.remove_conversation(chat, "About the harbour")
    here.deletions.finish()
    assert [one.id for one in here.conversations.discarded()] == [chat]


@pytest.mark.parametrize("how", ["restored", "deleted for good"])
def test_what_became_of_a_removed_chat_elsewhere_is_not_offered_to_be_undone(here: Workspace, how: str):
    chat = here.conversations.create("About the harbour").id
    here.remove_conversation(chat, "About the harbour")
    act = here.restore_conversation if how == "restored" else here.delete_conversation
    act(chat)
    assert here.deletions.latest is None and here.conversations.discarded() == []
    assert len(here.conversations.list()) == (how == "restored")


@pytest.mark.parametrize("how", ["stop", "ask", "delete"])
def test_reading_ends_with_a_stop_a_new_question_and_the_chat(here: Workspace, services: Services, how: str):
    with FakeLLM(keeps_questions=True) as server:
        server.say(MOAT, "It is deep.")
        server.read(Reply(hang=True), "none")
        turn = _open_answer(here, services, server)
        _wait_until(lambda: bool(server.readings))
        if how == "stop":
            here.stop(turn.answer_id)
        elif how == "delete":
            here.delete_conversation(turn.conversation_id)
        else:
            asked = here.ask(turn.conversation_id, "Is it deep?")
            job = here.answering(asked.answer_id)
            assert job is None or job.wait(60)
        assert server.hung_up.wait(10)
        _wait_for_checks(here)
        if how != "delete":
            assert here.conversations.message(turn.answer_id).content == MOAT


def test_a_model_that_keeps_failing_the_controls_is_no_longer_asked_after_each_answer(
    here: Workspace, services: Services
):
    with FakeLLM() as server:
        server.say(*[MOAT] * (MOST_FAILED + 2))
        server.read(*["none"] * (MOST_FAILED + 2))
        turn = _open_answer(here, services, server)
        for _ in range(MOST_FAILED + 1):
            _wait_for_checks(here)
            turn = answered(here, turn.conversation_id, "How deep is the moat of Aldenburg?")
        _wait_for_checks(here)
        assert len(server.readings) == MOST_FAILED


def test_no_model_reads_where_that_is_turned_off(
    here: Workspace, services: Services, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FOOTNOTE_CITATION_JUDGE", "off")
    with FakeLLM() as server:
        server.say(MOAT)
        _open_answer(here, services, server)
        _wait_for_checks(here)
        assert server.readings == []


def answered(here: Workspace, chat: str, question: str, after: tuple[str, ...] = ()) -> TurnRecord:
    turn = here.ask(chat, question, after=after)
    job = here.answering(turn.answer_id)
    assert job is None or job.wait(60)
    return here.conversations.turn(turn.answer_id)


def test_a_question_is_searched_in_what_is_attached_to_it_and_so_are_its_versions(here: Workspace):
    here.add("other.md", b"The rent of the mill is 900 euros. Make this mill shorter.")
    record, _ = here.add("lease.md", "임대료는 월 70만 원이다. The rent of the barn is 700 euros.".encode())
    chat = here.conversations.create().id
    answered(here, chat, "What is the rent?")
    turn = answered(here, chat, "Summarise this: what is the rent?", (record.id,))
    assert [one.name for one in turn.question.attached] == ["lease.md"]
    assert {passage.document for passage in turn.answer.passages} == {"lease.md"}
    assert turn.answer.searched_in == "lease.md"
    assert turn.answer.standalone_question in (None, "Summarise this: what is the rent?")
    again = here.answer_again(turn.answer_id)
    job = here.answering(again.answer_id)
    assert job is None or job.wait(60)
    later = here.conversations.turn(again.answer_id)
    assert later.question.attached == turn.question.attached
    assert {passage.document for passage in later.answer.passages} == {"lease.md"}
    assert "other.md" in {
        p.document for p in answered(here, chat, "And the rent of the mill?").answer.passages
    }


def test_an_answer_is_made_again_with_another_search_for_that_answer_alone(here: Workspace):
    here.add("mill.md", b"The rent of the mill is 900 euros.")
    chat = here.conversations.create().id
    turn = answered(here, chat, "What is the rent of the mill?")

    def searched(answer_id: str) -> object:
        job = here.answering(answer_id)
        assert job is None or job.wait(60)
        trace = here.traces.get(answer_id)
        return None if trace is None else trace.settings["retriever"]

    again = here.answer_again(turn.answer_id, AnswerWith("bm25"))
    assert searched(again.answer_id) == "bm25" and again.question.versions == (
        turn.question_id,
        again.question_id,
    )
    assert searched(here.retry(again.answer_id).answer_id) == "bm25", "it is stored with the answer"
    assert searched(turn.answer_id) == "ensemble-cc" == here.pipeline().made_with["retriever"]


def test_a_request_with_an_attachment_is_not_about_the_last_answer(here: Workspace):
    here.add("other.md", b"The rent of the mill is 900 euros.")
    record, _ = here.add("lease.md", b"The barn was built in 1800. It is red.")
    chat = here.conversations.create().id
    answered(here, chat, "What is the rent?")
    assert "900" not in answered(here, chat, "Summarise this.", (record.id,)).answer.content


def test_a_file_that_cannot_be_read_is_not_replaced_by_other_documents(here: Workspace):
    here.add("other.md", b"The rent of the mill is 900 euros.")
    record, _ = here.add("broken.pdf", b"%PDF-1.7 no more than that")
    chat = here.conversations.create().id
    answer = answered(here, chat, "What is the rent?", (record.id,)).answer
    assert answer.state == "failed" and answer.passages == () and "900" not in answer.content
    assert (
        answer.error is not None and "broken.pdf" in answer.error and "Nothing was searched." in answer.error
    )


def test_trees_are_built_by_themselves_over_a_large_library_with_a_model(services: Services, here: Workspace):
    def add(name: str, letters: int) -> None:
        text = "The mill was let. " * (letters // 18)
        record, _ = here.library.documents.add(name, *here.library.files.save(text.encode()))
        here.library.documents.save_chunks(record.id, text, [], [])
        here.library.documents.set_state(record.id, "ready")

    model = {"llm_model": "one", "llm_base_url": "http://127.0.0.1:9/v1"}
    add("short.txt", 1000)
    services.apply(model)
    assert not here.builds_trees()  # its text fits into a prompt
    add("long.txt", 100_000)
    assert here.builds_trees()
    add("longer.txt", 5_000_000)
    assert not here.builds_trees()  # it would take more than minutes
    services.apply({"raptor": "extractive"})
    assert here.builds_trees()
