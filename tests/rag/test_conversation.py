import threading
import time
from dataclasses import replace

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.answer import Condensed, Done, Sources, Token
from rag.ask import Asker, checked
from rag.asked import Timings
from rag.conversation import Conversation, Failed, title_of, to_records
from rag.errors import QuestionRefused, RetrievalError
from rag.jobs import Jobs, never
from rag.llm import LLM, LLMSettings
from rag.omissions import LeftOut, Omissions
from rag.passages import Passage
from storage.conversations import Conversations
from storage.database import Database
from storage.errors import NotFound
from storage.traces import Traces
from tests.rag.fake_llm import Reply

TEXTS = {
    "castle.md": "The castle of Aldenburg was built in 1432. Its moat is nine metres deep.",
    "lighthouse.md": "The lighthouse keeper lit the lamp at dusk. The lamp burned whale oil.",
}
BOOK = Passage("c", "d", "castle.md", "0" * 64, None, "", 0, 37, "The castle of Aldenburg was built so.")


class Shelf(BaseRetriever):
    """A retriever that gives every text there is."""

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return [
            Document(
                id=f"{name}-00000",
                page_content=text,
                metadata={
                    "document_id": name,
                    "document": name,
                    "sha256": "0" * 64,
                    "start": 0,
                    "end": len(text),
                    "score": 1.0,
                },
            )
            for name, text in TEXTS.items()
        ]


class Broken(BaseRetriever):
    """A retriever that cannot answer."""

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        raise RetrievalError("No index can be searched. Start Footnote again.")


@pytest.fixture
def conversations(database: Database) -> Conversations:
    return Conversations(database, "ann")


@pytest.fixture
def conversation(conversations: Conversations) -> Conversation:
    return Conversation(conversations, lambda: Asker(Shelf()))


def ask(
    conversation: Conversation, conversations: Conversations, question: str, chat: str | None = None
) -> tuple[str, list[object]]:
    chat = chat or conversations.create().id
    turn = conversation.begin(chat, question)
    return chat, list(conversation.run(turn, never))


def test_events_come_in_order_and_end_with_timings(conversation, conversations):
    _, events = ask(conversation, conversations, "When was the castle built?")
    kinds = [type(event) for event in events]
    assert kinds[0] is Condensed and kinds[1] is Sources and kinds[-2:] == [Done, Timings]
    assert set(kinds[2:-2]) == {Token}
    assert set(events[-1].ms) == {"condense", "retrieve", "first_token", "total"}


def test_the_answer_is_stored_with_its_evidence_as_it_was_streamed(conversation, conversations):
    chat, events = ask(conversation, conversations, "When was the castle built?")
    question, answer = conversations.messages(chat)
    assert (question.role, question.content) == ("user", "When was the castle built?")
    assert answer.state == "complete"
    assert answer.content == events[-2].text == "".join(e.text for e in events if isinstance(e, Token))
    assert "1432" in answer.content
    assert [passage.document for passage in answer.passages] == list(TEXTS)[: len(answer.passages)]
    for citation in answer.citations:
        if citation.status == "verified":
            passage = answer.passages[citation.marker - 1]
            assert citation.quote == TEXTS[passage.document][citation.quote_start : citation.quote_end]
    assert any(citation.status == "verified" for citation in answer.citations)


def test_what_an_answer_was_made_without_is_stored_with_it(conversations):
    class Half(Shelf):
        def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
            omissions("similarity", RetrievalError("The index is away."))
            return super()._get_relevant_documents(query, run_manager=run_manager)

    omissions = Omissions()
    conversation = Conversation(conversations, lambda: Asker(Half(), omissions=omissions))
    chat, events = ask(conversation, conversations, "When was the castle built?")
    assert LeftOut("similarity", "The index is away.") in events
    answer = conversations.messages(chat)[-1]
    assert [(part.what, part.reason) for part in answer.left_out] == [("similarity", "The index is away.")]
    assert answer.state == "complete" and "1432" in answer.content


def test_a_follow_up_is_stored_with_the_question_as_understood(conversation, conversations):
    chat, _ = ask(conversation, conversations, "When was the castle of Aldenburg built?")
    ask(conversation, conversations, "And how deep is its moat?", chat)
    answer = conversations.messages(chat)[-1]
    assert "castle" in (answer.standalone_question or "").lower()


