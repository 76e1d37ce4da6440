"""The ledger's SQLite file: connections, a read-only check, copies of it, and error messages."""

import errno
import json
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from storage.errors import DatabaseDamaged, DiskFull, StorageBusy, StorageError, UnreadableValue
from storage.i18n import N_

LEDGER = "footnote.db"
FOLDER = "backups"
BUSY_SECONDS = 10.0
PRAGMAS = (
    "PRAGMA foreign_keys=ON",
    "PRAGMA busy_timeout=10000",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
)
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_NOT_UTF_8 = "Could not decode to UTF-8"  # begins what Python says, which goes on with the text
_ORPHANS = "rows refer to others that do not exist"
_NEEDED = 1 << 20  # bytes: less free space than this explains a failed write


def read_json(text: str) -> Any:
    """Return the value of a JSON column; raises UnreadableValue."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise UnreadableValue("a value in it cannot be read") from error


def engine(path: Path) -> Engine:
    """Make an engine that sets PRAGMAS on every connection and issues BEGIN itself."""
    made = create_engine(
        URL.create("sqlite", database=str(path)),
        json_deserializer=read_json,
        pool_size=8,
        max_overflow=24,
        pool_timeout=BUSY_SECONDS,
        pool_use_lifo=True,  # the connection that was used last has the pages that are asked for next
    )

    @event.listens_for(made, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        for pragma in PRAGMAS:
            connection.execute(pragma)

    @event.listens_for(made, "begin")
    def begin(connection: Connection) -> None:
        immediate = connection.get_execution_options().get("immediate", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

    return made


@contextmanager
def migration(made: Engine) -> Iterator[Connection]:
    """Open a transaction in which tables may be rebuilt: foreign keys are checked at its end."""
    with made.execution_options(immediate=True).connect() as connection:
        driver = cast(sqlite3.Connection, connection.connection.driver_connection)
        driver.execute("PRAGMA foreign_keys=OFF")
        try:
            with connection.begin():
                yield connection
                if connection.exec_driver_sql("PRAGMA foreign_key_check").first():
                    raise sqlite3.DatabaseError(_ORPHANS)
        finally:
            driver.execute("PRAGMA foreign_keys=ON")


@dataclass(frozen=True)
class Stored:
    """Migration revision of a ledger file (None before the first) and its acknowledged commits."""

    revision: str | None
    commits: int


def inspect(path: Path, *, references: bool = False) -> Stored | None:
    """Check a ledger file without writing to it; None where there is none, or an empty one.

    ``references`` also follows every foreign key, which takes longer.

    Raises sqlite3.DatabaseError when it is damaged.
    """
    if not path.exists() or path.stat().st_size == 0:
        return None
    with closing(_read_only(path)) as db:
        (result,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if result != "ok":
            raise sqlite3.DatabaseError(result)
        if references and db.execute("PRAGMA foreign_key_check").fetchone():
            raise sqlite3.DatabaseError(_ORPHANS)
        commits = int(_value(db, "SELECT commits FROM ledger") or 0)
        return Stored(_value(db, "SELECT version_num FROM alembic_version"), commits)


def _value(db: sqlite3.Connection, query: str) -> str | None:
    with suppress(sqlite3.OperationalError):
        row = db.execute(query).fetchone()
        return None if row is None else str(row[0])
    return None


def copy(source: Path, target: Path) -> None:
    """Copy a ledger, also while it is in use, into a single file, as a whole or not at all.

    The copy is one snapshot. Writers are not blocked meanwhile.
    """
    part = target.with_name(f".{target.name}.part")
    part.unlink(missing_ok=True)
    try:
        part.touch(mode=0o600, exist_ok=False)  # readable by nobody else from the start
        with explained(source.parent):
            opened = _read_only(source)
        with closing(opened) as here, closing(sqlite3.connect(part)) as there:
            here.backup(there)
            there.execute("PRAGMA journal_mode=DELETE")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def originals(path: Path) -> list[tuple[str, str, str]]:
    """List the originals that a ledger file names: owner, SHA-256, and the name of the document."""
    with closing(_read_only(path)) as db:
        return db.execute("SELECT owner, sha256, name FROM documents ORDER BY owner, sha256").fetchall()


def _read_only(path: Path) -> sqlite3.Connection:
    """Open a ledger to read it, also on a disk that nobody can write to."""
    address = f"{path.resolve().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)
    try:
        connection.execute("PRAGMA schema_version")
    except sqlite3.OperationalError:
        connection.close()
        log = path.with_name(f"{path.name}-wal")
        if log.is_file() and log.stat().st_size:  # what is only there would be left out
            raise
        return sqlite3.connect(f"{address}&immutable=1", uri=True)
    return connection


# Backups of the ledger


def newest(directory: Path) -> Path | None:
    """Find the last backup made in this data directory, if there is one."""
    return max((directory / FOLDER).glob("*.db"), key=lambda file: file.stat().st_mtime_ns, default=None)


def advice(directory: Path) -> str:
    """Return the advice on a damaged ledger: the restore command, or that there is nothing to restore."""
    backup = newest(directory)
    if backup is None:
        return (
            f"There is no backup in {directory / FOLDER}. To begin again with nothing, move {directory} away."
        )
    command = shlex.join(["footnote", "--data", str(directory), "restore", str(backup)])
    return f"The newest backup is {backup}. Restore it with: {command}"


@contextmanager
def damage_named(directory: Path) -> Iterator[None]:
    """Turn a failed check into DatabaseDamaged with advice."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise DatabaseDamaged(
            N_(
                "The ledger {directory} is damaged ({reason}) and was left as it is. {advice}",
                directory=directory / LEDGER,
                reason=error,
                advice=advice(directory),
            )
        ) from error


