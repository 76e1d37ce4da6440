"""Readiness checks: each looks anew at something the server needs, and tells no name or path."""

import shutil
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rag.errors import FootnoteError

PATIENCE = 2.0  # seconds in which a model's server must let us in
LEAST_FREE = 200_000_000  # bytes: a few uploads and what is made of them
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class CheckResult:
    """Result of one check: `usable`, and in a few words why or why not."""

    usable: bool
    state: str


Look = Callable[[], CheckResult]


def look_at(things: Mapping[str, Look]) -> dict[str, CheckResult]:
    """Return how each thing stands; one that fails in a way we know is not usable, by the error's name."""
    return {name: _looked(look) for name, look in things.items()}


def _looked(look: Look) -> CheckResult:
    try:
        return look()
    except FootnoteError as error:
        return CheckResult(False, type(error).__name__)


def disk(directory: Path) -> CheckResult:
    """Look at the disk that holds `directory`."""
    free = free_bytes(directory)
    if free is None:
        return CheckResult(False, "cannot be looked at")
    return CheckResult(free >= LEAST_FREE, f"{free // 1_000_000} MB free")


def free_bytes(directory: Path) -> int | None:
    """Return what is free on a directory's disk; None where it cannot be told."""
    try:
        return shutil.disk_usage(directory).free
    except OSError:
        return None


def server(url: str) -> CheckResult:
    """Look whether anyone lets us in at a model's address. Nothing is asked, and no key is sent."""
    try:
        parts = urlsplit(url)
        address = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443)
        with socket.create_connection(address, timeout=PATIENCE):
            return CheckResult(True, "its server answers")
    except (OSError, ValueError):
        return CheckResult(False, "its server does not answer")
