"""Entries of the audit log, and events for webhooks, written in the transaction of what they tell of."""

from typing import Literal

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from storage import tables
from storage.i18n import N_
from storage.tables import AuditRow, WebhookDelivery, WebhookRow, new_id, now, owner_hash, storable

Kind = Literal[
    "signed_in",
    "signed_out",
    "key_created",
    "key_revoked",
    "webhook_created",
    "webhook_removed",
    "webhook_disabled",
    "document_removed",
    "chat_discarded",
    "chat_restored",
    "chat_removed",
    "collection_removed",
    "source_removed",
    "question_set_removed",
    "grid_removed",
    "grid_exported",
    "person_removed",
    "limits_changed",
    "settings_changed",
    "original_downloaded",
    "chat_exported",
    "feedback_exported",
    "check_exported",
    "backup_written",
    "backup_failed",
    "backup_removed",
    "backup_downloaded",
]

Detail = str | int | list[str]

LONGEST_DETAIL = 200  # characters


def add_audit_entry(session: Session, owner: str, kind: Kind, **detail: Detail) -> None:
    """Add an entry in the transaction of what it is about: both are kept, or neither is."""
    short = {name: _short(value) for name, value in detail.items()}
    session.add(AuditRow(at=now(), owner=owner_hash(owner), kind=kind, detail=short))


def _short(value: Detail) -> Detail:
    if isinstance(value, list):
        return [storable(one)[:LONGEST_DETAIL] for one in value]
    return storable(value)[:LONGEST_DETAIL] if isinstance(value, str) else value


WebhookEvent = Literal["document.ready", "document.failed", "source.synced", "source.failed", "answer.stored"]

MOST_WAITING = 10_000  # events for one webhook; it is disabled where more would wait

_TOO_MANY = N_("More than {count} events were waiting for it.", count=MOST_WAITING)


def queue_event(session: Session, owner: str, event: WebhookEvent, **data: str) -> None:
    """Queue an event for the owner's webhooks that want it, in the transaction of what it tells of."""
    mine = select(WebhookRow).where(WebhookRow.owner == storable(owner), WebhookRow.disabled.is_(None))
    for row in session.scalars(mine).all():
        if event not in row.events:
            continue
        counting = select(func.count()).where(WebhookDelivery.webhook_id == row.id)
        if (session.scalar(counting) or 0) >= MOST_WAITING:
            disable(session, row, str(_TOO_MANY))
            continue
        at = tables.now()
        session.add(
            WebhookDelivery(
                id=new_id(), webhook_id=row.id, event=event, data=data, created=at, due=at, tries=0
            )
        )


def disable(session: Session, row: WebhookRow, reason: str) -> None:
    """Disable a webhook and drop the events that wait for it."""
    row.disabled, row.reason = tables.now(), reason
    session.execute(delete(WebhookDelivery).where(WebhookDelivery.webhook_id == row.id))
    add_audit_entry(session, row.owner, "webhook_disabled", webhook=row.id)
