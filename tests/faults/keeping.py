"""What is killed: it writes a backup, or restores one, and prints each step."""

import os
import signal
import sys
from pathlib import Path

from storage import backup as archives
from storage import backup as restoring


def kill_itself_after(renames: int) -> None:
    left = renames

    def look(event: str, _: object) -> None:
        nonlocal left
        if event == "os.rename":
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.addaudithook(look)


def say(what: str, done: int, total: int) -> None:
    print(what.split()[0], done, total, flush=True)


def keep(command: str, data: Path, file: Path, renames: int | None = None) -> None:
    """Back up or restore; with `renames` the process is killed before it renames one file more than that."""
    print("begun", flush=True)
    if renames is not None:
        kill_itself_after(renames)
    if command == "backup":
        archives.write(data, file, {"settings.json": b"{}"}, say)
    else:
        restoring.restore_into(data, file, say)
    print("done", flush=True)
