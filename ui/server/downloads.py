"""Download of a backup: an address that an administrator was given, for one file, for some minutes."""

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from rag.i18n import _, in_language, preferred
from storage.audit_log import AuditLog

LIFE = 15 * 60.0  # seconds in which an address is good
FOLDER = "backups"  # first part of its path


@dataclass(frozen=True)
class Offer:
    """Backup at `path` that is offered until a moment of the clock; taking it is recorded in `audit_log`."""

    path: Path
    until: float
    audit_log: AuditLog


class BackupDownloads:
    """Addresses at which backups can be fetched; thread-safe.

    An address has a random part that nobody can guess, and is good for `LIFE` seconds. Whoever may have one
    is for the caller to decide.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock, self._lock = clock, threading.Lock()
        self._offers: dict[str, Offer] = {}

    def offer(self, path: Path, audit_log: AuditLog) -> str:
        """Return the address of a backup, relative to that of the pages."""
        token, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._offers = {key: one for key, one in self._offers.items() if one.until > now}
            self._offers[token] = Offer(path, now + LIFE, audit_log)
        return f"{FOLDER}/{token}"

    def taken(self, token: str) -> Path | None:
        """Return the backup of an address, and record that it was fetched; None where it is not good."""
        with self._lock:
            offer = self._offers.get(token)
        if offer is None or offer.until <= self._clock() or not offer.path.is_file():
            return None
        offer.audit_log.record("backup_downloaded")
        return offer.path


def download_routes(downloads: Callable[[], BackupDownloads]) -> list[Route]:
    """Return the route of the addresses; a file is read in parts, however large it is."""

    def fetch(request: Request) -> Response:
        path = downloads().taken(request.path_params["token"])
        if path is None:
            with in_language(preferred(request.headers.get("accept-language", ""))):
                gone = _("This address is no longer good. Reload the Settings page and press Download there.")
            return PlainTextResponse(gone, 404)
        return FileResponse(path, filename=path.name, headers={"Cache-Control": "no-store"})

    return [Route(f"/{FOLDER}/{{token}}", fetch, methods=["GET"])]