def before_migration(directory: Path, revision: str | None) -> Path:
    """Back up the ledger in its own directory; return the file."""
    target = _fresh(directory, f"before-upgrade-from-{revision or 'nothing'}.db")
    copy(directory / LEDGER, target)
    return target


def set_aside(directory: Path) -> Path | None:
    """Move the ledger and its log to the backup folder."""
    files = [file for file in (directory / f"{LEDGER}{end}" for end in ("", "-wal", "-shm")) if file.exists()]
    if not files:
        return None
    aside = _fresh(directory, "replaced")
    aside.mkdir(mode=0o700)
    for file in files:
        file.rename(aside / file.name)
    return aside


def _fresh(directory: Path, name: str) -> Path:
    """Return an unused path in the backup folder, which is created."""
    folder = directory / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}-{name}"


# Error messages


@contextmanager
def explained(directory: Path) -> Iterator[None]:
    """Turn the driver's errors into StorageError, with a sentence about ``directory``."""
    try:
        yield
    except PoolTimeout as error:
        raise StorageBusy(_busy(directory)) from error
    except DBAPIError as error:
        raise _storage_error(error.orig, directory) from error
    except (sqlite3.Error, OSError) as error:
        raise _storage_error(error, directory) from error


def _storage_error(error: BaseException | None, directory: Path) -> StorageError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    if full or code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _no_space(directory)):
        return DiskFull(
            N_(
                "There is no space left in {directory}. Free some, then try again; nothing was half written.",
                directory=directory,
            )
        )
    if code in _BUSY:
        return StorageBusy(_busy(directory))
    if isinstance(error, UnreadableValue) or str(error).startswith(_NOT_UTF_8):
        return DatabaseDamaged(
            N_(
                "The ledger {directory} is damaged ({reason}) and was left as it is. {advice}",
                directory=directory / LEDGER,
                reason="a value in it cannot be read",
                advice=advice(directory),
            )
        )
    if code in _DAMAGED:
        return DatabaseDamaged(
            N_(
                "The ledger in {directory} is damaged: {reason}. Start Footnote again to be told how "
                "to restore it.",
                directory=directory,
                reason=error,
            )
        )
    return StorageError(
        N_("The ledger in {directory} could not be used: {reason}.", directory=directory, reason=error)
    )


def _busy(directory: Path) -> str:
    return (
        f"The ledger in {directory} was locked for more than {BUSY_SECONDS:.0f} seconds. "
        "Close other programs that use it, then try again."
    )


def _no_space(directory: Path) -> bool:
    try:
        return shutil.disk_usage(directory).free < _NEEDED
    except OSError:
        return False
