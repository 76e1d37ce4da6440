"""BM25 and vector indexes in LanceDB tables: a folder for each index, plain files that never change.

Every write is a commit of the table: a search sees all of it or nothing, and a killed process leaves the last
commit. Rows that no index holds yet, loose ones, are searched one by one, until the table is put in order:
where there are many, or none has come for a while.
"""

import json
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from numpy.typing import ArrayLike

from rag.errors import IndexUnusable
from rag.i18n import N_
from rag.index.chroma import EQUAL, MISSED, NEAREST, SAMPLE
from rag.index.exact import Floats, batches, check_lengths
from rag.index.external import matches_filter
from rag.index.lexical import Entry, LexicalIndex, Ranked, inverse_frequency
from rag.index.vector_index import Filter, Hits, Hydrate, Scored, VectorIndex, chosen_documents

LOOSE = 1_000  # rows outside the indexes, or a tenth of the table, after which these take them in
SETTLED = 5.0  # seconds after the last write, from which a search has them taken in
GRAPH_FROM = 20_000  # vectors from which a graph is searched; fewer are compared one by one
KEPT = timedelta(minutes=10)  # for which a replaced version's files stay: a search may still read them
WIDEN = 4  # times as many candidates, where a filter left too few
_PANIC = "PanicException"  # a BaseException that no module exports
_WORDS, _VECTORS = "words", "vectors"


def _connect(directory: Path) -> Any:
    import lancedb  # takes more than a second

    return lancedb.connect(str(directory))


def is_lance_failure(error: BaseException) -> bool:
    """Return whether LanceDB, or the disk, raised this error."""
    return isinstance(error, OSError | ValueError | RuntimeError) or type(error).__name__ == _PANIC


