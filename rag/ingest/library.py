"""Library of one owner's documents: add, read, embed, remove, recover.

A document is in the library once its row in the ledger is committed; `recover` makes the indexes agree.
"""

import hashlib
import logging
import secrets
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, TypeVar

from langchain_core.retrievers import BaseRetriever

from rag.errors import Cancelled, DocumentRefused, EmbeddingError, LimitReached, RetrievalError
from rag.i18n import N_
from rag.index.chroma import WriteBuffer
from rag.index.chunks import index_text, same_text_ids, text_key
from rag.index.external import StoreSpec
from rag.index.indexes import Indexes
from rag.index.lexical import to_entry
from rag.index.staged import ReindexProgress
from rag.index.staged_vectors import VectorReindexer
from rag.index.vector_index import VectorIndex
from rag.ingest.document_facts import DocumentProfile, read_facts
from rag.ingest.figures import figures_of
from rag.ingest.leased import IngestProgress
from rag.ingest.parsers import OCR_SECONDS, LoadedDocument, LoadSteps, load_steps
from rag.jobs import Cancel, never
from rag.models.embeddings import Embedder, Floats
from rag.raptor.retrievers import TREES
from rag.raptor.summarize import ExtractiveSummariser, Summariser
from rag.raptor.tree import Forest, node_text
from rag.retrieval.registry import USUAL, SearchOptions, SearchParts, choose_retriever
from rag.retrieval.weights import HybridCalibration
from rag.text import markdown
from rag.text.chunking import Splitting, split
from rag.text.tokenize import Analyser
from storage.collections import Collections
from storage.database import Database
from storage.documents import EMBED, READ, Documents, IndexStates, chunk_records
from storage.errors import NotFound, ObjectStoreAway, OriginalRemoved, StorageError
from storage.figures import Figures
from storage.files import Files
from storage.originals import Originals
from storage.records import (
    ChunkRecord,
    ChunkSpan,
    DocumentFact,
    DocumentRecord,
    FigureSpan,
    Outcome,
    PageSpan,
    State,
)
from storage.trees import Trees

log = logging.getLogger(__name__)
R = TypeVar("R")

FACTS_SECONDS = 0.5  # in which one question reads documents for facts that they were not asked for yet
MOST_PASSAGES = 90_000  # of a document: 50 MB of plain text have 60,000 to 85,000
METERED_SECONDS = 10.0  # of embedding, after which they are counted
SAVED_AGAIN = 3  # times that an original is saved which others remove
COMPARED = "compared"  # state of a shared index, in the ledger: when it is to be compared with that again
COMPARED_EVERY = timedelta(days=1)
CLAIMED = timedelta(minutes=10)  # for a comparison: if its process is killed, another then does it
EMBED_BATCH = 8  # chunks: a question's own embedding waits behind one batch at most


@dataclass(frozen=True)
class ParsedDocument:
    """A document's text with the spans of its pages and pieces; `note` names what could not be read."""

    text: str
    pages: Sequence[PageSpan]
    pieces: Sequence[ChunkSpan]
    splitting: Mapping[str, Any] | None
    note: str | None
    facts: Sequence[DocumentFact] = ()
    figures: Sequence[FigureSpan] = ()

    def save(self, documents: Documents, document_id: str) -> None:
        """Save it as a document's text, pages, chunks and facts, in one commit."""
        documents.save_chunks(
            document_id,
            self.text,
            self.pages,
            self.pieces,
            splitting=self.splitting,
            note=self.note,
            facts=self.facts,
            figures=self.figures,
        )

    def chunks_of(self, record: DocumentRecord) -> Iterator[list[ChunkRecord]]:
        """Yield the chunks that the pieces become once they are saved, some together."""
        return chunk_records(record, self.splitting, self.text, self.pieces)


