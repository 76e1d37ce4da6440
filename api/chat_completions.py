"""OpenAI's chat completions and list of models: for programs that know OpenAI's form and nothing of ours."""

import json
import time
from collections.abc import AsyncIterator, Sequence
from secrets import token_hex
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from api.access import Access, Asker, Reader
from api.answers import AnswerOut, CitationOut, UsageOut
from api.asking import AskedQuestion, Asking
from api.following import COMMENT, EVENT_STREAM, SILENCE, event_stream
from api.problems import OpenAIError, openai_error, responses
from rag.chat.answer import Token
from rag.errors import QuestionRefused
from storage.errors import NotFound

router = APIRouter(tags=["OpenAI"])
ALL = "footnote"
"""Name of the model that answers from every document; of a collection it is "footnote/NAME"."""
CONVERSATION = "conversation_id"  # key in `metadata`
ERRORS = responses(404, 409, 502, form=OpenAIError)


class ModelOut(BaseModel):
    """A model: all documents, or a collection."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "footnote"


class ModelList(BaseModel):
    """The models."""

    object: Literal["list"] = "list"
    data: list[ModelOut]


class TextPart(BaseModel):
    """A part of a message."""

    model_config = ConfigDict(extra="allow")

    type: str
    text: str | None = None


class ChatMessage(BaseModel):
    """A message; those of the roles "system", "developer" and "tool" are not read."""

    model_config = ConfigDict(extra="allow")

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | Annotated[list[TextPart], Field(max_length=1000)] | None = None

    @property
    def text(self) -> str:
        """The text; raises QuestionRefused where a part is none."""
        if not isinstance(self.content, list):
            return self.content or ""
        if any(part.type != "text" for part in self.content):
            raise QuestionRefused("Only text can be asked. Add files as documents.")
        return "\n".join(part.text or "" for part in self.content)


class StreamOptions(BaseModel):
    """Options of a stream."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool | None = None


class CompletionRequest(BaseModel):
    """A request for a completion. Other fields of OpenAI's form are accepted and not used."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [
                {
                    "model": ALL,
                    "messages": [{"role": "user", "content": "When was the harbour opened?"}],
                    "stream": False,
                }
            ]
        },
    )

    model: str = Field(ALL, max_length=200)
    messages: list[ChatMessage] = Field(min_length=1, max_length=1000)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    store: bool | None = Field(False, description="Keep the chat, where the page shows it.")
    metadata: dict[str, str] | None = Field(
        None, description="`conversation_id` goes on with a stored chat; then earlier messages are not read."
    )


class AnswerMessage(BaseModel):
    """The answer, with its citations."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    citations: list[CitationOut]


class Choice(BaseModel):
    """The only choice."""

    index: Literal[0] = 0
    message: AnswerMessage
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class Completion(BaseModel):
    """A completion in OpenAI's form; `footnote` has what that form has no place for."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: UsageOut
    footnote: AnswerOut


@router.get("/v1/models", response_model=ModelList, responses=ERRORS, summary="List models")
def models(access: Reader) -> ModelList:
    """List all documents, and each collection, as models."""
    return ModelList(data=_models(access))


@router.get("/v1/models/{model:path}", response_model=ModelOut, responses=ERRORS, summary="Get a model")
def model(model: str, access: Reader) -> ModelOut:
    """Return a model by its id."""
    found = next((one for one in _models(access) if one.id == model), None)
    if found is None:
        raise NotFound(_no_model(model))
    return found


@router.post(
    "/v1/chat/completions",
    response_model=Completion,
    responses={
        200: {
            "description": "The answer; with `stream` its chunks.",
            "content": EVENT_STREAM,
        },
        **ERRORS,
    },
    summary="Answer in OpenAI's form",
)
async def chat_completions(body: CompletionRequest, access: Asker, request: Request) -> Completion | Response:
    """Answer the last message from the documents; the messages before are the conversation."""
    completion = _Chunks(body.model, bool(body.stream_options and body.stream_options.include_usage))
    asking = await Asking.begin(access, _question(body))
    if body.stream:
        return event_stream(completion.stream(asking, request), _error_chunk)
    async for _ in asking.events(request):
        pass
    answer = await asking.answer()
    return Completion(
        id=completion.id,
        created=completion.created,
        model=body.model,
        choices=[Choice(message=AnswerMessage(content=answer.text, citations=answer.citations))],
        usage=answer.usage,
        footnote=answer,
    )


def _models(access: Access) -> list[ModelOut]:
    collections = access.collections()
    everything = ModelOut(id=ALL, created=0)
    named = [ModelOut(id=f"{ALL}/{one.name}", created=int(one.created.timestamp())) for one in collections]
    return [everything, *named]


def _question(body: CompletionRequest) -> AskedQuestion:
    said = [(one.role, one.text) for one in body.messages if one.role in ("user", "assistant")]
    if not said or said[-1][0] != "user":
        raise QuestionRefused("The last message must be the question, with the role “user”.")
    conversation_id = (body.metadata or {}).get(CONVERSATION)
    return AskedQuestion(
        said[-1][1],
        [] if conversation_id else [message for message in said[:-1] if message[1]],
        collections=_collections(body.model),
        store=bool(body.store),
        conversation_id=conversation_id,
    )


def _collections(model: str) -> Sequence[str]:
    if model == ALL:
        return ()
    root, slash, name = model.partition("/")
    if root != ALL or not slash or not name:
        raise NotFound(_no_model(model))
    return (name,)


def _no_model(model: str) -> str:
    return f"There is no model {model!r}. Use “{ALL}”, or “{ALL}/” and the name of a collection."


class _Chunks:
    """Chunks of one completion."""

    def __init__(self, model: str, include_usage: bool):
        self.id, self.created, self._model = f"chatcmpl-{token_hex(12)}", int(time.time()), model
        self._include_usage = include_usage

    async def stream(self, asking: Asking, request: Request) -> AsyncIterator[str]:
        """Yield the chunks, then the end."""
        yield self._chunk({"role": "assistant", "content": ""})
        told = False
        async for event in asking.events(request):
            if event is SILENCE:
                yield COMMENT
            if isinstance(event, Token):
                told = True
                yield self._chunk({"content": event.text})
        answer = await asking.answer()
        if not told and answer.text:  # it was over before it was followed
            yield self._chunk({"content": answer.text})
        for last in self._end(answer):
            yield last
        yield "data: [DONE]\n\n"

    def _end(self, answer: AnswerOut) -> list[str]:
        citations = [one.model_dump(mode="json") for one in answer.citations]
        footnote = answer.model_dump(mode="json")
        end = [self._chunk({"citations": citations}, finish="stop", footnote=footnote)]
        if self._include_usage:
            end.append(_data({**self._head(), "choices": [], "usage": answer.usage.model_dump()}))
        return end

    def _head(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self._model,
        }

    def _chunk(self, delta: dict[str, Any], *, finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if self._include_usage else {}
        return _data({**self._head(), "choices": [choice], **usage, **more})


def _error_chunk(status: int, sentence: str) -> str:
    return _data(openai_error(status, sentence))


def _data(fields: dict[str, Any]) -> str:
    return f"data: {json.dumps(fields, ensure_ascii=False)}\n\n"
