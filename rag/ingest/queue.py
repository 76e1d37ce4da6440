"""The queue of documents being read and embedded, in the server's threads.

Two lanes: a document is read, and searchable by words, without waiting for the embedding of
those before it. Two are read at once, each in a process of its own.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, Literal, cast

from rag.errors import Cancelled, DocumentRefused, EmbeddingError, FootnoteError
from rag.index.chunks import same_text_pairs, to_entry
from rag.index.staged import ReindexProgress
from rag.ingest.library import IngestProgress, Library
from rag.ingest.pipeline import Edition, read_edition
from rag.jobs import SERVER, Cancel, Job, Jobs, never
from rag.raptor.tree import ForestProgress
from rag.retrieval.weights import CalibrationProgress
from storage.accounts import People
from storage.errors import NotFound
from storage.records import ChunkRecord, DocumentRecord

# When documents whose ingest failed are tried again: one after a while, all once any document goes on.
FIRST, LONGEST = 60.0, 3600.0  # seconds until the first try, and between two at most


class Backoff:
    """Says which document is tried, and when; safe for threads.

    What stood in one's way, a full disk, a server that is away, stands in the way of all: so one is tried in
    the place of all, the one that was tried least, after waits that double until others come to wait, too.

    >>> now = 0.0
    >>> patience = Backoff(lambda: now)
    >>> patience.due(["a", "b"])  # they have only just failed
    >>> now = 60.0
    >>> patience.due(["a", "b"])
    'a'
    >>> now = 180.0
    >>> patience.due(["a", "b"])
    'b'
    >>> patience.rewarded(), patience.rewarded()
    (True, False)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._lock = Lock()
        self._tries: dict[str, int] = {}  # of each document that waits
        self._in_a_row = 0
        self._at: float | None = None  # when one is tried next

    def due(self, waiting: Sequence[str]) -> str | None:
        """Return which of those that wait is tried now; None while it is not time, or none waits."""
        with self._lock:
            if set(waiting) - self._tries.keys():
                self._in_a_row, self._at = 0, None
            self._tries = {document_id: self._tries.get(document_id, 0) for document_id in waiting}
            if not waiting:
                return None
            if self._at is None:
                self._at = self._clock() + wait_after(min(self._tries.values()))
                return None
            if self._clock() < self._at:
                return None
            tried = min(waiting, key=lambda document_id: self._tries[document_id])
            self._tries[tried] += 1
            self._in_a_row += 1
            self._at = self._clock() + wait_after(self._in_a_row)
            return tried

    def rewarded(self) -> bool:
        """Note that a document went on; tell, once, whether others wait, who then may go on, too."""
        with self._lock:
            awaited, self._at, self._in_a_row = self._at is not None, None, 0
            return awaited and bool(self._tries)


def wait_after(tries: int) -> float:
    """Return how many seconds are waited after so many tries in vain.

    >>> [wait_after(tries) for tries in (0, 1, 2, 10_000)]
    [60.0, 120.0, 240.0, 3600.0]
    """
    return min(FIRST * 2.0 ** min(tries, 10), LONGEST)


# Documents split anew in the way that their collection says, each found as it was until it is found anew.
log = logging.getLogger(__name__)
FAILED = "It could not be split anew, and is searched as it was. {}"


@dataclass(frozen=True)
class Resplit:
    """How far the splitting is: the document being split, `done` of `total` documents, and the step."""

    document: str
    done: int
    total: int
    step: IngestProgress


def resplit(library: Library, cancelled: Cancel = never) -> Iterator[Resplit]:
    """Split what is due, one document after another; one that cannot be is noted and stays as it was.

    Raises Cancelled, EmbeddingError and RetrievalError; what is due then is due the next time.
    """
    tried = set[str]()
    while due := [id_ for id_ in library.collections.due() if id_ not in tried]:
        tried.add(due[0])
        try:
            record = library.documents.get(due[0])
            for step in _anew(library, record, cancelled):
                yield Resplit(record.name, len(tried) - 1, len(tried) - 1 + len(due), step)
        except NotFound as error:  # removed meanwhile
            log.info("%s", error)
        except DocumentRefused as error:
            library.documents.set_state(due[0], "ready", FAILED.format(error))


