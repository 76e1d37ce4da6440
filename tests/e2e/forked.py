"""The application in a process forked from one that has imported what it needs, but none of its pages.

To start it from nothing takes six seconds of a processor, of which five are imports and the embedding model.
It then runs as `streamlit run app.py` does. That it starts from nothing is tested by test_start.py.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from rag.undo import Deletions
from tests.faults.forks import ForkedProcess, become, write_to

UNDO_SECONDS = "UNDO_SECONDS"
"""In the environment of a server: the seconds after which what was deleted is gone."""


def forked_server(app: Path, *, cwd: Path, environment: Mapping[str, str], log: Path) -> ForkedProcess:
    """Start the application in a fork that writes to a log."""
    log.touch()
    return ForkedProcess(run_app, app, cwd, dict(environment), log)


def run_app(app: Path, cwd: Path, environment: dict[str, str], log: Path) -> None:
    """Become a process as `python -m streamlit run` makes it, and serve."""
    from streamlit.web.cli import main

    become(environment)
    if seconds := environment.get(UNDO_SECONDS):
        Deletions.__init__.__defaults__ = (float(seconds),)
    os.chdir(cwd)
    sys.argv = ["streamlit", "run", str(app)]
    sys.path[0] = str(cwd)
    write_to(log)
    main(prog_name="streamlit")
