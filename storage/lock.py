"""Lock of the data directory: one process at a time, by an advisory lock that ends with the process."""

import fcntl
import json
import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from storage.errors import DataDirectoryLocked, StorageError
from storage.i18n import N_

NAME = "footnote.lock"
SIZE = 512  # bytes of the padded note, so that one write replaces it as a whole


class DataDirectoryLock:
    """Exclusive lock of ``directory``, in the file ``directory/footnote.lock``.

    The file is JSON: ``pid``, ``command`` and ``since`` of the holder, and ``commits``, the number
    of commits the ledger has acknowledged. The file of a killed process does not lock.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.commits = 0
        self._since = ""
        self._fd: int | None = None

    def acquire(self) -> None:
        """Create the directory (0700) and take the lock, or raise DataDirectoryLocked naming the holder."""
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(self.directory / NAME, os.O_RDWR | os.O_CREAT, 0o600)
        except (FileExistsError, NotADirectoryError) as error:
            raise StorageError(
                N_(
                    "The data directory {directory} is a file, or lies in one. Choose a folder.",
                    directory=self.directory,
                )
            ) from error
        except OSError as error:
            raise StorageError(
                N_(
                    "The data directory {directory} cannot be used: {strerror}. Choose another one, or "
                    "give yourself the right to write there.",
                    directory=self.directory,
                    strerror=error.strerror,
                )
            ) from error
        try:
            self._hold(fd)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd

    def _hold(self, fd: int) -> None:
        note = _read_note(fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataDirectoryLocked(
                N_(
                    "The data directory {directory} is in use by process {process} ({command}, since "
                    "{since}). "
                    "Close it first, or choose another data directory.",
                    directory=self.directory,
                    process=note.get("pid", "?"),
                    command=note.get("command", "unknown"),
                    since=note.get("since", "?"),
                )
            ) from error
        commits = note.get("commits")
        self.commits = commits if isinstance(commits, int) else 0
        self._since = datetime.now(UTC).isoformat(timespec="seconds")
        self._write(fd)

    def note(self, commits: int) -> None:
        """Record that the ledger has acknowledged this many commits."""
        self.commits = commits
        if self._fd is not None:
            with suppress(OSError):  # the commit stands; the note only helps to notice a lost one
                self._write(self._fd)

    def confirm(self) -> None:
        """Raise StorageError when the directory was moved or deleted while in use."""
        try:
            here = (self.directory / NAME).stat()
        except OSError:
            here = None
        if self._fd is None or here is None or not os.path.samestat(here, os.fstat(self._fd)):
            raise StorageError(
                N_(
                    "The data directory {directory} was moved, deleted or closed while in use, and "
                    "nothing more is written to it. Put it back and start Footnote again.",
                    directory=self.directory,
                )
            )

    def release(self) -> None:
        """Unlock the directory; a second call does nothing."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _write(self, fd: int) -> None:
        note = {
            "pid": os.getpid(),
            "command": Path(sys.argv[0]).name[:40],
            "since": self._since,
            "commits": self.commits,
        }
        os.pwrite(fd, json.dumps(note).encode().ljust(SIZE), 0)


def _read_note(fd: int) -> dict[str, Any]:
    """Return the note in the lock file, empty where there is none or it is torn."""
    try:
        note = json.loads(os.pread(fd, SIZE, 0))
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}
