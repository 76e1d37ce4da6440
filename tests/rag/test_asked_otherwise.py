"""A question asked otherwise, and an answer gone on with: what was there stays."""

from dataclasses import replace

from langchain_core.documents import Document

from rag.chat.answer import Token
from rag.chat.conversation import Conversation, to_records
from rag.chat.pipeline import RagPipeline
from rag.jobs import never
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.passage import Passage
from tests.rag.fake_llm import Reply
from tests.rag.shelf import Shelf, ask

BOOK = Passage("c", "d", "castle.md", "0" * 64, None, "", 0, 37, "The castle of Aldenburg was built so.")


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

    conversation = Conversation(conversations, lambda: RagPipeline(Listening(), k=2))
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
        conversation = Conversation(conversations, lambda: RagPipeline(Shelf(), llm=llm))
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
        conversation = Conversation(conversations, lambda: RagPipeline(Shelf(), llm=llm))
        chat = conversations.create().id
        turn = conversation.begin(chat, "When was the castle built?")
        conversations.checkpoint(turn.answer_id, "It was bu", passages=to_records([BOOK]))
        conversations.finish(turn.answer_id, "stopped", "It was bu")
        list(conversation.run(conversations.begin_continuation(turn.answer_id), never))
    answer = conversations.messages(chat)[-1]
    assert (answer.state, answer.content) == ("failed", "It was bu")
