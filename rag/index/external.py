"""Vector index over any LangChain vector store, which finds candidates; kept vectors score them."""

import hashlib
import importlib
import inspect
import json
import logging
import operator
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from numpy.typing import ArrayLike

from rag.errors import FootnoteError, IndexUnusable, SettingsError, StoreFailed
from rag.i18n import N_
from rag.index.exact import Floats, VectorFile, batches, distances
from rag.index.folders import ON_DISK, IndexFolders
from rag.index.vector_index import Filter, Hits, Hydrate, VectorIndex, chosen_documents, documents_of
from rag.text.normalize import clean

if TYPE_CHECKING:
    from rag.index.lance_objects import TableObjects

log = logging.getLogger(__name__)
CHROMA, LANCE, LANCE_OBJECTS = "chroma", "lance", "lance-objects"
BUILT_IN = (CHROMA, LANCE, LANCE_OBJECTS)  # stores with a folder for each index
EMBEDDING_NAMES = ("embedding", "embeddings", "embedding_function", "embedding_model")
"""Constructor arguments of LangChain stores that take the embedding model."""
CHUNK = "chunk_id"
BATCH = 500  # entries asked for at once
DETAIL = 200  # characters of a store's own error message
QUESTION = "question"
"""Query text for a store that takes no vector; its embedding is the precomputed one."""
LEAST, WIDEST = 50, 1000
"""Candidates asked for at first and at most; beyond that all kept vectors are compared."""
SPARE = 20  # hits read beyond those wanted: a chunk that was just removed has no text
PROBES = 5  # chunks looked for in a store that cannot be asked for entries by id
Scored = list[tuple[Document, float]]


class PrecomputedEmbeddings(Embeddings):
    """Embeddings wrapper that returns precomputed vectors, for one thread at a time.

    Stores embed the texts they are given, and ours are embedded before. Any other text is embedded.
    """

    def __init__(self, embeddings: Embeddings):
        self._embeddings = embeddings
        self._passages: dict[str, deque[list[float]]] = {}
        self._question: list[float] | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the precomputed vectors of these texts, in order; equal texts have each their own."""
        return [self._next_vector(text) or self._embeddings.embed_documents([text])[0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the precomputed vector, whatever the question."""
        return self._question or self._embeddings.embed_query(text)

    @contextmanager
    def returning(
        self,
        texts: Sequence[str] = (),
        vectors: Sequence[list[float]] = (),
        question: Sequence[float] | None = None,
    ) -> Iterator[None]:
        """Set the vectors of texts, or that of a question."""
        for text, vector in zip(texts, vectors, strict=True):
            self._passages.setdefault(text, deque()).append(vector)
        self._question = None if question is None else list(question)
        try:
            yield
        finally:
            self._passages, self._question = {}, None

    def _next_vector(self, text: str) -> list[float] | None:
        """Return a text's next vector, and put it last: a store may ask twice."""
        vectors = self._passages.get(text)
        if not vectors:
            return None
        vectors.rotate(-1)
        return vectors[-1]


