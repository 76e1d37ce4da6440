"""Indexes of a question set's passages, cached on disk, so that each text is embedded once."""

import fcntl
import hashlib
import json
import logging
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.errors import IndexUnusable, RetrievalError
from rag.index.backend import ENGINES, open_vectors, open_words
from rag.index.chroma import GRAPH
from rag.index.external import CHROMA
from rag.index.lexical import Entry, LexicalIndex
from rag.index.vector_index import VectorIndex
from rag.models.embeddings import Embedder
from rag.retrieval.registry import SearchParts, choose_retriever
from rag.retrieval.weights import RULE, HybridWeights, calibrate, sample
from rag.settings import default_model_cache
from rag.text.tokenize import TOKENIZER, Analyser

log = logging.getLogger(__name__)

FORMAT = 1  # of the cached files; a change makes earlier ones unused
WORDS_BATCH = 200  # passages between two commits of the BM25 index: a second or so, with an analyser
PARTS = {  # the indexes that each retriever needs
    "bm25": ("words",),
    "similarity": ("vectors",),
    "mmr": ("vectors",),
    "ensemble-rrf": ("words", "vectors"),
    "ensemble-cc": ("words", "vectors", "mixture"),
}

Progress = Callable[[str, int, int], None]  # called with the step, passages done, passages in all


def default_cache() -> Path:
    """Return the cache folder of a user's collections, beside that of the embedding models."""
    return default_model_cache().parent / "evaluation"


@contextmanager
def open_collection(
    documents: Sequence[Document],
    open_embedder: Callable[[], Embedder],
    *,
    cache: Path,
    analysers: Sequence[Analyser] = (),
    store: str = CHROMA,
    waiting: Callable[[], None],
    progress: Progress,
) -> Iterator["Collection"]:
    """Open the collection of these documents, each one passage with an id, for one process at a time.

    It is cached under the hash of its ids and texts; `analysers` add morphemes to the BM25 index; `store` is
    a built-in one. While another process has it, `waiting` is called and the call blocks: two processes would
    silently damage the vector index. Raises IndexUnusable where the folder cannot be written.
    """
    directory = cache / _hash([[document.id, document.page_content] for document in documents])
    with _locked(directory, waiting):
        by_id = {document.id or "": document for document in documents}
        collection = Collection(by_id, directory, open_embedder, analysers, store, progress)
        try:
            yield collection
        finally:
            collection.close()