class LanceTable:
    """Table of rows with an "id" in a folder; one writer at a time, any number of searches.

    Raises what LanceDB raises, see `is_lance_failure`.
    """

    def __init__(self, directory: Path, name: str):
        self._database = _connect(directory)
        self._table = self._database.open_table(name)
        self._writing = RLock()
        self._written = 0.0  # time of the last write, by the monotonic clock
        self._loose = self._count_loose()

    @classmethod
    def make(cls, directory: Path, name: str, schema: Any) -> "LanceTable":
        """Make an empty table in place of what the folder holds."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        made = _connect(directory).create_table(name, schema=schema)
        for column in ("id", "document_id"):
            made.create_index(column, config=_index().BTree())
        return cls(directory, name)

    @property
    def metadata(self) -> Mapping[bytes, bytes]:
        """What was said of the table when it was made."""
        return self._table.schema.metadata or {}

    def count(self) -> int:
        """Return the number of rows."""
        return int(self._table.count_rows())

    def index(self, column: str, config: Any) -> None:
        """Index a column; what stands in it is searched through the index from then on."""
        with self._writing:
            self._table.create_index(column, config=config)

    def indexed(self, column: str) -> bool:
        """Return whether a column has an index."""
        return any(column in index.columns for index in self._table.list_indices())

    def put(self, rows: Any) -> None:
        """Add rows, an Arrow table, replacing those with the same id, in one commit."""
        with self._writing:
            merge = self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            merge.execute(rows)
            self._loose, self._written = self._loose + rows.num_rows, time.monotonic()
            if self._loose >= max(LOOSE, self.count() // 10):
                self.tidy()

    def delete(self, ids: Iterable[str]) -> None:
        """Remove rows; unknown ids are no error."""
        with self._writing:
            for batch in batches(list(ids)):
                self._table.delete(_in("id", batch))

    @property
    def loose(self) -> bool:
        """True where rows are outside the indexes; takes them in where none has come for a while."""
        if self._loose and time.monotonic() - self._written > SETTLED:
            self.tidy()
        return self._loose > 0

    def tidy(self) -> None:
        """Take all rows into the indexes, join small files, and remove those of replaced versions."""
        with self._writing:
            self._table.optimize(cleanup_older_than=KEPT)
            self._loose = 0

    def rows(self, columns: Sequence[str], where: str | None = None) -> Any:
        """Return rows as an Arrow table."""
        asked = self._table.search().select(list(columns))
        return (asked.where(where) if where else asked).to_arrow()

    def ids(self) -> list[str]:
        """Return every id."""
        return list(self.rows(["id"])["id"].to_pylist())

    def best(self, tokens: str, k: int, column: str = "id", values: Collection[str] | None = None) -> Ranked:
        """Return at most `k` (id, score) of rows that have any of the tokens, and one of the values."""
        search = self._table.search(_match_query(tokens), query_type="fts").select(["id", "_score"])
        if values is None:
            return _ranked(search.limit(k), "_score")
        if not self.loose:
            return _ranked(search.limit(k).where(_in(column, values), prefilter=True), "_score")
        # Loose rows would be scored as if those chosen were the whole table.
        found = search.select(list({"id", column, "_score"})).limit(max(1, self.count())).to_arrow()
        wanted = pc.is_in(found[column], pa.array(list(values)))
        return _pairs(found.filter(wanted).slice(0, k), "_score")

    def near(self, vector: Sequence[float], k: int, where: str | None) -> Hits:
        """Return at most `k` (id, cosine distance) closest to a vector."""
        search = self._table.search(list(vector), vector_column_name="vector").distance_type("cosine")
        search = search.refine_factor(2).select(["id", "_distance"]).limit(k)
        return _ranked(search.where(where, prefilter=True) if where else search, "_distance")

    def _count_loose(self) -> int:
        held = [self._table.index_stats(index.name) for index in self._table.list_indices()]
        return max((stats.num_unindexed_rows for stats in held if stats), default=0)


def _ranked(search: Any, score: str) -> Ranked:
    return _pairs(search.to_arrow(), score)


def _pairs(found: pa.Table, score: str) -> Ranked:
    """Return the ids and scores of found rows."""
    return list(zip(found["id"].to_pylist(), map(float, found[score].to_pylist()), strict=True))


def _index() -> Any:
    import lancedb.index

    return lancedb.index


def _match_query(tokens: str) -> Any:
    from lancedb.query import MatchQuery

    query: Any = MatchQuery  # its types know no defaults
    return query(tokens, "text")


def _in(column: str, values: Iterable[str]) -> str:
    """Return a condition as SQL.

    >>> _in("id", ["a", "o'b"])
    "id IN ('a', 'o''b')"
    """
    return f"{column} IN ({', '.join(_quoted(value) for value in values)})"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


class LanceWordIndex(LexicalIndex):
    """BM25 index in a LanceDB table, whose scores are those of tantivy but for its rounded lengths."""

    _directory: Path

    def _start(self) -> None:
        self._opened: LanceTable | None = None
        self._spoken: set[str] | None = None
        self._frequencies: dict[str, int] = {}  # entries that have a token, since the last write
        if not self._directory.exists():
            self._opened = self._create()
            return
        with suppress(IndexUnusable), self._failures("opened"):
            self._opened = self._open_table()

    @property
    def stale(self) -> bool:
        """True where the index must be cleared and filled again before use."""
        return self._opened is None

    def clear(self) -> None:
        """Replace the index by an empty one of the present tokenizer."""
        self._opened = self._create()
        self._forget()
        self.damaged = False

    def check(self) -> None:
        """Raise IndexUnusable where rows cannot be read; the disk must tell changed bytes."""
        with self._failures("read"):
            self._table().rows(["id", "document_id", "languages", "text"])
            self.damaged = False

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries, replacing those with the same id; raises IndexUnusable when they cannot be written."""
        kept = {entry.id: entry for entry in entries}
        if kept:
            with self._failures("written"):
                self._table().put(self._rows(list(kept.values())))
                self._forget()

    def delete(self, ids: Collection[str]) -> None:
        """Remove entries; unknown ids are no error."""
        if ids:
            with self._failures("written"):
                self._table().delete(ids)
                self._forget()

    def ids(self) -> set[str]:
        """Return the id of every entry."""
        with self._failures("read"):
            return set(self._table().ids())

    def rarity(self, token: str) -> float:
        """Return a token's inverse document frequency; see `inverse_frequency`."""
        with self._failures("read"):
            table = self._table()
            total = table.count()
            if token not in self._frequencies:
                self._frequencies[token] = len(self._matching([token], max(1, total)))
            return inverse_frequency(min(self._frequencies[token], total), total)

    def close_writer(self) -> None:
        """Do nothing: no thread writes between two calls."""

    def close(self) -> None:
        """Release the table; the index cannot be used afterwards."""
        self._opened = None

    def _best(self, terms: Sequence[str], k: int, document_ids: Collection[str] | None) -> Ranked:
        return self._matching(terms, k, "document_id", document_ids)

    def _scored(self, terms: Sequence[str], ids: Collection[str]) -> Ranked:
        return self._matching(terms, len(ids), "id", ids)

    def _matching(
        self, terms: Sequence[str], k: int, column: str = "id", values: Collection[str] | None = None
    ) -> Ranked:
        with self._failures("searched"):
            return self._table().best(" ".join(terms), k, column, values)

    def _languages(self) -> set[str]:
        with self._failures("searched"):
            if self._spoken is None:
                spoken = set(self._table().rows(["languages"])["languages"].to_pylist())
                self._spoken = {code for codes in spoken for code in codes.split()}
            return self._spoken

    @staticmethod
    def _is_failure(error: BaseException) -> bool:
        return is_lance_failure(error)

    def _open_table(self) -> LanceTable | None:
        table = LanceTable(self._directory, _WORDS)
        self.outdated = json.loads(table.metadata[b"footnote"]) != self._marker
        return None if self.outdated and not self._allow_outdated else table

    def _create(self) -> LanceTable:
        self.outdated = False
        names = ("id", "document_id", "languages", "text")
        schema = pa.schema([(name, pa.string()) for name in names], {"footnote": json.dumps(self._marker)})
        as_they_are = {"stem": False, "remove_stop_words": False, "lower_case": False, "ascii_folding": False}
        with self._failures("made"):
            table = LanceTable.make(self._directory, _WORDS, schema)
            fts = _index().FTS(base_tokenizer="whitespace", max_token_length=None, **as_they_are)
            table.index("text", fts)
            return table

    def _rows(self, entries: Sequence[Entry]) -> pa.Table:
        made = [self._tokens(entry.text) for entry in entries]
        return pa.table(
            {
                "id": [entry.id for entry in entries],
                "document_id": [entry.document_id for entry in entries],
                "languages": [" ".join(tokens.languages) for tokens in made],
                "text": [tokens.text for tokens in made],
            }
        )

    def _forget(self) -> None:
        self._spoken, self._frequencies = None, {}

    def _table(self) -> LanceTable:
        if self._opened is None:
            raise self._closed()
        return self._opened


