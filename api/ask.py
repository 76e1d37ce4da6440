"""Questions over HTTP, in two forms: `POST /api/ask` and OpenAI's chat completions.

The first gives one cited answer, whole or as the stream of its events; the other is for programs that know
OpenAI's form and nothing of ours. A question is begun with a request's key, stored as a chat or not, and
followed to its end.
"""

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.access import Access, Asker, Name, Names, Reader
from api.answers import AnswerBuilder, AnswerOut, CitationOut, UsageOut
from api.following import COMMENT, EVENT_STREAM, SILENCE, event_stream, follow, problem_event, sse
from api.problems import OpenAIError, openai_error, responses
from rag.chat.answer import Token
from rag.chat.conversation import Failed
from rag.chat.event_json import EVENTS, encode
from rag.errors import LLMError, QuestionRefused
from rag.jobs import Job
from rag.settings import RetrieverName
from storage.errors import FootnoteError, NotFound


@dataclass(frozen=True)
class AskedQuestion:
    """A question and its scope; `store` keeps it as a chat, `conversation_id` goes on with one."""

    text: str
    history: Sequence[tuple[str, str]] = ()
    collections: Sequence[str] = ()
    documents: Sequence[str] = ()
    retriever: RetrieverName | None = None
    k: int | None = None
    store: bool = False
    conversation_id: str | None = None
    read_all: bool = False


@dataclass
class Asking:
    """A question that is being answered."""

    access: Access
    job: Job[Any] | None
    conversation_id: str | None = None
    answer_id: str | None = None
    builder: AnswerBuilder = field(default_factory=AnswerBuilder)

    @classmethod
    async def begin(cls, access: Access, question: AskedQuestion) -> "Asking":
        """Begin to answer; raises QuestionRefused, LimitReached, NotFound or ScopeRefused."""
        return await run_in_threadpool(_begin, access, question)

    async def events(self, request: Request) -> AsyncGenerator[Any]:
        """Yield the events to the end, also of what is read after a stored answer; raises its error."""
        if self.job is not None:
            async for event in follow(self.job, request):
                if isinstance(event, Failed):
                    raise LLMError(event.message)
                self.builder.take(event)
                yield event
        reading = self.answer_id and self.access.workspace.reading(self.answer_id)
        if reading:
            async for event in follow(reading, request):
                self.builder.take(event)
                yield event

    async def answer(self) -> AnswerOut:
        """Return the answer after the last event; a stored one as it is stored."""
        if self.answer_id is None or self.conversation_id is None:
            return self.builder.answer()
        message = await run_in_threadpool(self.access.workspace.conversations.message, self.answer_id)
        return self.builder.stored(message, self.conversation_id)


def _begin(access: Access, question: AskedQuestion) -> Asking:
    if not question.store and question.conversation_id is None:
        scope = access.scope(question.collections, question.documents)
        return Asking(
            access,
            access.workspace.answer(
                question.text,
                question.history,
                scope=scope,
                retriever=question.retriever,
                k=question.k,
                read_all=question.read_all,
            ),
        )
    return _begin_stored(access, question)


def _begin_stored(access: Access, question: AskedQuestion) -> Asking:
    workspace, conversation_id = access.workspace, question.conversation_id
    if conversation_id is not None:
        access.caller.require_everything()  # the chat may rest on any document
        workspace.conversations.open(conversation_id)
        if question.collections or question.documents:
            workspace.choices.choose(
                conversation_id, *access.chosen(question.collections, question.documents)
            )
    searching: tuple[Collection[str], Collection[str]] = access.chosen(
        question.collections, question.documents
    )
    if conversation_id is None and question.history:
        begun = workspace.begin_with(question.history, searching)
        try:
            turn = workspace.ask(begun, question.text, read_all=question.read_all)
        except FootnoteError:
            workspace.delete_conversation(begun)
            raise
    else:
        turn = workspace.ask(conversation_id, question.text, searching=searching, read_all=question.read_all)
    return Asking(access, workspace.answering(turn.answer_id), turn.conversation_id, turn.answer_id)


openai_router = APIRouter(tags=["OpenAI"])
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


@openai_router.get("/v1/models", response_model=ModelList, responses=ERRORS, summary="List models")
def models(access: Reader) -> ModelList:
    """List all documents, and each collection, as models."""
    return ModelList(data=_models(access))


@openai_router.get(
    "/v1/models/{model:path}", response_model=ModelOut, responses=ERRORS, summary="Get a model"
)
def model(model: str, access: Reader) -> ModelOut:
    """Return a model by its id."""
    found = next((one for one in _models(access) if one.id == model), None)
    if found is None:
        raise NotFound(_no_model(model))
    return found


@openai_router.post(
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


router = APIRouter(tags=["answers"])


class PastMessage(BaseModel):
    """A message before the question."""

    role: Literal["user", "assistant"]
    content: str


class AskRequest(BaseModel):
    """A question."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"question": "When was the harbour opened?", "collections": ["Reports"]}]
        },
    )

    question: str = Field(description="At most 8,000 characters.")
    history: list[PastMessage] = Field(
        [], max_length=1000, description="The conversation so far, where it is not stored."
    )
    collections: Names = Field(
        [], description="Ids or names of the collections to search; everything without any."
    )
    documents: Names = Field([], description="Ids of documents to search.")
    retriever: RetrieverName | None = Field(None, description="Search mode; by default that of the settings.")
    k: int | None = Field(None, ge=1, le=50, description="Passages to answer from.")
    read_all: bool = Field(
        False,
        description="Read all of the scope for a question about whole documents, where a model is connected "
        "and that takes more requests than begin without being asked for.",
    )
    stream: bool = Field(False, description="Send the events as they come (text/event-stream).")
    store: bool = Field(False, description="Keep question and answer as a chat.")
    conversation_id: Name | None = Field(None, description="The chat to go on with; it is stored there.")

    def asked(self) -> AskedQuestion:
        """Return the question."""
        return AskedQuestion(
            self.question,
            [(message.role, message.content) for message in self.history if message.content],
            self.collections,
            self.documents,
            self.retriever,
            self.k,
            self.store,
            self.conversation_id,
            self.read_all,
        )


STREAM = {
    "description": "The answer; with `stream` its events: "
    + ", ".join(f"`{name}`" for name in EVENTS)
    + ", then `answer` with all of it, or `error` with a problem.",
    "content": EVENT_STREAM,
}


@router.post(
    "/api/ask",
    response_model=AnswerOut,
    responses={200: STREAM, **responses(404, 409, 502)},
    summary="Ask a question",
)
async def ask(body: AskRequest, access: Asker, request: Request) -> AnswerOut | Response:
    """Answer a question from the documents, every statement with the words it rests on."""
    asking = await Asking.begin(access, body.asked())
    if body.stream:
        return event_stream(_stream(asking, request), problem_event)
    async for _ in asking.events(request):
        pass
    return await asking.answer()


async def _stream(asking: Asking, request: Request) -> AsyncIterator[str]:
    async for event in asking.events(request):
        if event is SILENCE:
            yield COMMENT
        elif (encoded := encode(event)) is not None:
            yield sse(*encoded)
    yield sse("answer", (await asking.answer()).model_dump(mode="json"))
