"""`/api/webhooks`: addresses that are told when a document is ready, a source synced, an answer stored."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from api.access import Access, Reader, Writer
from api.problems import responses
from rag.connectors.ssrf import MAX_URL
from storage.events import WebhookEvent
from storage.webhooks import EVENTS, WebhookRecord

router = APIRouter(tags=["webhooks"])
Events = Annotated[list[WebhookEvent], Field(min_length=1, max_length=len(EVENTS))]


class WebhookOut(BaseModel):
    """A webhook; a disabled one gets no events, and `reason` tells why. `waiting` events are undelivered."""

    id: str
    url: str
    events: list[WebhookEvent]
    created: datetime
    delivered: datetime | None
    disabled: datetime | None
    reason: str | None
    waiting: int


class NewWebhookOut(WebhookOut):
    """A webhook with the secret that signs its events, which is shown once."""

    secret: str


class WebhookList(BaseModel):
    """All webhooks, oldest first."""

    data: list[WebhookOut]


class NewWebhook(BaseModel):
    """Address of a receiver, and what it is told of."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"url": "https://example.org/footnote", "events": ["document.ready"]}]
        },
    )

    url: str = Field(min_length=1, max_length=MAX_URL)
    events: Events = list(EVENTS)


@router.get("/api/webhooks", response_model=WebhookList, responses=responses(), summary="List webhooks")
def webhooks(access: Reader) -> WebhookList:
    """List the webhooks, without their secrets."""
    return WebhookList(data=[_out(one) for one in _everything(access).workspace.webhooks.list()])


@router.post(
    "/api/webhooks",
    response_model=NewWebhookOut,
    status_code=201,
    responses=responses(),
    summary="Create a webhook",
)
def create_webhook(body: NewWebhook, access: Writer) -> NewWebhookOut:
    """Create a webhook. The secret, which signs its events as Standard Webhooks, is shown here alone."""
    record, secret = _everything(access).workspace.add_webhook(body.url, body.events)
    return NewWebhookOut(**_out(record).model_dump(), secret=secret)


@router.get(
    "/api/webhooks/{webhook_id}",
    response_model=WebhookOut,
    responses=responses(404),
    summary="Get a webhook",
)
def webhook(webhook_id: str, access: Reader) -> WebhookOut:
    """Return a webhook, without its secret."""
    return _out(_everything(access).workspace.webhooks.get(webhook_id))


@router.post(
    "/api/webhooks/{webhook_id}/enable",
    response_model=WebhookOut,
    responses=responses(404),
    summary="Enable a webhook",
)
def enable_webhook(webhook_id: str, access: Writer) -> WebhookOut:
    """Use a disabled webhook again, for the events from now on."""
    _everything(access).workspace.webhooks.enable(webhook_id)
    return _out(access.workspace.webhooks.get(webhook_id))


@router.delete(
    "/api/webhooks/{webhook_id}", status_code=204, responses=responses(404), summary="Delete a webhook"
)
def delete_webhook(webhook_id: str, access: Writer) -> None:
    """Delete a webhook with the events that wait for it."""
    _everything(access).workspace.webhooks.remove(webhook_id)


def _everything(access: Access) -> Access:
    access.caller.require_everything()
    return access


def _out(record: WebhookRecord) -> WebhookOut:
    return WebhookOut(**vars(record))
