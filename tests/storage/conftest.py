"""A real ledger in a fresh directory, and a second process to compete with it."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from storage.database import Database

Run = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def database(directory: Path) -> Iterator[Database]:
    opened = Database.open(directory)
    yield opened
    opened.close()


@pytest.fixture
def start() -> Iterator[Run]:
    """Start Python source in another process and wait for its first line, which says that it is ready."""
    running: list[subprocess.Popen[str]] = []

    def run(source: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", source, *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        process.ready = process.stdout.readline().strip()  # type: ignore[attr-defined]
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()
