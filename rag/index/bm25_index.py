"""BM25 index of one owner, rebuilt beside the one in use after a change of tokenizer."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from threading import RLock
from typing import Any

from rag.errors import Cancelled, IndexUnusable
from rag.index.bm25 import Entry, TantivyIndex, to_entry
from rag.index.staged import Hits, IndexPair, ReindexProgress, StagedIndex, sample_chunks, verify_index
from rag.jobs import Cancel
from rag.text.tokenize import Analyser
from storage.documents import Documents, IndexStates

log = logging.getLogger(__name__)

WORDS, NEXT = "words", "words-next"  # index in use, and the staged one
BATCH = 500  # chunks between two commits of a rebuild
NEAREST = 10  # hits among which a chunk must find itself: editions of one text differ in a word
MISSED = 0.1  # of the sample may be missed; damage misses nearly all


class WordIndex:
    """`LexicalIndex` in a folder of `directory`, with a staged one beside it after a change of tokenizer.

    Both are written to. The one in use is searched with the present tokenizer, most of whose tokens it has.
    """

    def __init__(
        self,
        documents: Documents,
        states: IndexStates,
        directory: Path,
        analysers: Sequence[Analyser] = (),
    ):
        self._documents = documents
        self._pair = IndexPair(documents, states, directory, WORDS, NEXT)
        self._directory = directory
        self._analysers = analysers
        self._writing = RLock()
        self._answering = self._open(documents.index_state(WORDS) or {"folder": WORDS}, allow_outdated=True)
        if self._answering.stale:
            log.warning("The word index cannot be used any more. It is made anew.")
            self._answering.clear()
        self._staged = self._begin() if self._answering.outdated else None
        if self._staged is None:
            self._pair.give_up()
        else:
            self._pair.sweep()

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

    def search(
        self, query: str, k: int, document_ids: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return at most `k` (id, BM25 score), best first, equal scores by id."""
        return self._answering.search(query, k, document_ids)

    def scores(self, query: str, ids: Collection[str]) -> dict[str, float]:
        """Return the BM25 score of each of these entries; 0 of what shares no word, or is not there."""
        return self._answering.scores(query, ids)

    def ids(self) -> set[str]:
        """Return the id of every entry."""
        return self._answering.ids()

    def rarity(self, token: str) -> float:
        """Return a token's inverse document frequency."""
        return self._answering.rarity(token)

    def warm(self) -> None:
        """Load the analysers of the languages in the index; raises RetrievalError."""
        self._answering.warm()

    def clear(self) -> None:
        """Remove every entry of the index in use; `recover` adds them again."""
        with self._writing:
            self._answering.clear()

    def recover(self) -> None:
        """Bring the index in step with the ledger."""
        there = self.ids()  # read before the ledger, which then knows all of them
        self.delete(there - self._documents.chunk_ids(searchable=False))
        missing = sorted(self._documents.chunk_ids() - there)
        if missing:
            log.warning("Adding %d chunks to the word index", len(missing))
        for start in range(0, len(missing), BATCH):
            self.add(_entries(self._documents, missing[start : start + BATCH]))

    def renew(self, cancelled: Cancel) -> Iterator[ReindexProgress]:
        """Rebuild the index with the present tokenizer; see `StagedIndex.rebuild`."""
        if self._staged is not None:
            yield from self._staged.rebuild(cancelled)

    def close(self) -> None:
        """Release files and threads."""
        with self._writing:
            self._answering.close()
            if self._staged is not None:
                self._staged.index.close()

    def replace(self, staged: TantivyIndex) -> None:
        """Use the staged index; the one before ends with its last search."""
        before, self._answering, self._staged = self._answering, staged, None
        before.close_writer()

    def unstage(self) -> None:
        """Close the staged index."""
        staged, self._staged = self._staged, None
        if staged is not None:
            staged.index.close()

    def _write(self, change: Callable[[TantivyIndex], None]) -> None:
        with self._writing:
            change(self._answering)
            if self._staged is not None:
                change(self._staged.index)

    def _begin(self) -> "StagedWords":
        """Open the staged index, resumed or new, without entries that were deleted since."""
        answering = self._documents.index_state(WORDS)
        # Earlier versions exchanged in two commits, so that both names may be of one index.
        index = self._open(self._pair.resume(lambda state: state != answering) or self._pair.begin())
        if index.stale:
            index.clear()
        index.delete(index.ids() - self._documents.chunk_ids(searchable=False))
        return StagedWords(self._pair, self, index, self._writing)

    def _open(self, state: dict[str, Any], *, allow_outdated: bool = False) -> TantivyIndex:
        folder = self._directory / str(state["folder"])
        return TantivyIndex(folder, analysers=self._analysers, allow_outdated=allow_outdated)


class StagedWords(StagedIndex):
    """Staged BM25 index of the present tokenizer, beside the one in use in `words`.

    Both take the same writes, under the lock `writing`.
    """

    def __init__(self, pair: IndexPair, words: WordIndex, index: TantivyIndex, writing: RLock):
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
        for start in range(0, len(missing), BATCH):
            if cancelled():
                raise Cancelled(
                    "The words are not indexed anew any more. What is done is kept for the next time."
                )
            batch = missing[start : start + BATCH]
            with self._writing:  # a chunk deleted meanwhile is not read here, or is deleted after this
                self.index.add(_entries(self.documents, batch))
            yield ReindexProgress("words", there + start + len(batch), total)

    def verify(self) -> Iterator[ReindexProgress]:
        """Raise IndexUnusable where chunks do not find themselves; too quick to report progress."""
        sample = sample_chunks(self.documents, self.index.ids())
        asked = [chunk for chunk in sample if self.index.has_tokens(to_entry(chunk).text)]
        *_, last = verify_index(self.documents, asked, self._search)
        if last.missed > MISSED * last.total:
            raise IndexUnusable(
                f"The new word index in {self.pair.directory} does not find its own passages, so the one "
                "before goes on answering. It is made again at the next start; if that fails too, look at "
                "the disk."
            )
        yield from ()

    def exchange(self) -> bool:
        """Use the index where it lacks no chunk."""
        with self._writing:
            if self.documents.chunk_ids() - self.index.ids():
                return False
            self.pair.exchange()
            self._words.replace(self.index)
            self.pair.sweep()
            return True

    def give_up(self) -> None:
        """Forget the index and remove it."""
        with self._writing:
            self._words.unstage()
            self.pair.give_up()

    def _search(self, texts: Sequence[str]) -> Iterator[Hits]:
        yield {at: [id_ for id_, _ in self.index.search(text, NEAREST)] for at, text in enumerate(texts)}


def _entries(documents: Documents, ids: Iterable[str]) -> list[Entry]:
    """Return chunks as index entries; ids that are gone are left out."""
    return [to_entry(chunk) for chunk in documents.chunks_by_id(sorted(ids)).values()]
