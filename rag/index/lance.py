"""BM25 and vector indexes in LanceDB tables, each in a folder of its own."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any, cast

import numpy as np
import pyarrow as pa
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from numpy.typing import ArrayLike

from rag.errors import IndexUnusable
from rag.i18n import N_
from rag.index.exact import Floats, batches, check_lengths, evenly
from rag.index.external import matches_filter
from rag.index.folders import ON_DISK
from rag.index.lance_objects import TableObjects, is_failure, reason_of
from rag.index.lance_table import LanceTable, index_types, one_of
from rag.index.lexical import Entry, LexicalIndex, Ranked, inverse_frequency
from rag.index.vector_index import (
    MISSED,
    SAMPLE,
    Filter,
    Hits,
    Hydrate,
    Scored,
    VectorIndex,
    chosen_documents,
)

GRAPH_FROM = 20_000  # vectors from which a graph is searched; fewer are compared one by one
GRAPH_AGAIN = 1.1  # times as many vectors, from which a graph is tried again that another's commit prevented
TOKENS_LOOKED_UP = 20  # of a row in `LanceWordIndex.check`
WIDEN = 4  # times as many candidates, where a filter left too few
_WORDS, _VECTORS, _MARKER = "words", "vectors", b"footnote"


@dataclass
class _Known:
    """Values read from a table since its last write; a write puts an empty one in its place."""

    languages: set[str] | None = None
    frequencies: dict[str, int] = field(default_factory=dict)  # entries that have a token


class LanceWordIndex(LexicalIndex):
    """BM25 index in a LanceDB table, which needs a directory.

    Scores differ from tantivy's by its rounded lengths of texts, a few in a hundred; more while many rows are
    in no index.
    """

    reads_removed_files = False
    _directory: Path

    def __init__(self, directory: Path, *, objects: TableObjects | None = None, **options: Any):
        """Open or make it; `objects` has the table where it is in an object store."""
        self._objects = objects
        super().__init__(directory, **options)

    def _start(self) -> None:
        if self._directory is None:
            raise ValueError("A LanceWordIndex needs a directory.")
        self._opened: LanceTable | None = None
        self._known = _Known()
        with suppress(IndexUnusable), self._failures("opened"):
            table = LanceTable.find(self._directory, _WORDS, self._objects)
            self._opened = self._usable(table or self._create())

    @property
    def stale(self) -> bool:
        """True where the index must be cleared and filled again before use."""
        return self._opened is None

    def clear(self) -> None:
        """Replace the index by an empty one of the present tokenizer."""
        self.close()
        (self._objects or ON_DISK).remove(self._directory)
        with self._failures("made"):
            self._opened, self._known = self._usable(self._create()), _Known()
        self.damaged = False

    def refresh(self) -> None:
        """Have searches see what other processes have written until now; raises IndexUnusable."""
        with self._failures("read"):
            self._table().refresh()
            self._known = _Known()

    def check(self) -> None:
        """Put the table in order; raise IndexUnusable where rows of a sample are not found by tokens."""
        try:
            self._check_sample()
        except IndexUnusable:
            if not self._table().drop_copy():
                raise
            self._check_sample()
        self.damaged = False

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries, replacing those with the same id; raises IndexUnusable when they cannot be written."""
        kept = {entry.id: entry for entry in entries}
        if kept:
            with self._changing() as table:
                table.put(self._rows(list(kept.values())))

    def delete(self, ids: Collection[str]) -> None:
        """Remove entries; unknown ids are no error."""
        if ids:
            with self._changing() as table:
                table.delete(ids)

    def ids(self) -> set[str]:
        """Return the id of every entry."""
        with self._failures("read"):
            return set(self._table().ids())

    def rarity(self, token: str) -> float:
        """Return a token's inverse document frequency; see `inverse_frequency`."""
        known = self._known
        with self._failures("read"):
            total = self._table().count()
            if token not in known.frequencies:
                known.frequencies[token] = len(self._table().best_matches(token, max(1, total)))
        return inverse_frequency(min(known.frequencies[token], total), total)

    def close_writer(self) -> None:
        """Accept no more writes."""
        if self._opened is not None:
            self._opened.close()

    def close(self) -> None:
        """Release the table; the index cannot be used afterwards."""
        self.close_writer()
        self._opened = None

    def _check_sample(self) -> None:
        with self._failures("read"):
            table = self._table()
            table.put_in_order()
            sample = evenly(sorted(table.ids()), SAMPLE)
            rows = table.rows(["id", "document_id", "text"], one_of("id", sample)) if sample else None
            for row in rows.to_pylist() if rows else ():
                tokens = " ".join(row["text"].split()[:TOKENS_LOOKED_UP])
                for column in ("id", "document_id") if tokens else ():
                    if not table.best_matches(tokens, 1, column, [row[column]]):
                        raise ValueError(f"{row['id']} is not found by its words")

    def _best(self, terms: Sequence[str], k: int, document_ids: Collection[str] | None) -> Ranked:
        with self._failures("searched"):
            return self._table().best_matches(" ".join(terms), k, "document_id", document_ids)

    def _scored(self, terms: Sequence[str], ids: Collection[str]) -> Ranked:
        with self._failures("searched"):
            return self._table().best_matches(" ".join(terms), len(ids), "id", ids)

    def _languages(self) -> set[str]:
        known = self._known
        if known.languages is None:
            with self._failures("searched"):
                spoken = set(self._table().rows(["languages"])["languages"].to_pylist())
            known.languages = {code for codes in spoken for code in codes.split()}
        return known.languages

    @staticmethod
    def _is_failure(error: BaseException) -> bool:
        return is_failure(error)

    @staticmethod
    def _reason(error: BaseException) -> str:
        return reason_of(error)

    def _usable(self, table: LanceTable) -> LanceTable | None:
        """Return the table, with an index of its words; None where another tokenizer made it."""
        marker = (table.schema.metadata or {}).get(_MARKER)
        self.outdated = marker is None or json.loads(marker) != self._marker
        usable = marker and (self._allow_outdated or not self.outdated)
        if usable and not table.has_index("text"):
            self._index_text(table)  # who made the table has not, or not yet
        return table if usable else None

    def _create(self) -> LanceTable:
        columns = [(name, pa.string()) for name in ("id", "document_id", "languages", "text")]
        schema = pa.schema(columns, {_MARKER: json.dumps(self._marker)})
        return LanceTable.make(self._directory, _WORDS, schema, self._objects)

    @staticmethod
    def _index_text(table: LanceTable) -> None:
        unchanged = {"stem": False, "remove_stop_words": False, "lower_case": False, "ascii_folding": False}
        of_tokens = index_types().FTS(base_tokenizer="whitespace", max_token_length=None, **unchanged)
        table.index_if_absent("text", of_tokens)

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

    @contextmanager
    def _changing(self) -> Iterator[LanceTable]:
        try:
            with self._failures("written"):
                yield self._table()
        finally:
            self._known = _Known()

    def _table(self) -> LanceTable:
        if self._opened is None:
            raise self._closed()
        return self._opened


