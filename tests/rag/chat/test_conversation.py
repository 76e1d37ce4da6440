import threading
import time

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.chat.answer import Condensed, Done, Sources, Token
from rag.chat.conversation import Conversation, Failed, title_of
from rag.chat.pipeline import RagPipeline, Timings, validated_question
from rag.errors import QuestionRefused, RetrievalError
from rag.jobs import Jobs, never
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.retrieval.degradation import DegradationRecorder, Degraded
from storage.answers import Feedback, Traces
from storage.errors import NotFound
from tests.rag.fake_llm import Reply, careful
from tests.rag.shelf import TEXTS, Shelf, ask


class Broken(BaseRetriever):
    """A retriever that cannot answer."""

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        raise RetrievalError("No index can be searched. Start Footnote again.")


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

    omissions = DegradationRecorder()
    conversation = Conversation(conversations, lambda: RagPipeline(Half(), omissions=omissions))
    chat, events = ask(conversation, conversations, "When was the castle built?")
    assert Degraded("similarity", "The index is away.") in events
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
    chat, events = ask(Conversation(conversations, lambda: RagPipeline(Broken())), conversations, "When?")
    assert isinstance(events[-1], Failed)
    question, answer = conversations.messages(chat)
    assert question.content == "When?"
    assert (answer.state, answer.error) == ("failed", "No index can be searched. Start Footnote again.")
    assert answer.standalone_question == "When?"


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
    assert job.since(0, wait=10)
    assert job.wait(10)
    assert conversations.messages(chat)[-1].state == "complete"


def test_a_cancelled_job_stops_within_a_second(conversations):
    entered = threading.Event()

    class Slow(Shelf):
        def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
            entered.set()
            time.sleep(0.3)
            return super()._get_relevant_documents(query, run_manager=run_manager)

    conversation = Conversation(conversations, lambda: RagPipeline(Slow()))
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
    assert validated_question(raw) == clean


def test_a_long_conversation_is_read_with_the_question_it_began_with(conversations):
    heard = []

    class Listening(RagPipeline):
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
        conversation = Conversation(conversations, lambda: RagPipeline(Shelf(), llm=llm))
        chat, events = ask(conversation, conversations, "When was the castle built?")
    (sources,) = (event for event in events if isinstance(event, Sources))
    assert (len(sources.passages), sources.unread) == (1, 1)
    trace = Traces(database, "ann").get(conversations.messages(chat)[-1].id)
    assert trace is not None
    assert trace.settings["unread"].startswith("1 more of those found did not fit")


def test_what_was_written_before_a_stop_is_checked(conversations, fake_llm):
    said = "It was built in 1432. The cooks are never at rest. And the ke"
    fake_llm.reply(Reply(pieces=(said, " eper"), hold_after=1))
    with LLM(LLMSettings(fake_llm.url, "fake", timeout=30, idle_timeout=30)) as llm:
        conversation = Conversation(conversations, lambda: RagPipeline(Shelf(), llm=llm, reading_seconds=5))
        chat = conversations.create().id
        turn = conversation.begin(chat, "When was the castle built?")
        run = conversation.run(turn, never)
        next(event for event in run if isinstance(event, Token) and event.text.endswith("ke"))
        run.close()
        assert list(conversation.check(turn.answer_id)) == []  # a stop stops the reader, too
    answer = conversations.messages(chat)[-1]
    assert (answer.state, answer.model) == ("stopped", "fake") and fake_llm.readings == []
    assert answer.content == "It was built in 1432. The cooks are never at rest. And the ke"
    stated = [answer.content[one.answer_start : one.answer_end] for one in answer.citations]
    assert stated == ["It was built in 1432.", "The cooks are never at rest."]
    assert not any(one.status == "verified" for one in answer.citations[1:])


def test_a_check_changes_a_stored_answer_in_one_commit_and_keeps_feedback(conversations, database, fake_llm):
    moat = "The moat has a depth of nine metres"
    fake_llm.say(f"It was built in 1432 [1]. {moat} [2].")
    fake_llm.read(careful({"The moat has": "Its moat is nine metres deep."}))
    with LLM(LLMSettings(fake_llm.url, "fake")) as llm:
        conversation = Conversation(conversations, lambda: RagPipeline(Shelf(), llm=llm, reading_seconds=5))
        chat, _ = ask(conversation, conversations, "When was the castle built?")
        before = conversations.messages(chat)[-1]
        Feedback(database, "ann").mark(before.id, 0, "wrong")
        list(conversation.check(before.id))
    after = conversations.messages(chat)[-1]
    assert after.timings_ms["check"] > after.timings_ms["total"] == before.timings_ms["total"]
    assert after.content == f"It was built in 1432 [1]. {moat} [2] [1]."
    assert [(one.status, one.marker, one.feedback) for one in after.citations] == [
        ("verified", 1, "wrong"),
        ("verified", 1, None),
        ("unsupported", 2, None),
    ]
    assert not conversations.revise(after.id, before.content, "Overwritten.", [])  # it changed meanwhile
    assert conversations.messages(chat)[-1] == after
