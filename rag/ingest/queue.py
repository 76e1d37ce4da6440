"""Ingest queue: background jobs that parse, embed, split again and re-index one owner's documents.

Parsing and embedding have separate lanes: a document is searchable by words without waiting for the
embedding of those before it.
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import chain
from threading import Lock
from typing import Any, Literal, TypeVar, cast

from rag.errors import Cancelled, DocumentRefused, EmbeddingError, FootnoteError, LimitReached
from rag.i18n import N_
from rag.index.chunks import same_text_ids
from rag.index.lexical import to_entry
from rag.index.staged import ReindexProgress
from rag.ingest.figure_descriptions import FigureDescriber, FigureProgress
from rag.ingest.leased import (
    PAUSED_SECONDS,
    IngestProgress,
    JobName,
    exclusive,
    leased,
    progress_of,
    stop_elsewhere,
)
from rag.ingest.library import Library
from rag.ingest.parsers import run_to_end
from rag.jobs import SERVER, Cancel, Job, Jobs, never
from rag.raptor.tree import ForestProgress
from rag.retrieval.weights import CalibrationProgress
from storage import audit_log
from storage.accounts import People
from storage.documents import EMBED, JOB_IN, READ
from storage.errors import NotFound, StorageError
from storage.jobs import Lease
from storage.records import DocumentRecord

WEIGH, TREES, SPLIT = "weigh", "trees", "split"
REINDEX, WORDS, FACTS, SCRUB, FIGURES = "reindex", "words", "facts", "scrub", "figures"
REMOVAL = "removal"
FOLLOWING = (WEIGH, TREES, SPLIT)  # jobs that follow once all documents are ready
LANES = {READ: 2, EMBED: 1, TREES: 1, SPLIT: 1, REINDEX: 1, WORDS: 1, FIGURES: 1}
FIRST_WAIT, LONGEST_WAIT = 60.0, 3600.0  # seconds before the first retry, and between two at most
BATCH_SECONDS = 10.0  # limit for a cancelled embedding job, which stops between two batches
ELSEWHERE_SECONDS = (
    0.2  # for which it is not asked again what other processes do: a page asks for each document
)
DRAIN_SECONDS = 2.0  # time for running questions to leave an index that was replaced
FIGURES_WAIT = 600.0  # seconds before a description of figures that failed is tried again
RESTED = timedelta(minutes=10)  # until what failed or was stopped is begun without being asked for
STOP_SECONDS = 60.0  # limit for the jobs of a person who is removed
FAILED = "It could not be split anew, and is searched as it was. {}"
E = TypeVar("E")
Step = Literal["stopping", "indexes and files", "everything else", "removed"]

log = logging.getLogger(__name__)


class Backoff:
    """Exponential back-off for documents whose ingest failed; safe for threads.

    A full disk or an unreachable server affects all documents alike. So a single one is tried, the one with
    the fewest attempts, after waits that double; a new document that waits resets them.

    >>> now = 0.0
    >>> backoff = Backoff(lambda: now)
    >>> backoff.due(["a", "b"])  # they have only just failed
    >>> now = 60.0
    >>> backoff.due(["a", "b"])
    'a'
    >>> now = 180.0
    >>> backoff.due(["a", "b"])
    'b'
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._lock = Lock()
        self._attempts: dict[str, int] = {}  # by document
        self._failures = 0  # in a row
        self._next: float | None = None  # time of the next retry

    def due(self, waiting: Sequence[str]) -> str | None:
        """Return the waiting document to retry now; None while it is not time, or none waits."""
        with self._lock:
            if set(waiting) - self._attempts.keys():
                self._failures, self._next = 0, None
            self._attempts = {document_id: self._attempts.get(document_id, 0) for document_id in waiting}
            if not waiting:
                return None
            if self._next is None:
                self._next = self._clock() + retry_wait(min(self._attempts.values()))
                return None
            if self._clock() < self._next:
                return None
            chosen = min(waiting, key=lambda document_id: self._attempts[document_id])
            self._attempts[chosen] += 1
            self._failures += 1
            self._next = self._clock() + retry_wait(self._failures)
            return chosen

    def succeeded(self) -> bool:
        """Note a success; return once whether others wait, which may continue, too."""
        with self._lock:
            was_waiting, self._next, self._failures = self._next is not None, None, 0
            return was_waiting and bool(self._attempts)


