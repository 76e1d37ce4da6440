"""The browser sessions that were let in, and whose each is: what is uploaded into another is refused."""

import threading

MOST = 10_000  # sessions: the oldest are forgotten, and uploads into them refused until a page is drawn


class Sessions:
    """Whose each session is, by the id that Streamlit gives it; asked from any thread."""

    def __init__(self) -> None:
        self._owners: dict[str, str] = {}
        self._lock = threading.Lock()

    def admit(self, session_id: str, owner: str) -> None:
        """Note that a session was let in."""
        with self._lock:
            self._owners.pop(session_id, None)
            self._owners[session_id] = owner
            while len(self._owners) > MOST:
                del self._owners[next(iter(self._owners))]

    def refuse(self, session_id: str) -> None:
        """Forget a session, as at sign-out."""
        with self._lock:
            self._owners.pop(session_id, None)

    def end(self, owner: str) -> None:
        """Forget every session of an owner."""
        with self._lock:
            self._owners = {id_: whose for id_, whose in self._owners.items() if whose != owner}

    def owner_of(self, session_id: str) -> str | None:
        """Return whose a session is; None where it was not let in."""
        return self._owners.get(session_id)