class IngestQuota(Protocol):
    """Quota of a person: each method but the last raises LimitReached where it is used up."""

    def document(self, sha256: str, size: int) -> None:
        """Ask for another original of `size` bytes."""

    def passages(self, count: int, besides: Collection[str]) -> None:
        """Ask for a document of `count` passages; the documents `besides` do not count."""

    def embedding(self) -> None:
        """Ask to embed more today."""

    def embedded(self, seconds: float) -> None:
        """Count the seconds that embedding took."""


class NoQuota:
    """Quota that admits everything."""

    def document(self, sha256: str, size: int) -> None:
        """Admit every original."""

    def passages(self, count: int, besides: Collection[str]) -> None:
        """Admit every document."""

    def embedding(self) -> None:
        """Admit every batch."""

    def embedded(self, seconds: float) -> None:
        """Count nothing."""


class Library:
    """Documents of `owner`, their originals, and the two indexes over their chunks.

    `open_embedder` is called when a vector is first needed; `open_named` opens the model of the present index
    by its name while another index is built. `summariser` makes the writer of tree summaries. OCR takes at
    most `recognition` seconds. A document of more than `most_passages` chunks is refused. Without `originals`
    these are in the data directory.
    """

    def __init__(
        self,
        database: Database,
        owner: str,
        open_embedder: Callable[[], Embedder],
        store: StoreSpec = StoreSpec(),  # noqa: B008 - a frozen value
        analysers: Sequence[Analyser] = (),
        summariser: Callable[[], Summariser] = ExtractiveSummariser,
        open_named: Callable[[str], Embedder] | None = None,
        quota: IngestQuota = NoQuota(),  # noqa: B008 - it holds nothing
        recognition: float = OCR_SECONDS,
        most_passages: int = MOST_PASSAGES,
        originals: Originals | None = None,
        place: Callable[[], str] = lambda: "",
    ):
        self._place = place
        self.owner, self.queue = owner, database.queue
        self.documents, self.collections = Documents(database, owner), Collections(database, owner)
        self.figures = Figures(database, owner)
        self.files: Originals = originals or Files(database.directory, owner)
        self._recognition = recognition
        self._quota, self._most_passages = quota, most_passages
        self._profiles: tuple[tuple[int, str] | None, Mapping[str, DocumentProfile]] | None = None
        self._counting = Lock()  # from the check of the passages to their commit
        self._adding = Lock()  # a sweep would take the original of a file being added: no row names it yet
        self._database = database
        root = store.root or database.directory
        directory = root / "indexes" / hashlib.sha256(owner.encode()).hexdigest()[:32]
        self._states = states = IndexStates(database, owner)
        self._shared = database.shared and store.shared
        self.indexes = Indexes(
            self.documents,
            states,
            directory,
            open_embedder,
            store,
            analysers,
            open_named,
            shared=self._shared,
        )
        self.weighing = HybridCalibration(
            self.documents, lambda: self.indexes.vectors, self.indexes.analysers
        )
        self.forest = Forest(
            self.documents,
            Trees(database, owner),
            lambda: self.indexes.embedder,
            lambda: self.indexes.tree,
            summariser,
        )
        self.reindexer = VectorReindexer(
            self.documents, states, self.forest.trees, self.indexes, directory, open_embedder, node_text
        )

    def add(self, name: str, content: bytes | Iterable[bytes]) -> tuple[DocumentRecord, Outcome]:
        """Save a file and queue it, in one commit after which nothing is lost."""
        return self.keep(content, lambda sha256, size: self.documents.add(name, sha256, size))

    def keep(self, content: bytes | Iterable[bytes], row: Callable[[str, int], R]) -> R:
        """Save an original, and make its `row` in the ledger from its hash and its size in bytes.

        Another process that removes the same content meanwhile may take the original along: what is in memory
        is then saved again. Raises OriginalRemoved where that goes on, or the content came in parts.
        """
        for _ in range(SAVED_AGAIN if isinstance(content, bytes) else 0):
            with suppress(OriginalRemoved):
                return self._keep(content, row)
        return self._keep(content, row)

    def _keep(self, content: bytes | Iterable[bytes], row: Callable[[str, int], R]) -> R:
        with self._adding:
            sha256, size = self.files.save(content)
            try:
                self._quota.document(sha256, size)
            except LimitReached:
                self._delete_unnamed(sha256)
                raise
            with self._database.excluding(self.owner):  # from here no other process deletes it
                self.files.confirm(sha256)
                return row(sha256, size)

    def index(self, document_id: str, cancelled: Cancel = never) -> Iterator[IngestProgress]:
        """Read and embed a document in the calling thread."""
        yield from self.read(document_id, cancelled)
        if self.documents.get(document_id).state != "refused":
            yield from self.embed(document_id, cancelled)

    def read(self, document_id: str, cancelled: Cancel = never) -> Iterator[IngestProgress]:
        """Parse a document and make it searchable by words; a file that cannot be read ends as refused."""
        record = self.documents.get(document_id)
        if record.state not in ("queued", "reading"):
            return
        self.documents.set_state(document_id, "reading")
        yield IngestProgress("reading", 0, 1)
        try:
            yield from self._save_text(record, cancelled)
            if cancelled():
                raise Cancelled(N_("Reading {name} was stopped.", name=record.name))
            yield from self._index_words(record)
        except (DocumentRefused, LimitReached) as error:
            self._note(document_id, "refused", str(error))
        except (RetrievalError, StorageError) as error:
            self._note(document_id, "reading", N_("{error} It is tried again later.", error=error))
            raise

    def _save_text(self, record: DocumentRecord, cancelled: Cancel) -> Iterator[IngestProgress]:
        """Parse a document and save its text and chunks; none of it is in memory afterwards."""
        parsed = yield from self.parse(record, cancelled)
        with self._counting:
            self._admit_passages(record, len(parsed.pieces))
            parsed.save(self.documents, record.id)

    def parse(
        self, record: DocumentRecord, cancelled: Cancel = never
    ) -> Generator[IngestProgress, None, ParsedDocument]:
        """Read a document's original, and split it as its collection says.

        Raises DocumentRefused, or LimitReached where its owner may not have so many passages.
        """
        try:
            original = self.files.path(record.sha256)
        except NotFound as error:
            raise DocumentRefused(
                N_("The original of {name} is gone. Add the file again.", name=record.name)
            ) from error
        splitting = self.collections.splitting_of(record.id)
        loaded = yield from self._load(original, record.name, cancelled)
        pieces = split(loaded, Splitting(**splitting) if splitting else Splitting())
        if not pieces:
            raise DocumentRefused(
                N_("{name} holds no text to search. Add a file that has text.", name=record.name)
            )
        if len(pieces) > self._most_passages:
            raise DocumentRefused(
                N_(
                    "{name} would have {number} passages, and a document may have {most_passages}. Split "
                    "the file, or choose longer passages for its collection. An administrator can raise "
                    "the limit (document_passages).",
                    name=record.name,
                    number=f"{len(pieces):,}",
                    most_passages=f"{self._most_passages:,}",
                )
            )
        self._admit_passages(record, len(pieces))
        pages = [PageSpan(*page) for page in loaded.pages]
        described = bool(self.figures.of(record.id))
        return ParsedDocument(
            text=loaded.text,
            pages=pages,
            pieces=[ChunkSpan(piece.start, piece.end, piece.page, piece.heading) for piece in pieces],
            splitting=splitting,
            note=loaded.note or None,
            facts=read_facts(loaded, record.name),
            figures=figures_of(record.name, loaded.text, pages) if described else (),
        )

    def _load(
        self, original: Path, name: str, cancelled: Cancel
    ) -> Generator[IngestProgress, None, LoadedDocument]:
        steps = load_steps(
            original, name, recognition=self._recognition, cancelled=cancelled, scratch=original.parent
        )
        try:
            return (yield from _with_progress(steps))
        except (DocumentRefused, OSError) as error:
            if original.is_file():
                raise
            raise StorageError(
                N_("The original of {name} was removed from the disk while it was read.", name=name)
            ) from error

    def embed(self, document_id: str, cancelled: Cancel = never) -> Iterator[IngestProgress]:
        """Make a document searchable by meaning, from where an earlier attempt ended."""
        self._promote(document_id)
        ids = self.documents.chunk_ids_of(document_id)
        try:
            self.indexes.refresh()
            vectors = self.indexes.vectors
            yield from self.add_vectors(self.documents.indexed_batches(document_id), len(ids), cancelled)
            self.documents.set_state(document_id, "searchable_by_meaning")
            self.documents.set_state(document_id, "ready")
            self._confirm_in_use(vectors, document_id)
        except (EmbeddingError, LimitReached, RetrievalError, StorageError) as error:
            self._note(
                document_id, "searchable_by_words", N_("{error} It is tried again later.", error=error)
            )
            raise
        finally:
            self._forget_if_removed(document_id, ids)

    def _confirm_in_use(self, vectors: VectorIndex, document_id: str) -> None:
        """Set a document back, and raise Cancelled, where another process has replaced its vector index."""
        self.indexes.refresh()
        if self._shared and self.indexes.vectors is not vectors:
            self.documents.set_state(document_id, "searchable_by_words")
            raise Cancelled(N_("The ingest was stopped; it goes on later."))

    def profiles(self) -> Mapping[str, DocumentProfile]:
        """Return the profile of every document by its id, without pending replacements.

        A document from before facts were read is read for them now: some at each call, so that no question
        waits long.
        """
        revision = self.documents.revision()
        if self._profiles is None or self._profiles[0] != revision:
            missing = list(self.documents.without_facts())
            deadline = time.monotonic() + FACTS_SECONDS
            while missing and time.monotonic() < deadline:
                with suppress(NotFound):  # removed meanwhile
                    self.facts_of(missing.pop())
            known = self.documents.all_facts()
            profiles = {id_: DocumentProfile(id_, name, facts) for id_, (name, facts) in known.items()}
            self._profiles = (None if missing else revision), profiles
        return self._profiles[1]

    def read_missing_facts(self, cancelled: Cancel = never) -> Iterator[str]:
        """Read documents from before facts were read for them; yield the id of each."""
        for document_id in self.documents.without_facts():
            if cancelled():
                return
            with suppress(NotFound):  # removed meanwhile
                self.facts_of(document_id)
            yield document_id

    def facts_of(self, document_id: str) -> Sequence[DocumentFact]:
        """Return the facts of a document, read from its text where it has not been asked; raises NotFound."""
        facts = self.documents.facts(document_id)
        if facts is None:
            record = self.documents.get(document_id)
            text = self.documents.text(document_id)
            plain = record.name.casefold().endswith((".txt", ".csv"))
            headings = () if plain else markdown.headings(text)
            facts = read_facts(LoadedDocument(text, headings=headings), record.name)
            self.documents.save_facts(document_id, facts)
        return facts

    def figures_of(self, document_id: str) -> list[FigureSpan]:
        """Return the figures of a document that was read; raises NotFound."""
        name = self.documents.get(document_id).name
        return figures_of(name, self.documents.text(document_id), self.documents.pages(document_id))

    def admit_figures(self, record: DocumentRecord, count: int) -> None:
        """Raise LimitReached where the owner may not have so many passages more."""
        self._quota.passages(record.chunks + count, [record.id])

    def add_description(
        self,
        document_id: str,
        number: int,
        figure: FigureSpan,
        text: str,
        model: str,
        cancelled: Cancel = never,
    ) -> None:
        """Save a model's description of a figure in place of an earlier one, and make it searchable.

        Where it cannot be embedded its document is, once more, searchable by words, and embedded later.
        """
        described, earlier = self.figures.put(document_id, number, figure, text, model)
        chunks = list(self.documents.chunks_by_id([described.id]).values())
        try:
            self.indexes.refresh()
            self.indexes.words.add(to_entry(chunk) for chunk in chunks)
            for _ in self.add_vectors([chunks], len(chunks), cancelled):
                pass
        except (Cancelled, EmbeddingError, LimitReached, RetrievalError, StorageError) as error:
            reason = N_("{error} It is tried again later.", error=error)
            self._note(document_id, "searchable_by_words", reason)
            raise
        finally:
            self.indexes.forget(earlier)
            self._forget_if_removed(document_id, [described.id])

    def remove(self, document_id: str) -> None:
        """Delete a document, its original and its index entries."""
        record = self.documents.get(document_id)
        chunk_ids, nodes = self.documents.chunk_ids_of(document_id), self.forest.nodes_of(document_id)
        self.documents.delete(document_id)
        self._forget(chunk_ids, nodes, record.sha256)

    def recover(self) -> list[str]:
        """Make originals and indexes agree with the ledger; return the ids of unfinished documents.

        Where other processes use the indexes, too, one of them does so once a day, and none at a start; what
        the others work on is left out.
        """
        if self._shared:
            self._compare_if_due()
            elsewhere = self.queue.elsewhere(self.owner, (READ, EMBED), here=(READ, EMBED))
            busy = {job.key for job in elsewhere}
            return [record.id for record in self.documents.unfinished() if record.id not in busy]
        self.sweep_originals()
        for record in self.documents.unfinished():
            if record.state not in ("queued", "reading"):
                self._promote(record.id)
        self.indexes.recover()
        self.forest.recover()
        return [record.id for record in self.documents.unfinished()]

    def scrub_due(self) -> bool:
        """Return whether the files of open indexes are to be checked, or compared with the ledger."""
        if not self._shared:
            return self.indexes.words_due()
        return self.indexes.words_damaged or _is_due(self.documents.index_state(COMPARED), self._place())

    def scrub(self) -> None:
        """Check the word index, and what else is due; make what is damaged anew."""
        if not self._shared or self.indexes.words_damaged:
            self.indexes.words.recover()
        if self._shared:
            self._compare_if_due()

    def _compare_if_due(self) -> None:
        """Compare originals and indexes with the ledger where no process has done so there for a day."""
        place, before = self._place(), self.documents.index_state(COMPARED)
        claim = {**_until(CLAIMED), "place": place, "by": secrets.token_hex(8)}
        if not _is_due(before, place) or self._states.begin(COMPARED, claim, after=before) != claim:
            return  # another process has done it, or does it
        self.indexes.refresh()
        self.sweep_originals()
        self.indexes.recover()
        self.indexes.sweep()
        self.forest.recover()
        self._states.begin(COMPARED, {**_until(COMPARED_EVERY), "place": place}, after=claim)

    def sweep_originals(self) -> None:
        """Delete originals that no document names; where their store is away, another time."""
        try:
            with self._adding, self._database.excluding(self.owner):
                self.files.sweep({record.sha256 for record in self.documents.list()})
        except ObjectStoreAway as error:
            log.warning("Originals were not swept. %s", error)

    def reindex(
        self,
        cancelled: Cancel = never,
        *,
        force: bool = False,
        stop_writers: Callable[[], None] = lambda: None,
        drain_seconds: float = 0.0,
    ) -> Iterator[ReindexProgress]:
        """Embed every document with the model of the settings; see `VectorReindexer.run`."""
        yield from self.reindexer.run(
            cancelled, force=force, stop_writers=stop_writers, drain_seconds=drain_seconds
        )
        self.indexes.recover_vectors()
        self.forest.recover()

    def rebuild_vectors(self) -> list[str]:
        """Delete the vector index, as after a change of embedding model; return the ids to embed again."""
        self.indexes.drop_vectors()
        self.forest.trees.reopen()
        return [record.id for record in self.documents.unfinished()]

    def destroy(self) -> None:
        """Delete all originals and indexes, as when their owner is removed."""
        self.indexes.destroy()
        self.files.destroy()

    def drop_copies(self) -> None:
        """Close the indexes, and remove local copies of them and of originals; what they copy stays."""
        self.indexes.drop_copies()
        self.files.drop_copies()

    def close(self) -> None:
        """Close the indexes, so that the library can be opened again."""
        self.indexes.close()

    def retriever(
        self,
        name: str,
        k: int,
        *,
        document_ids: Collection[str] | None = None,
        on_failure: Callable[[str, Exception], None] | None = None,
        options: SearchOptions = USUAL,
    ) -> BaseRetriever:
        """Return the retriever of that name; those of RAPTOR fill a budget instead of `k`."""
        self.indexes.refresh_for_search()
        if name in TREES:
            return TREES[name](forest=self.forest, document_ids=document_ids)
        parts = SearchParts(
            words=self.indexes.words.answering,
            vectors=lambda: self.indexes.vectors,
            near_at_hand=lambda: self.indexes.near_at_hand,
            hydrate=self.indexes.hydrate,
            label=self.indexes.label,
            names=self.indexes.names,
            document_ids=document_ids,
            mixture=lambda: self.weighing.mixture,
        )
        return choose_retriever(name, parts, k=k, on_failure=on_failure, options=options)

    def add_vectors(
        self, chunks: Iterable[Sequence[ChunkRecord]], total: int, cancelled: Cancel
    ) -> Iterator[IngestProgress]:
        """Embed those of the `total` chunks that the index lacks, in batches, each text of one once.

        Raises Cancelled, also where the index is replaced meanwhile.
        """
        self.indexes.refresh()
        vectors, done = self.indexes.vectors, 0
        yield IngestProgress("meaning", 0, total)
        with WriteBuffer(vectors) as gathered:
            for batch in chunks:
                present = vectors.present([chunk.id for chunk in batch])
                if present:
                    done += len(present)
                    yield IngestProgress("meaning", done, total)
                for embedded in self._embedded([chunk for chunk in batch if chunk.id not in present]):
                    if cancelled() or self.indexes.vectors is not vectors:
                        raise Cancelled(N_("The ingest was stopped; it goes on later."))
                    gathered.add(*embedded)
                    done += len(embedded[0])
                    yield IngestProgress("meaning", done, total)

    def _embedded(
        self, chunks: Sequence[ChunkRecord]
    ) -> Iterator[tuple[list[str], Floats, list[Mapping[str, Any]]]]:
        """Yield ids with their vectors and origins, EMBED_BATCH texts together."""
        with_text: dict[bytes, list[ChunkRecord]] = {}
        for chunk in chunks:
            with_text.setdefault(text_key(chunk), []).append(chunk)
        same = list(with_text.values())
        texts = [index_text(chunks[0]) for chunks in same]
        for positions, vectors in self._metered(
            self.indexes.embedder.embed_batches(texts, batch=EMBED_BATCH)
        ):
            batch = [chunk for position in positions for chunk in same[position]]
            rows = [row for row, position in enumerate(positions) for _ in same[position]]
            yield (
                [chunk.id for chunk in batch],
                vectors[rows],
                [{"document_id": c.document_id} for c in batch],
            )

    def _metered(self, batches: Iterable[R]) -> Iterator[R]:
        """Yield batches, and count the seconds that embedding them took.

        Raises LimitReached between two where the owner's are used up.
        """
        self._quota.embedding()
        each, uncounted = iter(batches), 0.0
        try:
            while True:
                began = time.monotonic()
                batch = next(each, None)
                uncounted += time.monotonic() - began
                if batch is None:
                    return
                yield batch
                if uncounted >= METERED_SECONDS:
                    self._quota.embedded(uncounted)
                    uncounted = 0.0
                    self._quota.embedding()
        finally:
            if uncounted:
                self._quota.embedded(uncounted)

    def _admit_passages(self, record: DocumentRecord, count: int) -> None:
        self._quota.passages(count, [id_ for id_ in (record.id, record.replaces) if id_ is not None])

    def rarity(self, token: str) -> float:
        """Return the inverse document frequency of a token in the word index."""
        return self.indexes.words.answering.rarity(token)

    def texts_about(self, words: str, document_ids: Collection[str] | None, k: int) -> list[str]:
        """Return the texts of the `k` chunks that BM25 ranks first for some words."""
        ids = [id_ for id_, _ in self.indexes.words.answering.search(words, k, document_ids)]
        chunks = self.documents.chunks_by_id(ids)
        return [chunks[id_].text for id_ in ids if id_ in chunks]

    def _index_words(self, record: DocumentRecord) -> Iterator[IngestProgress]:
        """Add the chunks to the word index; who stops at the last step finds the document searchable."""
        ids, done, words = self.documents.chunk_ids_of(record.id), 0, None
        self.indexes.refresh()
        try:
            while words is not self.indexes.words:  # again where another process has put another in its place
                words, done = self.indexes.words, 0
                for chunks in self.documents.indexed_batches(record.id):
                    yield IngestProgress("words", done, len(ids))
                    self.indexes.words.add(to_entry(chunk) for chunk in chunks)
                    done += len(chunks)
                self.documents.set_state(record.id, "searchable_by_words")
                self.indexes.refresh()
            self._promote(record.id)
            yield IngestProgress("words", done, len(ids))
        finally:
            self._forget_if_removed(record.id, ids)

    def _note(self, document_id: str, state: State, reason: str) -> None:
        if self.documents.exists(document_id):
            self.documents.set_state(document_id, state, reason)

    def _promote(self, document_id: str) -> None:
        """Replace the earlier version of a document that can now be searched, in one commit of the ledger."""
        record = self.documents.get(document_id)
        if record.replaces is None or not self.documents.exists(record.replaces):
            return
        replaced = self.documents.get(record.replaces)
        old_ids = self.documents.chunk_ids_of(replaced.id)
        self.indexes.copy_vectors(
            record.id, same_text_ids(self._each_chunk(record.id), self._each_chunk(replaced.id))
        )
        nodes = self.forest.nodes_of(replaced.id)
        self.documents.promote(record.id)
        self._forget(old_ids, nodes, replaced.sha256)

    def _each_chunk(self, document_id: str) -> Iterator[ChunkRecord]:
        return chain.from_iterable(self.documents.indexed_batches(document_id))

    def _forget_if_removed(self, document_id: str, ids: Sequence[str]) -> None:
        """Remove the index entries of a document that was removed while it was indexed."""
        if ids and not self.documents.exists(document_id):
            self.indexes.forget(ids)

    def _forget(self, chunk_ids: Sequence[str], nodes: Sequence[str], sha256: str) -> None:
        """Remove the index entries and the original of a document that is gone; each even if others fail."""
        try:
            self.indexes.forget(chunk_ids)
            self.forest.forget(nodes)
        finally:
            with self._adding:
                self._delete_unnamed(sha256)

    def _delete_unnamed(self, sha256: str) -> None:
        """Delete an original that no document names; where its store is away, a sweep does it later."""
        try:
            with self._database.excluding(self.owner):
                if not self.documents.has_content(sha256):
                    self.files.delete(sha256)
        except ObjectStoreAway as error:
            log.warning("An original is deleted later. %s", error)


def _until(time_from_now: timedelta) -> dict[str, str]:
    return {"until": (datetime.now(UTC) + time_from_now).isoformat()}


def _is_due(compared: Mapping[str, str] | None, place: str) -> bool:
    """Return whether the index at a place is to be compared: after a move or a restore at once."""
    return (
        compared is None
        or compared.get("place") != place
        or datetime.now(UTC) >= datetime.fromisoformat(compared["until"])
    )


def _with_progress(steps: LoadSteps) -> Generator[IngestProgress, None, LoadedDocument]:
    while True:
        try:
            done, total = next(steps)
        except StopIteration as end:
            loaded: LoadedDocument = end.value
            return loaded
        yield IngestProgress("reading", done, total)
