"""Each use of a language model, each way in which its server fails: what the reader of the answer gets."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from rag.chat.conversation import Conversation
from rag.chat.pipeline import RagPipeline
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.llm import LLM
from rag.models.protocol import Chat, LLMSettings, Logprobs
from rag.raptor.retrievers import CollapsedTreeRetriever
from rag.raptor.summarize import LLMSummariser
from rag.retrieval.rerank.registry import LLM_RERANKERS
from storage.answers import Traces
from storage.conversations import Conversations
from storage.database import Database
from storage.records import Message
from tests.rag.fake_llm import FakeLLM, Reply
from tests.rag.raptor.conftest import add, story
from tests.rag.shelf import Shelf
from tests.rag.word_vectors import WordVectors

KEY = "k-secret-0123456789"
REFUSED = "http://127.0.0.1:9/v1"  # nothing listens there
QUESTION = "When was the castle of Aldenburg built?"
FOLLOW_UP = "And how deep is its moat?"
SOUND = "Its moat is nine metres deep [1]."
BY_RULE = "The follow-up was completed by rule: "

FAULTS = {
    "refused": None,
    "401": Reply(status=401, body=f'{{"error": {{"message": "bad key {KEY}"}}}}'.encode()),
    "429": Reply(status=429, headers={"retry-after": "600"}),
    "500": Reply(status=500),
    "hangs": Reply(hang=True),
    "cut off": Reply("Nine metres deep, they say.", drop_after=2),
    "nonsense": Reply(body=b"<html><body>[2] > [1] Yes 9</body></html>", content_type="text/html"),
    "empty": Reply("", pieces=()),
}
each_fault = pytest.mark.parametrize("fault", FAULTS)


@dataclass(frozen=True)
class Divided:
    """A model that answers, and does all else on a server that fails."""

    answering: LLM
    failing: LLM
    supports_logprobs: bool = True

    @property
    def settings(self) -> LLMSettings:
        return self.answering.settings

    def stream(
        self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never
    ) -> Iterator[str]:
        return self.answering.stream(messages, max_tokens=max_tokens, cancelled=cancelled)

    def complete(self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never) -> str:
        return self.failing.complete(messages, max_tokens=max_tokens, cancelled=cancelled)

    def logprobs(self, messages: Chat, *, cancelled: Callable[[], bool] = never) -> Logprobs | None:
        return self.failing.logprobs(messages, cancelled=cancelled)


@pytest.fixture
def failing(fault: str, fake_llm: FakeLLM) -> Iterator[LLM]:
    """A model on a server that fails so whatever it is asked."""
    reply = FAULTS[fault]
    if reply is not None:
        fake_llm.reply(reply)
    idle = 0.5 if fault == "hangs" else 30.0
    url = fake_llm.url if reply is not None else REFUSED
    with LLM(LLMSettings(url, "fake", api_key=KEY, timeout=60, idle_timeout=idle)) as llm:
        yield llm


@pytest.fixture
def sound() -> Iterator[LLM]:
    with FakeLLM(default=Reply(SOUND)) as server, LLM(LLMSettings(server.url, "fake")) as llm:
        yield llm


def asked(conversations: Conversations, pipeline: RagPipeline, *questions: str) -> list[Message]:
    """Ask one after the other in one chat; returns its messages."""
    conversation = Conversation(conversations, lambda: pipeline)
    chat = conversations.create().id
    for question in questions:
        list(conversation.run(conversation.begin(chat, question), never))
    return list(conversations.messages(chat))


def is_a_sentence(said: str | None) -> bool:
    return bool(said) and said[-1] in "." and KEY not in said and "Traceback" not in said


@each_fault
def test_a_follow_up_is_asked_as_it_was_typed(
    database: Database, conversations: Conversations, failing: LLM, sound: LLM
):
    pipeline = RagPipeline(Shelf(), llm=Divided(sound, failing), rephrase_seconds=60.0, made_with={"k": 2})
    *_, answer = asked(conversations, pipeline, QUESTION, FOLLOW_UP)
    assert answer.state == "complete" and answer.content == SOUND
    assert answer.standalone_question.startswith(FOLLOW_UP)
    told = Traces(database, "ann").get(answer.id).settings["rephrasing"]
    assert told.startswith(BY_RULE) and is_a_sentence(told)


@each_fault
def test_an_answer_that_fails_is_a_sentence_beside_its_question(
    conversations: Conversations, failing: LLM, fault: str
):
    question, answer = asked(conversations, RagPipeline(Shelf(), llm=failing), QUESTION)
    assert question.content == QUESTION
    assert answer.state == "failed" and is_a_sentence(answer.error)
    assert answer.content.strip() == ("Nine metres" if fault == "cut off" else "")


@each_fault
@pytest.mark.parametrize("name", LLM_RERANKERS)
def test_passages_that_cannot_be_put_in_order_come_as_they_were_found(
    database: Database, conversations: Conversations, failing: LLM, sound: LLM, name: str
):
    reranker = LLM_RERANKERS[name](llm=failing, seconds=60.0)
    pipeline = RagPipeline(Shelf(), llm=sound, reranker=reranker, k=2, fetch_k=2, made_with={"k": 2})
    _, answer = asked(conversations, pipeline, QUESTION)
    assert answer.state == "complete" and answer.content == SOUND
    found = [document.id for document in Shelf().invoke(QUESTION)]
    assert [passage.chunk_id for passage in answer.passages] == found
    assert is_a_sentence(Traces(database, "ann").get(answer.id).settings["reranking"])


@each_fault
def test_a_summary_that_cannot_be_had_is_left_out_and_counted(database: Database, failing: LLM):
    failed: list[Exception] = []
    by_model = LLMSummariser(failing, failed.append)
    library = Library(database, "ann", lambda: WordVectors("one"), summariser=lambda: by_model)
    document = add(library, "storms.txt", story(["storm"], lines=3))
    list(library.forest.build_branch(document))
    branch = library.forest.trees.branch(document)
    assert branch.left_out == len(failed) == 1 and is_a_sentence(str(failed[0]))
    assert {node.level for node in library.forest.trees.nodes(branch.id)} == {0}
    assert CollapsedTreeRetriever(forest=library.forest, document_ids={document}).invoke("storm waves")
    library.close()
