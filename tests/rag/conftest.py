"""A language model's server, and conversations, for the tests of these rooms."""

from collections.abc import Iterator

import pytest

from rag.chat.conversation import Conversation
from rag.chat.pipeline import RagPipeline
from storage.conversations import Conversations
from storage.database import Database
from tests.rag.fake_llm import FakeLLM
from tests.rag.shelf import Shelf


@pytest.fixture
def fake_llm(models_are_closed: None) -> Iterator[FakeLLM]:
    with FakeLLM() as fake:
        yield fake


@pytest.fixture
def conversations(database: Database) -> Conversations:
    return Conversations(database, "ann")


@pytest.fixture
def conversation(conversations: Conversations) -> Conversation:
    return Conversation(conversations, lambda: RagPipeline(Shelf()))