@dataclass
class Collection:
    """Documents with their BM25 and vector indexes, each built when first needed, or opened from the cache.

    An index is complete when it has every id of the documents, which is checked each time: an interrupted
    build continues with the missing passages. `progress` hears each step. `seconds` has the build or
    opening time in this run: of "words", of "vectors" without loading the model, and of "mixture".
    """

    _documents: Mapping[str, Document]
    _directory: Path
    _open_embedder: Callable[[], Embedder]
    _analysers: Sequence[Analyser]
    _store: str
    _progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    def retriever(self, name: str, k: int) -> BaseRetriever:
        """Return the app's retriever of this name; raises SettingsError for another name.

        An ensemble fails as a whole when one half fails, since the other half's figures are not its own.
        """
        built = {part: getattr(self, part) for part in PARTS.get(name, ())}  # builds missing ones
        parts = SearchParts(
            words=self.words,
            vectors=lambda: self.vectors,
            hydrate=self.hydrate,
            label=self.hydrate,
            names=self.names,
            mixture=lambda: built.get("mixture") or HybridWeights(),
        )
        return choose_retriever(name, parts, k=k, on_failure=_fail)

    def index_seconds(self, name: str) -> float:
        """Return the seconds that this retriever's indexes took in this run, shared ones in full."""
        return sum(self.seconds.get(part, 0.0) for part in PARTS[name])

    def hydrate(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the documents with these ids."""
        return {id_: self._documents[id_] for id_ in ids if id_ in self._documents}

    def names(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the names of the documents with these ids."""
        return {id_: str(each.metadata.get("document", "")) for id_, each in self.hydrate(ids).items()}

    @cached_property
    def embedder(self) -> Embedder:
        """Return the embedding model; raises ModelUnavailable where its files are missing."""
        return self._open_embedder()

    @cached_property
    def words(self) -> LexicalIndex:
        """Return the BM25 index of our tokenizer and the morpheme analysers; a damaged one is rebuilt."""
        with self._timed("words"):
            engine = version(ENGINES[self._store][0])
            folder = self._directory / f"words-{_hash([FORMAT, engine, self._tokenizer])}"
            index = open_words(self._store, folder, analysers=self._analysers)
            if index.stale:
                index.clear()
            self._fill_words(index)
            index.warm()
            return index

    @cached_property
    def vectors(self) -> VectorIndex:
        """Return the vector index of the embedding model; a damaged one is rebuilt."""
        model = [self.embedder.fingerprint, self.embedder.dimension]
        with self._timed("vectors"):
            name = f"vectors-{_hash([FORMAT, version(ENGINES[self._store][1]), GRAPH, model])}"
            kept = next(iter(sorted(self._directory.glob(f"{name}-*"))), None)
            fresh = self._directory / f"{name}-{secrets.token_hex(4)}"  # Chroma remembers a path that failed
            try:
                return self._filled_vectors(kept or fresh)
            except IndexUnusable as error:
                if kept is None:
                    raise
                log.warning("%s It is made anew.", error)
                shutil.rmtree(kept, ignore_errors=True)
                return self._filled_vectors(fresh)

    @cached_property
    def mixture(self) -> HybridWeights:
        """Return the hybrid weights that the app would use here: calibrated once, then cached."""
        vectors, texts = self.vectors, {id_: found.page_content for id_, found in self._documents.items()}
        with self._timed("mixture"):
            made_with = _hash([FORMAT, RULE, self._tokenizer, self.embedder.fingerprint])
            file = self._directory / f"mixture-{made_with}.json"
            if file.exists():
                return HybridWeights(**json.loads(file.read_text(encoding="utf-8")))
            rows = vectors.vectors_of(sample(texts))
            sampled, found = [texts[id_] for id_ in rows], HybridWeights()
            at = np.array(list(rows.values()), np.float32)
            for tuned in calibrate(sampled, at, self.embedder, analysers=self._analysers):
                self._progress("mixture", tuned.done, tuned.total)
                found = tuned.mixture or found
            unfinished = file.with_suffix(".tmp")
            unfinished.write_text(json.dumps(asdict(found)), encoding="utf-8")
            unfinished.replace(file)
            return found

    @property
    def _tokenizer(self) -> list[str]:
        return [TOKENIZER, *(each.name for each in self._analysers)]

    def close(self) -> None:
        """Close both indexes."""
        for part in ("words", "vectors"):
            if part in self.__dict__:
                self.__dict__.pop(part).close()

    def _fill_words(self, index: LexicalIndex) -> None:
        missing = [self._documents[id_] for id_ in self._documents.keys() - index.ids()]
        missing.sort(key=lambda document: document.id or "")
        for start in range(0, len(missing), WORDS_BATCH):
            self._progress("words", start, len(missing))
            index.add(
                Entry(document.id or "", document.id or "", document.page_content)
                for document in missing[start : start + WORDS_BATCH]
            )
        if missing:
            self._progress("words", len(missing), len(missing))

    def _filled_vectors(self, folder: Path) -> VectorIndex:
        store = open_vectors(self._store, self.embedder, folder, "passages", self.hydrate)
        try:
            self._fill_vectors(store)
        except BaseException:
            store.close()
            raise
        return store

    def _fill_vectors(self, store: VectorIndex) -> None:
        missing = sorted(self._documents.keys() - store.ids())
        texts = [self._documents[id_].page_content for id_ in missing]
        done = 0
        for positions, vectors in self.embedder.embed_batches(texts):
            self._progress("vectors", done, len(missing))
            ids = [missing[position] for position in positions]
            store.add_vectors(ids, vectors, [{"document_id": id_} for id_ in ids])
            done += len(ids)
        if missing:
            self._progress("vectors", done, len(missing))

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.seconds[part] = time.perf_counter() - begun


def _fail(half: str, error: Exception) -> None:
    raise RetrievalError(f"{half}: {error}") from error


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=True).encode()).hexdigest()[:32]


@contextmanager
def _locked(directory: Path, waiting: Callable[[], None]) -> Iterator[None]:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = (directory / "lock").open("w")
    except OSError as error:
        raise IndexUnusable(
            f"The folder {directory} cannot be used for indexes: {error.strerror}. Give yourself the right "
            "to write there, or set XDG_CACHE_HOME to another folder."
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
