"""What is frozen with an answer is what was sent, word for word, and by which settings."""

from collections.abc import Sequence

import pytest

from rag.chat.conversation import Conversation
from rag.chat.corpus import Corpus
from rag.chat.pipeline import RagPipeline
from rag.jobs import never
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings, Sent
from storage.answers import Trace, Traces
from storage.conversations import Conversations
from storage.database import Database
from storage.records import Unsearched
from tests.rag.fake_llm import Reply, Request, careful
from tests.rag.shelf import Shelf

UNREAD = Unsearched("locked.pdf", "refused")


def ask(conversations: Conversations, pipeline: RagPipeline, *questions: str) -> tuple[str, list[object]]:
    """Ask in one chat; returns the last answer's id and its events."""
    conversation, chat = Conversation(conversations, lambda: pipeline), conversations.create().id
    for question in questions:
        turn = conversation.begin(chat, question)
        events = list(conversation.run(turn, never))
    return turn.answer_id, events


def traced(database: Database, answer_id: str) -> Trace:
    trace = Traces(database, "ann").get(answer_id)
    assert trace is not None
    return trace


def as_sent(requests: Sequence[Request]) -> list[tuple[tuple[str, str], ...]]:
    return [tuple((m["role"], m["content"]) for m in request.messages) for request in requests]


def test_every_request_is_kept_word_for_word_with_its_purpose(database, conversations, fake_llm):
    fake_llm.say("Built in 1432 [1].", "When was the moat of the castle dug?", "It is nine metres deep [1].")
    with LLM(LLMSettings(fake_llm.url, "fake", api_key="secret")) as llm:
        pipeline = RagPipeline(Shelf(), llm=llm, made_with={"k": 2, "model": "fake"})
        answer_id, events = ask(conversations, pipeline, "When was the castle built?", "And its moat?")
    trace = traced(database, answer_id)
    assert [sent.purpose for sent in trace.sent] == ["rephrase", "answer"]
    assert [sent.messages for sent in trace.sent] == as_sent(fake_llm.requests)[1:]
    assert [event.messages for event in events if isinstance(event, Sent)] == as_sent(fake_llm.requests)[1:]
    assert trace.settings == {"k": 2, "model": "fake"} and trace.cut == 0
    assert "secret" not in str(trace)


def test_what_is_sent_to_check_statements_is_kept_beside_it_with_the_reply(database, conversations, fake_llm):
    fake_llm.say("The moat has a depth of nine metres [1].")
    reader = careful({"The moat has": "Its moat is nine metres deep."})
    fake_llm.read(reader)
    with LLM(LLMSettings(fake_llm.url, "fake")) as llm:
        pipeline = RagPipeline(Shelf(), llm=llm, reading_seconds=5)
        answer_id, _ = ask(conversations, pipeline, "When was the castle built?")
        list(Conversation(conversations, lambda: pipeline).check(answer_id))
    trace = traced(database, answer_id)
    assert [sent.purpose for sent in trace.sent] == ["answer", "check"]
    asked, answered = trace.sent[1].messages[:-1], trace.sent[1].messages[-1]
    assert (asked, answered) == (
        as_sent(fake_llm.readings)[0],
        ("assistant", reader.text(fake_llm.readings[0])),
    )
    assert trace.settings["reading"].startswith("1 of 1 open statements verified")


def test_without_a_model_nothing_is_sent_and_the_settings_are_kept(database, conversations):
    answer_id, _ = ask(
        conversations, RagPipeline(Shelf(), made_with={"retriever": "bm25"}), "When was it built?"
    )
    assert traced(database, answer_id) == Trace({"retriever": "bm25"})


def test_what_was_sent_before_a_failure_is_kept_too(database, conversations, fake_llm):
    fake_llm.reply(Reply(status=401))
    with LLM(LLMSettings(fake_llm.url, "fake")) as llm:
        answer_id, _ = ask(conversations, RagPipeline(Shelf(), llm=llm), "When was the castle built?")
    assert conversations.message(answer_id).state == "failed"
    assert [sent.messages for sent in traced(database, answer_id).sent] == as_sent(fake_llm.requests)[:1]


def test_files_that_could_not_be_searched_are_noted_only_where_nothing_was_found(database, conversations):
    class Unread(Corpus):
        def unsearched(self) -> list[Unsearched]:
            return [UNREAD]

    pipeline = RagPipeline(Shelf(), corpus=Unread())
    found, _ = ask(conversations, pipeline, "When was the castle of Aldenburg built?")
    missed, _ = ask(conversations, pipeline, "Which planet has the most moons?")
    assert traced(database, found).unsearched == ()
    kept = traced(database, missed)
    assert [(one.name, one.state) for one in kept.unsearched] == [("locked.pdf", "refused")]
    assert kept.unsearched_count == 1


def test_a_pipeline_that_cannot_be_had_leaves_no_trace(database, conversations):
    def broken() -> RagPipeline:
        raise RuntimeError("no model")

    conversation = Conversation(conversations, broken)
    turn = conversation.begin(conversations.create().id, "When?")
    with pytest.raises(RuntimeError):
        list(conversation.run(turn, never))
    assert Traces(database, "ann").get(turn.answer_id) is None
