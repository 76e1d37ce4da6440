"""A file read once in the background, so that the system has it in memory when it is asked for."""

import os
from pathlib import Path
from threading import Event, Thread

AT_ONCE = 1 << 20  # bytes
SHARE = 8  # of the memory one part in so many; what the system keeps of a file gives way to programs


class Warming:
    """Reads `file` from its beginning to its end in a thread of its own, unless it is too large for that.

    Rows that a question reads here and there come from a disk at a tenth of the pace at which it reads them
    all. A file that cannot be read is left to whoever needs it, and tells then.
    """

    def __init__(self, file: Path):
        self._file = file
        self._stopped = Event()
        self._thread: Thread | None = None

    def begin(self) -> None:
        """Begin, the first time that this is called."""
        if self._thread is None:
            self._thread = Thread(target=self._read, name="warm vectors", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End soon, and return when it has ended."""
        self._stopped.set()
        self.wait()

    def wait(self) -> None:
        """Return when all is read."""
        if self._thread is not None:
            self._thread.join()

    def _read(self) -> None:
        buffer = bytearray(AT_ONCE)
        try:
            with self._file.open("rb", buffering=0) as opened:
                if os.fstat(opened.fileno()).st_size > _memory() // SHARE:
                    return
                while not self._stopped.is_set() and opened.readinto(buffer):
                    pass
        except OSError:
            return


def _memory() -> int:
    """Return the machine's memory in bytes, 0 where it does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # AttributeError: there is no sysconf on Windows
        return 0