def _anew(library: Library, record: DocumentRecord, cancelled: Cancel) -> Iterator[IngestProgress]:
    """Index the new chunks beside the old ones, then exchange them in one commit of the ledger.

    Their ids differ, and an index's finds count only where the ledger has them: no question sees both. What
    is cut off before that commit is taken back, by `Library.recover` where there is no time for it.
    """
    yield IngestProgress("reading", 0, 1)
    way = library.collections.splitting_of(record.id)
    edition = read_edition(library.files, record, way, library.recognition)
    chunks = edition.chunks_of(record)
    try:
        yield from _index(library, record, chunks, cancelled)
        before = _keep(library, record, edition)
    except BaseException:
        library.indexes.forget(chunk.id for chunk in chunks)
        raise
    library.indexes.forget(before)


def _index(
    library: Library, record: DocumentRecord, chunks: list[ChunkRecord], cancelled: Cancel
) -> Iterator[IngestProgress]:
    library.indexes.words.add(to_entry(chunk) for chunk in chunks)
    vectors = library.indexes.vectors
    library.indexes.copy_vectors(same_text_pairs(chunks, library.documents.chunks(record.id)))
    present = vectors.present([chunk.id for chunk in chunks])
    missing = [chunk for chunk in chunks if chunk.id not in present]
    yield from library.add_vectors(vectors, missing, len(chunks), cancelled)


def _keep(library: Library, record: DocumentRecord, edition: Edition) -> list[str]:
    """Exchange a document's chunks; return the ids of those that go."""
    before = [chunk.id for chunk in library.documents.chunks(record.id)]
    edition.keep(library.documents, record.id)
    library.documents.set_state(record.id, "ready")
    return before


READ, EMBED, WEIGH, TREES, SPLIT = "read", "embed", "weigh", "trees", "split"
REINDEX, WORDS = "reindex", "words"
BATCH_PATIENCE = 10.0  # seconds: an embedding stops between two batches
LANES = {READ: 2, EMBED: 1, TREES: 1, SPLIT: 1, REINDEX: 1, WORDS: 1}


