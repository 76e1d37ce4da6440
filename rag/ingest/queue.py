"""The queue of documents being read and embedded, in the server's threads.

Two lanes: a document is read, and searchable by words, without waiting for the embedding of
those before it. Two are read at once, each in a process of its own.
"""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rag.errors import Cancelled, DocumentRefused
from rag.ingest.ingest_patience import Backoff
from rag.ingest.library import IngestProgress, Library
from rag.ingest.resplitting import Resplit, resplit
from rag.jobs import Cancel, Job, Jobs, never
from rag.raptor.tree import Tended
from rag.retrieval.tuning import Tuned

log = logging.getLogger(__name__)

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
        self._grown: Job[Tended] | None = None

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

    def weighing(self) -> Tuned | None:
        """Return how far that is; None when it is not being found."""
        job = self._jobs.get(self._library.owner, WEIGH)
        return job.latest if job is not None and isinstance(job.latest, Tuned) else None

    def grow(self, *, anew: bool = False) -> None:
        """Build the trees that are due, after those that are being built; see `Forest.tend`."""
        work = partial(self._library.forest.tend, anew=anew)
        self._grown = self._jobs.start(self._library.owner, TREES, work, lane=TREES)

    def growing(self) -> Tended | None:
        """Return how far the trees are; None when none is built, or the build has not begun yet."""
        job = self._jobs.get(self._library.owner, TREES)
        return job.latest if job is not None and isinstance(job.latest, Tended) else None

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
