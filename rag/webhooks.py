"""Webhooks: events signed as Standard Webhooks, sent from the ledger's outbox, and tried again.

https://www.standardwebhooks.com: the headers webhook-id, webhook-timestamp and webhook-signature. An event
that comes twice has the same webhook-id.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from rag.connectors.http import Fetcher
from rag.errors import Cancelled, RequestRejected, SourceError
from rag.ingest.leased import JobName, exclusive
from rag.jobs import Cancel, Jobs
from rag.settings import Settings
from storage.database import Database
from storage.errors import NotFound
from storage.webhooks import Delivery, Webhooks, due_webhooks

WEBHOOK = "webhook"
LANES = {WEBHOOK: 4}
# Seconds until the next try after each that failed. The last failure, 17 hours in, disables the webhook.
WAITS: Sequence[float] = (5, 60, 300, 1800, 7200, 18_000, 36_000)
PATIENCE, LONGEST = 10.0, 15.0  # seconds without a byte, and of a whole request
MOST_BYTES = 65_536  # of an answer, which is not looked at
GONE = 410  # status of a receiver that wants no more events


def signature(secret: str, id_: str, timestamp: int, body: bytes) -> str:
    """Return the signature of an event: HMAC-SHA256 over its id, time and body.

    >>> secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    >>> signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = hmac.digest(key, f"{id_}.{timestamp}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(signed).decode()}"


def links(data: Mapping[str, Any]) -> dict[str, str]:
    """Return where an event's subject is found, as paths of this server.

    >>> links({"document_id": "d7"})
    {'api': '/api/documents/d7', 'page': '/?document=d7'}
    """
    if document := data.get("document_id"):
        return {"api": f"/api/documents/{document}", "page": f"/?{urlencode({'document': document})}"}
    if source := data.get("source_id"):
        return {"api": f"/api/sources/{source}"}
    shown = urlencode({"chat": data["conversation_id"], "answer": data["answer_id"]})
    return {"api": f"/api/conversations/{data['conversation_id']}/messages", "page": f"/?{shown}"}


def body_of(delivery: Delivery) -> bytes:
    """Return the body of an event: ids and links, no text of any document."""
    fields = {
        "type": delivery.event,
        "timestamp": delivery.created.isoformat(),
        "data": {**delivery.data, "links": links(delivery.data)},
    }
    return json.dumps(fields).encode()


class WebhookSender:
    """Sends the events of everyone's outbox, one job a webhook.

    A job ends at a failure, so that a receiver that hangs is tried once a look. `waits` are the seconds until
    each further try.
    """

    def __init__(
        self,
        database: Database,
        jobs: Jobs,
        settings: Callable[[], Settings],
        *,
        waits: Sequence[float] = WAITS,
    ):
        self._database, self._jobs, self._settings, self._waits = database, jobs, settings, waits

    def start_due(self) -> None:
        """Start to send what is due."""
        for owner, webhook_id in due_webhooks(self._database, datetime.now(UTC)):
            sending = partial(self._send_all, owner, webhook_id)
            this = JobName(owner, WEBHOOK, webhook_id)
            work = partial(exclusive, self._database.queue, this, sending, waits=False)
            with suppress(Cancelled):  # the server stops, or the person is being removed
                self._jobs.start(owner, f"{WEBHOOK}:{webhook_id}", work, lane=WEBHOOK)

    def _send_all(self, owner: str, webhook_id: str, cancelled: Cancel) -> Iterator[str]:
        mine = Webhooks(self._database, owner)
        fetcher = Fetcher(
            private=self._settings().private_hosts,
            patience=PATIENCE,
            longest=LONGEST,
            max_bytes=MOST_BYTES,
            tries=1,
        )
        with suppress(NotFound):  # removed meanwhile
            while not cancelled() and (one := mine.next_delivery(webhook_id, datetime.now(UTC))) is not None:
                failure = _sent(fetcher, one, cancelled)
                if failure is not None:
                    mine.failed(webhook_id, one.id, str(failure), self._next_try(one, failure))
                    return
                mine.delivered(webhook_id, one.id)
                yield one.id

    def _next_try(self, delivery: Delivery, failure: SourceError) -> datetime | None:
        gone = isinstance(failure, RequestRejected) and failure.status == GONE
        if gone or delivery.tries >= len(self._waits):
            return None
        return datetime.now(UTC) + timedelta(seconds=self._waits[delivery.tries])


def _sent(fetcher: Fetcher, delivery: Delivery, cancelled: Cancel) -> SourceError | None:
    """Send an event; return the error where it was not taken. A redirect is not followed."""
    body, timestamp = body_of(delivery), int(datetime.now(UTC).timestamp())
    headers = {
        "Content-Type": "application/json",
        "webhook-id": delivery.id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(delivery.secret, delivery.id, timestamp, body),
    }
    try:
        fetcher.post(delivery.url, body=body, headers=headers, cancelled=cancelled).checked()
    except SourceError as error:
        return error
    return None
