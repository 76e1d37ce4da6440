"""A process to be killed: writes a backup, or restores one, saying each step.

python tests/faults/keeping.py backup DATA FILE [RENAMES]
python tests/faults/keeping.py restore DATA FILE [RENAMES]

With RENAMES it kills itself before it renames one file more than that.
"""

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


if __name__ == "__main__":
    command, data, file = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    print("begun", flush=True)
    if len(sys.argv) > 4:
        kill_itself_after(int(sys.argv[4]))
    if command == "backup":
        archives.write(data, file, {"settings.json": b"{}"}, say)
    else:
        restoring.restore_into(data, file, say)
    print("done", flush=True)
