"""Backups by the clock: due by the newest file, read back, the oldest removed, and refused in a sentence."""

import logging
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from rag import backups
from rag.backups import BackupSchedule, BackupsOnRequest, file_name, made
from rag.errors import BackupRunning, SettingsError
from rag.jobs import Job, Jobs
from rag.services import Services
from rag.settings import Settings
from storage.audit_log import SERVER, AuditLog
from storage.backup import restore_into
from storage.database import Database
from storage.documents import Documents
from storage.errors import NotFound
from storage.files import Files

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database.open(tmp_path / "data")
    sha256, size = Files(opened.directory, "ann").save(b"castle" * 1000)
    Documents(opened, "ann").add("castle.md", sha256, size)
    (tmp_path / "kept").mkdir()
    yield opened
    opened.close()


class Clock:
    """A schedule whose time is given, and what it said."""

    def __init__(self, database: Database, folder: Path, **settings: object):
        self.settings = Settings(data=database.directory, backup_folder=folder, backup_hours=6, **settings)
        self.log, self.newest = AuditLog(database, SERVER), list[datetime]()
        self.jobs = Jobs(backups.LANES)
        self.schedule = BackupSchedule(self.jobs, lambda: self.settings, self.log, self.newest.append)

    def at(self, now: datetime) -> BaseException | str | None:
        job = self.schedule.start_due(now)
        if job is None:
            return "not due"
        job.wait(60)
        return job.error

    def kinds(self) -> list[str]:
        return [entry.kind for entry in self.log.list()]


def test_one_is_made_when_it_is_due_and_the_oldest_go(database: Database, tmp_path: Path):
    clock = Clock(database, tmp_path / "kept", backup_keep=2)
    (tmp_path / "kept" / "mine.tar").write_text("precious")
    assert clock.at(NOON) is None
    assert clock.at(NOON + 5 * HOUR) == "not due"
    assert clock.at(NOON + 6 * HOUR) is None and clock.at(NOON + 12 * HOUR) is None
    names = [path.name for _, path in made(tmp_path / "kept")]
    assert names == ["footnote-20261124T180000Z.tar", "footnote-20261125T000000Z.tar"]
    assert (tmp_path / "kept" / "mine.tar").read_text() == "precious"
    assert clock.kinds() == ["backup_written"] * 3 and clock.newest[-1] == NOON + 12 * HOUR
    assert restore_into(tmp_path / "new", made(tmp_path / "kept")[-1][1]).originals == 1


def test_another_start_knows_when_the_last_one_was_made(database: Database, tmp_path: Path):
    assert Clock(database, tmp_path / "kept").at(NOON) is None
    assert Clock(database, tmp_path / "kept").at(NOON + HOUR) == "not due"


def test_with_a_passphrase_it_is_encrypted(database: Database, tmp_path: Path):
    assert Clock(database, tmp_path / "kept", backup_passphrase="correct horse").at(NOON) is None
    ((_, path),) = made(tmp_path / "kept")
    assert path.name.endswith(".tar.encrypted") and b"castle" not in path.read_bytes()
    assert restore_into(tmp_path / "new", path, passphrase="correct horse").originals == 1


