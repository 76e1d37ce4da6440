"""Shortcuts for what hundreds of tests do and few are about: still the real thing.

A packaged model is hashed and opened once, which takes two seconds of a processor, and embeds the same text
once. The certificates of all authorities are read once. A new ledger is a copy of the first that was
migrated: to run its statements takes six times as long. SQL is compiled once, and not for each ledger: that
took half of the time of tests with one. Files are read without a child process, whose start takes longer than
the reading: plain text and web pages anywhere but in tests of attacks and crashes, any kind in the tests of
what each parser reads.
"""

import copy
import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path, PurePath
from ssl import SSLContext
from threading import Lock
from typing import IO, Any

import numpy as np
from sqlalchemy import Engine

from rag.errors import DocumentRefused
from rag.ingest.parsers import sandbox, worker
from rag.models.embeddings import Floats, OnnxEmbedder, Role
from rag.models.packaged.catalog import Model
from rag.text.document import shown
from storage import database, sqlite
from storage.lock import DataDirectoryLock
from storage.sqlite import LEDGER

_local = database._local
run_in_child = sandbox.run_into


class EmbedsOnce(OnnxEmbedder):
    """Model that embeds each text once in a role, however many tests ask for it."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._known: dict[tuple[str, str], Floats] = {}

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        if new := [text for text in dict.fromkeys(texts) if (role, text) not in self._known]:
            self._known.update(zip(((role, text) for text in new), super()._vectors(new, role), strict=True))
        return np.array([self._known[role, text] for text in texts])


class OpenedOnce:
    """Opens a packaged model, or gives a copy of the one that is open: tokenizer and session are shared."""

    def __init__(self) -> None:
        self._opened: dict[tuple[Path, str], EmbedsOnce] = {}
        self._opening = Lock()

    def __call__(self, model: Model) -> OnnxEmbedder:
        with self._opening:
            key = model.directory.resolve(), model.fingerprint
            if key not in self._opened:
                self._opened[key] = EmbedsOnce(model)
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


class CopiedLedger:
    """Makes the engine of a ledger; where there is none yet, of a copy of the first that was migrated."""

    def __init__(self) -> None:
        self._migrated = b""
        self._making = Lock()

    def __call__(self, directory: Path, lock: DataDirectoryLock) -> Engine:
        ledger = directory / LEDGER
        if lock.commits or ledger.exists() or ledger.with_name(f"{LEDGER}-wal").exists():
            return _local(directory, lock)
        with self._making:
            if self._migrated:
                ledger.write_bytes(self._migrated)
                return _local(directory, lock)
            engine = _local(directory, lock)
            self._migrated = _bytes(ledger)
            return engine


class CompiledOnce:
    """Makes engines that share one dialect, and the statements that were compiled for it."""

    def __init__(self, make: Callable[..., Engine]) -> None:
        self._make = make
        self._first: dict[str, Engine] = {}

    def __call__(self, place: Path | str) -> Engine:
        made = self._make(place)
        key = place if isinstance(place, str) else ""  # each server may be of another version
        first = self._first.setdefault(key, made)
        if first.dialect.server_version_info is None:  # it has not connected
            self._first[key] = made
        else:
            made.dialect, made._compiled_cache = first.dialect, first._compiled_cache
        return made


class HashedOnce:
    """Hashes the files of a model, or gives the hash of one that has not changed since."""

    def __init__(self, make: Callable[[Path], str]) -> None:
        self._make = make
        self._made: dict[object, str] = {}

    def __call__(self, path: Path) -> str:
        now = path.stat()
        key = path, now.st_ino, now.st_size, now.st_mtime_ns
        if key not in self._made:
            self._made[key] = self._make(path)
        return self._made[key]


def _bytes(ledger: Path) -> bytes:
    """Return a ledger in use as one file."""
    copied = ledger.with_name("migrated")
    sqlite.copy(ledger, copied)
    with closing(sqlite3.connect(copied)) as opened:  # so that no connection has to change that later
        opened.execute("PRAGMA journal_mode = WAL")
    content = copied.read_bytes()
    copied.unlink()
    return content


def read_text_here(output: IO[bytes], task: str, path: Path, name: str, **arguments: Any) -> dict[str, Any]:
    """Run a parser: for plain text and web pages in this process, else in the sandbox."""
    if task == "web" or (task == "load" and PurePath(name).suffix in (".md", ".txt")):
        return read_here(output, task, path, name, **arguments)
    return run_in_child(output, task, path, name, **arguments)


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
