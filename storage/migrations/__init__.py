"""The ledger's history: one numbered file a step in ``versions/``, each run in one transaction.

A file is named ``<revision>_<what>.py`` and carries the same revision inside.
"""

from pathlib import Path

from sqlalchemy import Connection

HERE = Path(__file__).parent


def revisions() -> list[str]:
    """Every revision this version knows, oldest first: ``["0001"]``."""
    return sorted(file.name.split("_")[0] for file in HERE.glob("versions/[0-9]*_*.py"))


def upgrade(connection: Connection) -> None:
    """Bring the ledger to the newest revision, inside the caller's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(HERE).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
