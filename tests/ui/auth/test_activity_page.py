"""The Activity page: each their own entries, administrators everyone's, names only of those who are there."""

from datetime import UTC, datetime, timedelta

import pytest
from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from storage.accounts import Account, People
from storage.audit_log import KINDS, PAGE, AuditLog, pseudonym
from tests.ui.conftest import words
from ui.auth.activity_page import DONE
from ui.auth.identity import OpenID, Visitor
from ui.server import services

SCRIPT = "from ui.auth.activity_page import show\nshow()"


def opened() -> AppTest:
    return AppTest.from_string(SCRIPT, default_timeout=100).run()


def signed_in(monkeypatch: pytest.MonkeyPatch, visitor: Visitor) -> None:
    """Let a visitor in, where people sign in."""
    server = services.services()
    monkeypatch.setattr(server, "auth_mode", OpenID(("",)))
    monkeypatch.setattr(server, "visitor", lambda: visitor)
    monkeypatch.setattr(server, "knows_people", lambda: visitor.admin)
    Account(server.database, visitor.id).enter(datetime.now(UTC) - timedelta(minutes=1), visitor.name)


def test_what_one_did_is_shown_without_the_name_of_what_was_deleted(here: Workspace):
    record, _ = here.library.add("secret plan.md", b"words")
    assert here.original(record.id) == b"words"
    here.ingest.remove(record.id)
    chat = here.conversations.create("Open chat")
    here.exported(chat.id, "md")
    services.services().change({"llm_api_key": "sk-secret-0123456789", "k": 6})
    at = opened()
    assert [one.value for one in at.markdown[1:]] == [
        "**Changed settings** · This computer",
        "**Exported a chat** · This computer",
        "**Deleted a document** · This computer",
        "**Downloaded an original file** · This computer",
    ]
    assert "API key of the model server" in words(at) and "llm_api_key" not in words(at)
    assert "secret" not in words(at) and f"ID {record.id}" in words(at)
    assert "Open chat · File format: md" in words(at)  # it is still there


def test_nobody_sees_anothers_and_administrators_see_everyones(
    here: Workspace, monkeypatch: pytest.MonkeyPatch
):
    database = here.library.documents._database
    for owner in ("ann", "bob", "gone"):
        Account(database, owner).enter(datetime.now(UTC) - timedelta(minutes=5), owner.title())
        AuditLog(database, owner).record("chat_exported", chat=f"of-{owner}")
    People(database).mark("gone")
    People(database).forget("gone")
    signed_in(monkeypatch, Visitor("bob", "Bob"))
    at = opened()
    assert not at.toggle and "of-bob" in words(at) and "of-ann" not in words(at)
    signed_in(monkeypatch, Visitor("root", "Root", admin=True))
    at = opened()
    assert "of-ann" not in words(at)
    at.toggle(key="activity-everyone").set_value(True).run()
    assert "**Exported a chat** · Ann" in words(at) and "**Exported a chat** · Bob" in words(at)
    assert f"Removed person {pseudonym('gone')}" in words(at) and "Gone" not in words(at)
    assert "**Removed a person** · Server" in words(at)


def test_older_entries_are_a_page_away(here: Workspace):
    for number in range(PAGE + 3):
        here.note("chat_exported", chat=f"chat-{number:03}")
    at = opened()
    assert "chat-052" in words(at) and "chat-002" not in words(at)
    at.button(key="activity-older").click().run()
    assert "chat-002" in words(at) and "chat-003" not in words(at)
    at.button(key="activity-newest").click().run()
    assert "chat-052" in words(at)


def test_every_kind_of_entry_has_words():
    assert set(DONE) == set(KINDS)
