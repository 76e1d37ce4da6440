"""The seam to a database server: any engine SQLAlchemy speaks, named by DATABASE_URL."""

from sqlalchemy import Connection, Engine, create_engine, inspect, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from storage.errors import StorageError


def engine(url: str) -> Engine:
    """Make an engine for ``url``; StorageError when it is malformed, lacks its driver, or is SQLite."""
    try:
        made = create_engine(url, pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError) as error:
        raise StorageError(
            "DATABASE_URL is not a database address such as postgresql://user@host/name."
        ) from error
    except ModuleNotFoundError as error:
        raise StorageError(
            f"DATABASE_URL needs the Python package {error.name}. Install it and start again."
        ) from error
    if made.dialect.name == "sqlite":
        raise StorageError(
            "DATABASE_URL names SQLite, which needs no address: leave it out and choose a data directory."
        )
    return made


def revision(connection: Connection) -> str | None:
    """Read the revision of the ledger on the server, None when it has none yet."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
