"""BM25 and vector indexes of one owner, derived from the ledger and kept in step with it."""

import logging
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any

from langchain_core.documents import Document

from rag.errors import Cancelled, EmbeddingError, IndexMismatch, IndexUnusable, RetrievalError, StoreFailed
from rag.i18n import N_
from rag.index.backend import named_only, open_vectors, open_words
from rag.index.chunks import to_document, to_label
from rag.index.external import CHROMA, ExternalVectorIndex, StoreSpec
from rag.index.lexical import Entry, LexicalIndex, to_entry
from rag.index.slot import Closeable, IndexState, Slot
from rag.index.staged import (
    Hits,
    IndexPair,
    ReindexProgress,
    StagedIndex,
    fresh_folder,
    sample_chunks,
    verify_index,
)
from rag.index.vector_index import Hydrate, VectorIndex
from rag.jobs import Cancel
from rag.models.embeddings import Embedder
from rag.text.tokenize import Analyser
from storage.documents import Documents, IndexStates
from storage.errors import NotFound
from storage.records import State

log = logging.getLogger(__name__)
VECTORS, NEXT = "vectors", "vectors-next"  # index in use, and the staged one
WORDS, NEXT_WORDS = "words", "words-next"
STOPPED = "The {} anew any more. What is done is kept for the next time."
WORDS_BATCH = 500  # chunks between two commits of a rebuild
SCRUB_SECONDS = 3600.0  # between two checks of the word index's files
NEAREST_WORDS = 10  # hits among which a chunk must find itself: editions of one text differ in a word
MISSED_WORDS = 0.1  # of the sample may be missed; damage misses nearly all
FIRST_WORDS = {"folder": WORDS}  # state of the first index, which the ledger does not have
EMBEDDED: tuple[State, ...] = (
    "searchable_by_meaning",
    "ready",
)  # states of documents that have their vectors
CHUNKS, TREE = "chunks", "tree"  # collections, each in a folder of its own
MadeWith = Mapping[str, Any]  # fingerprint of an index: embedding model and store


def description(embedder: Embedder, store: StoreSpec) -> dict[str, Any]:
    """Return the fingerprint of an index: this embedding model's vectors in this store."""
    return {
        "model": embedder.name,
        "dimension": embedder.dimension,
        "fingerprint": embedder.fingerprint,
        "store": store.identity,
        "spec": embedder.spec,
    }


def same_model(one: MadeWith, other: MadeWith) -> bool:
    """Return whether two indexes hold vectors of one model, so that these can be compared."""
    return all(one[key] == other[key] for key in ("model", "dimension", "fingerprint"))


def check_same_index(made_with: MadeWith, mine: MadeWith) -> None:
    """Raise IndexMismatch where an index was made with another model, or in another store, than mine."""
    if not same_model(made_with, mine):
        raise IndexMismatch(
            N_(
                "The documents were embedded with {made_with}, not with {mine}. Choose that model "
                "again, or embed everything anew: `footnote reindex`.",
                made_with=_model(made_with),
                mine=_model(mine),
            )
        )
    store = made_with.get("store", CHROMA)  # earlier versions had only Chroma
    if store != mine["store"]:
        raise IndexMismatch(
            N_(
                "The documents' vectors are in {store}, not in {mine}. Name that store again, or "
                "embed everything anew: `footnote reindex`.",
                store=store,
                mine=mine["store"],
            )
        )


def _model(made_with: MadeWith) -> str:
    weights = str(made_with["fingerprint"])[:8]
    return f"{made_with['model']} (dimension {made_with['dimension']}, weights {weights})"