@dataclass
class _Held:
    """Table of a vector index, made for the first vectors; shared by the views of one index."""

    table: LanceTable | None
    graph_of: int = 0  # vectors when the graph was last made; those since have graphs of their own
    prevented_at: int = 0  # vectors when another process's commit last came before that of a graph
    searched: bool = False
    closed: bool = False
    making: RLock = field(default_factory=RLock)


class LanceVectorIndex(VectorIndex):
    """Vector index in a LanceDB table, by cosine; a graph finds candidates once there are many vectors.

    Distances are exact. `hydrate` gives the documents of ids; hits without one are left out. Raises
    IndexUnusable.
    """

    _hydrate: Hydrate
    clamp_relevance = True

    def __init__(
        self,
        embeddings: Embeddings,
        directory: Path,
        hydrate: Hydrate,
        *,
        objects: TableObjects | None = None,
    ):
        self._embeddings = embeddings
        self._directory, self._objects, self.folder = directory, objects, directory.name
        self._hydrate = hydrate
        with self._errors("opened"):
            self._held = _Held(self._opened())
            self._held.graph_of = self._in_graph()

    @classmethod
    def from_texts(cls, *_: Any, **__: Any) -> "LanceVectorIndex":
        """Raise NotImplementedError: texts are kept elsewhere."""
        raise NotImplementedError("Add vectors with add_vectors; texts are kept elsewhere.")

    def refresh(self) -> None:
        """Have searches see what other processes have written until now; raises IndexUnusable."""
        with self._errors("read"):
            if table := self._held.table:
                table.refresh()
            else:
                self._held.table = self._opened()
            if self._held.graph_of == 0:
                self._held.graph_of = self._in_graph()

    @property
    def at_hand(self) -> bool:
        """True where it was searched before, and questions are embedded in this process."""
        return self._held.searched and getattr(self._embeddings, "local", False)

    def add_vectors(
        self, ids: Sequence[str], vectors: ArrayLike, metadatas: Sequence[Mapping[str, Any]]
    ) -> None:
        """Add vectors, float [n, dimension], replacing entries with the same id; of equal ids the last."""
        rows = np.asarray(vectors, np.float32)
        check_lengths(ids=ids, vectors=cast("Sequence[Any]", rows), metadatas=metadatas)
        last = list({id_: row for row, id_ in enumerate(ids)}.values())
        if not last:
            return
        with self._errors("changed"), self._held.making:
            table = self._made(rows.shape[1])
            origins = [str(metadatas[row].get("document_id") or "") for row in last]
            table.put(_arrow([ids[row] for row in last], origins, rows[last]))
            self._make_graph_if_due(table)

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:  # noqa: ARG002
        """Remove entries, all of them without `ids`; unknown ids are no error."""
        gone = sorted(self.ids()) if ids is None else ids
        with self._errors("changed"):
            if gone and (table := self._table()):
                table.delete(gone)
        return True

    def ids(self) -> set[str]:
        """Return the id of every entry."""
        with self._errors("read"):
            return set(table.ids()) if (table := self._table()) else set()

    def check(self) -> None:
        """Raise IndexUnusable where a sample of the entries is not found among its own nearest."""
        try:
            self._check_sample()
        except IndexUnusable:
            table = self._held.table
            if table is None or not table.drop_copy():
                raise
            self._check_sample()

    def present(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that have a vector."""
        with self._errors("read"):
            table = self._table()
            if table is None:
                return set()
            found = [table.rows(["id"], one_of("id", batch)) for batch in batches(ids)]
        return {id_ for rows in found for id_ in rows["id"].to_pylist()}

    def rows_of(self, ids: Sequence[str]) -> tuple[Sequence[str], Floats]:
        """Return the existing ids in order, and their vectors [n, dimension]."""
        found: dict[str, Floats] = {}
        with self._errors("read"):
            if table := self._table():
                for batch in batches(ids):
                    rows = table.rows(["id", "vector"], one_of("id", batch))
                    found.update(zip(rows["id"].to_pylist(), _vectors(rows["vector"]), strict=True))
        there = [id_ for id_ in ids if id_ in found]
        return there, np.asarray([found[id_] for id_ in there], np.float32)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents in the order of their ids; those that are not there are left out."""
        there = self.present(ids)
        found = self._hydrate([id_ for id_ in ids if id_ in there])
        return [found[id_] for id_ in ids if id_ in found]

    def nearest(  # type: ignore[override]
        self,
        vector: Sequence[float],
        k: int,
        *,
        filter: Filter | None = None,  # noqa: A002 - LangChain's name
    ) -> Hits:
        """Return at most `k` ids with their distance, closest first; `filter` limits the search."""
        documents = chosen_documents(filter)
        if k < 1 or documents == []:
            return []
        if filter and documents is None:
            return self._matching(vector, k, filter)
        return self._near(vector, k, None if documents is None else one_of("document_id", documents))

    def similarity_search_by_vector_with_score(
        self, embedding: Sequence[float], k: int = 4, **kwargs: Any
    ) -> Scored:
        """Return documents with their distance from a vector."""
        hits = self.nearest(embedding, k, **kwargs)
        documents = self._hydrate([id_ for id_, _ in hits])
        return [(documents[id_], far) for id_, far in hits if id_ in documents]

    def close_writer(self) -> None:
        """Accept no more writes; searches that run go on."""
        if table := self._held.table:
            table.close()

    def close(self) -> None:
        """Release the table."""
        table, self._held.table, self._held.closed = self._held.table, None, True
        if table is not None:
            table.close()

    def _check_sample(self) -> None:
        there, rows = self.rows_of(self.sample())
        missed = sum(not self.finds(id_, row.tolist()) for id_, row in zip(there, rows, strict=True))
        if missed > MISSED * len(there):
            raise IndexUnusable(
                N_(
                    "The vector index {name} is damaged: it does not find what is in it.",
                    name=self._directory.name,
                )
            )

    def _near(self, vector: Sequence[float], k: int, where: str | None) -> Hits:
        with self._errors("searched"):
            table = self._table()
            if table is None:
                return []
            dimension = table.schema.field("vector").type.list_size
            if len(vector) != dimension:
                raise ValueError(f"it has vectors of {dimension} numbers, not {len(vector)}")
            found = table.nearest(vector, k, where)
        self._held.searched = True
        return found

    def _matching(self, vector: Sequence[float], k: int, chosen: Filter) -> Hits:
        """Return the closest ids whose document matches a filter, from ever more candidates."""
        asked = WIDEN * k
        while True:
            hits = self._near(vector, asked, None)
            documents = self._hydrate([id_ for id_, _ in hits])
            matching = (
                hit
                for hit in hits
                if hit[0] in documents and matches_filter(documents[hit[0]].metadata, chosen)
            )
            found = list(islice(matching, k))
            if len(found) == k or len(hits) < asked:
                return found
            asked *= WIDEN

    def _opened(self) -> LanceTable | None:
        """Open the table; None where nobody has added anything yet."""
        return LanceTable.find(self._directory, _VECTORS, self._objects)

    def _make_graph_if_due(self, table: LanceTable) -> None:
        held, count = self._held, table.count()
        if count < max(GRAPH_FROM, 2 * held.graph_of, GRAPH_AGAIN * held.prevented_at):
            return
        if table.index_anew("vector", index_types().HnswSq(distance_type="cosine")):
            held.graph_of = count
        else:
            table.refresh()  # another process may have made it
            held.prevented_at, held.graph_of = count, held.graph_of or self._in_graph()

    def _in_graph(self) -> int:
        """Return about how many vectors the graph was made of."""
        table = self._held.table
        return table.count() if table and table.has_index("vector") else 0

    def _table(self) -> LanceTable | None:
        """Return the table, or None where nothing was added yet."""
        if self._held.closed:
            raise ValueError("it is closed")
        return self._held.table

    def _made(self, dimension: int) -> LanceTable:
        if (table := self._table()) is None:
            vector = pa.list_(pa.float32(), dimension)
            schema = pa.schema([("id", pa.string()), ("document_id", pa.string()), ("vector", vector)])
            table = self._held.table = LanceTable.make(self._directory, _VECTORS, schema, self._objects)
        return table

    @contextmanager
    def _errors(self, done: str) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if not is_failure(error):
                raise
            raise IndexUnusable(
                N_(
                    "The vector index {name} could not be {done}: {said}",
                    name=self._directory.name,
                    done=done,
                    said=reason_of(error),
                )
            ) from error


def _arrow(ids: Sequence[str], document_ids: Sequence[str], vectors: Floats) -> pa.Table:
    flat = pa.array(np.ascontiguousarray(vectors).ravel())
    rows = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return pa.table({"id": list(ids), "document_id": list(document_ids), "vector": rows})


def _vectors(column: pa.ChunkedArray) -> Floats:
    """Return a column of vectors as float32 [n, dimension]."""
    rows = column.combine_chunks()
    flat = rows.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, np.float32).reshape(len(rows), column.type.list_size)
