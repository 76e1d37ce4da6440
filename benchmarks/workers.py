"""Throughput of workers that share a ledger, in slow motion: how near to linear it is.

    python benchmarks/workers.py [--workers 1 2 4 8 16] [--people 16] [--documents 12] [--passages 40]
        [--rate 20] [--waiting] [--json]

The ledger is on a PostgreSQL server that is started for it, originals and indexes are in a folder, and each
worker is a process of `footnote work --kinds embed --concurrency 1`. In place of an embedding model it has
one that sleeps as long as a core would take, `--rate` passages a second, so that many workers need few cores:
what is lost against so many times one worker is lost in what they share. Each worker has `--documents`
documents of `--passages` passages to embed, spread over `--people` people.

The workers run, and are stopped by a signal, until the documents are in the ledger; with `--waiting` the
documents are there before the workers begin. The rate is counted from the moment when as many documents are
ready as there are workers, to that when as many are left.

Prints for each number of workers: passages a second, times one worker, the part of linear, the part of what
their models alone would do, the cores used by the workers and by the database server, and transactions a
document. Last the coefficients of the universal
scalability law, which fit `workers / (1 + a (workers - 1) + b workers (workers - 1))`. Fails where 8 workers
do less than .80 of linear, or 16 less than .70. Where workers and server together use nearly all cores, the
machine and not the ledger was measured: let them sleep longer by more `--passages` or a lower `--rate`.
"""

import argparse
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
from sqlalchemy import create_engine, text

from rag.index.lexical import to_entry
from rag.ingest.library import Library
from rag.models import embeddings
from rag.models.embeddings import Embedder, Floats, Role
from rag.services import Services
from rag.settings import Settings
from storage.records import ChunkSpan
from tests.storage import postgres

FORKS = multiprocessing.get_context("forkserver")
DIMENSION = 384
PARAGRAPH = "Report {document}, part {part}: crane {part} of the harbour is {document} metres high."
TICK = os.sysconf("SC_CLK_TCK")
LIMITS = {8: 0.80, 16: 0.70}
"""The least part of linear, by workers."""
READY = 300.0  # seconds until the workers have begun


@dataclass(frozen=True)
class Load:
    """Documents for each worker, their passages, people, and passages that a core embeds in a second."""

    documents: int
    passages: int
    people: int
    rate: float
    waiting: bool


@dataclass(frozen=True)
class Measured:
    """Result for a number of workers; `cores` are of the workers and of the database server.

    `of_models` is the part of what so many models do in the time that they sleep.
    """

    workers: int
    passages_a_second: float
    times: float
    of_linear: float
    of_models: float
    cores: tuple[float, float]
    transactions: float


class SleepingEmbedder(Embedder):
    """Embedding model on a server that takes the time of a core, and whose vectors are drawn by the text."""

    local = False
    seconds = 0.0  # for a passage

    def __init__(self, model: str, **_: object) -> None:
        self.name, self.dimension, self.fingerprint = model, DIMENSION, "sleeping"

    @property
    def spec(self) -> str:
        """The model's name as one of a server."""
        return embeddings.OPENAI + self.name

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        if role == "passage":
            time.sleep(self.seconds * len(texts))
        rows = [np.random.default_rng(len(one)).random(DIMENSION, np.float32) for one in texts]
        return np.asarray(rows, np.float32)


def _work(folder: Path, url: str, number: int, seconds: float) -> None:
    """Be a worker."""
    from rag.cli import main as footnote

    given = _settings(folder, url, f"worker-{number}").model_dump(exclude_unset=True)
    os.environ.update({f"FOOTNOTE_{name.upper()}": str(value) for name, value in given.items()})
    os.environ["DATABASE_URL"] = url
    SleepingEmbedder.seconds = seconds
    embeddings.OpenAIEmbedder = SleepingEmbedder  # type: ignore[assignment, misc]
    with (folder / f"worker-{number}.log").open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        raise SystemExit(footnote(["work", "--kinds", "embed"]))