class WordIndex:
    """BM25 index in a folder of `directory`, with a staged one beside it after a change of tokenizer.

    Both are written to. The one in use, `answering`, is searched with the present tokenizer.
    One that is `shared` with other processes is opened without changing anything, and is never emptied: where
    it is damaged, another folder takes its place.
    """

    def __init__(
        self,
        documents: Documents,
        states: IndexStates,
        directory: Path,
        analysers: Sequence[Analyser] = (),
        store: StoreSpec = StoreSpec(),  # noqa: B008 - a frozen value
        *,
        shared: bool = False,
    ):
        self._documents, self._states, self._shared = documents, states, shared
        self._pair = IndexPair(documents, states, directory, WORDS, NEXT_WORDS, store.folders)
        self._directory = directory
        self._analysers = analysers
        self._store = store
        self._writing = RLock()
        self.checked = time.monotonic()
        """Time of the last check of the files, by the monotonic clock."""
        self._state = documents.index_state(WORDS)
        self.answering = self._open(self._state or FIRST_WORDS, allow_outdated=True)
        if self.answering.stale:
            log.warning("The word index cannot be used any more. It is made anew.")
            self.clear()
        self._staged = self._begin() if self.answering.outdated else None
        if self._staged is not None and not shared:
            self._pair.sweep()
        elif not shared:
            self._pair.give_up()

    @property
    def outdated(self) -> bool:
        """True where another tokenizer made the index in use, so that `renew` has to rebuild it."""
        return self._staged is not None

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries, replacing those with the same id; raises IndexUnusable."""
        kept = list(entries)
        self._write(lambda index: index.add(kept))

    def delete(self, ids: Collection[str]) -> None:
        """Remove entries; unknown ids are no error."""
        self._write(lambda index: index.delete(ids))

    def ids(self) -> set[str]:
        """Return the id of every entry."""
        return self.answering.ids()

    def clear(self) -> None:
        """Remove every entry of the index in use; `recover` adds them again."""
        with self._writing:
            if not self._shared:
                self.answering.clear()
                return
            state = {"folder": fresh_folder(WORDS)}
            self._state = self._states.begin(WORDS, state, after=self._state)  # or what another process began
            self.answering.close_writer()
            self.answering = self._open(self._state, allow_outdated=True)

    def refresh(self) -> bool:
        """Have searches see what other processes have written; False where they use another index now."""
        if self._documents.index_state(WORDS) != self._state:
            return False
        self.answering.refresh()
        return True

    def sweep(self) -> None:
        """Remove the folders of indexes that are not used any more."""
        self._pair.sweep()

    def recover(self) -> None:
        """Bring the index in step with the ledger; make a damaged one anew."""
        try:
            self.checked = time.monotonic()
            self.answering.check()
            there = self.ids()  # read before the ledger, which then knows all of them
        except IndexUnusable as error:
            log.warning("%s It is made anew.", error)
            self.clear()
            there = self.ids()
        if self._shared:
            self.answering.refresh()
            there = self.ids()
        self.delete(self._strays(there))
        missing = sorted(self._documents.chunk_ids() - there)
        if missing and self._shared:  # another process may have added them since
            self.answering.refresh()
            missing = sorted(set(missing) - self.ids())
        if missing:
            log.warning("Adding %d chunks to the word index", len(missing))
        for start in range(0, len(missing), WORDS_BATCH):
            self.add(_entries(self._documents, missing[start : start + WORDS_BATCH]))

    def due(self) -> bool:
        """Return True if the index is to be recovered: after a failure, and once an hour to find damage."""
        return self.answering.damaged or time.monotonic() - self.checked > SCRUB_SECONDS

    def renew(self, cancelled: Cancel) -> Iterator[ReindexProgress]:
        """Rebuild the index with the present tokenizer; see `StagedIndex.rebuild`."""
        if self._staged is not None:
            yield from self._staged.rebuild(cancelled)
            if self._shared:  # another process may have written to the index before until it was told
                self.recover()

    def close(self) -> None:
        """Release files and threads."""
        with self._writing:
            self.answering.close()
            if self._staged is not None:
                self._staged.index.close()

    def close_writer(self) -> None:
        """Accept no more writes; searches that run go on."""
        with self._writing:
            self.answering.close_writer()
            if self._staged is not None:
                self._staged.index.close_writer()

    def replace(self, staged: LexicalIndex) -> None:
        """Use the staged index; the one before ends with its last search."""
        before, self.answering, self._staged = self.answering, staged, None
        self._state = self._documents.index_state(WORDS)
        before.close_writer()

    def unstage(self) -> None:
        """Close the staged index."""
        staged, self._staged = self._staged, None
        if staged is not None:
            staged.index.close()

    def _write(self, change: Callable[[LexicalIndex], None]) -> None:
        with self._writing:
            change(self.answering)
            if self._staged is not None:
                change(self._staged.index)

    def _begin(self) -> "StagedWords":
        """Open the staged index, resumed or new, without entries that were deleted since."""
        index = self._open(self._pair.resume(lambda _: True) or self._pair.begin())
        if index.stale:
            index.clear()
        index.delete(self._strays(index.ids()))
        return StagedWords(self._pair, self, index, self._writing)

    def _strays(self, there: set[str]) -> set[str]:
        """Return the entries of what is not in the ledger, nor about to be."""
        if self._shared:
            return self._documents.strays(there)
        return there - self._documents.chunk_ids(searchable=False)

    def _open(self, state: Mapping[str, Any], *, allow_outdated: bool = False) -> LexicalIndex:
        folder = self._directory / str(state["folder"])
        return open_words(
            self._store.name,
            folder,
            tables=self._store.tables,
            analysers=self._analysers,
            allow_outdated=allow_outdated,
        )


class StagedWords(StagedIndex):
    """Staged BM25 index: it and the one in use in `words` take the same writes, under the lock `writing`."""

    def __init__(self, pair: IndexPair, words: WordIndex, index: LexicalIndex, writing: RLock):
        super().__init__(pair)
        self.index = index
        self._words = words
        self._writing = writing

    def fill(self, cancelled: Cancel) -> Iterator[ReindexProgress]:
        """Add the chunks that are missing, batch by batch; raises Cancelled."""
        wanted = self.documents.chunk_ids()
        missing = sorted(wanted - self.index.ids())
        there, total = len(wanted) - len(missing), len(wanted)
        yield ReindexProgress("words", there, total)
        for start in range(0, len(missing), WORDS_BATCH):
            if cancelled():
                raise Cancelled(STOPPED.format("words are not indexed"))
            batch = missing[start : start + WORDS_BATCH]
            with self._writing:  # a chunk deleted meanwhile is not read here, or is deleted after this
                self.index.add(_entries(self.documents, batch))
            yield ReindexProgress("words", there + start + len(batch), total)

    def verify(self) -> Iterator[ReindexProgress]:
        """Raise IndexUnusable where chunks do not find themselves; too quick to report progress."""
        sample = sample_chunks(self.documents, self.index.ids())
        asked = [chunk for chunk in sample if self.index.has_tokens(to_entry(chunk).text)]
        *_, (_, missed) = verify_index(self.documents, asked, self._search)
        if missed > MISSED_WORDS * len(asked):
            raise IndexUnusable(
                N_(
                    "The new word index in {directory} does not find its own passages, so the one before "
                    "goes on answering. It is made again at the next start; if that fails too, look at "
                    "the disk.",
                    directory=self.pair.directory,
                )
            )
        yield from ()

    def exchange(self) -> bool:
        """Use the index where it lacks no chunk."""
        with self._writing:
            self.index.refresh()
            if self.documents.chunk_ids() - self.index.ids():
                return False
            self.pair.exchange()
            self._words.replace(self.index)
            if self.index.reads_removed_files:  # otherwise the next start removes them
                self.pair.sweep()
            return True

    def give_up(self) -> None:
        """Forget the index and remove it."""
        with self._writing:
            self._words.unstage()
            self.pair.give_up()

    def _search(self, texts: Sequence[str]) -> Iterator[Hits]:
        yield {
            at: [id_ for id_, _ in self.index.search(text, NEAREST_WORDS)] for at, text in enumerate(texts)
        }


def _entries(documents: Documents, ids: Iterable[str]) -> list[Entry]:
    """Return chunks as index entries; ids that are gone are left out."""
    return [to_entry(chunk) for chunk in documents.chunks_by_id(sorted(ids)).values()]


class Indexes:
    """BM25 index, vector index and tree index over `documents`, each opened when it is first needed.

    Where they are `shared` other processes write to them, too: `refresh` before a write, and
    `refresh_for_search` before a search.
    """

    def __init__(
        self,
        documents: Documents,
        states: IndexStates,
        directory: Path,
        open_embedder: Callable[[], Embedder],
        store: StoreSpec,
        analysers: Sequence[Analyser] = (),
        open_named: Callable[[str], Embedder] | None = None,
        *,
        shared: bool = False,
    ):
        """`directory` belongs to the owner and has their name; `open_named` opens a model by its spec."""
        self._documents = documents
        self._states = states
        self._directory = directory
        self._open_embedder = open_embedder
        self._open_named = open_named
        self.analysers = analysers
        self.store, self.shared = store, shared
        self._seen = -1  # version of the indexes, by the ledger, that searches see
        self._refreshing = RLock()
        lock = RLock()  # an index opens its model, and vectors and tree agree on a folder
        self._embedder = Slot(self._open_answering_embedder, lock)
        self._words = Slot(self._open_words, lock)
        self._vectors: Slot[VectorIndex] = Slot(self._open_vectors, lock)
        self._tree = Slot(self._open_tree, lock)

    @property
    def embedder(self) -> Embedder:
        """The embedding model of the index in use: an earlier one while that of the settings is staged.

        Raises ModelUnavailable where its files cannot be had.
        """
        return self._embedder.get()

    @property
    def words(self) -> WordIndex:
        """The BM25 index, empty where it was damaged: `recover` fills it."""
        return self._words.get()

    def refresh(self) -> None:
        """Have searches see what other processes have written, where the ledger says that there is any.

        An index that was replaced or removed meanwhile is opened anew when it is next needed. Raises
        StoreFailed while the store is away.
        """
        if not self.shared:
            return
        version = self._documents.index_version()
        with self._refreshing:
            if version != self._seen:  # smaller for a removed person who has come back
                self._refresh_words()
                made_with = self._documents.index_state(VECTORS) or {}
                self._refresh_vectors(self._vectors, str(made_with.get("folder")))
                self._refresh_vectors(self._tree, f"{made_with.get('folder')}-tree")
                self._seen = version

    def refresh_for_search(self) -> None:
        """Do the same; while the store is away, searches go on in what is open."""
        try:
            self.refresh()
        except StoreFailed as error:
            log.info("Searches go on in the indexes that are open. %s", error)

    def _refresh_words(self) -> None:
        words = self._words.current
        try:
            if words is None or words.refresh():
                return
        except IndexUnusable as error:
            log.warning("%s It is opened again.", error)
        if words is not None and (taken := self._words.take()) is not None:
            taken.close_writer()

    def _refresh_vectors(self, slot: Slot[VectorIndex], folder: str) -> None:
        index = slot.current
        if index is None:
            return
        try:
            if index.folder == folder:
                index.refresh()
                return
        except IndexUnusable as error:
            log.warning("%s It is opened again.", error)
        if (taken := slot.take()) is not None:
            taken.close_writer()
        self.reopen()

    def words_due(self) -> bool:
        """Return True if the word index is open and `WordIndex.due`."""
        words = self._words.current
        return words is not None and words.due()

    @property
    def words_damaged(self) -> bool:
        """True where the word index is open, and a read or a write has failed."""
        words = self._words.current
        return words is not None and words.answering.damaged

    @property
    def vectors(self) -> VectorIndex:
        """The vector index; raises IndexMismatch when another embedding model or store made it."""
        return self._vectors.get()

    @property
    def tree(self) -> VectorIndex:
        """The vectors of RAPTOR's nodes, rebuilt whenever the vector index is."""
        return self._tree.get()

    def states(self) -> dict[str, IndexState]:
        """Return the state of each index: "words", "vectors" and "tree"."""
        return {"words": self._words.state, "vectors": self._vectors.state, "tree": self._tree.state}

    def _open_answering_embedder(self) -> Embedder:
        made_with = self._documents.index_state(VECTORS)
        if made_with and self._open_named and self._documents.index_state(NEXT):
            return self._open_named(made_with.get("spec", made_with["model"]))
        return self._open_embedder()

    @property
    def opened(self) -> bool:
        """True where any index is open."""
        return any(slot.current is not None for slot in (self._words, self._vectors, self._tree))

    @property
    def near_at_hand(self) -> bool:
        """True where the vector index is open and answers in milliseconds."""
        vectors = self._vectors.current
        return vectors is not None and vectors.at_hand

    def _open_vectors(self) -> VectorIndex:
        folder = self._vectors_folder()
        if not self.store.built_in:
            return self._open_external(self._directory / folder, refill=True)
        return self.open_chunks(folder, self.embedder)

    def _open_words(self) -> WordIndex:
        parts = self._documents, self._states, self._directory, self.analysers, self.store
        return WordIndex(*parts, shared=self.shared)

    def _open_tree(self) -> VectorIndex:
        return self.open_tree(self._vectors_folder(), self.embedder)

    def open_chunks(self, folder: str, embedder: Embedder) -> VectorIndex:
        """Open the chunks' vectors of an index by its folder, which is made where there is none."""
        return self._open(embedder, folder, CHUNKS, self.hydrate)

    def open_tree(self, folder: str, embedder: Embedder) -> VectorIndex:
        """Open the nodes' vectors that belong to them."""
        return self._open(embedder, f"{folder}-tree", TREE, named_only)

    def hydrate(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the chunks with these ids as documents; ids that are gone are absent."""
        return {id_: to_document(chunk) for id_, chunk in self._documents.chunks_by_id(ids).items()}

    def label(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the same without texts, quicker: all that a filter needs."""
        return {id_: to_label(id_, *document) for id_, document in self._documents.of_chunks(ids).items()}

    def names(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the names of the chunks' documents: all that ordering candidates needs."""
        return {id_: name for id_, (_, name) in self._documents.of_chunks(ids).items()}

    def forget(self, chunk_ids: Iterable[str]) -> None:
        """Remove chunks from both indexes; unknown ids are no error."""
        ids = list(chunk_ids)
        self.refresh()
        self.words.delete(ids)
        if self._documents.index_state(VECTORS):
            try:
                self.vectors.delete(ids)
            except (EmbeddingError, RetrievalError) as error:  # not shown, and removed by `recover`
                log.warning("%s", error)
        if self.shared:
            self._documents.raise_index_version()

    def copy_vectors(self, document_id: str, pairs: Sequence[tuple[str, str]]) -> None:
        """Copy to each chunk of a document the vector of the chunk with the paired id, of the same text."""
        if not pairs or not self._documents.index_state(VECTORS):
            return
        try:
            for first in range(0, len(pairs), WORDS_BATCH):
                batch = pairs[first : first + WORDS_BATCH]
                there = self.vectors.vectors_of([other for _, other in batch])
                ready = {id_: there[other] for id_, other in batch if other in there}
                if ready:
                    origins = [{"document_id": document_id}] * len(ready)
                    self.vectors.add_vectors(list(ready), list(ready.values()), origins)
        except (EmbeddingError, RetrievalError) as error:  # they are embedded instead
            log.warning("%s", error)

    def recover(self) -> None:
        """Bring all indexes in step with the ledger; documents that lost vectors are embedded again."""
        self.words.recover()
        self.recover_vectors()

    def recover_vectors(self) -> None:
        """Bring the vector index in step with the ledger; start a damaged one anew."""
        if not self._documents.index_state(VECTORS):
            for record in self._documents.list():  # a crash may have come after an index was dropped
                if record.state in EMBEDDED:
                    self._documents.set_state(record.id, "searchable_by_words")
            return
        try:
            there = self.vectors.ids()
            self.vectors.check()
        except (EmbeddingError, StoreFailed) as error:
            log.warning("%s", error)
            return
        except IndexUnusable as error:
            log.warning("%s It is made anew.", error)
            self._vectors.close(IndexState.DAMAGED)
            self.drop_vectors()
            return
        if self.shared:
            self.vectors.delete(sorted(self._documents.strays(there)))
            self._demote_without_vectors()
        else:
            self.vectors.delete(sorted(there - self._documents.chunk_ids(searchable=False)))
            self._demote(self._documents.chunk_ids() - there)
        self._recover_tree()

    def _demote_without_vectors(self) -> None:
        """Set the documents back that lost vectors; others are being embedded, maybe by other processes."""
        embedded = self._documents.chunk_ids_in(EMBEDDED)
        self.vectors.refresh()  # the vectors were there before their documents' states
        self._demote(embedded - self.vectors.ids())

    def sweep(self) -> None:
        """Remove the folders of indexes that are not used any more."""
        self.words.sweep()
        pair = IndexPair(self._documents, self._states, self._directory, VECTORS, NEXT, self.store.folders)
        pair.sweep()

    def _recover_tree(self) -> None:
        """Remove the tree index where it is damaged; the next build of the trees fills it again."""
        directory = self._directory / f"{self._vectors_folder()}-tree"
        if not self.store.folders.exists(directory):
            return
        try:
            self.tree.check()
        except IndexUnusable as error:
            log.warning("%s It is made anew.", error)
            self._tree.close(IndexState.DAMAGED)
            self.store.folders.remove(directory)

    def drop_vectors(self) -> None:
        """Drop the vector index, as after a change of model; all documents are embedded again."""
        self._empty_external()
        self._vectors.close()
        self._tree.close()
        self._embedder.take()
        self._documents.set_index_state(VECTORS, None)
        folders = self.store.folders
        IndexPair(self._documents, self._states, self._directory, VECTORS, NEXT, folders).give_up()
        self._demote(self._documents.chunk_ids())

    def stage(self, folder: str, embedder: Embedder) -> tuple[VectorIndex, VectorIndex]:
        """Open the staged indexes: the chunks' vectors and the tree nodes' vectors."""
        chunks = self.open_chunks(folder, embedder)
        self._vectors.stage(chunks)
        return chunks, self._tree.stage(self.open_tree(folder, embedder))

    def unstage(self) -> list[Closeable]:
        """Give up the staged indexes; return those to close."""
        return [index for index in (self._vectors.unstage(), self._tree.unstage()) if index is not None]

    def exchange(self, embedder: Embedder) -> list[Closeable]:
        """Use the staged indexes; return those before, to be closed after their last search."""
        self._embedder.put(embedder)
        return [index for index in (self._vectors.exchange(), self._tree.exchange()) if index is not None]

    def reopen(self) -> None:
        """Release a model that did not make the index in use; the next use opens the one that did."""
        made_with, opened = self._documents.index_state(VECTORS), self._embedder.current
        if made_with and opened is not None and not same_model(made_with, description(opened, self.store)):
            self._embedder.take()

    def destroy(self) -> None:
        """Delete all indexes, as when their owner is deleted; raises IndexUnusable where that fails."""
        self._empty_external()
        self.close()
        try:
            if self.store.tables is not None:
                self.store.tables.remove(self._directory)
            if self._directory.exists():
                shutil.rmtree(self._directory)
        except OSError as error:
            raise IndexUnusable(
                N_(
                    "{directory} cannot be removed: {strerror}.",
                    directory=self._directory,
                    strerror=error.strerror,
                )
            ) from error

    def drop_copies(self) -> None:
        """Close all indexes, and remove the local copies of those in an object store."""
        self.close()
        if self.store.tables is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    def close(self) -> None:
        """Close all indexes; the next use opens them again."""
        for slot in (self._words, self._vectors, self._tree):
            slot.close()

    def _open(self, embedder: Embedder, folder: str, name: str, hydrate: Hydrate) -> VectorIndex:
        tables = self.store.tables
        return open_vectors(self.store.name, embedder, self._directory / folder, name, hydrate, tables)

    def _demote(self, missing: Iterable[str]) -> None:
        """Set the documents of these chunks back to the state before embedding."""
        chunks = self._documents.chunks_by_id(sorted(missing)).values()
        for document_id in sorted({chunk.document_id for chunk in chunks}):
            with suppress(NotFound):  # removed meanwhile
                self._documents.set_state(document_id, "searchable_by_words")

    def _open_external(self, directory: Path, *, refill: bool) -> ExternalVectorIndex:
        owner = self._directory.name
        return ExternalVectorIndex(self.store, self.embedder, directory, owner, self.hydrate, refill=refill)

    def _empty_external(self) -> None:
        """Remove this owner's vectors from an external store; Chroma's are removed with their folder."""
        made_with = self._documents.index_state(VECTORS) or {}
        if self.store.built_in or made_with.get("store") != self.store.identity:
            return
        try:
            folder = self._directory / made_with["folder"]
            self._vectors.get(partial(self._open_external, folder, refill=False)).delete()
        except (EmbeddingError, RetrievalError) as error:  # they stay in the store, and are never shown
            log.warning("%s", error)

    def _vectors_folder(self) -> str:
        """Return the folder of the vector index; raises IndexMismatch for another model or store."""
        mine = description(self.embedder, self.store)
        made_with = self._documents.index_state(VECTORS)
        if not made_with:
            made_with = self._states.begin(VECTORS, {**mine, "folder": fresh_folder(VECTORS)})
        check_same_index(made_with, mine)
        return str(made_with["folder"])
