"""What became of the files that were dropped last, kept until it was seen: a run of the page may end midway.

Streamlit ends a run when the visitor does something else, or when a part of the page asks for another run.
What the ended run had drawn may never be shown. So a report is changed in place, by a run that was ended as
well. It stands until it is closed, until something else is sent, or until another place is gone to.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True)
class UploadLine:
    """What became of one file; `document_id` is None where it could not be kept."""

    name: str
    said: str
    document_id: str | None


class UploadReport:
    """The lines of one browser session, and which of its uploads were taken; safe for two runs at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._claimed: set[str] = set()
        self._lines: list[UploadLine] = []
        self._writers = 0
        self._place: str | None = None  # where it was shown

    @property
    def growing(self) -> bool:
        """Whether files are being taken now."""
        return self._writers > 0

    @property
    def lines(self) -> tuple[UploadLine, ...]:
        """One for each file, in the order in which they were taken."""
        with self._lock:
            return tuple(self._lines)

    def claim(self, file_ids: Iterable[str]) -> set[str]:
        """Return those that no run has taken yet; they are this run's to take."""
        with self._lock:
            mine = set(file_ids) - self._claimed
            self._claimed |= mine
        return mine

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Take files inside of it: lines that were shown make room for theirs."""
        self.put_away()
        with self._lock:
            self._writers += 1
        try:
            yield
        finally:
            with self._lock:
                self._writers -= 1

    def add(self, line: UploadLine) -> None:
        """Say what became of one more file."""
        with self._lock:
            self._lines.append(line)

    def come_to(self, place: str) -> None:
        """Forget the lines if they were shown at another place than this."""
        with self._lock:
            self._forget_if(self._place not in (None, place))

    def put_away(self) -> None:
        """Forget the lines if they were shown, since something else is done now."""
        with self._lock:
            self._forget_if(self._place is not None)

    def was_shown(self, place: str) -> None:
        """Note where the lines were shown."""
        with self._lock:
            self._place = place

    def close(self) -> None:
        """Forget the lines."""
        with self._lock:
            self._forget_if(True)

    def _forget_if(self, due: bool) -> None:
        if due:
            self._lines.clear()
            self._place = None
