from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select

from storage import events
from storage import webhooks as stored
from storage.accounts import People
from storage.audit_log import AuditLog
from storage.conversations import Conversations, interrupt_pending
from storage.documents import Documents
from storage.errors import NameRefused, NotFound
from storage.sources import SourceStore
from storage.tables import WebhookDelivery, WebhookRow
from storage.webhooks import EVENTS, Webhooks, due_webhooks

URL = "https://example.org/hook"


def later() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=1)


def queued(database, owner: str, webhook_id: str) -> list[tuple[str, dict]]:
    """Take all events that are due out of the outbox."""
    mine, found = Webhooks(database, owner), []
    while (one := mine.next_delivery(webhook_id, later())) is not None:
        found.append((one.event, one.data))
        mine.delivered(webhook_id, one.id)
    return found


def test_what_happens_is_queued_with_it_for_its_owner_alone(database):
    hook, _ = Webhooks(database, "ann").create(URL)
    Webhooks(database, "bob").create(URL)
    documents, sources, chats = (kind(database, "ann") for kind in (Documents, SourceStore, Conversations))
    good, bad = (documents.add(f"{name}.md", name * 64, 1)[0].id for name in "ab")
    for state in ("reading", "searchable_by_words", "ready", "ready"):
        documents.set_state(good, state)
    documents.set_state(bad, "refused", "is damaged.")
    source = sources.create("folder", "Reports", {}).id
    for state in ("idle", "stopped", "failed"):
        sources.end(source, state)
    chat = chats.create().id
    answer = chats.begin_turn(chat, "why?").answer_id
    chats.finish(answer, "complete", "because")
    cut = chats.begin_turn(chat, "why?").answer_id
    interrupt_pending(database)
    ids = {"conversation_id": chat}
    assert queued(database, "ann", hook.id) == [
        ("document.ready", {"document_id": good}),
        ("document.failed", {"document_id": bad}),
        ("source.synced", {"source_id": source}),
        ("source.failed", {"source_id": source}),
        ("answer.stored", {**ids, "answer_id": answer, "state": "complete"}),
        ("answer.stored", {**ids, "answer_id": cut, "state": "interrupted"}),
    ]
    assert due_webhooks(database, later()) == []


def test_an_event_that_is_not_wanted_or_whose_webhook_is_disabled_is_not_queued(database):
    mine = Webhooks(database, "ann")
    answers, _ = mine.create(URL, ["answer.stored"])
    off, _ = mine.create(URL)
    document = Documents(database, "ann").add("a.md", "a" * 64, 1)[0].id
    Documents(database, "ann").set_state(document, "ready")
    assert queued(database, "ann", answers.id) == []
    waiting = mine.next_delivery(off.id, later())
    mine.failed(off.id, waiting.id, "It is gone.", None)
    Documents(database, "ann").set_state(document, "refused")
    disabled = mine.get(off.id)
    assert (disabled.reason, disabled.waiting) == ("It is gone.", 0) and disabled.disabled is not None
    assert AuditLog(database, "ann").list()[0].kind == "webhook_disabled"
    mine.enable(off.id)
    Documents(database, "ann").set_state(document, "ready")
    assert mine.get(off.id).waiting == 1


def test_a_try_that_failed_waits_until_it_is_due(database):
    mine, due = Webhooks(database, "ann"), later() + timedelta(hours=1)
    hook, _ = mine.create(URL)
    document = Documents(database, "ann").add("a.md", "a" * 64, 1)[0].id
    Documents(database, "ann").set_state(document, "ready")
    first = mine.next_delivery(hook.id, later())
    mine.failed(hook.id, first.id, "No answer.", due)
    assert mine.next_delivery(hook.id, later()) is None
    again = mine.next_delivery(hook.id, due)
    assert (again.id, again.created, again.tries) == (first.id, first.created, 1)
    assert mine.get(hook.id).reason == "No answer."
    mine.delivered(hook.id, first.id)
    assert mine.get(hook.id).reason is None


def test_no_more_events_wait_than_a_dead_receiver_is_worth(database, monkeypatch):
    monkeypatch.setattr(events, "MOST_WAITING", 2)
    mine, documents = Webhooks(database, "ann"), Documents(database, "ann")
    hook, _ = mine.create(URL)
    document = documents.add("a.md", "a" * 64, 1)[0].id
    for state in ("ready", "refused", "ready"):
        assert mine.get(hook.id).disabled is None
        documents.set_state(document, state)
    assert "events were waiting" in mine.get(hook.id).reason


def test_a_webhook_needs_events_and_there_are_not_too_many(database, monkeypatch):
    mine = Webhooks(database, "ann")
    with pytest.raises(NameRefused, match="at least one"):
        mine.create(URL, [])
    monkeypatch.setattr(stored, "MOST", 1)
    record, secret = mine.create(URL, reversed(EVENTS))
    assert record.events == EVENTS and secret.startswith("whsec_")
    with pytest.raises(NameRefused, match="Remove one"):
        mine.create(URL)


def test_a_removed_webhook_or_person_leaves_nothing(database):
    mine = Webhooks(database, "ann")
    for _ in range(2):
        mine.create(URL)
    document = Documents(database, "ann").add("a.md", "a" * 64, 1)[0].id
    Documents(database, "ann").set_state(document, "ready")
    mine.remove(mine.list()[0].id)
    assert [one.waiting for one in mine.list()] == [1]
    with pytest.raises(NotFound):
        mine.get("0" * 16)
    People(database).mark("ann")
    People(database).forget("ann")
    with database.reading() as session:
        left = [
            session.scalar(select(func.count()).select_from(one)) for one in (WebhookRow, WebhookDelivery)
        ]
    assert left == [0, 0]
