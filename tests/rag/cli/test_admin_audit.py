import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rag.cli import main
from storage.accounts import Account
from storage.audit_log import AuditLog, pseudonym
from storage.conversations import Conversations
from storage.database import Database


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory where Ann has signed in and Bob has exported a chat."""
    opened = Database.open(tmp_path / "data")
    Account(opened, "ann").enter(datetime.now(UTC), "Ann", "ann@example.org")
    Account(opened, "bob").enter(datetime.now(UTC), "Bob")
    AuditLog(opened, "bob").record("chat_exported", chat="c1", form="md")
    opened.close()
    return tmp_path / "data"


def test_everyones_entries_are_listed_newest_first(data: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["--data", str(data), "audit"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ", 1)[1] for line in lines] == [
        "bob: chat exported, chat c1, form md",
        "bob: signed in",
        "ann: signed in",
    ]
    assert main(["--data", str(data), "audit", "--json", "--limit", "1"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    told = json.loads(line)
    assert (told["who"], told["kind"], told["detail"]) == (
        "bob",
        "chat_exported",
        {"chat": "c1", "form": "md"},
    )


def test_a_removal_on_the_command_line_is_the_servers_and_names_nobody(
    data: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["--data", str(data), "users", "remove", "ann", "--yes"]) == 0
    capsys.readouterr()
    assert main(["--data", str(data), "audit"]) == 0
    shown = capsys.readouterr().out
    assert f"server: person removed, person {pseudonym('ann')}" in shown
    assert f"removed person {pseudonym('ann')}: signed in" in shown and "ann:" not in shown


def test_an_export_on_the_command_line_is_noted(data: Path, capsys: pytest.CaptureFixture[str]):
    opened = Database.open(data)
    Conversations(opened, "local").create("About the castle")
    opened.close()
    assert main(["--data", str(data), "export", "About the castle"]) == 0
    capsys.readouterr()
    assert main(["--data", str(data), "audit", "--limit", "1"]) == 0
    assert "local: chat exported" in capsys.readouterr().out
