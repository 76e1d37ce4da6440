"""Shortcuts for what hundreds of tests do and few are about: still the real thing.

A packaged model is opened once, which takes two seconds of a processor, and the certificates of all
authorities are read once. An empty ledger gets the statements that its migrations sent to the first that was
empty: to make them up takes four times as long as to run them. Files are read without a child process, whose
start takes longer than the reading: plain text anywhere but in tests of attacks and crashes, any kind in the
tests of what each parser reads.
"""

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path, PurePath
from ssl import SSLContext
from threading import Lock
from typing import IO, Any

from sqlalchemy import Connection, event

from rag.errors import DocumentRefused
from rag.ingest.parsers import sandbox, worker
from rag.models.embeddings import OnnxEmbedder
from rag.models.packaged.catalog import Model
from rag.text.document import shown
from storage import migrations

_migrate = migrations.upgrade
_run = sandbox.run_into


class OpenedOnce:
    """Opens a packaged model, or gives a copy of the one that is open: tokenizer and session are shared."""

    def __init__(self) -> None:
        self._opened: dict[tuple[Path, str], OnnxEmbedder] = {}
        self._opening = Lock()

    def __call__(self, model: Model) -> OnnxEmbedder:
        with self._opening:
            key = model.directory.resolve(), model.fingerprint
            if key not in self._opened:
                self._opened[key] = OnnxEmbedder(model)
            return copy.copy(self._opened[key])


class TrustedOnce:
    """Makes the TLS context of an HTTP client, or gives the one that was made of the same certificates.

    To read those of all authorities takes a fiftieth of a second, and nearly every test makes a client.
    """

    def __init__(self, make: Callable[..., SSLContext]) -> None:
        self._make = make
        self._made: dict[object, SSLContext] = {}

    def __call__(self, **asked: Any) -> SSLContext:
        own = asked.get("cert") or not isinstance(asked.get("verify", True), bool)
        if own:  # a context that is changed, or made already
            return self._make(**asked)
        key = (*sorted(asked.items()), *map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))
        if key not in self._made:
            self._made[key] = self._make(**asked)
        return self._made[key]


class MigratedOnce:
    """Migrates a ledger; an empty one by what was sent to the first that was empty."""

    def __init__(self) -> None:
        self._sent: list[tuple[str, Any]] = []
        self._sending = Lock()

    def __call__(self, connection: Connection) -> None:
        with self._sending:
            if not _empty(connection):
                _migrate(connection)
            elif self._sent:
                for statement, parameters in self._sent:
                    connection.exec_driver_sql(statement, parameters).close()
            else:
                self._sent = _sent_by_migrations(connection)


def _empty(connection: Connection) -> bool:
    tables = "SELECT count(*) FROM sqlite_master"
    return connection.dialect.name == "sqlite" and connection.exec_driver_sql(tables).scalar() == 0


def _sent_by_migrations(connection: Connection) -> list[tuple[str, Any]]:
    sent: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        if not statement.startswith(("SELECT", "PRAGMA")):
            sent.append((statement, parameters))

    event.listen(connection, "before_cursor_execute", note)
    _migrate(connection)
    event.remove(connection, "before_cursor_execute", note)
    return sent


def read_text_here(output: IO[bytes], task: str, path: Path, name: str, **arguments: Any) -> dict[str, Any]:
    """Run a parser: for plain text in this process, else in the sandbox."""
    if task == "load" and PurePath(name).suffix in (".md", ".txt"):
        return read_here(output, task, path, name, **arguments)
    return _run(output, task, path, name, **arguments)


def read_here(
    output: IO[bytes], task: str, path: Path, name: str, *, timeout: float, memory: int, **arguments: Any
) -> dict[str, Any]:
    """Run a parser in this process, without the sandbox's limits."""
    del timeout, memory
    try:
        facts, content = worker.TASKS[task](path, name, **arguments)
    except DocumentRefused as error:
        raise DocumentRefused(f"{shown(name)} {error}") from error
    output.write(content)
    output.seek(0)
    return json.loads(json.dumps(facts))
