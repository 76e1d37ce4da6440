"""`/api/conversations`: list chats, read one with its evidence, export it, delete it."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from api.access import Reader, Writer
from api.answers import CitationOut, SourceOut, cited, source
from api.paging import Cursor, Limit, newest_first, page
from api.problems import responses
from rag.chat.export import MEDIA_TYPES, FormName
from storage.records import AnswerState, Message, Role

router = APIRouter(tags=["conversations"])
EXPORTED = {
    kind: {"schema": {"type": "object" if form == "json" else "string"}} for form, kind in MEDIA_TYPES.items()
}


class ConversationOut(BaseModel):
    """A chat."""

    id: str
    title: str
    created: datetime
    updated: datetime


class ConversationPage(BaseModel):
    """A page of chats, newest first."""

    data: list[ConversationOut]
    next_cursor: str | None


class MessageOut(BaseModel):
    """A question, or an answer with its evidence as it was when it was made."""

    id: str
    role: Role
    content: str
    state: AnswerState
    error: str | None
    model: str | None
    created: datetime
    citations: list[CitationOut]
    sources: list[SourceOut]


class MessagePage(BaseModel):
    """Messages, oldest first; `before` of the next call is `previous`."""

    data: list[MessageOut]
    previous: str | None


@router.get(
    "/api/conversations", response_model=ConversationPage, responses=responses(), summary="List chats"
)
def conversations(
    access: Reader,
    limit: Limit = 50,
    cursor: Cursor = None,
    search: Annotated[str, Query(max_length=200, description="Words of the chats.")] = "",
) -> ConversationPage:
    """List the chats, those begun last first."""
    access.caller.require_everything()
    shown, following = page(access.workspace.conversations.list(search), newest_first, limit, cursor)
    return ConversationPage(data=[ConversationOut(**vars(one)) for one in shown], next_cursor=following)


@router.get(
    "/api/conversations/{conversation_id}",
    response_model=ConversationOut,
    responses=responses(404),
    summary="Get a chat",
)
def conversation(conversation_id: str, access: Reader) -> ConversationOut:
    """Return a chat."""
    access.caller.require_everything()
    return ConversationOut(**vars(access.workspace.conversations.open(conversation_id)))


@router.get(
    "/api/conversations/{conversation_id}/messages",
    response_model=MessagePage,
    responses=responses(404),
    summary="Read a chat",
)
def messages(
    conversation_id: str,
    access: Reader,
    limit: Limit = 50,
    before: Annotated[str | None, Query(max_length=64, description="A message of this chat.")] = None,
) -> MessagePage:
    """Return the newest messages, or those before one of them."""
    access.caller.require_everything()
    there = access.workspace.conversations.messages(conversation_id, before=before, limit=limit)
    more = there[0].id if len(there) == limit else None
    return MessagePage(data=[_message(one) for one in there], previous=more)


@router.get(
    "/api/conversations/{conversation_id}/export",
    response_class=Response,
    responses={
        200: {"content": EXPORTED},
        **responses(404),
    },
    summary="Export a chat",
)
def export(conversation_id: str, access: Reader, form: FormName = "md") -> Response:
    """Return a chat as a file."""
    access.caller.require_everything()
    return Response(access.workspace.exported(conversation_id, form), media_type=MEDIA_TYPES[form])


@router.delete(
    "/api/conversations/{conversation_id}", status_code=204, responses=responses(404), summary="Delete a chat"
)
def delete_conversation(conversation_id: str, access: Writer) -> None:
    """Delete a chat, and stop its answer in progress."""
    access.caller.require_everything()
    access.workspace.delete_conversation(conversation_id)


def _message(message: Message) -> MessageOut:
    passages = {one.number: one for one in message.passages}
    return MessageOut(
        id=message.id,
        role=message.role,
        content=message.content,
        state=message.state,
        error=message.error,
        model=message.model,
        created=message.created,
        citations=cited(message.content, message.citations, passages),
        sources=[source(number, one) for number, one in passages.items()],
    )
