"""Watching a folder: a change is told once, and after it has come to rest."""

import threading
from pathlib import Path

import pytest

from rag.connectors.folder import FolderSettings, FolderSource
from rag.connectors.sync import changes
from rag.errors import SourceError


def watched(folder: Path, stopped: threading.Event, looks: list[int]):
    """Watch a folder; every look is counted."""

    class Looked(FolderSource):
        def list(self, cursor=None, cancelled=lambda: False):
            looks.append(len(looks))
            return super().list(cursor, cancelled)

    return changes(Looked(FolderSettings(path=str(folder))), stopped.is_set, every=0.01)


def test_a_change_is_told_and_nothing_else_is(tmp_path: Path):
    (tmp_path / "a.txt").write_text("a")
    stopped, looks, told = threading.Event(), [], threading.Semaphore(0)

    def follow() -> None:
        for _ in watched(tmp_path, stopped, looks):
            told.release()

    thread = threading.Thread(target=follow)
    thread.start()
    while len(looks) < 3:  # it has seen how things are
        stopped.wait(0.01)
    assert not told.acquire(blocking=False)
    for change in (
        lambda: (tmp_path / "b.txt").write_text("b"),
        lambda: (tmp_path / "a.txt").write_text("changed"),
        lambda: (tmp_path / "b.txt").unlink(),
    ):
        change()
        assert told.acquire(timeout=60)
    seen = len(looks)
    while len(looks) < seen + 3:
        stopped.wait(0.01)
    assert not told.acquire(blocking=False)
    stopped.set()
    thread.join(60)
    assert not thread.is_alive()


def test_a_folder_that_goes_is_an_error(tmp_path: Path):
    folder = tmp_path / "papers"
    folder.mkdir()
    watching = watched(folder, threading.Event(), [])
    folder.rmdir()
    with pytest.raises(SourceError, match="There is no folder"):
        next(watching)