class LanceVectorIndex(VectorIndex):
    """Vector index in a LanceDB table, by cosine; a graph finds candidates once there are many vectors.

    Distances are exact. `hydrate` gives the documents of ids; hits without one are left out. Raises
    IndexUnusable.
    """

    _hydrate: Hydrate
    clamp_relevance = True

    def __init__(self, embeddings: Embeddings, directory: Path, hydrate: Hydrate):
        self._embeddings = embeddings
        self._directory = directory
        self._hydrate = hydrate
        self._searched = False
        self._making = RLock()  # the table is made for the first vectors
        with self._errors("opened"):
            there = (directory / f"{_VECTORS}.lance").exists()
            self._table = LanceTable(directory, _VECTORS) if there else None
        self._closed = False

    @classmethod
    def from_texts(cls, *_: Any, **__: Any) -> "LanceVectorIndex":
        """Raise NotImplementedError: texts are kept elsewhere."""
        raise NotImplementedError("Add vectors with add_vectors; texts are kept elsewhere.")

    @property
    def at_hand(self) -> bool:
        """True where it was searched before, and questions are embedded in this process."""
        return self._searched and getattr(self._embeddings, "local", False)

    def add_vectors(
        self, ids: Sequence[str], vectors: ArrayLike, metadatas: Sequence[Mapping[str, Any]]
    ) -> None:
        """Add vectors, float [n, dimension], replacing entries with the same id; of equal ids the last."""
        rows = np.asarray(vectors, np.float32)
        check_lengths(ids=ids, vectors=cast("Sequence[Any]", rows), metadatas=metadatas)
        last = list({id_: row for row, id_ in enumerate(ids)}.values())
        if not last:
            return
        with self._errors("changed"), self._making:
            table = self._made(rows.shape[1])
            origins = [str(metadatas[row].get("document_id") or "") for row in last]
            table.put(_arrow([ids[row] for row in last], origins, rows[last]))
            if not table.indexed("vector") and table.count() >= GRAPH_FROM:
                table.index("vector", _index().HnswSq(distance_type="cosine"))

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:  # noqa: ARG002
        """Remove entries, all of them without `ids`; unknown ids are no error."""
        gone = sorted(self.ids()) if ids is None else ids
        with self._errors("changed"):
            if gone and (table := self._there()):
                table.delete(gone)
        return True

    def ids(self) -> set[str]:
        """Return the id of every entry."""
        with self._errors("read"):
            return set(table.ids()) if (table := self._there()) else set()

    def check(self) -> None:
        """Raise IndexUnusable where a sample of the entries is not among its own nearest."""
        ids = sorted(self.ids())
        there, rows = self.rows_of(ids[:: max(1, -(-len(ids) // SAMPLE))])
        missed = sum(not self._finds(id_, row.tolist()) for id_, row in zip(there, rows, strict=True))
        if missed > MISSED * len(there):
            raise IndexUnusable(
                N_(
                    "The vector index {name} is damaged: it does not find what is in it.",
                    name=self._directory.name,
                )
            )

    def present(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that have a vector."""
        with self._errors("read"):
            table = self._there()
            if table is None:
                return set()
            found = [table.rows(["id"], _in("id", batch)) for batch in batches(ids)]
        return {id_ for rows in found for id_ in rows["id"].to_pylist()}

    def rows_of(self, ids: Sequence[str]) -> tuple[Sequence[str], Floats]:
        """Return the existing ids in order, and their vectors [n, dimension]."""
        found: dict[str, Floats] = {}
        with self._errors("read"):
            if table := self._there():
                for batch in batches(ids):
                    rows = table.rows(["id", "vector"], _in("id", batch))
                    found.update(zip(rows["id"].to_pylist(), _vectors(rows["vector"]), strict=True))
        there = [id_ for id_ in ids if id_ in found]
        return there, np.asarray([found[id_] for id_ in there], np.float32)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents in the order of their ids; those that are not there are left out."""
        found = self._hydrate([id_ for id_ in ids if id_ in self.present(ids)])
        return [found[id_] for id_ in ids if id_ in found]

    def nearest(self, vector: Sequence[float], k: int, **kwargs: Any) -> Hits:
        """Return at most `k` ids with their distance, closest first; `filter` limits the search."""
        chosen: Filter | None = kwargs.get("filter")
        documents = chosen_documents(chosen)
        if k < 1 or documents == []:
            return []
        if chosen and documents is None:
            return self._matching(vector, k, chosen)
        return self._near(vector, k, None if documents is None else _in("document_id", documents))

    def similarity_search_by_vector_with_score(
        self, embedding: Sequence[float], k: int = 4, **kwargs: Any
    ) -> Scored:
        """Return documents with their distance from a vector."""
        hits = self.nearest(embedding, k, **kwargs)
        documents = self._hydrate([id_ for id_, _ in hits])
        return [(documents[id_], far) for id_, far in hits if id_ in documents]

    def close(self) -> None:
        """Release the table."""
        self._table, self._closed = None, True

    def _finds(self, id_: str, vector: Sequence[float]) -> bool:
        """Return whether an entry is among the nearest of its vector, or all of those equal it."""
        hits = self.nearest(vector, NEAREST)
        return id_ in {near for near, _ in hits} or (bool(hits) and hits[-1][1] < EQUAL)

    def _near(self, vector: Sequence[float], k: int, where: str | None) -> Hits:
        with self._errors("searched"):
            table = self._there()
            found = table.near(vector, k, where) if table else []
            self._searched = True
            return found

    def _matching(self, vector: Sequence[float], k: int, chosen: Filter) -> Hits:
        """Return the closest ids whose document matches a filter, from ever more candidates."""
        asked, count = WIDEN * k, len(self.ids())
        while True:
            hits = self._near(vector, asked, None)
            documents = self._hydrate([id_ for id_, _ in hits])
            matching = (
                hit
                for hit in hits
                if hit[0] in documents and matches_filter(documents[hit[0]].metadata, chosen)
            )
            found = list(islice(matching, k))
            if len(found) == k or asked >= count:
                return found
            asked *= WIDEN

    def _there(self) -> LanceTable | None:
        """Return the table, or None where nothing was added yet."""
        if self._closed:
            raise ValueError("it is closed")
        return self._table

    def _made(self, dimension: int) -> LanceTable:
        if (table := self._there()) is None:
            vector = pa.list_(pa.float32(), dimension)
            schema = pa.schema([("id", pa.string()), ("document_id", pa.string()), ("vector", vector)])
            table = self._table = LanceTable.make(self._directory, _VECTORS, schema)
        return table

    @contextmanager
    def _errors(self, done: str) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if not is_lance_failure(error) or isinstance(error, IndexUnusable):
                raise
            raise IndexUnusable(
                N_(
                    "The vector index {name} could not be {done}: {said}",
                    name=self._directory.name,
                    done=done,
                    said=error,
                )
            ) from error


def _arrow(ids: Sequence[str], document_ids: Sequence[str], vectors: Floats) -> pa.Table:
    flat = pa.array(np.ascontiguousarray(vectors).ravel())
    rows = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return pa.table({"id": list(ids), "document_id": list(document_ids), "vector": rows})


def _vectors(column: Any) -> Floats:
    """Return a column of vectors as float32 [n, dimension]."""
    rows = column.combine_chunks()
    flat = rows.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, np.float32).reshape(len(rows), column.type.list_size)