class Ingest:
    """Runs the ingests of one owner's library; while `trees` says so, RAPTOR's grow over what is ready."""

    def __init__(
        self,
        library: Library,
        jobs: Jobs,
        *,
        trees: Callable[[], bool] = never,
        patience: Backoff | None = None,
    ):
        self._library = library
        self._jobs = jobs
        self._trees = trees
        self._patience = patience or Backoff()
        self._grown: Job[ForestProgress] | None = None

    def start(self, document_id: str) -> None:
        """Queue a document where it left off; one that is queued already stays as it is."""
        state = self._library.documents.get(document_id).state
        if state in ("queued", "reading"):
            self._start(READ, document_id, partial(self._read, document_id))
        elif state in ("searchable_by_words", "searchable_by_meaning"):
            self._start(EMBED, document_id, partial(self._embed, document_id))

    def progress(self, document_id: str) -> IngestProgress | None:
        """Return how far a document is; None when nothing runs for it or it waits for its turn."""
        for lane in (EMBED, READ):
            job = self._jobs.get(self._library.owner, f"{lane}:{document_id}")
            if job is not None and isinstance(job.latest, IngestProgress):
                return job.latest
        return None

    def running(self, document_id: str) -> bool:
        """Whether a document is being read or embedded, or waits for it."""
        return any(self._jobs.get(self._library.owner, f"{lane}:{document_id}") for lane in LANES)

    def all_running(self) -> frozenset[str]:
        """Return the documents that are being read or embedded, or wait for it, in one look."""
        keys = (key.partition(":") for key in self._jobs.keys(self._library.owner))
        return frozenset(document_id for kind, _, document_id in keys if kind in LANES and document_id)

    def remove(self, document_id: str) -> None:
        """Stop a document's ingest and delete the document."""
        for lane in LANES:
            job = self._jobs.get(self._library.owner, f"{lane}:{document_id}")
            if job is not None:
                job.cancel()
        self._library.remove(document_id)
        self._grow_if_wanted()

    def embed_anew(self) -> None:
        """Drop the vectors and embed every document again; what is being embedded stops first."""
        running = self.stop_writing()
        for document_id in self._library.rebuild_vectors():
            for job in running:
                job.wait(BATCH_PATIENCE)
            self.start(document_id)

    def stop_writing(self) -> list[Job[Any]]:
        """Stop what writes into the vector index; return it, since it ends between two batches."""
        embedding = (f"{EMBED}:{record.id}" for record in self._library.documents.list())
        names = [SPLIT, TREES, WEIGH, *embedding]
        running = [job for name in names if (job := self._jobs.get(self._library.owner, name))]
        for job in running:
            job.cancel()
        return running

    def go_on(self) -> None:
        """Queue every unfinished document, and what follows once all are ready."""
        for record in self._library.documents.unfinished():
            self.start(record.id)
        self._weigh_if_due()
        self._grow_if_wanted()
        self.split_if_due()

    def try_again(self) -> None:
        """Try a document again that nothing works on, if it is time; once any goes on, all of them do."""
        running = self.all_running()
        waiting = [record.id for record in self._library.documents.unfinished() if record.id not in running]
        tried = self._patience.due(waiting)
        if tried is not None:
            self.start(tried)

    def recover(self) -> None:
        """Bring the library in step and go on with every unfinished document."""
        self._library.recover()
        if self._library.indexes.words.outdated:
            self._jobs.start(self._library.owner, WORDS, self._library.indexes.words.renew, lane=WORDS)
        self.go_on()

    def split_if_due(self) -> None:
        """Split anew what is split in another way than its collection says, after a change of either."""
        if self._library.collections.due():
            self._jobs.start(self._library.owner, SPLIT, partial(resplit, self._library), lane=SPLIT)

    def splitting(self) -> Job[Resplit] | None:
        """Return what splits documents anew; None when nothing does."""
        return self._jobs.get(self._library.owner, SPLIT)  # type: ignore[return-value]

    def weigh(self) -> None:
        """Find anew how words are weighed against meaning, after what is being embedded."""
        self._jobs.start(self._library.owner, WEIGH, self._library.weighing.find, lane=EMBED)

    def weighing(self) -> CalibrationProgress | None:
        """Return how far that is; None when it is not being found."""
        job = self._jobs.get(self._library.owner, WEIGH)
        return job.latest if job is not None and isinstance(job.latest, CalibrationProgress) else None

    def grow(self, *, anew: bool = False) -> None:
        """Build the trees that are due, after those that are being built; see `Forest.build_due`."""
        work = partial(self._library.forest.build_due, rewrite_summaries=anew)
        self._grown = self._jobs.start(self._library.owner, TREES, work, lane=TREES)

    def growing(self) -> ForestProgress | None:
        """Return how far the trees are; None when none is built, or the build has not begun yet."""
        job = self._jobs.get(self._library.owner, TREES)
        return job.latest if job is not None and isinstance(job.latest, ForestProgress) else None

    def grows(self) -> bool:
        """Whether trees are being built, or wait for it."""
        return self._jobs.get(self._library.owner, TREES) is not None

    def growing_failed(self) -> BaseException | None:
        """Return why trees could not be built the last time; None where they could, or it was stopped."""
        error = self._grown.error if self._grown is not None else None
        return None if isinstance(error, Cancelled) else error

    def stop_growing(self) -> None:
        """Stop building trees; what is made of them stays, and is gone on with."""
        job = self._jobs.get(self._library.owner, TREES)
        if job is not None:
            job.cancel()

    def follow_setting(self) -> None:
        """Build trees or stop building them, as is wanted now."""
        if self._trees():
            self._grow_if_wanted()
        else:
            self.stop_growing()

    def _read(self, document_id: str, cancelled: Cancel) -> Iterator[IngestProgress]:
        yield from self._library.read(document_id, cancelled)
        if not cancelled():
            self._tell_if_refused(document_id)
            self.start(document_id)

    def _tell_if_refused(self, document_id: str) -> None:
        """Log it: a refusal is kept in the ledger and raises nothing."""
        record = self._library.documents.get(document_id)
        if record.state == "refused":
            log.warning("A document was refused: %s", DocumentRefused(record.reason))

    def _embed(self, document_id: str, cancelled: Cancel) -> Iterator[IngestProgress]:
        yield from self._library.embed(document_id, cancelled)
        if not cancelled():
            if self._patience.rewarded():
                self.go_on()
            self._weigh_if_due()
            self._grow_if_wanted()
            self.split_if_due()

    def _grow_if_wanted(self) -> None:
        """Build trees once no document waits to be embedded: the layers above all are made but once."""
        if self._trees() and not self._library.documents.unfinished():
            self.grow()

    def _weigh_if_due(self) -> None:
        """Weigh anew where the collection has changed much, once no document waits to be embedded."""
        if not self._library.documents.unfinished() and self._library.weighing.due():
            self.weigh()

    def _start(self, lane: str, document_id: str, work: partial[Iterator[IngestProgress]]) -> None:
        self._jobs.start(self._library.owner, f"{lane}:{document_id}", work, lane=lane)