def retry_wait(attempts: int) -> float:
    """Return the seconds to wait after so many failed attempts.

    >>> [retry_wait(attempts) for attempts in (0, 1, 2, 10_000)]
    [60.0, 120.0, 240.0, 3600.0]
    """
    return min(FIRST_WAIT * 2.0 ** min(attempts, 10), LONGEST_WAIT)


@dataclass(frozen=True)
class Resplit:
    """Progress of splitting: the current document, `done` of `total` documents, and the step."""

    document: str
    done: int
    total: int
    step: IngestProgress


Refusals = set[tuple[str, str]]  # of documents, each with the splitting that it cannot have


def due_to_split(library: Library, refused: Refusals) -> list[str]:
    """Return the documents whose collection has other settings, without those refused with these."""
    return [id_ for id_ in library.collections.due() if (id_, _splitting(library, id_)) not in refused]


def _splitting(library: Library, document_id: str) -> str:
    return json.dumps(library.collections.splitting_of(document_id), sort_keys=True)


def resplit(
    library: Library, cancelled: Cancel = never, refused: Refusals | None = None
) -> Iterator[Resplit]:
    """Split documents again whose collection has other settings; a failure is noted, the rest stays due.

    Those in `refused` are left out, and those that cannot be split so are added.
    """
    tried, refused = set[str](), set() if refused is None else refused
    while due := [id_ for id_ in due_to_split(library, refused) if id_ not in tried]:
        tried.add(due[0])
        asked = due[0], _splitting(library, due[0])
        try:
            record = library.documents.get(due[0])
            for step in _resplit_document(library, record, cancelled):
                yield Resplit(record.name, len(tried) - 1, len(tried) - 1 + len(due), step)
        except NotFound as error:  # removed meanwhile
            log.info("%s", error)
        except (DocumentRefused, LimitReached) as error:
            library.documents.set_state(due[0], "ready", FAILED.format(error))
            refused.add(asked)


def _resplit_document(
    library: Library, record: DocumentRecord, cancelled: Cancel
) -> Iterator[IngestProgress]:
    """Index the new chunks beside the old ones, then exchange them in one commit of the ledger.

    No question sees both, since search results count only where the ledger has their ids.
    """
    yield IngestProgress("reading", 0, 1)
    parsed = run_to_end(library.parse(record))
    new, old = list[str](), library.documents.chunk_ids_of(record.id)
    library.indexes.refresh()
    try:
        for chunks in parsed.chunks_of(record):
            new += [chunk.id for chunk in chunks]
            library.indexes.words.add(to_entry(chunk) for chunk in chunks)
        pairs = same_text_ids(
            chain.from_iterable(parsed.chunks_of(record)),
            chain.from_iterable(library.documents.chunk_batches(record.id)),
        )
        library.indexes.copy_vectors(record.id, pairs)
        yield from library.add_vectors(parsed.chunks_of(record), len(new), cancelled)
        parsed.save(library.documents, record.id)
        library.documents.set_state(record.id, "ready")
    except BaseException:
        library.indexes.forget(new)
        raise
    library.indexes.forget(set(old).difference(library.documents.chunk_ids_of(record.id)))