def test_the_first_question_names_the_conversation(conversation, conversations):
    chat, _ = ask(conversation, conversations, "When was the castle built?")
    ask(conversation, conversations, "What did the lamp burn?", chat)
    assert conversations.open(chat).title == "When was the castle built?"
    assert title_of("x" * 100) == "x" * 59 + "…"


def test_the_question_is_there_before_anything_else_happens(conversation, conversations):
    chat = conversations.create().id
    conversation.begin(chat, "When was the castle built?")
    question, answer = conversations.messages(chat)
    assert question.content == "When was the castle built?"
    assert (answer.state, answer.content) == ("pending", "")


def test_a_failure_is_stored_with_its_sentence_and_the_question_kept(conversations):
    chat, events = ask(Conversation(conversations, lambda: Asker(Broken())), conversations, "When?")
    assert isinstance(events[-1], Failed)
    question, answer = conversations.messages(chat)
    assert question.content == "When?"
    assert (answer.state, answer.error) == ("failed", "No index can be searched. Start Footnote again.")


def test_stopping_keeps_what_was_said(conversation, conversations):
    chat = conversations.create().id
    run = conversation.run(conversation.begin(chat, "When was the castle built?"), never)
    said = ""
    for event in run:
        if isinstance(event, Token):
            said += event.text
            break
    run.close()
    answer = conversations.messages(chat)[-1]
    assert (answer.state, answer.content) == ("stopped", said)


def test_a_chat_deleted_while_it_is_answered_stays_deleted(conversation, conversations):
    chat = conversations.create().id
    run = conversation.run(conversation.begin(chat, "When was the castle built?"), never)
    next(run)
    conversations.delete(chat)
    list(run)
    with pytest.raises(NotFound):
        conversations.open(chat)


def test_in_a_job_the_answer_outlives_its_readers(conversation, conversations):
    chat = conversations.create().id
    turn = conversation.begin(chat, "When was the castle built?")
    job = Jobs().start("ann", chat, lambda cancelled: conversation.run(turn, cancelled))
    next(iter(job.follow()))
    assert job.wait(10)
    assert conversations.messages(chat)[-1].state == "complete"


def test_a_cancelled_job_stops_within_a_second(conversations):
    entered = threading.Event()

    class Slow(Shelf):
        def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
            entered.set()
            time.sleep(0.3)
            return super()._get_relevant_documents(query, run_manager=run_manager)

    conversation = Conversation(conversations, lambda: Asker(Slow()))
    chat = conversations.create().id
    turn = conversation.begin(chat, "When was the castle built?")
    job = Jobs().start("ann", chat, lambda cancelled: conversation.run(turn, cancelled))
    assert entered.wait(5)
    job.cancel()
    assert job.wait(10)
    assert conversations.messages(chat)[-1].state == "stopped"


@pytest.mark.parametrize("question", ["", "  \n", "\x00\x01", "x" * 8001])
def test_a_question_that_cannot_be_asked_is_refused_and_not_stored(conversation, conversations, question):
    chat = conversations.create().id
    with pytest.raises(QuestionRefused):
        conversation.begin(chat, question)
    assert conversations.messages(chat) == []


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        (" When?\n", "When?"),
        ("a\x00b", "ab"),
        ("a\u202eb", "ab"),
        ("언제?", "언제?"),
        ("a\nb", "a\nb"),
        ("a\ud800b", "ab"),
    ],
)
def test_control_characters_leave_a_question(raw, clean):
    assert checked(raw) == clean


def version(
    conversation: Conversation, question_id: str, question: str, searched: str | None = None
) -> list[object]:
    turn = conversation.begin_version(question_id, question, searched=searched)
    return list(conversation.run(turn, never))


def test_what_the_asker_wants_searched_is_searched_word_for_word(conversations):
    asked = []

    class Listening(Shelf):
        def _get_relevant_documents(self, query: str, **how: object) -> list[Document]:
            asked.append(query)
            return super()._get_relevant_documents(query, run_manager=None)

    conversation = Conversation(conversations, lambda: Asker(Listening(), k=2))
    chat, _ = ask(conversation, conversations, "When was the castle of Aldenburg built?")
    ask(conversation, conversations, "And how deep is its moat?", chat)
    follow_up, understood = conversations.messages(chat)[2:]
    assert understood.standalone_question != follow_up.content and len(asked) > 2
    asked.clear()
    version(conversation, follow_up.id, follow_up.content, searched="  How deep is a moat?")
    again, answer = conversations.messages(chat)[2:]
    assert asked == ["How deep is a moat?"]
    assert (again.content, answer.standalone_question) == (follow_up.content, "How deep is a moat?")
    assert again.versions == (follow_up.id, again.id)
    conversations.show_version(follow_up.id)
    assert conversations.messages(chat)[2:] == [replace(follow_up, versions=again.versions), understood]


