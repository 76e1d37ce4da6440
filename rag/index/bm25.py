"""BM25 index on tantivy, with the checksums of its files.

Tantivy writes them, and does not read them when it opens an index.
"""

import json
import mmap
import shutil
import struct
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import tantivy

from rag.errors import IndexUnusable
from rag.index.exact import evenly
from rag.index.lexical import Entry, LexicalIndex, Ranked, inverse_frequency

_END = struct.Struct("<II")  # bytes of the footer's JSON, and a constant
_MAGIC = 1337
_PLACES = struct.Struct("<I")  # bytes of the places of a file's fields
_STEP = 1 << 20  # bytes


def first_damaged(directory: Path) -> str | None:
    """Return the name of a file that is not as tantivy wrote it; None if all are.

    Only files of segments in `meta.json` count, since others may be in the making. `meta.json` itself has no
    checksum: its numbers of entries, from which BM25 computes the rarity of words, are compared with the
    lengths that `.fieldnorm` holds. Nobody may commit meanwhile; a merge of segments may end.
    """
    for segment, entries in sorted(_segments(directory).items()):
        for path in sorted(directory.glob(f"{segment}.*")):
            if not _is_sound(path) and segment in _segments(directory):
                return path.name
            if path.suffix == ".fieldnorm" and _entries(path) != entries and segment in _segments(directory):
                return "meta.json"
    return None


def _segments(directory: Path) -> dict[str, int]:
    """Return the segments' numbers of entries by the prefixes of their files.

    Raises OSError or ValueError where they cannot be read.
    """
    listed = json.loads((directory / "meta.json").read_bytes())
    try:
        return {str(one["segment_id"]).replace("-", ""): int(one["max_doc"]) for one in listed["segments"]}
    except (KeyError, TypeError) as error:
        raise ValueError("meta.json does not list the segments") from error


def _entries(path: Path) -> int | None:
    """Return the number of entries of which a sound `.fieldnorm` file holds the lengths; None if it is gone.

    A byte for each entry and field; then the number of fields (a variable-length integer of one byte, whose
    highest bit ends it) and their places; then how many bytes these take.
    """
    try:
        content = path.read_bytes()
    except OSError:
        return None
    length, _ = _END.unpack(content[-_END.size :])
    body = content[: -_END.size - length]
    places: int = _PLACES.unpack(body[-_PLACES.size :])[0]
    lengths = len(body) - _PLACES.size - places
    return lengths // (body[lengths] & 0x7F)


def _is_sound(path: Path) -> bool:
    """Return True if the CRC-32 in a file's footer is that of the bytes before it."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            length, magic = _END.unpack(content[-_END.size :])
            body = len(content) - _END.size - length
            if magic != _MAGIC or body < 0:
                return False
            footer = json.loads(content[body : body + length])
            crc = 0
            for start in range(0, body, _STEP):
                crc = zlib.crc32(content[start : min(start + _STEP, body)], crc)
        return bool(footer["crc"] == crc)
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return False


_MARKER = "footnote.json"  # written last: an index without it was never finished
_PANIC = "PanicException"  # a BaseException that no module exports
_HEAP = (
    32_000_000  # bytes that the one writer thread gathers before it writes a segment; tantivy asks for 15 MB
)
_PAUSES = (0.01, 0.1, 1.0)  # seconds between tries to remove an index
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


def _remove(directory: Path) -> None:
    """Remove a directory, in which a thread of a closed writer may still be at its last file."""
    for pause in _PAUSES:
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return
        time.sleep(pause)
    shutil.rmtree(directory)


class TantivyIndex(LexicalIndex):
    """BM25 index on tantivy; changed bytes in its files are found by `check`."""

    def _start(self) -> None:
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
            sample = evenly(sorted(self.ids()), _SAMPLE)
            if sample and dict(self._hits(_any_of("id", sample, "basic"), len(sample))).keys() != set(sample):
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

    def ids(self) -> set[str]:
        """Return the id of every entry."""
        with self._reading("read") as searcher:
            return {id_ for id_, _ in searcher.terms_with_prefix("id", "", tantivy.Query.all_query())}

    def rarity(self, token: str) -> float:
        """Return a token's inverse document frequency; see `inverse_frequency`."""
        with self._reading("read") as searcher:
            there, total = searcher.doc_freq("text", token), searcher.num_docs
        return inverse_frequency(min(there, total), total)  # deleted ones count until their segment is merged

    def close_writer(self) -> None:
        """Release the writer; searches still work."""
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
            _remove(self._directory)
            self._directory.mkdir(parents=True)
            index = tantivy.Index(schema(), path=str(self._directory))
            (self._directory / _MARKER).write_text(json.dumps(self._marker), encoding="utf-8")
        return index

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

    @staticmethod
    def _is_failure(error: BaseException) -> bool:
        """Return whether tantivy raised this error; on damaged files its Rust code may panic."""
        return isinstance(error, OSError | ValueError) or type(error).__name__ == _PANIC

    def _usable(self) -> Any:
        index = self._index
        if index is None:
            raise self._closed()
        return index

    def _best(self, terms: Sequence[str], k: int, document_ids: Collection[str] | None) -> Ranked:
        asked = _any_of("text", terms, "freq")
        if document_ids is not None:
            chosen = tantivy.Query.term_set_query(schema(), "document_id", list(document_ids))
            asked = _within(asked, chosen)
        return self._hits(asked, k)

    def _scored(self, terms: Sequence[str], ids: Collection[str]) -> Ranked:
        # Up to fifty ids, a term each takes a third of the time of a term set.
        return self._hits(_within(_any_of("text", terms, "freq"), _any_of("id", ids, "basic")), len(ids))

    def _hits(self, query: Any, k: int) -> Ranked:
        """Return at most `k` (id, score) that match, best first."""
        with self._reading("searched") as searcher:
            hits = searcher.search(query, limit=k, count=False).hits
            return [(searcher.doc(address)["id"][0], float(score)) for score, address in hits]

    def _document(self, entry: Entry) -> Any:
        tokens = self._tokens(entry.text)
        return tantivy.Document(
            id=entry.id, document_id=entry.document_id, language=list(tokens.languages), text=tokens.text
        )

    def _languages(self) -> set[str]:
        with self._reading("searched") as searcher:
            return {code for code, _ in searcher.terms_with_prefix("language", "")}
