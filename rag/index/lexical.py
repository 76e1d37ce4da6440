"""BM25 index interface: entries, their tokens, and what every engine does alike."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from rag.errors import IndexUnusable
from rag.i18n import N_
from rag.index.chunks import index_text
from rag.text.language import language
from rag.text.tokenize import TOKENIZER, Analyser, index_tokens, question_tokens, stemmed_as
from storage.records import ChunkRecord

_MOST_TERMS = 256  # of a question; a pasted book must not cost a minute
Ranked = list[tuple[str, float]]
"""Ids with scores, best first."""


@dataclass(frozen=True)
class Entry:
    """Chunk as the BM25 index takes it; `text` is searched."""

    id: str
    document_id: str
    text: str


def to_entry(chunk: ChunkRecord) -> Entry:
    """Return the chunk as an entry of the BM25 index."""
    return Entry(id=chunk.id, document_id=chunk.document_id, text=index_text(chunk))


class Tokens(NamedTuple):
    """Tokens of an entry, divided by spaces, and the languages of the stemmer and analyser that made them."""

    languages: Sequence[str]
    text: str


class LexicalIndex(ABC):
    """BM25 index in a directory, or in memory without one; one writer, any number of searches.

    Scores are raw BM25 (k1 = 1.2, b = 0.75). A `stale` index cannot be used: `clear` it and add everything
    again. With `allow_outdated` an index of another tokenizer is opened, and `outdated` is true. Tokens are
    ours with the `analysers` of morphemes, or those of `preprocess_func`. Raises IndexUnusable.
    """

    reads_removed_files = True
    """True where searches go on after the files were removed."""

    def __init__(
        self,
        directory: Path | None = None,
        *,
        preprocess_func: Callable[[str], Sequence[str]] | None = None,
        analysers: Sequence[Analyser] = (),
        tokenizer: str = TOKENIZER,
        allow_outdated: bool = False,
    ):
        self._directory = directory
        self._preprocess = preprocess_func
        self._analysers = tuple(analysers)
        self._tokenizer = tokenizer
        self._allow_outdated = allow_outdated
        self.outdated = False
        self.damaged = False
        """True once a read or write has failed, until the files are found sound or cleared."""
        self._start()

    @abstractmethod
    def _start(self) -> None:
        """Open the index that is there, or make one."""

    @property
    @abstractmethod
    def stale(self) -> bool:
        """True where the index must be cleared and filled again before use."""

    def refresh(self) -> None:  # noqa: B027 - only a shared index has others' writes
        """Have searches see what other processes have written until now; raises IndexUnusable."""

    @abstractmethod
    def clear(self) -> None:
        """Replace the index by an empty one of the present tokenizer."""

    @abstractmethod
    def check(self) -> None:
        """Raise IndexUnusable where damage is found."""

    @abstractmethod
    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries, replacing those with the same id; a search sees all of them or none."""

    @abstractmethod
    def delete(self, ids: Collection[str]) -> None:
        """Remove entries; unknown ids are no error."""

    def search(self, query: str, k: int, document_ids: Collection[str] | None = None) -> Ranked:
        """Return at most `k` (id, BM25 score), best first, equal scores by id."""
        terms = self._terms(query)
        if k < 1 or not terms or (document_ids is not None and not document_ids):
            return []
        return sorted(self._best(terms, k, document_ids), key=lambda hit: (-hit[1], hit[0]))

    def scores(self, query: str, ids: Collection[str]) -> dict[str, float]:
        """Return the BM25 score of each of these entries; 0 of what shares no word, or is not there."""
        terms = self._terms(query)
        if not terms or not ids:
            return dict.fromkeys(ids, 0.0)
        return dict.fromkeys(ids, 0.0) | dict(self._scored(terms, ids))

    @abstractmethod
    def ids(self) -> set[str]:
        """Return the id of every entry."""

    @abstractmethod
    def rarity(self, token: str) -> float:
        """Return a token's inverse document frequency; see `inverse_frequency`."""

    def warm(self) -> None:
        """Load the analysers of the languages in the index; raises RetrievalError."""
        spoken = self._languages()
        for each in self._analysers:
            if each.code in spoken:
                each.load()

    def has_tokens(self, text: str) -> bool:
        """Return whether a text has tokens to be found by."""
        return bool(self._terms(text))

    @abstractmethod
    def close_writer(self) -> None:
        """Release the writer; searches still work."""

    @abstractmethod
    def close(self) -> None:
        """Release files and threads; the index cannot be used afterwards."""

    @abstractmethod
    def _best(self, terms: Sequence[str], k: int, document_ids: Collection[str] | None) -> Ranked:
        """Return at most `k` hits of the terms, in the chosen documents."""

    @abstractmethod
    def _scored(self, terms: Sequence[str], ids: Collection[str]) -> Ranked:
        """Return those of the entries that have any of the terms, with their scores."""

    @abstractmethod
    def _languages(self) -> set[str]:
        """Return the languages of the stemmers and analysers that made the index."""

    @staticmethod
    def _reason(error: BaseException) -> str:
        """Return what an error of the engine says."""
        return str(error)

    @staticmethod
    @abstractmethod
    def _is_failure(error: BaseException) -> bool:
        """Return whether the engine raised this error, so that the index is damaged or cannot be written."""

    @property
    def _marker(self) -> dict[str, str]:
        """Tokenizer of the index: ``{"tokenizer": "footnote-words-and-pairs-2 + kiwipiepy 0.24.1"}``."""
        if self._preprocess is not None:
            own = self._preprocess
            return {"tokenizer": getattr(own, "__qualname__", type(own).__qualname__)}
        return {"tokenizer": " + ".join([self._tokenizer, *(each.name for each in self._analysers)])}

    @contextmanager
    def _failures(self, done: str) -> Iterator[None]:
        """Raise IndexUnusable for what the engine raises."""
        try:
            yield
        except BaseException as error:
            if not self._is_failure(error):
                raise
            self.damaged = True
            raise IndexUnusable(
                N_(
                    "The word index in {directory} could not be {done}: {reason}",
                    directory=self._directory,
                    done=done,
                    reason=self._reason(error),
                )
            ) from error

    def _closed(self) -> IndexUnusable:
        return IndexUnusable(
            N_(
                "The word index in {directory} is closed, damaged or of another version.",
                directory=self._directory,
            )
        )

    def _tokens(self, text: str) -> Tokens:
        """Return the tokens of an entry's text."""
        spoken = language(text)
        stems = stemmed_as(spoken)
        analysed = [spoken] if spoken in self._codes else []
        made = self._own_tokens(text) if self._preprocess else index_tokens(text, stems, self._analysers)
        return Tokens([stems, *analysed], " ".join(made))

    def _terms(self, query: str) -> Sequence[str]:
        """Return a question's distinct tokens, stemmed in each language that the index holds."""
        if self._preprocess:
            return list(dict.fromkeys(self._own_tokens(query)))[:_MOST_TERMS]
        return _question_terms(query, tuple(sorted(self._languages() - self._codes)), self._analysers)

    def _own_tokens(self, text: str) -> list[str]:
        tokens = self._preprocess(text) if self._preprocess else []
        return ["_".join(token.split()) for token in tokens if token.strip()]

    @property
    def _codes(self) -> set[str]:
        return {each.code for each in self._analysers}


def inverse_frequency(having: int, total: int) -> float:
    """Return BM25's ln(1 + (N - n + 0.5) / (n + 0.5)) of a token that `having` of `total` entries have.

    >>> round(inverse_frequency(1, 10), 2), round(inverse_frequency(10, 10), 2)
    (1.99, 0.05)
    """
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


@lru_cache(maxsize=16)  # a question is searched, then scored; stemming takes as long as searching
def _question_terms(query: str, languages: tuple[str, ...], analysers: tuple[Analyser, ...]) -> Sequence[str]:
    return tuple(question_tokens(query, languages, analysers)[:_MOST_TERMS])
