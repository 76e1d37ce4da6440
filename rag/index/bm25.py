"""BM25 index over chunks, kept on disk by tantivy."""

import json
import math
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import tantivy

from rag.errors import IndexUnusable
from rag.i18n import N_
from rag.index.chunks import index_text
from rag.index.word_files import first_damaged
from rag.text.language import language
from rag.text.tokenize import TOKENIZER, Analyser, index_tokens, question_tokens, stemmed_as
from storage.records import ChunkRecord

_MARKER = "footnote.json"  # written last: an index without it was never finished
_PANIC = "PanicException"  # a BaseException that no module exports
_HEAP = (
    32_000_000  # bytes that the one writer thread gathers before it writes a segment; tantivy asks for 15 MB
)
_MOST_TERMS = 256  # of a question; a pasted book must not cost a minute
_SAMPLE = 200  # entries that are looked up by their own ids


@lru_cache(maxsize=1)  # every question names its fields
def schema() -> Any:
    """Return the schema: raw ids, and text that is tokenized already and divided by white space."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("document_id", stored=False, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("language", stored=False, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("text", stored=False, tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def _any_of(field: str, terms: Collection[str], option: str) -> Any:
    """Return a BM25 query for entries that have any of the terms in a field."""
    should = tantivy.Occur.Should
    return tantivy.Query.boolean_query(
        [(should, tantivy.Query.term_query(schema(), field, term, option)) for term in terms]
    )


def _within(query: Any, chosen: Any) -> Any:
    """Limit a query to the entries that another one finds; scores stay the same."""
    must = tantivy.Occur.Must
    return tantivy.Query.boolean_query([(must, query), (must, tantivy.Query.const_score_query(chosen, 0.0))])


@dataclass(frozen=True)
class Entry:
    """Chunk as the BM25 index takes it; `text` is searched."""

    id: str
    document_id: str
    text: str


def to_entry(chunk: ChunkRecord) -> Entry:
    """Return the chunk as an entry of the BM25 index."""
    return Entry(id=chunk.id, document_id=chunk.document_id, text=index_text(chunk))


class TantivyIndex:
    """BM25 index in a directory, or in memory without one; one writer, any number of searches.

    Scores are raw BM25 (k1 = 1.2, b = 0.75). A `stale` index cannot be used: `clear` it and add everything
    again. With `allow_outdated` an index of another tokenizer is opened, and `outdated` is true. Tokens are
    ours with the `analysers` of morphemes, or those of `preprocess_func`.
    """

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
        self._writing = Lock()
        self._writer: Any = None
        self._index = self._open()

    @property
    def stale(self) -> bool:
        """True where the index must be cleared and filled again before use."""
        return self._index is None

    def clear(self) -> None:
        """Replace the index by an empty one of the present tokenizer."""
        with self._writing:
            with suppress(IndexUnusable), self._failures("closed"):
                self._close_writer()
            self._index = self._create()
            self.damaged = False

    def check(self) -> None:
        """Raise IndexUnusable where a file is not as it was written, or is another segment's."""
        if self._directory is None:
            return
        with self._writing, self._failures("read"):
            if name := first_damaged(self._directory):
                raise ValueError(f"{name} is not as it was written")
            ids = sorted(self.ids())
            sample = ids[:: max(1, -(-len(ids) // _SAMPLE))]
            if sample and {id_ for id_, _ in self._hits(_any_of("id", sample, "basic"), len(ids))} != set(
                sample
            ):
                raise ValueError("its files do not belong together")
            self.damaged = False

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries, replacing those with the same id; raises IndexUnusable when they cannot be written."""
        documents = {entry.id: self._document(entry) for entry in entries}
        if not documents:
            return
        with self._commit() as writer:
            for id_, document in documents.items():
                writer.delete_documents_by_term("id", id_)
                writer.add_document(document)

    def delete(self, ids: Collection[str]) -> None:
        """Remove entries; unknown ids are no error."""
        if not ids:
            return
        with self._commit() as writer:
            for id_ in ids:
                writer.delete_documents_by_term("id", id_)

    def search(
        self, query: str, k: int, document_ids: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return at most `k` (id, BM25 score), best first, equal scores by id."""
        terms = self._terms(query)
        if k < 1 or not terms or (document_ids is not None and not document_ids):
            return []
        asked = _any_of("text", terms, "freq")
        if document_ids is not None:
            chosen = tantivy.Query.term_set_query(schema(), "document_id", list(document_ids))
            asked = _within(asked, chosen)
        return sorted(self._hits(asked, k), key=lambda hit: (-hit[1], hit[0]))

    def scores(self, query: str, ids: Collection[str]) -> dict[str, float]:
        """Return the BM25 score of each of these entries; 0 of what shares no word, or is not there."""
        terms = self._terms(query)
        if not terms or not ids:
            return dict.fromkeys(ids, 0.0)
        # Up to fifty ids, a term each takes a third of the time of a term set.
        asked = _within(_any_of("text", terms, "freq"), _any_of("id", ids, "basic"))
        return dict.fromkeys(ids, 0.0) | dict(self._hits(asked, len(ids)))

    def ids(self) -> set[str]:
        """Return the id of every entry."""
        with self._reading("read") as searcher:
            return {id_ for id_, _ in searcher.terms_with_prefix("id", "", tantivy.Query.all_query())}

    def rarity(self, token: str) -> float:
        """Return a token's inverse document frequency, ln(1 + (N - n + 0.5) / (n + 0.5)).

        In 10 entries a token of one entry has ln(1 + 9.5 / 1.5) = 1.99, one of all ten 0.05.
        """
        with self._reading("read") as searcher:
            there, total = searcher.doc_freq("text", token), searcher.num_docs
        there = min(there, total)  # deleted entries count until their segment is merged
        return math.log(1 + (total - there + 0.5) / (there + 0.5))

    def warm(self) -> None:
        """Load the analysers of the languages in the index; raises RetrievalError."""
        spoken = self._languages()
        for each in self._analysers:
            if each.code in spoken:
                each.load()

    def has_tokens(self, text: str) -> bool:
        """Return whether a text has tokens to be found by."""
        return bool(self._terms(text))

    def close_writer(self) -> None:
        """Release the writer; searches still work, even after the files are removed."""
        with self._writing:
            self._close_writer()

    def close(self) -> None:
        """Release files and threads; the index cannot be used afterwards."""
        with self._writing:
            self._release()

    def _open(self) -> Any:
        if self._directory is None or not self._directory.exists():
            return self._create()
        try:
            with self._failures("opened"):
                return self._open_sound(self._directory)
        except IndexUnusable:
            return None

    def _open_sound(self, directory: Path) -> Any:
        marker = json.loads((directory / _MARKER).read_text(encoding="utf-8"))
        self.outdated = marker != self._marker
        if (self.outdated and not self._allow_outdated) or first_damaged(directory):
            return None
        index = tantivy.Index.open(str(directory))
        index.searcher().doc_freq("text", "probe")  # opens all segments, so that damage shows now
        return index

    def _create(self) -> Any:
        self.outdated = False
        if self._directory is None:
            return tantivy.Index(schema())
        with self._failures("made"):
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory.mkdir(parents=True)
            index = tantivy.Index(schema(), path=str(self._directory))
            (self._directory / _MARKER).write_text(json.dumps(self._marker), encoding="utf-8")
        return index

    @property
    def _marker(self) -> dict[str, str]:
        """Tokenizer of the index: ``{"tokenizer": "footnote-words-and-pairs-2 + kiwipiepy 0.24.1"}``."""
        if self._preprocess is not None:
            own = self._preprocess
            return {"tokenizer": getattr(own, "__qualname__", type(own).__qualname__)}
        return {"tokenizer": " + ".join([self._tokenizer, *(each.name for each in self._analysers)])}

    def _release(self) -> None:
        self._close_writer()
        self._index = None

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.wait_merging_threads()

    @contextmanager
    def _commit(self) -> Iterator[Any]:
        """Yield the writer, and commit: the next search sees all of the changes, or none."""
        with self._writing, self._failures("written"):
            index = self._usable()
            try:
                self._writer = self._writer or index.writer(heap_size=_HEAP, num_threads=1)
                yield self._writer
                self._writer.commit()
                index.reload()
            except BaseException:
                # A failed writer stays failed, and holds the lock while a traceback holds it: the next starts
                # at the last commit.
                with suppress(IndexUnusable), self._failures("closed"):
                    self._close_writer()
                raise

    @contextmanager
    def _reading(self, done: str) -> Iterator[Any]:
        with self._failures(done):
            yield self._usable().searcher()

    @contextmanager
    def _failures(self, done: str) -> Iterator[None]:
        """Raise IndexUnusable for what tantivy raises; on damaged files its Rust code may panic."""
        try:
            yield
        except BaseException as error:
            if not isinstance(error, OSError | ValueError) and type(error).__name__ != _PANIC:
                raise
            self.damaged = True
            raise IndexUnusable(
                N_(
                    "The word index in {directory} could not be {done}: {reason}",
                    directory=self._directory,
                    done=done,
                    reason=error,
                )
            ) from error

    def _usable(self) -> Any:
        index = self._index
        if index is None:
            raise IndexUnusable(
                N_(
                    "The word index in {directory} is closed, damaged or of another version.",
                    directory=self._directory,
                )
            )
        return index

    def _hits(self, query: Any, k: int) -> list[tuple[str, float]]:
        """Return at most `k` (id, score) that match, best first."""
        with self._reading("searched") as searcher:
            hits = searcher.search(query, limit=k, count=False).hits
            return [(searcher.doc(address)["id"][0], float(score)) for score, address in hits]

    def _document(self, entry: Entry) -> Any:
        spoken = language(entry.text)
        stems = stemmed_as(spoken)
        analysed = [spoken] if spoken in self._codes else []
        return tantivy.Document(
            id=entry.id,
            document_id=entry.document_id,
            language=[stems, *analysed],
            text=" ".join(
                self._own_tokens(entry.text)
                if self._preprocess
                else index_tokens(entry.text, stems, self._analysers)
            ),
        )

    def _terms(self, query: str) -> Sequence[str]:
        """Return a question's distinct tokens, stemmed in each language that the index holds."""
        if self._preprocess:
            return list(dict.fromkeys(self._own_tokens(query)))[:_MOST_TERMS]
        return _question_terms(query, tuple(sorted(self._languages() - self._codes)), self._analysers)

    def _own_tokens(self, text: str) -> list[str]:
        tokens = self._preprocess(text) if self._preprocess else []
        return ["_".join(token.split()) for token in tokens if token.strip()]

    def _languages(self) -> set[str]:
        """Return the languages of the stemmers and analysers that made the index."""
        with self._reading("searched") as searcher:
            return {code for code, _ in searcher.terms_with_prefix("language", "")}

    @property
    def _codes(self) -> set[str]:
        return {each.code for each in self._analysers}


@lru_cache(maxsize=16)  # a question is searched, then scored; stemming takes as long as searching
def _question_terms(query: str, languages: tuple[str, ...], analysers: tuple[Analyser, ...]) -> Sequence[str]:
    return tuple(question_tokens(query, languages, analysers)[:_MOST_TERMS])
