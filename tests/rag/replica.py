"""A process with one person's library on a shared ledger and index, for the tests of several at once.

It is forked (`tests/faults/forks.py`), does what it is sent, each ``method, arguments, named arguments`` of
`Acting`, and answers each with what that returned or the error that it raised.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rag.errors import Cancelled, FootnoteError, RetrievalError
from rag.factory import make_store
from rag.ingest.leased import IngestProgress
from rag.ingest.library import Library
from rag.models.embeddings import Embedder
from rag.settings import Settings
from storage import postgres
from storage.database import Database
from storage.lock import DataDirectoryLock
from storage.originals import open_originals
from tests.faults.forks import FORKS, ForkedProcess, become
from tests.rag.word_vectors import WordVectors


class Counted(WordVectors):
    """A model that counts the texts that it embeds."""

    texts = 0

    def _vectors(self, texts: Any, role: str) -> Any:
        self.texts += len(texts)
        return super()._vectors(texts, role)


def open_ledger(directory: Path, url: str) -> Database:
    """Open a ledger that other processes have open, too."""
    lock = DataDirectoryLock(directory)
    lock.acquire()
    return Database(directory, postgres.engine(url), lock)


class Acting:
    """What a process can be told to do."""

    def __init__(self, directory: str, url: str) -> None:
        self._opening = directory, url, "", ""
        self._model, self._held = Counted("words"), ExitStack()

    _steps: Iterator[IngestProgress] = iter(())

    def use(self, objects: str, owner: str) -> None:
        """Open a person's library, whose originals and index are at an address."""
        self._opening = *self._opening[:2], objects, owner
        self._open()

    def _open(self) -> None:
        directory, url, objects, owner = self._opening
        settings = Settings(data=Path(directory), vector_store="lance-objects", objects=objects)
        self._database = open_ledger(Path(directory), url)
        self._library = Library(
            self._database,
            owner,
            self._open_model,
            make_store(settings),
            originals=open_originals(Path(directory), objects, 1 << 30).of(owner),
        )

    def start_again(self) -> int:
        """Stop and start; return how many texts that embeds."""
        self.close()
        before = self._model.texts
        self._open()
        for document_id in self._library.recover():
            list(self._library.index(document_id))
        return self._model.texts - before

    def add(self, name: str, text: str) -> str:
        """Add a document, and return its id once it is ready."""
        record, _ = self._library.add(name, text.encode())
        list(self._library.index(record.id))
        return record.id

    def keep(self, name: str, text: str) -> str:
        """Add a document without reading it; return its id."""
        return self._library.add(name, text.encode())[0].id

    def read(self, document_id: str) -> str:
        """Make a document searchable by words; return its state."""
        list(self._library.read(document_id))
        return self._library.documents.get(document_id).state

    def add_and_sweep(self, name: str, text: str) -> None:
        """Add a file without reading it, then delete what no document names."""
        self._library.add(name, text.encode())
        self._library.sweep_originals()

    def have_worker(self) -> None:
        """Take every job on a document, as workers do that live."""
        queue = self._library.queue
        while (lease := queue.take(("read", "embed"))) is not None:
            self._held.enter_context(queue.holding(lease))

    def version(self) -> int:
        return self._library.documents.index_version()

    def begin_to_index(self, document_id: str) -> None:
        """Index a document up to the first passages of its vectors, or else of its words."""
        self._steps = self._library.index(document_id)
        meaning = self._library.documents.get(document_id).state == "searchable_by_words"
        wanted = "meaning" if meaning else "words"
        next(step for step in self._steps if step.stage == wanted)

    def go_on(self) -> None:
        """Go on to the end, and once more where that was stopped."""
        try:
            list(self._steps)
        except (Cancelled, RetrievalError):
            for record in self._library.documents.unfinished():
                list(self._library.index(record.id))

    def embed_all_anew(self) -> None:
        """Drop the vectors, and embed what is searchable by words."""
        for document_id in self._library.rebuild_vectors():
            list(self._library.embed(document_id))

    def remove(self, document_id: str) -> None:
        self._library.remove(document_id)

    def find(self, question: str, retriever: str = "bm25", k: int = 3) -> list[str]:
        """Return the names of the documents that a question finds, best first."""
        found = self._library.retriever(retriever, k).invoke(question)  # type: ignore[arg-type]
        return list(dict.fromkeys(passage.metadata["document"] for passage in found))

    def find_each(self, questions: list[str], retriever: str = "bm25") -> list[list[str]]:
        return [self.find(question, retriever) for question in questions]

    def states(self) -> dict[str, str]:
        return {record.name: record.state for record in self._library.documents.list()}

    def originals(self) -> dict[str, bool]:
        """Return whether each document has its original."""
        files, records = self._library.files, self._library.documents.list()
        return {record.name: files.verify(record.sha256) for record in records}

    def in_step(self) -> bool:
        """Return whether ledger, words and vectors have the same ids."""
        self._library.indexes.refresh()
        words, vectors = self._library.indexes.words.ids(), self._library.indexes.vectors.ids()
        return words == vectors == self._library.documents.chunk_ids()

    def folders(self) -> list[str]:
        indexes = self._library.indexes
        return sorted(indexes.store.folders.names(indexes._directory))

    def damage_words(self) -> None:
        """Make the words anew, as where they are damaged."""
        self._library.indexes.words.clear()
        self._library.indexes.words.recover()

    def forget_words(self, document_id: str) -> None:
        """Lose the words of a document."""
        words = self._library.indexes.words
        words.delete(self._library.documents.chunk_ids_of(document_id))

    def forget_vectors(self, document_id: str) -> None:
        """Lose the vectors of a document."""
        self._library.indexes.vectors.delete(self._library.documents.chunk_ids_of(document_id))

    def stray(self, chunk_id: str) -> None:
        """Leave a vector of a document that is gone."""
        self._library.indexes.vectors.add_vectors([chunk_id], [[1.0] * 128], [{"document_id": "gone"}])

    def have_compared(self, *, due: bool) -> None:
        """Note in the ledger that originals and indexes were just compared, or are due to be."""
        until = "2026-01-01T00:00:00+00:00" if due else "2999-01-01T00:00:00+00:00"
        self._library.documents.set_index_state("compared", {"until": until, "place": ""})

    def close(self) -> None:
        self._held.close()
        self._library.close()
        self._database.close()

    def _open_model(self) -> Embedder:
        return self._model


