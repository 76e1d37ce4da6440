"""Growth of a server's memory, threads and files over time, read from `/proc`."""

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.conftest import Server

WARM_UP = 1 / 6  # of the time: models are loaded and caches filled by then
GROWTH = 0.1  # more than this is too much
LEAST = {"memory_mb": 0.0, "log_mb": 8.0}  # by so much these may grow; the ledger's log is cut back at 4 MB
FEW = 3.0  # threads, files or connections more, which come and go with who asks at the moment


@dataclass(frozen=True)
class Sample:
    """Resources of a process at a time, in seconds since the start."""

    seconds: float
    memory_mb: float
    threads: int
    files: int
    connections: int
    log_mb: float


KINDS = ("memory_mb", "threads", "files", "connections", "log_mb")


@dataclass(frozen=True)
class Course:
    """Growth of one resource: medians of the first and last tenth, and the slope of the line through all."""

    kind: str
    first: float
    last: float
    line: float

    @property
    def grew(self) -> float:
        """Return the smaller growth, by medians or slope: one peak makes no growth, and hides none."""
        return min(self.last - self.first, self.line)

    @property
    def level(self) -> bool:
        """Return True where the growth is within its limit."""
        return self.grew <= max(GROWTH * self.first, LEAST.get(self.kind, FEW))


def course(kind: str, seconds: Sequence[float], values: Sequence[float]) -> Course:
    """Return the growth of a series of values.

    From 100, 100, 110, 120, 120 at 0, 1, 2, 3, 4 seconds the line rises by 6 a second, 24 in all; the medians
    of the first and last are 100 and 120.
    """
    tenth = max(1, len(values) // 10)
    slope = statistics.linear_regression(seconds, values).slope if len(set(seconds)) > 1 else 0.0
    first, last = statistics.median(values[:tenth]), statistics.median(values[-tenth:])
    return Course(kind, first, last, slope * (seconds[-1] - seconds[0]))


def courses(samples: Sequence[Sample]) -> list[Course]:
    """Return the growth of each resource after the warm-up; ValueError without samples of that time."""
    warm = [sample for sample in samples if sample.seconds >= WARM_UP * samples[-1].seconds]
    if len(warm) < 2:
        raise ValueError("There are too few samples to see a course in: let it run for longer.")
    seconds = [sample.seconds for sample in warm]
    return [course(kind, seconds, [float(getattr(sample, kind)) for sample in warm]) for kind in KINDS]


def look(server: Server, seconds: float) -> Sample:
    """Sample the resources of the server's process."""
    proc = Path("/proc", str(server.process.pid))
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    ledger, log = server.data / "footnote.db", server.data / "footnote.db-wal"
    open_files = [_target(link) for link in (proc / "fd").iterdir()]
    return Sample(
        seconds,
        int(status["VmRSS"].split()[0]) / 1024,
        int(status["Threads"]),
        len(open_files),
        open_files.count(str(ledger)),
        log.stat().st_size / 1e6 if log.exists() else 0.0,
    )


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed meanwhile
        return ""


@contextmanager
def watching(server: Server, every: float, told: Callable[[Sample], None]) -> Iterator[list[Sample]]:
    """Read the server's process every so many seconds while the block runs."""
    samples, over, begun = list[Sample](), threading.Event(), time.monotonic()

    def watch() -> None:
        while not over.wait(every):
            samples.append(look(server, time.monotonic() - begun))
            told(samples[-1])

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()
