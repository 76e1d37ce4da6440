"""`footnote doctor`: what is found, the cure of what is not well, and the exit status."""

import json
import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from rag import cli
from rag.settings import load
from rag.sharing import open_ledger
from storage.lock import DataDirectoryLock
from tests.s3 import Link, environment, new_address
from tests.storage.postgres import programs, running

CHECKS = [
    *("Python", "disk", "memory", "port", "embedding model", "language model"),
    *("Tesseract", "LibreOffice", "data directory", "database", "originals", "vector store"),
    "several processes",
]
TEXT = "# Castle\n\nThe castle of Aldenburg was built in 1432.\n"


def doctor(
    capsys: pytest.CaptureFixture[str], data: Path, *arguments: str
) -> tuple[int, dict[str, dict[str, str]]]:
    """Return the exit status and the findings by check."""
    capsys.readouterr()
    status = cli.main(["--data", str(data), "doctor", "--json", *arguments])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [finding["check"] for finding in found] == CHECKS
    return status, {finding["check"]: finding for finding in found}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with a document."""
    (tmp_path / "castle.md").write_text(TEXT)
    cli.main(["--data", str(tmp_path / "data"), "ingest", str(tmp_path / "castle.md")])
    return tmp_path / "data"


def test_a_sound_installation_passes_and_nothing_is_changed(capsys, tmp_path: Path):
    status, found = doctor(capsys, tmp_path / "data")
    assert status == 0
    assert found["data directory"]["found"].endswith("is made at the first start.")
    assert not (tmp_path / "data").exists()


def test_a_damaged_ledger_and_vector_store_fail_with_their_cures(capsys, data: Path):
    assert doctor(capsys, data)[0] == 0
    (data / "footnote.db").write_bytes(b"not a database" * 1000)
    (chroma,) = data.rglob("chroma.sqlite3")
    chroma.write_bytes(b"not a database" * 1000)
    status, found = doctor(capsys, data)
    assert status == 1
    assert found["database"]["level"] == found["vector store"]["level"] == "failed"
    assert "footnote restore" in found["database"]["cure"]
    assert "footnote reindex" in found["vector store"]["cure"]


def test_a_running_app_and_its_port_are_named(capsys, data: Path):
    lock = DataDirectoryLock(data)
    lock.acquire()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        status, found = doctor(capsys, data, "--port", str(listening.getsockname()[1]))
    lock.release()
    assert status == 0
    assert found["data directory"]["found"].startswith("In use. ")
    assert found["port"]["level"] == "warning"
    assert "footnote serve --port" in found["port"]["cure"]


@pytest.mark.parametrize(
    ("settings", "check", "said"),
    [
        ({"LLM_MODEL": "m", "LLM_BASE_URL": "http://127.0.0.1:9"}, "language model", "FOOTNOTE_LLM_BASE_URL"),
        ({"LOCAL_MODEL": "qwen2.5-coder-1.5b"}, "language model", "footnote model install"),
        (
            {"EMBEDDING_MODEL": "openai:m", "EMBEDDING_BASE_URL": "http://127.0.0.1:9"},
            "embedding model",
            "correct",
        ),
        ({"VECTOR_STORE": "no.such:Store"}, "vector store", "no.such"),
        ({"OBJECTS": "s3://bucket/prefix"}, "originals", "does not answer"),
        ({"DATABASE_URL": "postgresql+psycopg://u:s@127.0.0.1:9/d"}, "database", "See that the server runs"),
    ],
)
def test_a_part_of_the_settings_that_is_away_fails(
    capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], check: str, said: str
):
    for name, value in settings.items():
        monkeypatch.setenv(f"FOOTNOTE_{name}", value)
    for name, value in environment(port=9).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FOOTNOTE_MODEL_CACHE", str(tmp_path / "cache"))
    status, found = doctor(capsys, tmp_path / "data")
    assert status == 1
    assert found[check]["level"] == "failed"
    assert said in found[check]["found"] + found[check]["cure"]


def test_an_object_store_is_tried_and_named_without_its_endpoint(
    capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, s3_link: Link
):
    monkeypatch.setenv("FOOTNOTE_OBJECTS", address := new_address())
    status, found = doctor(capsys, tmp_path / "data")
    assert status == 0
    assert found["originals"]["found"] == f"'{address}' can be written, read and deleted."
    s3_link.cut()
    assert doctor(capsys, tmp_path / "data")[0] == 1


def test_a_ledger_on_a_server_is_reached(capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if programs() is None:
        pytest.skip("no initdb here: install PostgreSQL")
    with running() as server:
        monkeypatch.setenv("FOOTNOTE_DATABASE_URL", server.url)
        status, found = doctor(capsys, tmp_path / "data")
        assert (status, found["database"]["found"]) == (0, "Its server answers.")


def test_what_several_processes_do_not_share_is_named_and_then_what_differs_from_the_running_ones(
    capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if programs() is None:
        pytest.skip("no initdb here: install PostgreSQL")

    def sharing() -> tuple[str, str]:
        found = doctor(capsys, tmp_path / "data")[1]["several processes"]
        return found["level"], found["found"]

    assert sharing()[0] == "ok"
    with running() as server:
        monkeypatch.setenv("DATABASE_URL", server.url)
        level, found = sharing()
        assert level == "ok" and "FOOTNOTE_OBJECTS is not set" in found
        monkeypatch.setenv("FOOTNOTE_OBJECTS", f"file://{tmp_path}/shared")
        level, found = sharing()
        assert level == "warning" and "FOOTNOTE_VECTOR_STORE is chroma" in found
        monkeypatch.setenv("FOOTNOTE_VECTOR_STORE", "lance-objects")
        with closing(open_ledger(load({"data": tmp_path / "other"}))):
            assert sharing() == ("ok", "May use this ledger: originals and indexes are shared.")
            monkeypatch.setenv("FOOTNOTE_EMBEDDING_MODEL", "static-multilingual")
            level, found = sharing()
            assert level == "failed" and "other values of: FOOTNOTE_EMBEDDING_MODEL" in found


def test_a_data_directory_within_a_file_fails_with_what_to_choose(capsys, tmp_path: Path):
    (tmp_path / "file").write_text("")
    status, found = doctor(capsys, tmp_path / "file" / "data")
    assert (status, found["data directory"]["level"]) == (1, "failed")
    assert "FOOTNOTE_DATA" in found["data directory"]["cure"]


@pytest.mark.parametrize(
    ("options", "check", "cure"),
    [("size=8m", "disk", "Make room there"), ("size=8m,ro", "data directory", "right to write")],
)
def test_a_disk_that_is_full_or_read_only_fails_with_its_cure(
    tmp_path: Path, options: str, check: str, cure: str
):
    script = 'mount -t tmpfs -o "$1" tmpfs "$2" || exit 99; exec "$3" -m rag.cli --data "$2" doctor --json'
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", options, tmp_path]
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])}
    try:
        done = subprocess.run(
            [*command, sys.executable], capture_output=True, text=True, env=environment, cwd=tmp_path.parent
        )
    except FileNotFoundError:
        pytest.skip("no unshare here to make a small disk with")
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip("this system lets nobody make a small disk: " + done.stderr)
    found = {one["check"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert (done.returncode, found[check]["level"]) == (1, "failed"), done.stderr
    assert cure in found[check]["found"] + found[check]["cure"]


def test_a_missing_program_is_a_warning_with_its_cure(
    capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    status, found = doctor(capsys, tmp_path / "data")
    assert status == 0
    assert found["Tesseract"]["level"] == found["LibreOffice"]["level"] == "warning"
    assert "tesseract-ocr-kor" in found["Tesseract"]["cure"]


def test_people_read_one_line_per_check(capsys, tmp_path: Path):
    cli.main(["--data", str(tmp_path / "data"), "doctor"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CHECKS)
    assert lines[0].startswith("ok      Python: 3.")
