"""The application in a process forked from one that has imported what it needs, but none of its pages.

To start it from nothing takes six seconds of a processor, of which five are imports and the embedding model.
It then runs as `streamlit run app.py` does. That it starts from nothing is tested by test_start.py.
"""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import TimeoutExpired

from rag.undo import Deletions
from tests.faults.forks import FORKS, become

UNDO_SECONDS = "UNDO_SECONDS"
"""In the environment of a server: the seconds after which what was deleted is gone."""


class ForkedServer:
    """What tests ask of a process, as `subprocess.Popen` has it."""

    def __init__(self, app: Path, *, cwd: Path, environment: Mapping[str, str], log: Path) -> None:
        log.touch()
        start = (app, cwd, dict(environment), log)
        self._process = FORKS.Process(target=run_app, args=start, daemon=True)  # it ends with the tests
        self._process.start()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        if (code := self._process.exitcode) is None:
            raise TimeoutExpired("streamlit", timeout)
        return code

    def terminate(self) -> None:
        self._process.terminate()


def run_app(app: Path, cwd: Path, environment: dict[str, str], log: Path) -> None:
    """Become a process as `python -m streamlit run` makes it, and serve."""
    from streamlit.web.cli import main

    become(environment)
    if seconds := environment.get(UNDO_SECONDS):
        Deletions.__init__.__defaults__ = (float(seconds),)
    os.chdir(cwd)
    sys.argv = ["streamlit", "run", str(app)]
    sys.path[0] = str(cwd)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with log.open("ab") as output:
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
    main(prog_name="streamlit")
