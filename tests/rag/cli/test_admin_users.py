import io
import json
from datetime import UTC, datetime

import pytest

from rag.cli import main
from storage.accounts import Account
from storage.database import Database
from storage.documents import Documents
from storage.files import Files


@pytest.fixture
def data(tmp_path):
    """A data directory with Ann, who has a document, and Bob."""
    opened = Database.open(tmp_path / "data")
    Account(opened, "https://id.example#1").enter(datetime.now(UTC), "Ann", "ann@example.org")
    Account(opened, "proxy:bob").enter(datetime.now(UTC), "bob")
    sha256, size = Files(opened.directory, "https://id.example#1").save(b"words")
    Documents(opened, "https://id.example#1").add("mine.md", sha256, size)
    opened.close()
    return tmp_path / "data"


def test_everyone_is_listed_with_what_they_hold(data, capsys):
    assert main(["--data", str(data), "users", "list"]) == 0
    lines = capsys.readouterr().out
    assert "https://id.example#1 (Ann): 1 documents" in lines and "proxy:bob: 0 documents" in lines
    assert main(["--data", str(data), "users", "list", "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {record["name"]: record["holds"]["documents"] for record in told} == {"Ann": 1, "bob": 0}


def test_one_is_removed_with_all_they_own(data, capsys):
    assert main(["--data", str(data), "users", "remove", "https://id.example#1", "--yes"]) == 0
    assert "removed" in capsys.readouterr().err
    assert list(data.glob("files/*")) == []
    main(["--data", str(data), "users", "list"])
    assert "Ann" not in capsys.readouterr().out


@pytest.mark.parametrize("said", ["no\n", "\n", "y\n"])
def test_nobody_is_removed_without_a_yes(data, capsys, monkeypatch, said):
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    assert main(["--data", str(data), "users", "remove", "proxy:bob"]) == 1
    assert "Nothing was removed" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert main(["--data", str(data), "users", "remove", "proxy:bob"]) == 0


def test_one_who_is_not_there_is_named(data, capsys):
    assert main(["--data", str(data), "users", "remove", "bob", "--yes"]) == 2
    assert "There is no person 'bob'" in capsys.readouterr().err