class Replica:
    """Such a process, as a test sees it: `replica.add("a.txt", "cat")` waits for what it answers."""

    def __init__(self, directory: Path, url: str, environment: Mapping[str, str]) -> None:
        self._pipe, theirs = FORKS.Pipe()
        self._process = ForkedProcess(act, theirs, str(directory), url, {**os.environ, **environment})
        theirs.close()

    def __getattr__(self, method: str) -> Any:
        return lambda *arguments, **named: self.ask(method, *arguments, **named)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.kill()

    def ask(self, method: str, *arguments: Any, **named: Any) -> Any:
        self.begin(method, *arguments, **named)
        return self.wait()

    def begin(self, method: str, *arguments: Any, **named: Any) -> None:
        """Have it begin something; `wait` for what it answers."""
        self._pipe.send((method, arguments, named))

    def wait(self) -> Any:
        done, error = self._pipe.recv()
        assert not error, error
        return done

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._pipe.close()


@contextmanager
def two(root: Path, url: str, environment: Mapping[str, str]) -> Iterator[tuple[Replica, Replica]]:
    """Start two, each with a directory of its own."""
    Database.open(root / "first", url=url).close()  # makes the tables
    one, other = (Replica(root / name, url, environment) for name in ("one", "other"))
    with one, other:
        yield one, other


def act(pipe: Connection, directory: str, url: str, environment: Mapping[str, str]) -> None:
    """Do what comes by the pipe until it is closed."""
    become(environment)
    acting = Acting(directory, url)
    with suppress(EOFError):
        while True:
            method, arguments, named = pipe.recv()
            try:
                pipe.send((getattr(acting, method)(*arguments, **named), ""))
            except (FootnoteError, LookupError, OSError) as error:  # which the test shows
                pipe.send((None, f"{type(error).__name__}: {error}"))
