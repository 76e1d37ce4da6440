"""The ledger on a PostgreSQL server: connections, the locks of owners, and error messages."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from storage.errors import DiskFull, StorageBusy, StorageError
from storage.i18n import N_

BUSY_SECONDS = 10.0
EXCLUDED_SECONDS = 60.0  # for which `exclude_others` waits: a sweep of many originals takes its time
_LEDGER, _OWNER, _EXCLUDING = 1, 2, 3  # kinds of advisory locks, the first of two keys
_WAIT = f"SET LOCAL lock_timeout = {BUSY_SECONDS * 1000:.0f}"
_WAIT_LONGER = f"SET LOCAL lock_timeout = {EXCLUDED_SECONDS * 1000:.0f}"
_ONE_OWNER = text("SELECT pg_advisory_xact_lock_shared(:ledger, 0), pg_advisory_xact_lock(:kind, :owner)")
_EXCLUDE = text("SELECT pg_advisory_xact_lock(:kind, :owner)")
_EVERYONE = text("SELECT pg_advisory_xact_lock(:ledger, 0)")
_AWAY = (
    "The database server at DATABASE_URL does not answer, or refuses the connection. Nothing that was stored "
    "is lost, and Footnote goes on once it is back. See that the server runs and that its address, user and "
    "password are right."
)
_BUSY = (
    "The ledger at DATABASE_URL was busy for too long. Nothing was half written: try again in a moment. If "
    "this goes on, see what holds locks on the database server."
)
_FULL = (
    "There is no space left on the database server at DATABASE_URL. Free some, then try again; nothing was "
    "half written."
)
_READ_ONLY = (
    "The user of DATABASE_URL may not write there. Give it all rights on its database, then try again."
)
_BUSY_STATES = {"40001", "40P01", "53300", "55P03"}  # serialisation, deadlock, connections, lock timeout


def engine(url: str) -> Engine:
    """Make an engine; StorageError where the URL is malformed, lacks its driver, or is not PostgreSQL's."""
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() != "postgresql":
            raise StorageError(
                N_(
                    "DATABASE_URL has to be a PostgreSQL address such as postgresql://user@host/name. "
                    "For SQLite "
                    "leave it out and choose a data directory."
                )
            )
        return create_engine(parsed, pool_pre_ping=True, pool_timeout=BUSY_SECONDS, pool_use_lifo=True)
    except (ArgumentError, NoSuchModuleError) as error:
        raise StorageError(
            N_("DATABASE_URL is not a database address such as postgresql://user@host/name.")
        ) from error
    except ModuleNotFoundError as error:
        raise StorageError(
            N_("DATABASE_URL needs the Python package {name}. Install it and start again.", name=error.name)
        ) from error


def reach(url: str) -> None:
    """Connect, and read and write nothing. Raises StorageError where the server does not let us in."""
    asked = engine(url)
    try:
        with explained(), asked.connect():
            pass
    finally:
        asked.dispose()


def lock_owner(connection: Connection, owner: str | None) -> None:
    """Wait until no other transaction writes an owner's rows, in any process; None: anybody's rows.

    The lock ends with the transaction. Owners are locked by a hash: two with the same wait for each other.
    """
    connection.exec_driver_sql(_WAIT)
    if owner is None:
        connection.execute(_EVERYONE, {"ledger": _LEDGER})
    else:
        connection.execute(_ONE_OWNER, {"ledger": _LEDGER, "kind": _OWNER, "owner": key_of(owner)})


def exclude_others(connection: Connection, owner: str) -> None:
    """Wait until no other transaction excludes others for an owner; this one does until it ends."""
    connection.exec_driver_sql(_WAIT_LONGER)
    connection.execute(_EXCLUDE, {"kind": _EXCLUDING, "owner": key_of(owner)})


def lock_ledger(connection: Connection) -> None:
    """Wait, however long, until no other transaction writes anybody's rows, such as another's migration."""
    connection.execute(_EVERYONE, {"ledger": _LEDGER})


def key_of(name: str) -> int:
    """Return the key of an owner or another name as a signed number of 32 bits, what PostgreSQL locks by."""
    return int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:4], signed=True)


@contextmanager
def explained() -> Iterator[None]:
    """Turn the driver's errors into StorageError; its own text names hosts and rows, and is left out."""
    try:
        yield
    except PoolTimeout as error:
        raise StorageBusy(_BUSY) from error
    except DBAPIError as error:
        raise _storage_error(error) from error


def _storage_error(error: DBAPIError) -> StorageError:
    """Return the error for a SQLSTATE (PostgreSQL, appendix A), which a failed connection does not have."""
    driver: Any = error.orig
    state = str(getattr(driver, "sqlstate", None) or "")
    if state == "53100":
        return DiskFull(_FULL)
    if state in _BUSY_STATES:
        return StorageBusy(_BUSY)
    if state.startswith(("08", "28", "57P")) or (not state and isinstance(error, OperationalError)):
        return StorageError(_AWAY)
    if state in {"25006", "42501"}:
        return StorageError(_READ_ONLY)
    if state == "P0001":  # a trigger of ours, which says why
        return StorageError(
            N_(
                "The ledger at DATABASE_URL refused this: {message_primary}.",
                message_primary=driver.diag.message_primary,
            )
        )
    reason = f"{type(driver).__name__}, SQLSTATE {state}" if state else type(driver).__name__
    return StorageError(
        N_(
            "The ledger at DATABASE_URL could not be used ({reason}). The log of its server says more.",
            reason=reason,
        )
    )
