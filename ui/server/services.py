"""The server's services as a page sees them: who is at it, and what they may do."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from rag import settings as config
from rag.errors import EntryRefused
from rag.services import Services
from rag.workspace import Workspace
from ui.auth import middleware as visiting
from ui.auth.identity import Alone, Visitor, read_entrance
from ui.auth.middleware import Sessions

# Who waits for the first word of an answer, on the whole server: whoever has one gives way to them.
LONGEST = 3.0  # seconds: who waits longer waits for something else than for others to be drawn


class FirstWords:
    """The chats in which a question was sent whose passages are not found yet; asked from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._since: dict[str, float] = {}
        self._lock = threading.Lock()

    def wait(self, chat: str) -> None:
        """Note that a question was sent in a chat."""
        with self._lock:
            now = self._clock()
            self._since = {other: since for other, since in self._since.items() if now - since < LONGEST}
            self._since[chat] = now

    def come(self, chat: str) -> None:
        """Note that the rest is the model's: the passages are found, or the answer has ended."""
        with self._lock:
            self._since.pop(chat, None)

    def awaited_beside(self, chat: str) -> bool:
        """Whether someone waits in another chat."""
        with self._lock:
            now = self._clock()
            return any(other != chat and now - since < LONGEST for other, since in self._since.items())


FOR_ADMINISTRATORS = "Only administrators can change settings."


class PageServices(Services):
    """The services of one server, with the people and the browser sessions at its pages."""

    def __init__(self, settings: config.Settings):
        """Open everything; raises SettingsError or StorageError."""
        self.entrance, self.sessions = read_entrance(settings, st.secrets), Sessions()
        self.first_words = FirstWords()
        super().__init__(settings, local=isinstance(self.entrance, Alone))

    def visitor(self) -> Visitor | None:
        """Return who is at the page that is being drawn; None where nobody has signed in, or EntryRefused."""
        return visiting.visitor(self.entrance, self.settings)

    def administers(self) -> bool:
        """Tell whether who is at this page may change what is everyone's."""
        there = self.visitor()
        return there is not None and there.admin

    def knows_people(self) -> bool:
        """Tell whether who is at this page may see who else there is: administrators, where any sign in."""
        return not isinstance(self.entrance, Alone) and self.administers()

    def remove(self, owner: str) -> None:
        """Remove a person with all they own; raises EntryRefused where no administrator asks for it."""
        if not self.knows_people():
            raise EntryRefused("Only administrators can remove people.")
        self.sessions.end(owner)
        self.removals.start(owner)

    def change(self, changes: Mapping[str, Any]) -> None:
        """Keep settings that an administrator changed and work by them from now on.

        Raises SettingsError, or EntryRefused for anyone else, and changes nothing.
        """
        if not self.administers():
            raise EntryRefused(FOR_ADMINISTRATORS)
        self.apply(changes)


_opened: PageServices | None = None
_opening = threading.Lock()


def services() -> PageServices:
    """Return the server's services, opened at the first call; raises FootnoteError when they cannot be."""
    global _opened
    with _opening:
        if _opened is None:
            _opened = PageServices(config.load())
        return _opened


def workspace() -> Workspace:
    """Return what the person at this page may see and do; raises EntryRefused where nobody has signed in."""
    there = services().visitor()
    if there is None:
        raise EntryRefused("Sign in first.")
    return services().workspace(there.id)


def owner_of(session_id: str) -> str | None:
    """Return whose a browser session is that was let in; opens nothing."""
    return None if _opened is None else _opened.sessions.owner_of(session_id)


def close() -> None:
    """Close the server's services; the next call of `services` opens them anew."""
    global _opened
    with _opening:
        if _opened is not None:
            _opened.close()
        _opened = None