class Ingest:
    """Runs the ingests of one owner's library, and builds RAPTOR's trees while `trees` returns True."""

    def __init__(
        self,
        library: Library,
        jobs: Jobs,
        *,
        trees: Callable[[], bool] = never,
        describer: FigureDescriber | None = None,
        backoff: Backoff | None = None,
    ):
        self._library = library
        self._jobs = jobs
        self._trees = trees
        self._backoff = backoff or Backoff()
        self._tree_job: Job[ForestProgress] | None = None
        self._describer = describer
        self._figure_job: Job[FigureProgress] | None = None
        self._refused: Refusals = set()
        self._told_elsewhere: tuple[float, dict[str, IngestProgress | None]] = (float("-inf"), {})
        self._describe_after = 0.0  # time.monotonic() before which a failed description is not tried again

    def start(self, document_id: str) -> None:
        """Queue a document where its ingest ended; one that is queued already stays as it is."""
        kind = JOB_IN.get(self._library.documents.get(document_id).state)
        if kind is not None and self._jobs.has_lane(kind):
            self._start_leased(kind, document_id)

    def run(self, lease: Lease) -> None:
        """Do a job on a document that this process has taken; what it does already is let go; NotFound."""
        self._library.documents.get(lease.key)
        if not self._start_leased(lease.kind, lease.key, lease):
            self._library.queue.release(lease)

    def _start_leased(self, kind: str, document_id: str, lease: Lease | None = None) -> bool:
        """Start a job, which takes its lease when its turn comes; False where it is started already."""
        do = partial({READ: self._read, EMBED: self._embed}[kind], document_id)
        this = JobName(self._library.owner, kind, document_id)
        work = partial(leased, self._library.queue, this, do, lease=lease)
        before = self._job(f"{kind}:{document_id}")
        return self._start(f"{kind}:{document_id}", work, kind) is not before

    def progress(self, document_id: str) -> IngestProgress | None:
        """Return the progress of a document; None while nothing runs for it."""
        jobs = (self._job(f"{lane}:{document_id}") for lane in (EMBED, READ))
        here = next((job.latest for job in jobs if job and isinstance(job.latest, IngestProgress)), None)
        return here or self._elsewhere().get(document_id)

    def running(self, document_id: str) -> bool:
        """Return whether a document is being read or embedded, or is queued for it."""
        return bool(self._document_jobs(document_id)) or document_id in self._elsewhere()

    def all_running(self) -> frozenset[str]:
        """Return the documents that are being read or embedded, or are queued for it."""
        keys = (key.partition(":") for key in self._jobs.keys(self._library.owner))
        here = (document_id for kind, _, document_id in keys if kind in LANES and document_id)
        return frozenset(here).union(self._elsewhere())

    def _elsewhere(self) -> dict[str, IngestProgress | None]:
        """Return the documents that other processes work on, or are to, with their progress where known."""
        told_at, told = self._told_elsewhere
        if time.monotonic() - told_at >= ELSEWHERE_SECONDS:
            here = [kind for kind in (READ, EMBED) if self._jobs.has_lane(kind)]
            found = self._library.queue.elsewhere(self._library.owner, (READ, EMBED), here=here)
            told = {job.key: progress_of(job.progress) for job in found}
            self._told_elsewhere = time.monotonic(), told
        return told

    def remove(self, document_id: str) -> None:
        """Stop a document's ingest and delete the document."""
        for job in self._document_jobs(document_id):
            job.cancel()
        self._library.remove(document_id)
        self._grow_if_wanted()

    def embed_anew(self) -> None:
        """Delete the vectors and embed every document again, after stopping what is being embedded."""
        running = self.stop_writing()
        for document_id in self._library.rebuild_vectors():
            _wait(running)
            self.start(document_id)

    def stop_writing(self) -> list[Job[Any]]:
        """Stop the jobs that write to the vector index; return them, since they end between two batches."""
        embedding = (f"{EMBED}:{record.id}" for record in self._library.documents.list())
        running = [job for key in (SPLIT, TREES, WEIGH, *embedding) if (job := self._job(key))]
        for job in running:
            job.cancel()
        self._library.queue.postpone(self._library.owner, [EMBED], PAUSED_SECONDS)
        return running

    def go_on(self) -> None:
        """Queue every unfinished document, and the jobs that follow once all are ready."""
        for record in self._library.documents.unfinished():
            self.start(record.id)
        self._follow_up()
        self.describe_if_due()

    def _follow_up(self) -> None:
        """Start the jobs that follow once all documents are ready, where they are due."""
        self._weigh_if_due()
        self._grow_if_wanted()
        self._split_what_is_left()

    def _follow_up_left(self) -> None:
        """Do the same for what has not just failed, or been stopped, in any process."""
        rests = self._library.queue.of(self._library.owner, [_rest_of(kind) for kind in FOLLOWING])
        resting = {job.kind for job in rests if not job.due}
        if _rest_of(WEIGH) not in resting:
            self._weigh_if_due()
        if _rest_of(TREES) not in resting and self._trees() and self._trees_left():
            self._grow_if_wanted()
        if _rest_of(SPLIT) not in resting:
            self._split_what_is_left()

    def _trees_left(self) -> bool:
        """Return whether trees are not finished, or a process was killed while it built them."""
        try:
            unfinished = self._library.forest.unfinished()
        except FootnoteError as error:  # so does the job, which then rests
            log.info("%s", error)
            return True
        begun = self._library.queue.of(self._library.owner, [TREES])
        return unfinished or any(not job.alive for job in begun)

    def _rest(self, kind: str) -> None:
        """Leave a job that follows to those who ask for it, for a while and in all processes."""
        if not self._library.queue.alone:
            self._library.queue.put_off(self._library.owner, _rest_of(kind), RESTED)

    def try_again(self) -> None:
        """Retry one unfinished document if it is time; once it succeeds, all continue."""
        running = self.all_running()
        waiting = [record.id for record in self._library.documents.unfinished() if record.id not in running]
        document_id = self._backoff.due(waiting)
        if document_id is not None:
            self.start(document_id)
        if not self._library.queue.alone:  # another process may have ended without them
            self._follow_up_left()
        if time.monotonic() >= self._describe_after:
            self.describe_if_due()

    def recover(self) -> None:
        """Make the indexes agree with the ledger and continue with every unfinished document."""
        self._library.recover()
        if self._library.indexes.words.outdated:
            self._start_exclusive(WORDS, self._library.indexes.words.renew, WORDS)
        if self._library.documents.without_facts():
            self._start_exclusive(FACTS, self._library.read_missing_facts, WORDS)
        self.go_on()

    def scrub_if_due(self) -> None:
        """Check the files of an open word index where that is due, and make a damaged one anew.

        In the lane of splitting: the ledger does not yet have the passages of a split in progress.
        """
        if self._library.scrub_due():
            self._start_exclusive(SCRUB, self._scrub, SPLIT)

    def _scrub(self, cancelled: Cancel) -> Iterator[None]:
        if not cancelled():
            self._library.scrub()
        yield

    def split_if_due(self) -> None:
        """Split the documents again whose collection has other splitting settings by now."""
        self._refused.clear()
        self._split_what_is_left()

    def _split_what_is_left(self) -> None:
        if due_to_split(self._library, self._refused):
            work = partial(resplit, self._library, refused=self._refused)
            self._start_exclusive(SPLIT, partial(self._following, SPLIT, work), SPLIT)

    def splitting(self) -> Job[Resplit] | None:
        """Return the job that splits documents again; None when there is none."""
        return self._job(SPLIT)

    def weigh(self) -> None:
        """Calibrate the hybrid weights again, after what is being embedded."""
        work = partial(self._following, WEIGH, self._library.weighing.find)
        self._start_exclusive(WEIGH, work, EMBED if self._jobs.has_lane(EMBED) else SPLIT)

    def weighing(self) -> CalibrationProgress | None:
        """Return the progress of the calibration; None when it does not run."""
        return self._latest(WEIGH, CalibrationProgress)

    def grow(self, *, anew: bool = False) -> None:
        """Build the trees that are due, after those that are being built; see `Forest.build_due`."""
        work = partial(self._library.forest.build_due, rewrite_summaries=anew)
        self._tree_job = self._start_exclusive(TREES, partial(self._following, TREES, work), TREES)

    def growing(self) -> ForestProgress | None:
        """Return the progress of the trees; None when none is built, or the build has not begun."""
        return self._latest(TREES, ForestProgress)

    def grows(self) -> bool:
        """Return whether trees are being built, or are queued for it."""
        return self._job(TREES) is not None

    def growing_failed(self) -> BaseException | None:
        """Return the error of the last build of trees; None where it succeeded or was stopped."""
        error = self._tree_job.error if self._tree_job is not None else None
        return None if isinstance(error, Cancelled) else error

    def stop_growing(self) -> None:
        """Stop building trees; finished parts are kept, and the next build continues from them."""
        self._rest(TREES)
        if job := self._job(TREES):
            job.cancel()
        stop_elsewhere(self._library.queue, self._name(TREES))

    def describe(self, document_id: str) -> None:
        """Have a model describe the figures of a document, also those that were described; NotFound."""
        if self._describer is not None:
            self._describer.queue_again(document_id)
            self.describe_if_due()

    def describe_if_due(self) -> None:
        """Have a model describe the figures of the documents that wait for it."""
        if self._describer is not None and self._describer.available and self._library.figures.due():
            self._figure_job = self._start_exclusive(FIGURES, self._describe_figures, FIGURES)

    def describing(self) -> Job[FigureProgress] | None:
        """Return the job that describes figures; None when there is none."""
        return self._job(FIGURES)

    def stop_describing(self) -> None:
        """Stop describing figures; what is described stays, and the rest waits to be asked for."""
        self._library.figures.stop_due()
        if job := self._job(FIGURES):
            job.cancel()
        stop_elsewhere(self._library.queue, self._name(FIGURES))

    def describing_failed(self) -> BaseException | None:
        """Return the error of the last descriptions; None where they succeeded or were stopped."""
        error = self._figure_job.error if self._figure_job is not None else None
        return None if isinstance(error, Cancelled) else error

    def _describe_figures(self, cancelled: Cancel) -> Iterator[FigureProgress]:
        if self._describer is not None:
            try:
                yield from self._describer.run(cancelled)
            except FootnoteError:
                self._describe_after = time.monotonic() + FIGURES_WAIT
                raise

    def follow_setting(self) -> None:
        """Build trees or stop building them, as the settings say now."""
        if self._trees():
            self._grow_if_wanted()
        else:
            self.stop_growing()

    def _read(self, document_id: str, cancelled: Cancel) -> Iterator[IngestProgress]:
        yield from self._library.read(document_id, cancelled)
        if not cancelled():
            record = self._library.documents.get(document_id)
            if record.state == "refused":  # the ledger keeps a refusal, and nothing is raised
                log.warning("A document was refused: %s", DocumentRefused(record.reason))
            self.start(document_id)

    def _embed(self, document_id: str, cancelled: Cancel) -> Iterator[IngestProgress]:
        yield from self._library.embed(document_id, cancelled)
        if not cancelled():
            if self._backoff.succeeded():
                self.go_on()
            self._weigh_if_due()
            self._grow_if_wanted()
            self.split_if_due()
            if self._describer is not None and self._describer.queue(document_id):
                self.describe_if_due()

    def _grow_if_wanted(self) -> None:
        """Build trees once all documents are embedded, so that the top layers are built only once."""
        if self._trees() and not self._library.documents.unfinished():
            self.grow()

    def _weigh_if_due(self) -> None:
        if not self._library.documents.unfinished() and self._library.weighing.due():
            self.weigh()

    def _following(self, kind: str, work: Callable[[Cancel], Iterator[E]], cancelled: Cancel) -> Iterator[E]:
        """Do the work of a job that follows, which rests where that failed or was stopped."""
        try:
            yield from work(cancelled)
        except (FootnoteError, GeneratorExit):
            if not self._jobs.closed:
                with suppress(StorageError):  # then it is begun sooner
                    self._rest(kind)
            raise

    def _start(self, key: str, work: Callable[[Cancel], Iterator[E]], lane: str) -> Job[E]:
        return self._jobs.start(self._library.owner, key, work, lane=lane)

    def _start_exclusive(self, key: str, work: Callable[[Cancel], Iterator[E]], lane: str) -> Job[E]:
        """Start what one process does for an owner at a time; nothing is done where another does it."""
        mine = partial(exclusive, self._library.queue, self._name(key), work, waits=False)
        return self._start(key, mine, lane)

    def _name(self, kind: str) -> JobName:
        return JobName(self._library.owner, kind, "")

    def _job(self, key: str) -> Job[Any] | None:
        return self._jobs.get(self._library.owner, key)

    def _document_jobs(self, document_id: str) -> list[Job[Any]]:
        return [job for lane in LANES if (job := self._job(f"{lane}:{document_id}"))]

    def _latest(self, key: str, kind: type[E]) -> E | None:
        job = self._job(key)
        return job.latest if job is not None and isinstance(job.latest, kind) else None


