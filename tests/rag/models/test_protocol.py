from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import Field

from rag.errors import Cancelled, LLMError, LLMGarbled
from rag.models.protocol import ChatModel

QUESTION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "When?"}]


class Scripted(BaseChatModel):
    """A chat model that streams what it is given, and then fails if it is told to."""

    pieces: list[Any]
    failure: str = ""
    heard: list[BaseMessage] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        self.heard[:] = messages
        for piece in self.pieces:
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
        if self.failure:
            raise ConnectionError(self.failure)

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError


def test_it_streams_and_completes_what_the_model_says():
    scripted = Scripted(pieces=["In ", [{"type": "text", "text": "1432"}], "."])
    model = ChatModel(scripted, context_tokens=1000)
    assert list(model.stream(QUESTION, max_tokens=10)) == ["In ", "1432", "."]
    assert model.complete(QUESTION, max_tokens=10) == "In 1432."
    assert [(message.type, message.content) for message in scripted.heard] == [
        ("system", "Be brief."),
        ("human", "When?"),
    ]
    assert (model.settings.model, model.settings.context_tokens) == ("Scripted", 1000)


def test_its_failure_is_an_error_of_ours_that_shows_no_secret():
    model = ChatModel(Scripted(pieces=["In "], failure="key sk-marked refused"))
    pieces = model.stream(QUESTION, max_tokens=10)
    assert next(pieces) == "In "
    with pytest.raises(LLMError) as failed:
        next(pieces)
    assert "sk-marked" not in str(failed.value)
    assert isinstance(failed.value.__cause__, ConnectionError)


def test_silence_is_an_error():
    with pytest.raises(LLMGarbled):
        ChatModel(Scripted(pieces=["", ""])).complete(QUESTION, max_tokens=10)


def test_a_cancel_is_heard_between_two_pieces():
    said: list[str] = []
    model = ChatModel(Scripted(pieces=["a", "b"]))
    pieces = model.stream(QUESTION, max_tokens=10, cancelled=lambda: bool(said))
    said.append(next(pieces))
    with pytest.raises(Cancelled):
        next(pieces)


def test_a_model_with_fallbacks_is_a_model():
    spare = FakeListChatModel(responses=["Spare."])
    model = ChatModel(Scripted(pieces=[], failure="gone").with_fallbacks([spare]))
    assert model.complete(QUESTION, max_tokens=10) == "Spare."