@dataclass(frozen=True)
class StoreSpec:
    """Vector store of the settings: "chroma", "lance" or "package.module:Class" with its arguments.

    "{owner}" in an argument stands for the owner's folder name. "lance-objects" has its tables in `tables`,
    or in a folder `root` that other processes use, too.
    """

    name: str = CHROMA
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)  # may hold a password
    tables: "TableObjects | None" = field(default=None, repr=False, compare=False)
    root: Path | None = field(default=None, compare=False)

    @property
    def identity(self) -> str:
        """Name of this store with a hash of its arguments, which may hold secrets.

        >>> StoreSpec().identity, StoreSpec("a.b:C", {"path": "x"}).identity
        ('chroma', 'a.b:C with arguments 55fb3416')
        """
        if not self.arguments:
            return self.name
        given = json.dumps(self.arguments, sort_keys=True, ensure_ascii=False)
        return f"{self.name} with arguments {hashlib.sha256(given.encode()).hexdigest()[:8]}"

    @property
    def shared(self) -> bool:
        """True where any number of processes may use the words and the vectors at once."""
        return self.name == LANCE_OBJECTS

    @property
    def built_in(self) -> bool:
        """True for a store of ours, whose indexes are folders, so that two can stand beside each other."""
        return self.name in BUILT_IN

    @property
    def folders(self) -> IndexFolders:
        """Folders of the indexes of a built-in store."""
        return self.tables or ON_DISK

    def check(self) -> None:
        """Raise SettingsError where the class does not exist, is no store, or refuses the arguments.

        Also where LanceDB is wanted and not installed.
        """
        if not self.built_in:
            _ = self._takes_arguments_itself
            return
        if self.name in (LANCE, LANCE_OBJECTS) and find_spec("lancedb") is None:
            raise SettingsError(
                N_(
                    "FOOTNOTE_VECTOR_STORE is {name}, and LanceDB is not installed. Install it with "
                    "`pip install 'footnote[lance]'`, or name another store.",
                    name=self.name,
                )
            )
        if self.arguments:
            raise SettingsError(
                N_(
                    "FOOTNOTE_VECTOR_STORE_ARGUMENTS is set, but {name} takes none. "
                    "Remove it, or name another store in FOOTNOTE_VECTOR_STORE.",
                    name=self.name,
                )
            )

    def open(self, embeddings: Embeddings, owner: str) -> VectorStore | None:
        """Return the store, or None where it can only be created with its first texts: see `make`."""
        if self._takes_arguments_itself:
            arguments = _with_owner(self.arguments, owner)
            return self.store(**{_embedding_name(self.store) or "": embeddings}, **arguments)
        try:
            return self.make([], [], [], embeddings, owner)
        except (IndexError, ValueError, TypeError):  # such as FAISS, which reads its dimension off a vector
            return None

    def make(
        self,
        texts: list[str],
        metadatas: list[dict[str, Any]],
        ids: list[str],
        embeddings: Embeddings,
        owner: str,
    ) -> VectorStore:
        """Return the store with these texts in it."""
        named = {"ids": ids} if ids else {}
        arguments = {**_with_owner(self.arguments, owner), **named}
        return self.store.from_texts(texts, embeddings, metadatas, **arguments)

    def without_arguments(self, text: str) -> str:
        """Return a text with the arguments, which may be secrets, replaced by "…".

        >>> StoreSpec("a.b:C", {"url": "http://ann:pw@db"}).without_arguments("no host http://ann:pw@db")
        'no host …'
        """
        for value in _secret_texts(self.arguments):
            text = text.replace(value, "…")
        return text

    @cached_property
    def store(self) -> type[VectorStore]:
        """The class; raises SettingsError where it cannot be imported."""
        module, _, name = self.name.partition(":")
        found = getattr(_import_module(module), name, None)
        if found is None:
            raise SettingsError(
                N_(
                    "The module {module} has no {name}. Correct FOOTNOTE_VECTOR_STORE.",
                    module=module,
                    name=name,
                )
            )
        if not (inspect.isclass(found) and issubclass(found, VectorStore)):
            raise SettingsError(
                N_(
                    "{name} is not a vector store of LangChain's kind. Correct FOOTNOTE_VECTOR_STORE.",
                    name=self.name,
                )
            )
        return found

    @cached_property
    def _takes_arguments_itself(self) -> bool:
        """True where the constructor takes the arguments, not from_texts; SettingsError if neither does."""
        constructor, from_texts = inspect.signature(self.store), inspect.signature(self.store.from_texts)
        name = _embedding_name(self.store)
        try:
            constructor.bind(**{name or "": None}, **self.arguments)
            return name is not None
        except TypeError as error:
            refused = error
        foreign = self.arguments.keys() - constructor.parameters.keys() - from_texts.parameters.keys()
        complete = name is not None and _required(constructor) <= {name, *self.arguments}
        if foreign and complete:
            raise self._refusal(refused) from refused
        try:
            from_texts.bind([], None, [], **self.arguments)
        except TypeError as error:
            raise self._refusal(error) from error
        return False

    def _refusal(self, error: TypeError) -> SettingsError:
        return SettingsError(
            N_(
                "{name} cannot be made with the arguments in FOOTNOTE_VECTOR_STORE_ARGUMENTS: {reason}.",
                name=self.name,
                reason=error,
            )
        )


