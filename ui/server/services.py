"""Services of one server process, with sign-in and permissions for its pages."""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rag.errors import EntryRefused
from rag.i18n import N_, _
from rag.services import Services
from rag.settings import Settings
from rag.settings import load as load_settings
from rag.workspace import Workspace
from storage.audit_log import AuditLog
from ui.auth.identity import LocalUser, Visitor
from ui.auth.middleware import Sessions, current_visitor, read_auth_mode
from ui.server.downloads import BackupDownloads

MAX_WAIT = 3.0  # seconds after which a waiting chat has no priority any more


class RenderPriority:
    """Render priority for chats that wait for the first word of an answer, server-wide; thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._since: dict[str, float] = {}
        self._lock = threading.Lock()

    def start(self, chat: str) -> None:
        """Record that a question was sent in a chat."""
        with self._lock:
            self._since = {**self._waiting(), chat: self._clock()}

    def finish(self, chat: str) -> None:
        """Record that the passages were found or the answer has ended."""
        with self._lock:
            self._since.pop(chat, None)

    def others_waiting(self, chat: str) -> bool:
        """Return True while another chat waits."""
        with self._lock:
            return any(other != chat for other in self._waiting())

    def _waiting(self) -> dict[str, float]:
        now = self._clock()
        return {chat: since for chat, since in self._since.items() if now - since < MAX_WAIT}


ADMINISTRATORS_ONLY = N_("Only administrators can change settings.")


class PageServices(Services):
    """Services of one server, with its visitors and browser sessions."""

    def __init__(self, settings: Settings):
        """Open everything; raises SettingsError or StorageError."""
        self.auth_mode, self.sessions = read_auth_mode(settings), Sessions()
        self.render_priority = RenderPriority()
        self.downloads = BackupDownloads()
        super().__init__(settings, local=isinstance(self.auth_mode, LocalUser))

    def visitor(self) -> Visitor | None:
        """Return the visitor of the page that is being drawn; None if not signed in. Raises EntryRefused."""
        return current_visitor(self.auth_mode, self.settings)

    def administers(self) -> bool:
        """Return True if the visitor is an administrator."""
        visitor = self.visitor()
        return visitor is not None and visitor.admin

    def knows_people(self) -> bool:
        """Return True if the visitor may manage people: an administrator, where people sign in."""
        return not isinstance(self.auth_mode, LocalUser) and self.administers()

    def remove(self, owner: str) -> None:
        """Remove a person with all their data; raises EntryRefused unless the visitor is an administrator."""
        by = self._administrator(_("Only administrators can remove people."))
        self.sessions.end(owner)
        self.removals.start(owner, by=by)

    def set_limits(self, owner: str, limits: Mapping[str, int]) -> None:
        """Set a person's quotas; raises EntryRefused unless the visitor is an administrator."""
        self.people.set_limits(
            owner, limits, by=self._administrator(_("Only administrators can set limits."))
        )

    def _administrator(self, act: str) -> str:
        if not self.knows_people():
            raise EntryRefused(act)
        return self._admin(act)

    def change(self, changes: Mapping[str, Any]) -> None:
        """Save and apply changed settings.

        Raises SettingsError, or EntryRefused unless the visitor is an administrator; then nothing changes.
        """
        self.apply(changes, by=self._admin(ADMINISTRATORS_ONLY))

    def back_up(self, passphrase: str) -> None:
        """Write a backup of everyone's data in a job; with a passphrase it is encrypted.

        Raises SettingsError, BackupRunning, or EntryRefused unless the visitor is an administrator.
        """
        by = self._admin(_("Only administrators can make backups."))
        self.backups_on_request.start(passphrase, AuditLog(self.database, by))

    def delete_backup(self, name: str) -> None:
        """Delete a backup; raises NotFound, or EntryRefused unless the visitor is an administrator."""
        by = self._admin(_("Only administrators can delete backups."))
        self.backups_on_request.delete(name, AuditLog(self.database, by))

    def offer_backup(self, path: Path) -> str:
        """Return an address for the download of a backup, good for some minutes.

        Raises EntryRefused unless the visitor is an administrator.
        """
        by = self._admin(_("Only administrators can download backups."))
        return self.downloads.offer(path, AuditLog(self.database, by))

    def _admin(self, refusal: str) -> str:
        """Return the id of the visitor; raises EntryRefused unless they are an administrator."""
        visitor = self.visitor()
        if visitor is None or not visitor.admin:
            raise EntryRefused(refusal)
        return visitor.id


_opened: PageServices | None = None
_opening = threading.Lock()


def services() -> PageServices:
    """Return the server's services, opened at the first call; raises FootnoteError."""
    global _opened
    with _opening:
        if _opened is None:
            _opened = PageServices(load_settings())
        return _opened


def workspace() -> Workspace:
    """Return the visitor's workspace; raises EntryRefused if nobody has signed in."""
    visitor = services().visitor()
    if visitor is None:
        raise EntryRefused(N_("Sign in first."))
    return services().workspace(visitor.id)


def owner_of(session_id: str) -> str | None:
    """Return the owner of an admitted browser session, without opening the services."""
    return None if _opened is None else _opened.sessions.owner_of(session_id)


def begin_stop() -> float:
    """Tell that this server is going to stop; return the seconds in which it still serves.

    It does not wait for services that are being opened: those stop at once.
    """
    return 0.0 if _opened is None else _opened.begin_stop()


def close() -> None:
    """Close the server's services; the next call of `services` opens them again."""
    global _opened
    with _opening:
        if _opened is not None:
            _opened.close()
        _opened = None
