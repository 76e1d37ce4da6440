"""`POST /api/ask`: one cited answer, whole or as the stream of its events."""

from collections.abc import AsyncIterator
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from api.access import Asker, Name, Names
from api.answers import AnswerOut
from api.asking import AskedQuestion, Asking
from api.following import COMMENT, EVENT_STREAM, SILENCE, event_stream, problem_event, sse
from api.problems import responses
from rag.chat.event_json import EVENTS, encode
from rag.settings import RetrieverName

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