def _import_module(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = (error.name or module).split(".")[0]
        raise SettingsError(
            N_(
                "The vector store's module {module} cannot be imported: {reason}. Install its "
                "package, as with `pip install {replace}`, or correct FOOTNOTE_VECTOR_STORE.",
                module=module,
                reason=error,
                replace=missing.replace("_", "-"),
            )
        ) from error


def _embedding_name(store: type[VectorStore]) -> str | None:
    parameters = inspect.signature(store).parameters
    return next((name for name in EMBEDDING_NAMES if name in parameters), None)


def _required(signature: inspect.Signature) -> set[str]:
    return {
        name
        for name, parameter in signature.parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def _with_owner(value: Any, owner: str) -> Any:
    """Put the owner's folder name in place of "{owner}": {"path": "db/{owner}"} -> {"path": "db/5f0c"}."""
    if isinstance(value, str):
        return value.replace("{owner}", owner)
    if isinstance(value, Mapping):
        return {key: _with_owner(item, owner) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_owner(item, owner) for item in value]
    return value


def _secret_texts(value: Any) -> Iterator[str]:
    """Yield every text among arguments that is long enough to be a secret."""
    if isinstance(value, str):
        yield from [value] if len(value) > 3 else []
    elif isinstance(value, Mapping):
        yield from (text for item in value.values() for text in _secret_texts(item))
    elif isinstance(value, list | tuple):
        yield from (text for item in value for text in _secret_texts(item))


class ExternalStore:
    """LangChain vector store opened for one owner, limited to what every store can do. Thread-safe.

    An entry's id is a UUID made of the chunk's id, which every store takes. Raises StoreFailed for any error.
    """

    def __init__(self, spec: StoreSpec, embeddings: Embeddings, owner: str):
        self.name = spec.name
        self._spec, self._owner = spec, owner
        self._embeddings = PrecomputedEmbeddings(embeddings)
        self._lock = RLock()  # many in-memory stores cannot be read during a write
        with self._errors("opened"):
            self._store: VectorStore | None = spec.open(self._embeddings, owner)

    def put(self, ids: Sequence[str], texts: Sequence[str], vectors: Floats) -> None:
        """Add chunks with their vectors [n, dimension], replacing those with the same id."""
        if not ids:
            return
        entries = (list(texts), [{CHUNK: id_} for id_ in ids], [_entry_id(id_) for id_ in ids])
        with self._errors("changed"), self._embeddings.returning(texts, vectors.tolist()):
            if self._store is None:
                self._store = self._spec.make(*entries, self._embeddings, self._owner)
                return
            self._delete(self._store, sorted(self._held(self._store, ids) or ()))
            contents, metadatas, entry_ids = entries
            self._store.add_texts(contents, metadatas, ids=entry_ids)

    def remove(self, ids: Sequence[str]) -> None:
        """Remove chunks; unknown ones are no error, although many stores raise one."""
        with self._errors("changed"):
            if self._store is not None:
                held = self._held(self._store, ids)
                self._delete(self._store, list(ids) if held is None else sorted(held))

    def held(self, ids: Sequence[str]) -> set[str] | None:
        """Return the chunks that the store holds; None where it cannot be asked by id."""
        with self._errors("read"):
            return set() if self._store is None else self._held(self._store, ids)

    def near(self, vector: Sequence[float], count: int) -> list[str]:
        """Return about `count` chunks near a vector, of any owner, each once."""
        with self._errors("searched"):
            if self._store is None:
                return []
            try:
                found = self._store.similarity_search_by_vector(list(vector), k=count)
            except NotImplementedError:
                with self._embeddings.returning(question=vector):
                    found = self._store.similarity_search(QUESTION, k=count)
        return list(dict.fromkeys(_chunk_ids(found)))

    def close(self) -> None:
        """Close the store or its client, where either has a close method."""
        with self._errors("closed"):
            parts = [self._store, *(getattr(self._store, name, None) for name in ("client", "_client"))]
            closes = (getattr(part, "close", None) for part in parts)
            close = next((close for close in closes if callable(close)), None)
            if close is not None:
                close()

    def _held(self, store: VectorStore, ids: Sequence[str]) -> set[str] | None:
        found: set[str] = set()
        try:
            for start in range(0, len(ids), BATCH):
                entry_ids = [_entry_id(id_) for id_ in ids[start : start + BATCH]]
                found.update(_chunk_ids(store.get_by_ids(entry_ids)))
        except NotImplementedError:
            return None
        return found

    def _delete(self, store: VectorStore, ids: Sequence[str]) -> None:
        if not ids:
            return
        try:
            store.delete([_entry_id(id_) for id_ in ids])
        except NotImplementedError:
            log.warning("%s cannot delete: %d entries stay in it, and are not shown.", self.name, len(ids))

    @contextmanager
    def _errors(self, done: str) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except FootnoteError:
            raise
        except Exception as error:  # any store may fail in any way
            said = self._spec.without_arguments(clean(str(error)))[:DETAIL]
            raise StoreFailed(
                N_(
                    "The vector store {name} could not be {done} ({error}: {reason}). Mend it, or name "
                    "another in FOOTNOTE_VECTOR_STORE.",
                    name=self.name,
                    done=done,
                    error=type(error).__name__,
                    reason=said,
                )
            ) from error


def _entry_id(chunk_id: str) -> str:
    return str(uuid5(NAMESPACE_URL, chunk_id))


def _chunk_ids(documents: Sequence[Document]) -> Iterator[str]:
    """Yield the chunk ids of entries, without entries that are not ours."""
    return (str(found.metadata[CHUNK]) for found in documents if CHUNK in found.metadata)


class ExternalVectorIndex(VectorIndex):
    """Vector index over the chunks of one owner in the external store of `spec`.

    The store only finds candidates. Their vectors, kept in `directory`, give cosine distances and refill a
    store that has lost them. `hydrate` gives the owner's texts, so that no other owner's chunk is shown.
    Raises StoreFailed for errors of the store, IndexUnusable for those of the kept vectors.
    """

    _hydrate: Hydrate
    clamp_relevance = True

    def __init__(
        self,
        spec: StoreSpec,
        embeddings: Embeddings,
        directory: Path,
        owner: str,
        hydrate: Hydrate,
        *,
        refill: bool = False,
    ):
        """`owner` is the folder name that "{owner}" stands for; `refill` gives the store what it has lost."""
        self._embeddings = embeddings
        self._hydrate = hydrate
        with self._errors("opened"):
            directory.mkdir(parents=True, exist_ok=True)
            self._kept = VectorFile(directory, "kept")
        with ExitStack() as opened:
            opened.callback(self._kept.close)
            self._store = ExternalStore(spec, embeddings, owner)
            opened.callback(self._store.close)
            if refill:
                self.refill()
            opened.pop_all()

    @classmethod
    def from_texts(cls, *_: Any, **__: Any) -> "ExternalVectorIndex":
        """Raise NotImplementedError: the store's own class makes one of texts."""
        raise NotImplementedError("Make a store of texts with its own class.")

    def refill(self) -> None:
        """Add the kept vectors that the store has lost since it was last open."""
        lost = self._lost()
        if lost:
            log.warning("Putting %d vectors back into %s", len(lost), self._store.name)
        for batch in batches(lost):
            self._put(*self.rows_of(batch))

    def add_vectors(
        self, ids: Sequence[str], vectors: ArrayLike, metadatas: Sequence[Mapping[str, Any]]
    ) -> None:
        """Add vectors to the store, then to the kept ones, so that an interrupted write is repeated."""
        rows = np.asarray(vectors, np.float32)
        self._put(ids, rows)
        with self._errors("changed"):
            self._kept.put(ids, documents_of(metadatas), rows)

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:  # noqa: ARG002
        """Remove entries, all of them without `ids`; unknown ids are no error."""
        for batch in batches(sorted(self.ids()) if ids is None else ids):
            self._store.remove(batch)
            with self._errors("changed"):
                self._kept.delete(batch)
        return True

    def ids(self) -> set[str]:
        """Return the id of every chunk."""
        with self._errors("read"):
            return self._kept.ids()

    def present(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that have a vector."""
        return set(self.vectors_of(ids))

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return chunks in the order of their ids; those that are not there are left out."""
        found = self._hydrate(list(self.vectors_of(ids)))
        return [found[id_] for id_ in ids if id_ in found]

    def nearest(self, vector: Sequence[float], k: int, **kwargs: Any) -> Hits:
        """Return at most `k` ids with their distance, closest first; `filter` limits the search."""
        found = self.similarity_search_by_vector_with_score(vector, k, **kwargs)
        return [(str(document.id), far) for document, far in found]

    def close(self) -> None:
        """Release the kept vectors and the store."""
        self._kept.close()
        self._store.close()

    def similarity_search_by_vector_with_score(  # type: ignore[override]
        self,
        embedding: Sequence[float],
        k: int = 4,
        filter: Filter | None = None,  # noqa: A002 - LangChain's name
    ) -> Scored:
        """Return the `k` closest chunks with their distance, from ever more candidates, then from all."""
        with self._errors("read"):
            count = self._kept.count()
        asked = min(max(2 * k, LEAST), count)
        while 0 < asked <= WIDEST and k > 0:
            candidates = self._store.near(embedding, asked)
            found = self._read_hits(self._ranked(embedding, candidates), k, filter)
            if len(found) == k or len(self.present(candidates)) == count:
                return found
            if asked == count:
                break
            asked = min(4 * asked, count)
        return self._read_hits(self._all_ranked(embedding, k, filter), k, filter) if k > 0 < count else []

    def _ranked(self, vector: Sequence[float], ids: Sequence[str]) -> list[tuple[str, float]]:
        """Return the owner's ids among these with their distance, closest first."""
        mine, numbers = self.rows_of(ids)
        if not mine:
            return []
        found = distances(numbers, np.asarray(vector, np.float32), "cosine")
        return [(mine[row], float(found[row])) for row in np.argsort(found, kind="stable")]

    def _all_ranked(self, vector: Sequence[float], k: int, wanted: Filter | None) -> list[tuple[str, float]]:
        """Return the closest of all chunks, or of a filter's documents, with their distance."""
        documents = chosen_documents(wanted)
        if documents is not None:
            with self._errors("read"):
                nearest = self._kept.nearest(vector, k + SPARE, documents, "cosine")
            if nearest is not None:
                return nearest
        return self._ranked(vector, sorted(self.ids()))

    def _read_hits(self, ranked: Sequence[tuple[str, float]], k: int, wanted: Filter | None) -> Scored:
        """Return the first `k` hits that have a text and match the filter, reading few texts."""
        found: Scored = []
        for start in range(0, len(ranked), k + SPARE):
            part = ranked[start : start + k + SPARE]
            documents = self._hydrate([id_ for id_, _ in part])
            there = [(documents[id_], distance) for id_, distance in part if id_ in documents]
            found += [hit for hit in there if matches_filter(hit[0].metadata, wanted)]
            if len(found) >= k:
                break
        return found[:k]

    def _put(self, ids: Sequence[str], vectors: Floats) -> None:
        """Add chunks to the store, without those that were removed meanwhile and have no text."""
        documents = self._hydrate(ids)
        there = [row for row, id_ in enumerate(ids) if id_ in documents]
        texts = [documents[ids[row]].page_content for row in there]
        self._store.put([ids[row] for row in there], texts, vectors[there])

    def _lost(self) -> list[str]:
        """Return the kept ids that the store lacks: all where it has no lookup by id and finds none."""
        kept = sorted(self.ids())
        held = self._store.held(kept)
        if held is None:
            probes = self.vectors_of(kept[:: len(kept) // PROBES + 1])
            return [] if any(map(self._finds, probes, probes.values())) else kept
        return [id_ for id_ in kept if id_ not in held]

    def _finds(self, id_: str, vector: Floats) -> bool:
        try:
            return id_ in self._store.near(vector.tolist(), min(LEAST, len(self.ids())))
        except StoreFailed as error:  # an empty store may refuse a search; adding reports real errors
            log.info("%s", error)
            return False

    def rows_of(self, ids: Sequence[str]) -> tuple[list[str], Floats]:
        """Return the existing ids in order, and their kept vectors [n, dimension]."""
        with self._errors("read"):
            return self._kept.vectors(ids)

    @contextmanager
    def _errors(self, done: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise IndexUnusable(
                N_("The kept vectors could not be {done}: {reason}.", done=done, reason=error)
            ) from error


def matches_filter(metadata: Mapping[str, Any], wanted: Filter | None) -> bool:
    """Return whether metadata match a filter: values, comparisons, "$and" and "$or", as Chroma's.

    >>> matches_filter({"document_id": "d", "page": 3}, {"document_id": {"$in": ["c", "d"]}, "page": 3})
    True
    >>> matches_filter({"page": 3}, {"$or": [{"page": {"$gt": 3}}, {"page": {"$ne": 2}}]})
    True
    """
    return all(_matches_key(metadata, key, value) for key, value in (wanted or {}).items())


def _matches_key(metadata: Mapping[str, Any], key: str, wanted: Any) -> bool:
    if key == "$and":
        return all(matches_filter(metadata, each) for each in wanted)
    if key == "$or":
        return any(matches_filter(metadata, each) for each in wanted)
    comparisons = wanted if isinstance(wanted, Mapping) else {"$eq": wanted}
    if unknown := comparisons.keys() - COMPARISONS.keys():
        raise ValueError(
            f"There is no filter {', '.join(sorted(unknown))}. Choose from: {', '.join(COMPARISONS)}."
        )
    value = metadata.get(key)
    return all(COMPARISONS[name](value, other) for name, other in comparisons.items())


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return a comparison of numbers or of texts; values that have no order do not match."""

    def matches(value: Any, other: Any) -> bool:
        try:
            return compare(value, other)
        except TypeError:
            return False

    return matches


COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
    "$in": lambda value, among: value in among,
    "$nin": lambda value, among: value not in among,
}
"""Comparisons of a metadata value, absent as None, with another."""
