"""Services of one process: people's libraries opened when they come, closed when they have gone."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rag.ingest.parsers.sandbox import available
from rag.jobs import Cancel
from rag.services import RECOVER, Services, libraries_to_close, run_all
from rag.settings import Settings
from rag.workspace import Workspace
from storage.audit_log import AuditLog
from storage.conversations import KEPT, Conversations
from storage.documents import Documents
from storage.errors import DiskFull, NotFound
from storage.grids import GridStore
from storage.tables import AuditRow, ConversationRow

PEOPLE = 6


@pytest.fixture
def many(tmp_path: Path) -> Iterator[Services]:
    """A server for which half a dozen people have a document each, one of them not yet read, just started."""
    settings = Settings(data=tmp_path / "data")
    with closing(Services(settings, local=False)) as before:
        for number in range(PEOPLE):
            library = before.workspace(f"person{number}").library
            record, _ = library.add(
                "note.md", f"The mooring fee of person{number} is {number} euros.".encode()
            )
            if number:
                list(library.index(record.id))
    with closing(Services(settings, local=False)) as server:
        yield server


def open_now(server: Services) -> set[str]:
    return {library.owner for library in server.libraries()}


def found(there: Workspace) -> list[str]:
    hits = there.library.retriever("ensemble-cc", 3).invoke("What is the mooring fee?")
    return [hit.page_content for hit in hits]


def settled(server: Services, owner: str) -> None:
    job = server.jobs.get(owner, RECOVER)
    assert job is None or job.wait(60)


def test_a_start_opens_only_what_has_work(many: Services):
    many.warm_up()
    assert open_now(many) == {"person0"}


def test_a_start_goes_on_with_the_grids_that_were_to_run(many: Services):
    store = GridStore(many.database, "person2")
    (document,) = Documents(many.database, "person2").list()
    grid = store.create("Fees", [{"id": "fee", "name": "Mooring fee", "kind": "money"}])
    store.begin_run(grid.id)
    many.warm_up()
    job = many.workspace("person2").grid_runs.job(grid.id)
    assert job is None or job.wait(60)
    assert [(cell.document_id, cell.column_id) for cell in store.cells(grid.id)] == [(document.id, "fee")]
    assert store.to_run() == []


def test_a_start_logs_which_walls_stand_around_parsers(many: Services, caplog: pytest.LogCaptureFixture):
    with caplog.at_level("INFO", "rag.services"):
        many.warm_up()
    (told,) = [line for line in caplog.messages if line.startswith("Walls of the kernel")]
    assert told.endswith(", ".join(available()) or "none")


def test_who_comes_later_finds_everything_mended(many: Services):
    many.workspace("person3").library.indexes.words.clear()
    many.warm_up()
    settled(many, "person3")
    assert found(many.workspace("person3")) == ["The mooring fee of person3 is 3 euros."]
    many.workspace("person4")
    settled(many, "person4")
    assert {"person3", "person4"} <= open_now(many)


def test_the_least_recently_used_are_closed_and_opened_again(many: Services):
    everyone = [many.workspace(f"person{number}") for number in range(1, PEOPLE)]
    for there in everyone:
        assert len(found(there)) == 1
    many.workspace("person1")
    many.rest(most=3, idle=0.0)
    assert open_now(many) == {"person4", "person5", "person1"}
    for there in everyone:
        assert len(found(there)) == 1


def test_none_is_closed_that_was_used_just_now_or_has_a_job(many: Services):
    busy, idle = many.workspace("person1"), many.workspace("person2")
    assert found(busy) and found(idle)
    many.rest(most=0)
    assert open_now(many) == {"person1", "person2"}
    go_on = threading.Event()

    def work(cancelled: Cancel) -> Iterator[None]:
        go_on.wait(60)
        assert found(busy)
        yield

    job = many.jobs.start("person1", "answer:1", work)
    many.rest(most=0, idle=0.0)
    assert open_now(many) == {"person1"}
    go_on.set()
    assert job.wait(60) and job.error is None
    many.rest(most=0, idle=0.0)
    assert open_now(many) == set()


def test_who_was_used_longest_ago_goes_first():
    used = {"ann": 30.0, "bob": 10.0, "eve": 20.0}
    assert libraries_to_close(used, 1000, [], most=1) == ["bob", "eve"]
    assert libraries_to_close(used, 1000, ["bob"], most=1) == ["eve", "ann"]
    assert libraries_to_close(used, 1000, [], most=3) == libraries_to_close(used, 100, [], most=0) == []


def test_work_is_done_though_others_fail_and_the_first_failure_is_told():
    done = []

    def fail(error: Exception) -> None:
        raise error

    with pytest.raises(DiskFull):
        run_all([lambda: fail(DiskFull("full")), lambda: fail(NotFound("gone")), lambda: done.append(1)])
    assert done == [1]
    run_all([lambda: done.append(2)])
    assert done == [1, 2]


def test_the_application_needs_no_page():
    said = "import sys, rag.services, rag.cli; print('streamlit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", said], capture_output=True, text=True).stdout == "False\n"


def test_changed_settings_are_noted_by_name_for_whoever_changed_them(tmp_path: Path):
    with closing(Services(Settings(data=tmp_path / "data"))) as server:
        server.apply({"k": 6, "llm_model": "qwen", "llm_api_key": "sk-secret"}, by="root")
        server.apply({"k": 6, "llm_model": "qwen", "llm_api_key": "sk-secret"}, by="root")
        (entry,) = server.audit_trail.list()
        assert AuditLog(server.database, "root").list() == [replace(entry, who="root")]
        assert entry.detail == {"names": ["llm_api_key", "llm_model"]}


def test_discarded_chats_are_deleted_by_the_clock(tmp_path: Path):
    with closing(Services(Settings(data=tmp_path / "data"))) as server:
        chats = Conversations(server.database, "ann")
        old, new = (chats.create(title).id for title in ("old", "new"))
        chats.discard(old)
        chats.discard(new)
        with server.database.writing() as session:
            session.get_one(ConversationRow, old).deleted = datetime.now(UTC) - KEPT - timedelta(hours=1)
        server._tick()
        assert [one.id for one in chats.discarded()] == [new]


def test_old_entries_of_the_audit_log_go_by_the_clock(tmp_path: Path):
    with closing(Services(Settings(data=tmp_path / "data", audit_days=40))) as server:
        with server.database.writing() as session:
            for days in (41, 39):
                at = datetime.now(UTC) - timedelta(days=days)
                session.add(AuditRow(at=at, owner="x", kind="signed_in", detail={}))
        server._tick()
        assert [entry.id for entry in server.audit_trail.list()] == [2]
