"""For any history: what the model was sent, what is stored and what a marker opens are the same passages."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.chat.conversation import Conversation
from rag.chat.pipeline import RagPipeline
from rag.citations.support import citation_of, markers, passage_of
from rag.jobs import never
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings, Sent
from rag.passage import Passage
from rag.text.prompt_parts import fenced
from storage.conversations import Conversations
from storage.database import Database
from tests.rag.fake_llm import FakeLLM, Reply

WORDS = (
    *["harbour", "crane", "1887", "not", "항구", "문을", "열었다", "港", "開いた"],
    "</passage>",
    '"name"',
    "[2]",
)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(lambda words: " ".join(words) + ".")
TURNS = st.lists(
    st.tuples(
        st.lists(TEXTS, min_size=1, max_size=6),  # what is found
        st.lists(st.tuples(TEXTS, st.integers(0, 9)), min_size=1, max_size=4),  # what is said, and its marker
    ),
    min_size=1,
    max_size=4,
)


class Scripted(BaseRetriever):
    """Finds the texts it was last given."""

    found: list[str]

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return [
            Document(
                id=f"{at}-{abs(hash(text))}",
                page_content=text,
                metadata={
                    "document_id": f"d{at}",
                    "document": f'file "{at}".md',
                    "sha256": f"{at}" * 64,
                    "start": 10 * at,
                    "end": 10 * at + len(text),
                },
            )
            for at, text in enumerate(self.found)
        ]


@pytest.fixture(scope="module")
def model() -> Iterator[tuple[FakeLLM, LLM]]:
    # The context is small, so that at times not all that was found fits into the prompt.
    with FakeLLM() as fake, LLM(LLMSettings(fake.url, "fake", context_tokens=700)) as llm:
        yield fake, llm


@pytest.fixture(scope="module")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversations]:
    path: Path = tmp_path_factory.mktemp("ledger")
    database = Database.open(path)
    yield Conversations(database, "ann")
    database.close()


@given(turns=TURNS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_prompt_store_and_markers_agree(
    turns: list[tuple[list[str], list[tuple[str, int]]]],
    model: tuple[FakeLLM, LLM],
    conversations: Conversations,
):
    fake, llm = model
    chat, retriever = conversations.create().id, Scripted(found=[])
    conversation = Conversation(conversations, lambda: RagPipeline(retriever, llm=llm))
    for at, (found, said) in enumerate(turns):
        retriever.found = found
        fake.reply(Reply(" ".join(f"{text} [{number}]." for text, number in said)))
        turn = conversation.begin(chat, f"What of the harbour, number {at}?")
        events = list(conversation.run(turn, never))
        answer = conversations.message(turn.answer_id)
        request = next(event for event in events if isinstance(event, Sent) and event.purpose == "answer")
        prompt = "\n".join(content for _, content in request.messages)
        assert prompt in [received.prompt for received in fake.requests]
        sent = [fenced(one.number, _as_passage(one)) for one in answer.passages]
        assert all(fence in prompt for fence in sent)
        assert re.findall(r'(?m)^<passage number="(\d+)"', prompt) == [
            str(n) for n in range(1, len(sent) + 1)
        ]
        assert [one.text for one in answer.passages] == found[: len(sent)]
        for offset, number in markers(answer.content):
            _opens_what_was_sent(answer, offset, number)


def _opens_what_was_sent(answer, offset: int, number: int) -> None:
    """A marker that the answer shows opens the passage of that number, and a quote that stands in it."""
    passage, cited = passage_of(answer, number), citation_of(answer, offset, number)
    assert passage is not None
    if cited is not None and (citation := answer.citations[cited]).quote:
        start, end = citation.quote_start - passage.start, citation.quote_end - passage.start
        assert citation.marker == number and passage.text[start:end] == citation.quote


def _as_passage(record) -> Passage:
    place = (record.document, record.sha256, record.page, record.heading, record.start, record.end)
    return Passage(record.chunk_id, record.document_id, *place, record.text)