def _settings(folder: Path, url: str, name: str) -> Settings:
    return Settings(
        data=folder / name,
        database_url=url,
        objects=f"file://{folder}/shared",
        vector_store="lance-objects",
        embedding_model="openai:sleeping",
        raptor="off",
        korean_japanese_analyzers="off",
    )


def put(library: Library, number: int, passages: int) -> None:
    """Add a document that is searchable by words, as reading leaves it."""
    parts = [PARAGRAPH.format(document=number, part=part) for part in range(passages)]
    whole = "\n\n".join(parts)
    record, _ = library.add(f"{number}.txt", whole.encode())
    ends = np.cumsum([len(part) + 2 for part in parts])
    spans = [ChunkSpan(int(end) - 2 - len(part), int(end) - 2) for part, end in zip(parts, ends, strict=True)]
    library.documents.set_state(record.id, "reading")
    library.documents.save_chunks(record.id, whole, [], spans, facts=[])
    library.indexes.words.add(to_entry(chunk) for chunk in library.documents.chunks(record.id))
    library.documents.set_state(record.id, "searchable_by_words")


def fill(services: Services, load: Load, documents: int) -> None:
    """Add documents, person after person; each has one more that nobody reads.

    Without that one the weights of a person's search would be found once all was ready.
    """
    libraries = [services.workspace(f"person{number}").library for number in range(load.people)]
    for library in libraries:
        library.add("unread.txt", b"Unread.")
    for number in range(documents):
        put(libraries[number % load.people], number, load.passages)


@contextmanager
def working(folder: Path, url: str, count: int, seconds: float) -> Iterator[list[int]]:
    """Run workers, once they have begun; yield their process ids."""
    processes = [FORKS.Process(target=_work, args=(folder, url, n, seconds)) for n in range(count)]
    for process in processes:
        process.start()
    try:
        until(lambda: all(_has_begun(folder / f"worker-{n}.log") for n in range(count)), READY)
        yield [process.pid or 0 for process in processes]
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _has_begun(log: Path) -> bool:
    return log.exists() and " wait" in log.read_text()


def until(true: Callable[[], bool], seconds: float) -> None:
    """Wait for a state."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise SystemExit(f"Not done after {seconds:.0f} seconds")
        time.sleep(0.2)


def cpu_seconds(processes: Sequence[int]) -> float:
    """Return the seconds of a core that processes have used, with those of their children that ended."""
    return sum(sum(map(int, _stat(process)[11:15])) for process in processes) / TICK


def _stat(process: int) -> list[str]:
    """Return the fields of a process after its name, from `/proc`."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def with_children(process: int) -> list[int]:
    """Return a process and its children."""
    others = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [process, *(one for one in others if _parent(one) == process)]


def _parent(process: int) -> int:
    try:
        return int(_stat(process)[1])
    except FileNotFoundError:  # it has ended meanwhile
        return 0


class Ledger:
    """Reads of the ledger past the workers."""

    def __init__(self, url: str) -> None:
        self._engine = create_engine(url)

    def rows(self, statement: str) -> list[Any]:
        """Return the rows of a statement."""
        with self._engine.connect() as connection:
            return list(connection.execute(text(statement)))

    def ready(self) -> list[float]:
        """Return the seconds at which documents became ready, in order."""
        return [float(at) for (at,) in self.rows(_READY)]

    def transactions(self) -> int:
        """Return the number of transactions until now."""
        return int(self.rows(_TRANSACTIONS)[0][0])

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


_READY = "SELECT extract(epoch FROM updated) FROM documents WHERE state = 'ready' ORDER BY updated"
_TRANSACTIONS = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"


