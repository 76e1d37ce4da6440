"""`POST /api/check`: a text checked against the documents, statement by statement."""

from base64 import b64decode
from collections.abc import AsyncIterator
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from api.access import Access, Asker, Names
from api.following import COMMENT, EVENT_STREAM, SILENCE, event_stream, follow, problem_event, sse
from api.problems import responses
from rag.chat.check_export import as_json
from rag.chat.check_text import CheckedText, CheckProgress, CheckStatus
from rag.errors import Cancelled
from rag.jobs import Job

router = APIRouter(tags=["answers"])


class TextToCheck(BaseModel):
    """A text to check, or a file of any type that can be added as a document."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"text": "The harbour was opened in 1893.", "collections": []}]},
    )

    text: str | None = Field(None, description="Plain text or Markdown.")
    file: str | None = Field(None, description="In place of a text: a file in base64.")
    name: str = Field("text.md", min_length=1, max_length=255, description="Name of the file.")
    collections: Names = Field(
        [], description="Ids or names of the collections to search; everything without any."
    )
    documents: Names = Field([], description="Ids of documents to search.")
    stream: bool = Field(False, description="Send the progress as it comes (text/event-stream).")

    @model_validator(mode="after")
    def _has_one(self) -> "TextToCheck":
        if (self.text is None) == (self.file is None):
            raise ValueError("give either a text or a file")
        return self

    @field_validator("file")
    @classmethod
    def _is_base64(cls, file: str | None) -> str | None:
        if file is not None:
            try:
                b64decode(file, validate=True)
            except ValueError as error:
                raise ValueError("it is no base64") from error
        return file

    @property
    def content(self) -> bytes:
        """The bytes to check."""
        return (self.text or "").encode() if self.file is None else b64decode(self.file)


class CheckedSource(BaseModel):
    """Words of a document: `quote` is `[start:end)` of its text."""

    document: str
    document_id: str
    page: int | None
    heading: str
    start: int
    end: int
    quote: str


class CheckedStatementOut(BaseModel):
    """A statement, `text[start:end]`, with its sources, or the closest words where none says it."""

    statement: str
    start: int
    end: int
    status: CheckStatus
    note: str
    sources: list[CheckedSource]
    closest: list[CheckedSource]


class CheckOut(BaseModel):
    """A checked text."""

    form: Literal["footnote-check"]
    version: int
    name: str
    verified: int
    total: int
    searched_in: str | None
    notes: list[str]
    text: str
    statements: list[CheckedStatementOut]


@router.post(
    "/api/check",
    response_model=CheckOut,
    responses={
        200: {
            "description": "The checked text; with `stream` events `progress`, then `checked` or `error`.",
            "content": EVENT_STREAM,
        },
        **responses(404),
    },
    summary="Check a text",
)
async def check(body: TextToCheck, access: Asker, request: Request) -> Any:
    """Check the statements of a text against the documents, without a language model."""
    job = await run_in_threadpool(_start, body, access)
    if body.stream:
        return event_stream(_stream(job, request), problem_event)
    checked = None
    async for event in follow(job, request):
        checked = event if isinstance(event, CheckedText) else checked
    return as_json(_ended(checked))


def _start(body: TextToCheck, access: Access) -> Job[CheckProgress | CheckedText]:
    inside, single = access.chosen(body.collections, body.documents)
    return access.workspace.check_text(body.name, body.content, collections=inside, documents=single)


def _ended(checked: CheckedText | None) -> CheckedText:
    if checked is None:
        raise Cancelled("The check was stopped. Start it again.")
    return checked


async def _stream(job: Job[CheckProgress | CheckedText], request: Request) -> AsyncIterator[str]:
    checked = None
    async for event in follow(job, request):
        if event is SILENCE:
            yield COMMENT
        elif isinstance(event, CheckProgress):
            yield sse("progress", {"done": event.done, "total": event.total})
        elif isinstance(event, CheckedText):
            checked = event
    yield sse("checked", as_json(_ended(checked)))