class Reindexing:
    """Re-indexing for one owner: embeds every document with another model while the present index answers."""

    def __init__(self, library: Library, ingest: Ingest, jobs: Jobs):
        self._library = library
        self._ingest = ingest
        self._jobs = jobs
        self._last: Job[ReindexProgress] | None = None

    @property
    def job(self) -> Job[ReindexProgress] | None:
        """The running re-indexing job; None when there is none."""
        return self._last if self._last is not None and not self._last.done else None

    @property
    def failed(self) -> str | None:
        """The error of the last re-indexing; None where it succeeded or was stopped."""
        error = self._last.error if self._last is not None else None
        return str(error) if isinstance(error, FootnoteError) and not isinstance(error, Cancelled) else None

    def start(self) -> None:
        """Embed every document with the model of the settings, instead of any re-indexing that runs."""
        self.stop()
        if self._library.reindexer.possible:
            this = JobName(self._library.owner, REINDEX, "")
            work = partial(exclusive, self._library.queue, this, self._work, waits=False)
            self._last = self._jobs.start(self._library.owner, REINDEX, work, lane=REINDEX)
        else:
            self._ingest.embed_anew()

    def stop(self) -> None:
        """Stop; finished vectors are kept for the next time."""
        if self._last is not None:
            self._last.cancel()
            _wait([self._last])

    def recover(self) -> None:
        """Continue an index that was begun; begin one where the settings name another model."""
        try:
            if self._library.reindexer.due():
                self.start()
        except EmbeddingError as error:  # shown with every answer, too
            log.warning("%s", error)

    def _work(self, cancelled: Cancel) -> Iterator[ReindexProgress]:
        yield from self._library.reindex(
            cancelled, stop_writers=lambda: _wait(self._ingest.stop_writing()), drain_seconds=DRAIN_SECONDS
        )
        self._ingest.go_on()


