"""`footnote backup` beside the running app, and `footnote restore` on an empty machine."""

import stat
from pathlib import Path

import pytest

from rag import cli
from rag import settings as config
from rag.ingest.library import Library
from rag.models.embeddings import Embedder
from storage import sqlite
from storage.conversations import Conversations
from storage.database import Database
from storage.documents import Documents
from storage.files import Files

CASTLE = "# Castle\n\nThe castle of Aldenburg was built in 1432. Its moat is nine metres deep.\n"
KOREAN = "# 등대\n\n등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.\n"
MILL = "# Mill\n\nThe mill of Aldenburg ground rye until 1791, when its wheel broke.\n"
QUESTIONS = ("When was the castle built?", "등불은 무엇으로 탔나요?", "What broke in 1791?")


def footnote(capsys: pytest.CaptureFixture[str], data: Path, *arguments: object) -> tuple[int, str, str]:
    status = cli.main(["--data", str(data), *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for name, text in (("castle.md", CASTLE), ("등대.md", KOREAN), ("mill.md", MILL)):
        (folder / name).write_text(text)
    return folder


def passages(data: Path, embedder: Embedder) -> list[list[str]]:
    """What each question finds, in order."""
    database = Database.open(data)
    library = Library(database, "local", lambda: embedder)
    found = [library.retriever("ensemble-cc", 2).invoke(question) for question in QUESTIONS]
    library.close()
    database.close()
    return [[str(passage.id) for passage in each] for each in found]


def test_the_same_questions_give_the_same_passages_on_another_machine(capsys, tmp_path, files, embedder):
    data, other = tmp_path / "data", tmp_path / "other"
    footnote(capsys, data, "ingest", files)
    footnote(capsys, data, "tree")
    config.save(data, {"k": 2, "llm_api_key": "sk-secret", "llm_base_url": "http://ann:secret@host/v1"})
    before = passages(data, embedder)
    running = Database.open(data)  # as the app has it
    status, out, err = footnote(capsys, data, "backup", tmp_path / "all.tar")
    running.close()
    assert (status, err.count("\n")) == (0, 1) and "bytes of originals" in err
    assert "3 documents" in out and "unencrypted" in out
    assert stat.S_IMODE((tmp_path / "all.tar").stat().st_mode) == 0o600
    kept = (tmp_path / "all.tar").read_bytes()
    assert b"sk-secret" not in kept and b"ann:secret" not in kept  # the ledger has a column "secret"

    status, out, _ = footnote(capsys, other, "restore", tmp_path / "all.tar")
    assert status == 0 and "Restored 3 documents" in out
    assert passages(other, embedder) == before
    assert [len(found) for found in before] == [2, 2, 2]
    assert config.load({"data": other}).k == 2
    opened = Database.open(other)
    library = Library(opened, "local", lambda: pytest.fail("nothing is left to embed"))
    assert {record.state for record in library.documents.list()} == {"ready"}
    assert all(branch.state == "ready" for branch in library.forest.trees.list())
    library.close()
    opened.close()


def test_what_is_wrong_with_a_backup_or_a_restore_is_said(capsys, tmp_path, files):
    data = tmp_path / "data"
    footnote(capsys, data, "ingest", files)
    footnote(capsys, data, "backup", tmp_path / "all.tar")
    status, _, err = footnote(capsys, data, "restore", tmp_path / "all.tar")
    assert status == 2 and "only where nothing is" in err
    assert footnote(capsys, data, "backup", tmp_path / "all.tar")[0] == 2
    database = Database.open(data)
    record = next(record for record in Documents(database, "local").list() if record.name == "mill.md")
    Files(data, "local").path(record.sha256).unlink()
    database.close()
    status, out, err = footnote(capsys, data, "backup", tmp_path / "without.tar")
    assert status == 1 and "2 documents" in out and "mill.md" in err


def test_a_backup_of_the_ledger_alone_takes_the_place_of_the_ledger(capsys, tmp_path, files):
    data = tmp_path / "data"
    footnote(capsys, data, "ingest", files)
    database = Database.open(data)
    sqlite.copy(data / sqlite.LEDGER, tmp_path / "ledger.db")
    Conversations(database, "local").create("later")
    database.close()
    status, out, _ = footnote(capsys, data, "restore", tmp_path / "ledger.db")
    assert status == 0 and "What was there before is kept" in out
    database = Database.open(data)
    assert len(Documents(database, "local").list()) == 3
    assert Conversations(database, "local").list() == []
    database.close()


def test_a_ledger_on_a_server_is_left_to_its_own_tools(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@nowhere/none")
    for command in ("backup", "restore"):
        status, _, err = footnote(capsys, tmp_path / "data", command, tmp_path / "all.tar")
        assert status == 2 and "server's own tools" in err


def test_a_restore_without_the_embedding_model_leaves_words_to_find(
    capsys, tmp_path, files, embedder, monkeypatch
):
    footnote(capsys, tmp_path / "data", "ingest", files)
    footnote(capsys, tmp_path / "data", "backup", tmp_path / "all.tar")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FOOTNOTE_MODEL_CACHE", str(tmp_path / "file"))
    status, _, err = footnote(capsys, tmp_path / "other", "restore", tmp_path / "all.tar")
    assert status == 1 and "their words only" in err
    monkeypatch.delenv("FOOTNOTE_MODEL_CACHE")
    database = Database.open(tmp_path / "other")
    library = Library(database, "local", lambda: embedder)
    (found,) = library.retriever("bm25", 1).invoke("What broke in 1791?")
    assert "wheel" in found.page_content
    assert len(library.recover()) == 3  # to be embedded, now that there is a model
    library.close()
    database.close()


def test_a_passphrase_is_asked_for_twice_and_needed_to_restore(capsys, tmp_path, files, monkeypatch):
    data = tmp_path / "data"
    footnote(capsys, data, "ingest", files)
    status, _, err = footnote(capsys, data, "backup", "--encrypt", tmp_path / "all.enc")
    assert status == 2 and "FOOTNOTE_BACKUP_PASSPHRASE" in err
    typed = iter(
        ["correct horse", "another horse", "correct horse", "correct horse", "wrong horse", "correct horse"]
    )
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("rag.cli.admin.getpass", lambda _: next(typed))
    status, _, err = footnote(capsys, data, "backup", "--encrypt", tmp_path / "all.enc")
    assert status == 2 and "passphrases differ" in err and not (tmp_path / "all.enc").exists()
    status, out, _ = footnote(capsys, data, "backup", "--encrypt", tmp_path / "all.enc")
    assert status == 0 and ", encrypted:" in out
    status, _, err = footnote(capsys, tmp_path / "new", "restore", tmp_path / "all.enc")
    assert status == 2 and "not the passphrase" in err
    status, out, _ = footnote(capsys, tmp_path / "new", "restore", tmp_path / "all.enc")
    assert status == 0 and "Restored 3 documents" in out


def test_the_passphrase_of_the_settings_is_used_without_asking(capsys, tmp_path, files, monkeypatch):
    monkeypatch.setenv("FOOTNOTE_BACKUP_PASSPHRASE", "correct horse")
    footnote(capsys, tmp_path / "data", "ingest", files)
    assert ", encrypted:" in footnote(capsys, tmp_path / "data", "backup", tmp_path / "all.enc")[1]
    assert footnote(capsys, tmp_path / "new", "restore", tmp_path / "all.enc")[0] == 0
    monkeypatch.delenv("FOOTNOTE_BACKUP_PASSPHRASE")
    status, _, err = footnote(capsys, tmp_path / "other", "restore", tmp_path / "all.enc")
    assert status == 2 and "is encrypted" in err


def test_a_drill_says_what_is_in_a_backup_and_leaves_nothing(capsys, tmp_path, files):
    data = tmp_path / "data"
    footnote(capsys, data, "ingest", files)
    footnote(capsys, data, "backup", tmp_path / "all.tar")
    status, out, err = footnote(capsys, data, "backup", "drill", tmp_path / "all.tar")
    assert (status, err) == (0, "")
    assert "1 people, 3 documents with 3 originals and 3 passages" in out and "Nothing is wrong" in out
    assert not list(data.glob(".drill*"))
    (tmp_path / "all.tar").write_bytes((tmp_path / "all.tar").read_bytes()[:-20_000])
    status, _, err = footnote(capsys, data, "backup", "drill", tmp_path / "all.tar")
    assert status == 2 and "not a whole backup" in err


def test_more_than_one_file_is_a_wrong_call(capsys, tmp_path):
    with pytest.raises(SystemExit) as ended:
        footnote(capsys, tmp_path / "data", "backup", "a.tar", "b.tar")
    assert ended.value.code == 2 and "name one file" in capsys.readouterr().err
