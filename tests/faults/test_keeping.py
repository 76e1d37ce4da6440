"""SIGKILL in the middle of a backup or a restore: the old state or the new one, and never one between."""

import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from storage import backup as archives
from storage import backup as restoring
from storage.database import Database
from storage.documents import Documents
from storage.errors import StorageError
from storage.files import Files
from storage.records import ChunkSpan, PageSpan
from tests.faults.forks import Fork
from tests.faults.keeping import keep

DOCUMENTS = 30


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory of thirty documents, 12 MB, which nobody has open."""
    directory = tmp_path_factory.mktemp("kept") / "data"
    database = Database.open(directory)
    documents, files = Documents(database, "ann"), Files(directory, "ann")
    for number in range(DOCUMENTS):
        sha256, size = files.save(f"{number:04d} ".encode() * 80_000)
        record, _ = documents.add(f"{number}.txt", sha256, size)
        documents.save_chunks(record.id, "word " * 2000, [PageSpan(1, 0, 10_000)], [ChunkSpan(0, 10_000)])
    database.close()
    return directory


@pytest.fixture(scope="module")
def archive(data: Path) -> Path:
    file = data.parent / "all.tar"
    archives.write(data, file, {"settings.json": b"{}"})
    return file


def kill(command: str, directory: Path, file: Path, lines: int, seconds: float) -> None:
    """Start the worker, read so many of its lines, wait, and kill it."""
    process = Fork(keep, command, directory, file)
    for _ in range(lines):
        process.said.readline()
    time.sleep(seconds)
    process.kill()


def whole(directory: Path) -> bool:
    """Whether a data directory holds all of the documents; it holds all or nothing."""
    database = Database.open(directory)
    database.check()
    documents = Documents(database, "ann").list()
    originals = [path for path in (directory / "files").rglob("*") if path.is_file()]
    assert len(documents) == len(originals) in (0, DOCUMENTS)
    for record in documents:
        assert Files(directory, "ann").path(record.sha256).stat().st_size == record.size
    database.close()
    hidden = sorted(path.name for path in directory.iterdir() if path.name.startswith("."))
    assert hidden == []
    return bool(documents)


LONG = [pytest.mark.slow(reason="kills 50 backups and 50 restores"), pytest.mark.timeout(1800)]
AMOUNTS = [(4, 7), pytest.param(50, 8, marks=LONG)]


@pytest.mark.parametrize(("kills", "seed"), AMOUNTS)
def test_a_killed_backup_leaves_a_whole_file_or_none_and_the_next_one_succeeds(
    data: Path, tmp_path: Path, kills: int, seed: int
):
    chance = random.Random(seed)
    for number in range(kills):
        target = tmp_path / f"{number}.tar"
        kill("backup", data, target, chance.randrange(1, DOCUMENTS), chance.random() * 0.05)
        if not target.exists():
            archives.write(data, target, {"settings.json": b"{}"})
        restoring.restore_into(tmp_path / f"{number}", target)
        assert whole(tmp_path / f"{number}")
        assert not list(tmp_path.glob(".*"))
        shutil.rmtree(tmp_path / f"{number}")


@pytest.mark.parametrize(("kills", "seed"), AMOUNTS)
def test_a_killed_restore_is_done_or_undone_and_can_be_tried_again(
    archive: Path, tmp_path: Path, kills: int, seed: int
):
    chance = random.Random(seed)
    for number in range(kills):
        directory = tmp_path / f"{number}"
        kill("restore", directory, archive, chance.randrange(1, DOCUMENTS + 4), chance.random() * 0.05)
        if number % 2:  # tried again at once: what was cut off is cleared away, or finished and then refused
            try:
                restoring.restore_into(directory, archive)
            except StorageError as error:
                assert "only where nothing is" in str(error)
            assert whole(directory)
        else:  # opened first, as the app does
            whole(directory)
        shutil.rmtree(directory)


@pytest.mark.parametrize("renames", range(4))
def test_a_restore_killed_between_any_two_renames_is_finished_by_whoever_opens_next(
    archive: Path, tmp_path: Path, renames: int
):
    assert run("restore", tmp_path / "new", archive, renames) == -signal.SIGKILL
    if renames:  # the first one is that of the whole of it, proven
        assert whole(tmp_path / "new")
    else:
        restoring.restore_into(tmp_path / "new", archive)
        assert whole(tmp_path / "new")


@pytest.mark.parametrize("renames", range(2))
def test_a_backup_killed_before_its_last_rename_is_not_there(data: Path, tmp_path: Path, renames: int):
    assert run("backup", data, tmp_path / "all.tar", renames) == -signal.SIGKILL
    assert not (tmp_path / "all.tar").exists()
    archives.write(data, tmp_path / "all.tar", {})
    assert [path.name for path in tmp_path.iterdir()] == ["all.tar"]


def run(command: str, directory: Path, file: Path, renames: int) -> int:
    """Have the worker kill itself; return how it ended."""
    process = Fork(keep, command, directory, file, renames)
    process.said.read()
    ended = process.wait()
    process.kill()
    return ended