def test_what_is_asked_otherwise_knows_only_what_came_before_it(conversation, conversations):
    chat, _ = ask(conversation, conversations, "When was the castle of Aldenburg built?")
    ask(conversation, conversations, "What did the lamp of the lighthouse burn?", chat)
    second = conversations.messages(chat)[2]
    version(conversation, second.id, "And how deep is its moat?")
    understood = conversations.messages(chat)[-1].standalone_question or ""
    assert "castle" in understood.lower() and "lamp" not in understood.lower()


def test_a_stopped_answer_goes_on_from_its_passages(conversations, fake_llm):
    fake_llm.reply(Reply("It was built in 1432 [1]. Its moat is nine metres deep [1].", hold_after=7))
    with LLM(LLMSettings(fake_llm.url, "fake", timeout=30, idle_timeout=30)) as llm:
        conversation = Conversation(conversations, lambda: Asker(Shelf(), llm=llm))
        chat = conversations.create().id
        run = conversation.run(conversation.begin(chat, "When was the castle built?"), never)
        for event in run:
            if isinstance(event, Token) and "Its" in event.text:
                break
        run.close()
        stopped = conversations.messages(chat)[-1]
        assert stopped.state == "stopped" and stopped.content.startswith("It was built in 1432")
        fake_llm.say("Its moat is nine metres deep [1].")
        list(conversation.run(conversations.begin_continuation(stopped.id), never))
    answer = conversations.messages(chat)[-1]
    assert (answer.state, answer.id) == ("complete", stopped.id)
    assert answer.content == "It was built in 1432 [1]. Its moat is nine metres deep [1]."
    assert answer.passages == stopped.passages
    assert {citation.status for citation in answer.citations} == {"verified"}


def test_what_was_kept_of_an_answer_survives_a_model_that_fails_to_go_on(conversations, fake_llm):
    fake_llm.reply(Reply(status=400))
    with LLM(LLMSettings(fake_llm.url, "fake", timeout=30, idle_timeout=30)) as llm:
        conversation = Conversation(conversations, lambda: Asker(Shelf(), llm=llm))
        chat = conversations.create().id
        turn = conversation.begin(chat, "When was the castle built?")
        conversations.checkpoint(turn.answer_id, "It was bu", passages=to_records([BOOK]))
        conversations.finish(turn.answer_id, "stopped", "It was bu")
        list(conversation.run(conversations.begin_continuation(turn.answer_id), never))
    answer = conversations.messages(chat)[-1]
    assert (answer.state, answer.content) == ("failed", "It was bu")


def test_a_long_conversation_is_read_with_the_question_it_began_with(conversations):
    heard = []

    class Listening(Asker):
        def ask(self, question, history, cancelled, **how):
            heard.append(history)
            return super().ask(question, history, cancelled, **how)

    conversation = Conversation(conversations, lambda: Listening(Shelf()))
    chat = conversations.create().id
    for number in range(15):
        turn = conversations.begin_turn(chat, f"question {number}")
        conversations.finish(turn.answer_id, "complete", f"answer {number}")
    ask(conversation, conversations, "And the castle?", chat)
    (history,) = heard
    assert [said for _, said in history] == [
        "question 0",
        *(f"{role} {number}" for number in range(5, 15) for role in ("question", "answer")),
    ]


def test_passages_that_the_model_has_no_room_for_are_counted_in_the_trace(conversations, database, fake_llm):
    fake_llm.say("It was built in 1432 [1].")
    small = LLMSettings(fake_llm.url, "fake", timeout=30, idle_timeout=30, context_tokens=300)
    with LLM(small) as llm:
        conversation = Conversation(conversations, lambda: Asker(Shelf(), llm=llm))
        chat, events = ask(conversation, conversations, "When was the castle built?")
    (sources,) = (event for event in events if isinstance(event, Sources))
    assert (len(sources.passages), sources.unread) == (1, 1)
    trace = Traces(database, "ann").get(conversations.messages(chat)[-1].id)
    assert trace is not None
    assert trace.settings["unread"].startswith("1 more of those found did not fit")