# A person removed with all they own: marked first, then done, and gone on with at the next start.
PATIENCE = 60.0  # seconds in which what runs for them has to end
Step = Literal["stopping", "indexes and files", "everything else", "removed"]


def remove_person(people: People, library: Library, jobs: Jobs) -> Iterator[Step]:
    """Remove the owner of `library`, who is marked: what runs for them, indexes and originals, every row.

    The rows go last, and the mark with them: what was interrupted finds the mark, and begins again.
    Raises Cancelled where something does not stop; a StorageError or RetrievalError where a disk fails.
    """
    yield "stopping"
    if not jobs.stop_all(library.owner, PATIENCE):
        raise Cancelled("Something still runs for this person. The removal is finished at the next start.")
    yield "indexes and files"
    library.destroy()
    yield "everything else"
    people.forget(library.owner)
    yield "removed"


class Removals:
    """Jobs that remove people with all they own; `library` opens someone's, `gone` is told who is gone."""

    def __init__(
        self, people: People, jobs: Jobs, library: Callable[[str], Library], gone: Callable[[str], None]
    ):
        self._people, self._jobs = people, jobs
        self._library, self._gone = library, gone

    def start(self, owner: str) -> None:
        """Mark a person, who is let in no more, and remove them; NotFound where there is none such."""
        self._people.mark(owner)
        self._start(owner)

    def recover(self) -> None:
        """Go on with what was ordered and is not done."""
        for owner in self._people.marked():
            self._start(owner)

    def running(self, owner: str) -> Job[Step] | None:
        """Return the job that removes a person, if one does."""
        return cast(Job[Step] | None, self._jobs.get(SERVER, _key(owner)))

    def _start(self, owner: str) -> None:
        self._jobs.start(SERVER, _key(owner), lambda cancelled: self._run(owner, cancelled))

    def _run(self, owner: str, _: Cancel) -> Iterator[Step]:
        yield from remove_person(self._people, self._library(owner), self._jobs)
        self._gone(owner)


def _key(owner: str) -> str:
    """Return the job's key, which is logged: it has no name in it."""
    return f"removal:{hashlib.sha256(owner.encode()).hexdigest()[:12]}"


# Every document embedded by another model, in the server's threads, while the one before answers.
SEARCH_PATIENCE = 2.0  # seconds that questions have to leave an index which another one has followed


class Reindexing:
    """Makes the index beside the one that answers, for one owner: begun, stopped, and gone on with."""

    def __init__(self, library: Library, ingest: Ingest, jobs: Jobs):
        self._library = library
        self._ingest = ingest
        self._jobs = jobs
        self._last: Job[ReindexProgress] | None = None

    @property
    def job(self) -> Job[ReindexProgress] | None:
        """What embeds every document anew; None when nothing does."""
        return self._last if self._last is not None and not self._last.done else None

    @property
    def failed(self) -> str | None:
        """Why that ended without its end the last time; None where it did not, or was stopped."""
        error = self._last.error if self._last is not None else None
        return str(error) if isinstance(error, FootnoteError) and not isinstance(error, Cancelled) else None

    def start(self) -> None:
        """Have every document embedded by the model of the settings; one that is being tried gives way."""
        self.stop()
        if self._library.reindexer.possible:
            self._last = self._jobs.start(self._library.owner, REINDEX, self._work, lane=REINDEX)
        else:
            self._ingest.embed_anew()

    def stop(self) -> None:
        """Stop; what is done is kept, and gone on with."""
        if self._last is not None:
            self._last.cancel()
            _wait([self._last])

    def recover(self) -> None:
        """Go on with an index that was begun; begin one where the settings name another model."""
        try:
            if self._library.reindexer.due():
                self.start()
        except EmbeddingError as error:  # said with every answer, too
            log.warning("%s", error)

    def _work(self, cancelled: Cancel) -> Iterator[ReindexProgress]:
        yield from self._library.reindex(
            cancelled, stop_writers=self._stop_writers, drain_seconds=SEARCH_PATIENCE
        )
        self._ingest.go_on()

    def _stop_writers(self) -> None:
        _wait(self._ingest.stop_writing())


def _wait(jobs: Iterable[Job[Any]]) -> None:
    """Wait until cancelled jobs have ended."""
    for job in jobs:
        job.wait(BATCH_PATIENCE)
