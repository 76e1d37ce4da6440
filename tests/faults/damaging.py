"""A ledger that breaks under whoever has it open."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

FIRST_PAGE = 4096  # bytes: the part that is looked at when a ledger is opened
SAID = "is damaged"  # in what is told of it


def damage(directory: Path) -> None:
    """Overwrite all of the ledger in a data directory but its first page.

    A write before it has every open connection read the pages anew that it holds in memory.
    """
    ledger = directory / "footnote.db"
    with closing(sqlite3.connect(ledger)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with ledger.open("r+b") as file:
        file.seek(FIRST_PAGE)
        file.write(os.urandom(ledger.stat().st_size - FIRST_PAGE))