def _rest_of(kind: str) -> str:
    return f"{kind} later"


def _wait(jobs: Iterable[Job[Any]]) -> None:
    """Wait until cancelled jobs have ended."""
    for job in jobs:
        job.wait(BATCH_SECONDS)


def remove_person(people: People, library: Library, jobs: Jobs) -> Iterator[Step]:
    """Remove the owner of `library`, who is marked: their jobs, indexes and originals, then every row.

    The mark goes last, so that an interrupted removal begins again. Raises Cancelled where a job goes on.
    """
    yield "stopping"
    if not jobs.stop_all(library.owner, STOP_SECONDS) or not _stopped_elsewhere(library):
        raise Cancelled(
            N_("Something still runs for this person. The removal is finished at the next start.")
        )
    yield "indexes and files"
    library.destroy()
    yield "everything else"
    people.forget(library.owner)
    yield "removed"


def _stopped_elsewhere(library: Library) -> bool:
    """Ask other processes to stop what they do for a person, and leave them nothing more to take.

    Return whether they have stopped in time.
    """
    library.queue.end_waiting(library.owner)
    deadline = time.monotonic() + STOP_SECONDS
    while others := library.queue.worked_on_elsewhere(library.owner):
        if time.monotonic() > deadline:
            return False
        for job in others:
            library.queue.stop(job.owner, job.kind, job.key)
        time.sleep(ELSEWHERE_SECONDS)
    return True


