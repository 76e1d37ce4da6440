"""A PostgreSQL of its own for a test: a new cluster on a socket, from the programs of the system."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ON_SQLITE = pytest.mark.parametrize("ledger", ["sqlite"], indirect=True)
ON_POSTGRESQL = pytest.mark.parametrize("ledger", ["postgresql"], indirect=True)
"""Mark a test of one of them in a module whose other tests run on both."""
MISSING = "needs PostgreSQL's initdb (Debian: apt install postgresql) and the Python package psycopg"


def programs() -> Path | None:
    """Return the folder of initdb and postgres; None where there are none."""
    found = shutil.which("initdb")
    folders = (
        [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    )
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


class Postgres:
    """Running server; `url` is its database for SQLAlchemy."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.url = f"postgresql+psycopg://footnote@/postgres?host={folder}"
        self.folder, self._programs = folder, programs

    def run(self, program: str, *arguments: str) -> None:
        """Run one of its programs, which refuse to run as root."""
        root = os.geteuid() == 0
        who = {"user": pwd.getpwnam("nobody").pw_uid, "extra_groups": []} if root else {}
        command = [self._programs / program, "-D", self.folder / "data", *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, timeout=60, **who)

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off"
        self.run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-w", "-m", "immediate", "stop")


@contextmanager
def running() -> Iterator[Postgres]:
    """Make a cluster, start its server, and remove both."""
    found = programs()
    assert found is not None, MISSING
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        if os.geteuid() == 0:
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        server = Postgres(folder, found)
        server.run("initdb", "-U", "footnote", "-A", "trust", "-E", "UTF8", "--no-sync")
        server.start()
        try:
            yield server
        finally:
            server.stop()