def measured(workers: int, load: Load) -> Measured:
    """Measure a number of workers, with a ledger of their own; it is not yet compared with one worker."""
    documents, seconds = workers * load.documents, 1 / load.rate
    with postgres.running() as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = _settings(folder, server.url, "filler")
        with closing(Services(settings, documents={})) as filler, closing(Ledger(server.url)) as ledger:
            if load.waiting:
                fill(filler, load, documents)
            with working(folder, server.url, workers, seconds) as processes:
                if not load.waiting:
                    _fill_while_stopped(processes, filler, load, documents)
                main = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
                before = cpu_seconds(processes), cpu_seconds(with_children(main)), ledger.transactions()
                begun = time.monotonic()
                until(lambda: len(ledger.ready()) == documents, 60 + 10 * documents * load.passages * seconds)
                spent = time.monotonic() - begun
                after = cpu_seconds(processes), cpu_seconds(with_children(main)), ledger.transactions()
            at = ledger.ready()
    rate = (documents - 2 * workers) * load.passages / (at[documents - workers - 1] - at[workers - 1])
    cores = (after[0] - before[0]) / spent, (after[1] - before[1]) / spent
    of_models = rate / (workers * load.rate)
    return Measured(workers, rate, 1.0, 1.0, of_models, cores, (after[2] - before[2]) / documents)


def _fill_while_stopped(processes: Sequence[int], filler: Services, load: Load, documents: int) -> None:
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    fill(filler, load, documents)
    for process in processes:
        os.kill(process, signal.SIGCONT)


def compared(found: Measured, one: float) -> Measured:
    """Return a result with its speed-up over one worker."""
    times = found.passages_a_second / one
    return Measured(**{**asdict(found), "times": times, "of_linear": times / found.workers})


def scalability(times: Mapping[int, float]) -> tuple[float, float]:
    """Return contention and coherency of the universal scalability law, fitted to speed-ups by workers.

    >>> a, b = scalability({n: n / (1 + 0.02 * (n - 1) + 0.001 * n * (n - 1)) for n in (1, 2, 4, 8, 16)})
    >>> round(a, 6), round(b, 6)
    (0.02, 0.001)
    """
    several = [(n, n / speedup - 1) for n, speedup in times.items() if n > 1]
    columns = np.array([[n - 1, n * (n - 1)] for n, _ in several], float)
    (a, b), *_ = np.linalg.lstsq(columns, np.array([lost for _, lost in several]), rcond=None)
    return float(a), float(b)


def main() -> int:
    """Measure, print, and fail where too much of linear is lost."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    options.add_argument("--people", type=int, default=16)
    options.add_argument("--documents", type=int, default=12, help="for each worker, more than 2")
    options.add_argument("--passages", type=int, default=40, help="of a document")
    options.add_argument("--rate", type=float, default=20.0, help="passages that a core embeds in a second")
    options.add_argument("--waiting", action="store_true", help="documents are there before the workers")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    load = Load(given.documents, given.passages, given.people, given.rate, given.waiting)
    found = [_said(measured(workers, load)) for workers in sorted({1, *given.workers})]
    found = [compared(one, found[0].passages_a_second) for one in found]
    times = {one.workers: one.times for one in found}
    law = scalability(times) if len(times) > 2 else None
    if given.json:
        print(json.dumps({"workers": [asdict(one) for one in found], "scalability": law}, indent=2))
    else:
        for one in found:
            print(
                f"{one.workers:3} workers {one.passages_a_second:7.1f} passages/s, x{one.times:5.2f}, "
                f"{one.of_linear:.2f} of linear, {one.of_models:.2f} of the models; "
                f"cores {one.cores[0]:.2f} + {one.cores[1]:.2f}; "
                f"{one.transactions:.0f} transactions a document"
            )
        if law:
            print(f"scalability: contention {law[0]:.4f}, coherency {law[1]:.5f}")
    return int(any(one.of_linear < LIMITS.get(one.workers, 0.0) for one in found))


def _said(found: Measured) -> Measured:
    print(f"{found.workers} workers: {found.passages_a_second:.1f} passages/s", file=sys.stderr, flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
