"""The word index of one owner: after a change of tokens the old one answers until the new one is proven."""

import logging
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from threading import RLock
from typing import Any

from rag.chunks import to_entry
from rag.errors import Cancelled, IndexUnusable
from rag.jobs import Cancel
from rag.morphemes import Analyser
from rag.stores.lexical import Entry, TantivyIndex
from storage.documents import Documents

log = logging.getLogger(__name__)

STANDING, NEXT = "words", "words-next"  # the index that answers, and the one that is made beside it
FIRST = "words"  # the folder where none is named
BATCH = 500  # chunks between two commits of an index made anew: what is there is found meanwhile
SAMPLE = 100  # chunks that must find themselves
NEAREST = 10  # among so many: editions of one text differ in a word
MISSED = 0.1  # of the sample may be missed; damage misses nearly all


class WordIndex:
    """A `LexicalIndex` in a folder of `directory`, and after a change of tokenizer a second one beside it.

    Both take what is written. The one that answers is asked for the tokens of now, most of which it has.
    """

    def __init__(self, documents: Documents, directory: Path, analysers: Sequence[Analyser] = ()):
        self._documents = documents
        self._directory = directory
        self._analysers = analysers
        self._writing = RLock()
        self._answering = self._open(documents.index_state(STANDING) or {"folder": FIRST}, whichever=True)
        if self._answering.stale:
            log.warning("The word index cannot be used any more. It is made anew.")
            self._answering.clear()
        self._next = self._begin() if self._answering.outdated else None
        self._sweep()

    @property
    def outdated(self) -> bool:
        """Whether another tokenizer made what answers, so that `renew` has something to do."""
        return self._next is not None

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
        """Forget every entry of what answers; `recover` adds them again."""
        with self._writing:
            self._answering.clear()

    def recover(self) -> None:
        """Bring the index in step with the ledger."""
        there = self.ids()  # before the ledger: what is added meanwhile is then known to it
        self.delete(there - self._documents.chunk_ids(searchable=False))
        missing = sorted(self._documents.chunk_ids() - there)
        if missing:
            log.warning("Adding %d chunks to the word index", len(missing))
        for start in range(0, len(missing), BATCH):
            self.add(self._entries(missing[start : start + BATCH]))

    def renew(self, cancelled: Cancel) -> Iterator[tuple[int, int]]:
        """Fill the index beside, prove it, and let it answer; yield how many chunks of how many are in it.

        Raises Cancelled, after which it is gone on with, and IndexUnusable where chunks do not find
        themselves, after which it is gone; what answers stays.
        """
        following = self._next
        while following is not None:
            yield from self._fill(following, cancelled)
            if not self._proven(following):
                self._give_up()
                raise IndexUnusable(
                    f"The new word index in {self._directory} does not find its own passages, so the one "
                    "before goes on answering. It is made again at the next start; if that fails too, look "
                    "at the disk."
                )
            following = None if self._exchanged(following) else following

    def close(self) -> None:
        """Let go of files and threads."""
        with self._writing:
            for index in filter(None, (self._answering, self._next)):
                index.close()

    def _write(self, change: Callable[[TantivyIndex], None]) -> None:
        with self._writing:
            change(self._answering)
            if self._next is not None:
                change(self._next)

    def _fill(self, following: TantivyIndex, cancelled: Cancel) -> Iterator[tuple[int, int]]:
        wanted = self._documents.chunk_ids()
        missing = sorted(wanted - following.ids())
        yield len(wanted) - len(missing), len(wanted)
        for start in range(0, len(missing), BATCH):
            if cancelled():
                raise Cancelled(
                    "The words are not indexed anew any more. What is done is kept for the next time."
                )
            with (
                self._writing
            ):  # what is deleted meanwhile is deleted after it was added, or not read any more
                following.add(self._entries(missing[start : start + BATCH]))
            yield len(wanted) - len(missing) + min(start + BATCH, len(missing)), len(wanted)

    def _proven(self, following: TantivyIndex) -> bool:
        """Whether chunks find themselves, or others of the same words."""
        ids = sorted(following.ids())
        sample = self._entries(ids[:: max(1, -(-len(ids) // SAMPLE))])
        asked = [entry for entry in sample if following.has_tokens(entry.text)]
        missed = sum(not self._found(following, entry) for entry in asked)
        return missed <= MISSED * len(asked)

    def _found(self, following: TantivyIndex, entry: Entry) -> bool:
        hits = [id_ for id_, _ in following.search(entry.text, NEAREST)]
        return entry.id in hits or any(hit.text == entry.text for hit in self._entries(hits))

    def _exchanged(self, following: TantivyIndex) -> bool:
        """Let the new index answer, where nothing is missing in it; the one before ends with its searches."""
        with self._writing:
            if self._documents.chunk_ids() - following.ids():
                return False
            self._documents.set_index_state(STANDING, self._documents.index_state(NEXT))
            self._documents.set_index_state(NEXT, None)
            before, self._answering, self._next = self._answering, following, None
            before.rest()
            self._sweep()
            return True

    def _begin(self) -> TantivyIndex:
        """Open the index beside, begun or new, without what was deleted since."""
        state = self._documents.index_state(NEXT)
        if state is None or state == self._documents.index_state(STANDING):
            state = {"folder": f"{FIRST}-{secrets.token_hex(4)}"}
            self._documents.set_index_state(NEXT, state)
        index = self._open(state)
        if index.stale:
            index.clear()
        index.delete(index.ids() - self._documents.chunk_ids(searchable=False))
        return index

    def _give_up(self) -> None:
        with self._writing:
            given_up, self._next = self._next, None
            self._documents.set_index_state(NEXT, None)
            if given_up is not None:
                given_up.close()
            self._sweep()

    def _entries(self, ids: Iterable[str]) -> list[Entry]:
        """Return chunks as an index takes them; those that are gone are absent."""
        return [to_entry(chunk) for chunk in self._documents.chunks_by_id(sorted(ids)).values()]

    def _open(self, state: dict[str, Any], *, whichever: bool = False) -> TantivyIndex:
        folder = self._directory / str(state["folder"])
        return TantivyIndex(folder, analysers=self._analysers, whichever=whichever)

    def _sweep(self) -> None:
        """Remove the folders of word indexes that are not used any more."""
        if self._next is None and self._documents.index_state(NEXT) is not None:
            self._documents.set_index_state(NEXT, None)
        states = [
            self._documents.index_state(STANDING) or {"folder": FIRST},
            self._documents.index_state(NEXT),
        ]
        used = {state["folder"] for state in states if state}
        for folder in self._directory.glob(f"{FIRST}*"):
            if folder.name not in used:
                shutil.rmtree(folder, ignore_errors=True)  # what stays is not used again
