"""Webhooks of one owner, and the outbox: events queued in the transaction of what they tell of.

An event is in the ledger before anything is sent, and leaves it after the receiver took it. So it is
delivered at least once, also where the server is killed in between.
"""

import base64
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from sqlalchemy import delete, func, select

from storage import tables
from storage.database import Database, OwnerStore
from storage.errors import NameRefused, NotFound
from storage.events import WebhookEvent, add_audit_entry, disable
from storage.i18n import N_
from storage.tables import WebhookDelivery, WebhookRow, ensure_user, new_id, storable, to_record

EVENTS: tuple[WebhookEvent, ...] = get_args(WebhookEvent)
MOST = 20  # webhooks of one owner


@dataclass(frozen=True)
class WebhookRecord:
    """A webhook, without its secret; a disabled one gets no events, and `reason` tells why."""

    id: str
    url: str
    events: Sequence[str]
    created: datetime
    delivered: datetime | None
    disabled: datetime | None
    reason: str | None
    waiting: int


@dataclass(frozen=True)
class Delivery:
    """An event on its way to a webhook, after `tries` that failed."""

    id: str
    url: str
    secret: str
    event: str
    data: dict[str, Any]
    created: datetime
    tries: int


class Webhooks(OwnerStore):
    """The webhooks of one owner."""

    def create(self, url: str, events: Iterable[WebhookEvent] = EVENTS) -> tuple[WebhookRecord, str]:
        """Create a webhook; return its record and the secret that signs its events, which is shown once.

        Raises NameRefused for one too many, or without events.
        """
        wanted = set(events)
        chosen = [event for event in EVENTS if event in wanted]
        if not chosen:
            raise NameRefused(N_("A webhook needs at least one event. Choose what it is told of."))
        secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        with self._database.writing(self._owner) as session:
            ensure_user(session, self._owner)
            mine = select(func.count()).where(WebhookRow.owner == storable(self._owner))
            if session.scalar(mine) >= MOST:  # type: ignore[operator]
                raise NameRefused(N_("There are {count} webhooks already. Remove one first.", count=MOST))
            row = WebhookRow(id=new_id(), owner=self._owner, url=url, events=chosen, secret=secret)
            row.created = tables.now()
            session.add(row)
            session.flush()
            add_audit_entry(session, self._owner, "webhook_created", webhook=row.id)
            return _record(row, 0), secret

    def list(self) -> list[WebhookRecord]:
        """List the webhooks, oldest first."""
        waiting = select(func.count()).where(WebhookDelivery.webhook_id == WebhookRow.id).scalar_subquery()
        mine = select(WebhookRow, waiting).where(WebhookRow.owner == storable(self._owner))
        with self._database.reading() as session:
            rows = session.execute(mine.order_by(WebhookRow.created, WebhookRow.id))
            return [_record(row, number) for row, number in rows]

    def get(self, webhook_id: str) -> WebhookRecord:
        """Return a webhook; NotFound when this owner has no such one."""
        found = next((one for one in self.list() if one.id == webhook_id), None)
        if found is None:
            raise NotFound(N_("There is no {noun} {id}.", noun=WebhookRow.noun, id=repr(webhook_id)))
        return found

    def remove(self, webhook_id: str) -> None:
        """Delete a webhook with the events that wait for it."""
        with self._database.writing(self._owner) as session:
            session.delete(self._own(session, WebhookRow, webhook_id))
            add_audit_entry(session, self._owner, "webhook_removed", webhook=webhook_id)

    def enable(self, webhook_id: str) -> None:
        """Use a disabled webhook again, for the events from now on."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, WebhookRow, webhook_id)
            row.disabled = row.reason = None

    def next_delivery(self, webhook_id: str, now: datetime) -> Delivery | None:
        """Return the event that has been due longest, if any is."""
        due = select(WebhookDelivery).where(
            WebhookDelivery.webhook_id == webhook_id, WebhookDelivery.due <= now
        )
        with self._database.reading() as session:
            hook = self._own(session, WebhookRow, webhook_id)
            row = session.scalar(due.order_by(WebhookDelivery.due, WebhookDelivery.id).limit(1))
            return None if row is None else to_record(Delivery, row, url=hook.url, secret=hook.secret)

    def delivered(self, webhook_id: str, delivery_id: str) -> None:
        """Take an event out of the outbox."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, WebhookRow, webhook_id)
            row.delivered, row.reason = tables.now(), None
            mine = WebhookDelivery.id == delivery_id, WebhookDelivery.webhook_id == row.id
            session.execute(delete(WebhookDelivery).where(*mine))

    def failed(self, webhook_id: str, delivery_id: str, reason: str, due: datetime | None) -> None:
        """Note a try that failed, and when the next is due; without one, disable the webhook."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, WebhookRow, webhook_id)
            waiting = session.get(WebhookDelivery, delivery_id)
            if waiting is None or waiting.webhook_id != row.id:
                return
            row.reason = reason
            if due is None:
                disable(session, row, reason)
            else:
                waiting.tries, waiting.due = waiting.tries + 1, due


def due_webhooks(database: Database, now: datetime) -> list[tuple[str, str]]:
    """List the owners and ids of all webhooks for which an event is due."""
    due = (
        select(WebhookRow.owner, WebhookRow.id)
        .join(WebhookDelivery, WebhookDelivery.webhook_id == WebhookRow.id)
        .where(WebhookDelivery.due <= now)
        .distinct()
    )
    with database.reading() as session:
        return [(owner, id_) for owner, id_ in session.execute(due)]


def _record(row: WebhookRow, waiting: int) -> WebhookRecord:
    return to_record(WebhookRecord, row, events=tuple(row.events), waiting=waiting)