class Removals:
    """Jobs that remove people with all they own; `library` opens a person's, `on_removed` is called last."""

    def __init__(
        self, people: People, jobs: Jobs, library: Callable[[str], Library], on_removed: Callable[[str], None]
    ):
        self._people, self._jobs = people, jobs
        self._library, self._on_removed = library, on_removed

    def start(self, owner: str, *, by: str = audit_log.SERVER) -> None:
        """Mark a person, who can no longer sign in, and remove them; NotFound for an unknown one."""
        self._people.mark(owner, by=by)
        self._start(owner)

    def recover(self) -> None:
        """Continue the removals that were ordered and are not done."""
        for owner in self._people.marked():
            self._start(owner)

    def running(self, owner: str) -> Job[Step] | None:
        """Return the job that removes a person, if any."""
        return cast(Job[Step] | None, self._jobs.get(SERVER, _removal_key(owner)))

    def _start(self, owner: str) -> None:
        library = self._library(owner)
        work = partial(self._run, library)
        this = JobName(owner, REMOVAL, "")
        self._jobs.start(
            SERVER, _removal_key(owner), partial(exclusive, library.queue, this, work, waits=False)
        )

    def _run(self, library: Library, _: Cancel) -> Iterator[Step]:
        yield from remove_person(self._people, library, self._jobs)
        self._on_removed(library.owner)


def _removal_key(owner: str) -> str:
    """Return the job's key, which is logged: it has no name in it."""
    return f"{REMOVAL}:{hashlib.sha256(owner.encode()).hexdigest()[:12]}"