def test_a_full_disk_makes_none_and_keeps_the_old_ones(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    clock = Clock(database, tmp_path / "kept", backup_keep=1)
    assert clock.at(NOON) is None
    monkeypatch.setattr(backups.shutil, "disk_usage", lambda _: SimpleNamespace(free=40_000_000))
    later = NOON + 7 * HOUR
    said = str(clock.at(later))
    assert re.search("No backup was written: it needs about 5[01] MB", said) and "40 MB are free" in said
    assert clock.at(later + HOUR / 2) == "not due"
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [file_name(NOON, encrypted=False)]
    monkeypatch.undo()
    assert clock.at(later + HOUR) is None
    assert clock.kinds() == ["backup_written", "backup_failed", "backup_written"]


def test_a_folder_that_is_not_there_is_not_made(database: Database, tmp_path: Path):
    clock = Clock(database, tmp_path / "mount")
    assert "mount is not there" in str(clock.at(NOON))
    assert not (tmp_path / "mount").exists() and clock.kinds() == ["backup_failed"]


def test_what_a_backup_that_was_cut_off_left_is_removed_by_the_next(database: Database, tmp_path: Path):
    for folder, end in (
        (tmp_path / "kept", "part"),
        (tmp_path / "kept", "ledger"),
        (database.directory, "ledger"),
    ):
        (folder / f".{file_name(NOON, encrypted=True)}.{end}").write_bytes(b"half")
    assert Clock(database, tmp_path / "kept").at(NOON + HOUR) is None
    assert not [*tmp_path.glob("kept/.*"), *database.directory.glob(".footnote-*")]


def test_a_server_that_stops_ends_its_backup_and_leaves_nothing(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    clock = Clock(database, tmp_path / "kept")
    monkeypatch.setattr(backups, "shareable", lambda _: clock.jobs.close() or {})
    clock.at(NOON)
    assert list((tmp_path / "kept").iterdir()) == [] and clock.kinds() == []


def on_request(database: Database, passphrase: str = "", **settings: object) -> BackupsOnRequest:
    """Ask for a backup and wait until it is written."""
    given = Settings(data=database.directory, **settings)
    backups_of_ann = BackupsOnRequest(Jobs(backups.LANES), lambda: given)
    backups_of_ann.start(passphrase, AuditLog(database, "ann"))
    job = backups_of_ann.job
    assert job is None or job.wait(60)
    return backups_of_ann


def test_one_on_request_lies_in_the_data_directory_and_removes_no_other(database: Database, tmp_path: Path):
    (database.directory / "backups").mkdir()
    (database.directory / "backups" / "ledger-1.db").write_bytes(b"of an upgrade")
    earlier = database.directory / "backups" / file_name(NOON, encrypted=False)
    earlier.write_bytes(b"")
    made_now = on_request(database, backup_passphrase="correct horse", backup_keep=1).list()
    assert [path.parent == earlier.parent for _, path in made_now] == [True, True]
    assert made_now[1][1] == earlier and (earlier.parent / "ledger-1.db").is_file()
    assert restore_into(tmp_path / "new", made_now[0][1], passphrase="correct horse").originals == 1
    assert [entry.kind for entry in AuditLog(database, "ann").list()] == ["backup_written"]


@pytest.mark.parametrize("passphrase", ["", "correct horse"])
def test_the_clock_neither_counts_nor_removes_those_on_request_in_its_folder(
    database: Database, passphrase: str
):
    folder = database.directory / "backups"
    ((_, asked),) = on_request(database, passphrase, backup_folder=folder).list()
    clock, now = Clock(database, folder, backup_keep=1), datetime.now(UTC)
    assert clock.at(now) is None and clock.at(now + 6 * HOUR) is None
    ((_, by_the_clock),) = made(folder)
    assert by_the_clock.name == file_name(now + 6 * HOUR, encrypted=False) and asked.is_file()
    again = on_request(database, backup_folder=folder)
    assert asked in [path for _, path in again.list()] and by_the_clock not in [p for _, p in again.list()]
    with pytest.raises(NotFound):
        again.delete(by_the_clock.name, AuditLog(database, "ann"))


def test_what_one_on_request_that_was_cut_off_left_is_removed_by_the_next(database: Database):
    (folder := database.directory / "backups").mkdir()
    for end in ("part", "ledger"):
        (folder / f".{file_name(NOON, encrypted=True, requested=True)}.{end}").write_bytes(b"half")
    assert [path for _, path in on_request(database).list()] == list(folder.iterdir())


def test_one_on_request_that_is_stopped_leaves_nothing(database: Database, monkeypatch: pytest.MonkeyPatch):
    given, jobs = Settings(data=database.directory), Jobs(backups.LANES)
    asked = BackupsOnRequest(jobs, lambda: given)

    def stop(_: Path) -> dict[str, object]:
        assert asked.job is not None
        asked.job.cancel()
        return {}

    monkeypatch.setattr(backups, "shareable", stop)
    asked.start("", AuditLog(database, "ann"))
    job = asked.job
    assert job is None or job.wait(60)
    assert asked.failure is None and not [*asked.folder.iterdir(), *database.directory.glob(".footnote-*")]
    assert AuditLog(database, "ann").list() == []


def test_a_second_one_on_request_is_refused_while_one_is_written(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    given, begun, goes_on = Settings(data=database.directory), threading.Event(), threading.Event()
    asked = BackupsOnRequest(Jobs(backups.LANES), lambda: given)
    at_step = backups.BackupProgress("copying originals", 1, 2)

    def hold(_: Path) -> dict[str, object]:
        asked.progress = at_step
        begun.set()
        assert goes_on.wait(60)
        return {}

    monkeypatch.setattr(backups, "shareable", hold)
    asked.start("correct horse", AuditLog(database, "ann"))
    job = asked.job
    assert job is not None and begun.wait(60)
    with pytest.raises(BackupRunning, match=r"being made already. Wait until it is done\."):
        asked.start("battery staple", AuditLog(database, "bob"))
    assert asked.job is job and asked.progress == at_step and asked.failure is None
    goes_on.set()
    assert job.wait(60)
    ((_, path),) = asked.list()
    assert restore_into(tmp_path / "new", path, passphrase="correct horse").originals == 1
    assert not AuditLog(database, "bob").list()


class LookedAtTogether(Jobs):
    """Jobs that two threads find running or not before either goes on, where both can look at once."""

    together = threading.Barrier(2)

    def get(self, owner: str, key: str) -> Job[object] | None:
        found = super().get(owner, key)
        with suppress(threading.BrokenBarrierError):
            self.together.wait(1)
        return found


def test_of_two_that_are_asked_for_at_once_one_is_written(
    database: Database, monkeypatch: pytest.MonkeyPatch
):
    given, goes_on = Settings(data=database.directory), threading.Event()
    asked = BackupsOnRequest(LookedAtTogether(backups.LANES), lambda: given)
    monkeypatch.setattr(backups, "shareable", lambda _: goes_on.wait(60) and {})

    def press(person: str) -> bool:
        try:
            asked.start("", AuditLog(database, person))
        except BackupRunning:
            return False
        return True

    with ThreadPoolExecutor(2) as people:
        assert sorted(people.map(press, ("ann", "bob"))) == [False, True]
    goes_on.set()
    job = asked.job
    assert job is None or job.wait(60)


def test_one_on_request_is_refused_where_the_ledger_is_on_a_server(tmp_path: Path, database: Database):
    given = Settings(data=tmp_path, database_url="postgresql://u@host/d")
    with pytest.raises(SettingsError, match="server's own tools"):
        BackupsOnRequest(Jobs(backups.LANES), lambda: given).start("", AuditLog(database, "ann"))


def test_without_a_folder_there_are_none(database: Database):
    clock = Clock(database, None)  # type: ignore[arg-type]
    assert clock.at(NOON) == "not due"


def test_a_ledger_on_a_server_cannot_be_backed_up_here(tmp_path: Path):
    asked = Settings(data=tmp_path, backup_folder=tmp_path, database_url="postgresql://u@host/d")
    with pytest.raises(SettingsError, match="FOOTNOTE_BACKUP_FOLDER is set"):
        Services(asked)


def test_the_servers_clock_makes_them(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "kept").mkdir()
    settings = Settings(data=tmp_path / "data", backup_folder=tmp_path / "kept")
    with closing(Services(settings)) as server, caplog.at_level(logging.INFO):
        server._tick()
        job = server.jobs.get("server", backups.BACKUP)
        assert job is None or job.wait(60)
        assert len(made(tmp_path / "kept")) == 1
        server._tick()
        assert "footnote_last_backup_timestamp_seconds 1." in str(
            server.metrics.text(queue=[], documents={}, free=None)
        )
