"""Documents split anew in the way that their collection says, each found as it was until it is found anew."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from rag.errors import DocumentRefused
from rag.index.chunks import to_entry, twins
from rag.ingest.library import IngestProgress, Library
from rag.ingest.pipeline import Edition, read_edition
from rag.jobs import Cancel, never
from storage.errors import NotFound
from storage.records import ChunkRecord, DocumentRecord

log = logging.getLogger(__name__)

FAILED = "It could not be split anew, and is searched as it was. {}"


@dataclass(frozen=True)
class Resplit:
    """How far the splitting is: the document being split, `done` of `total` documents, and the step."""

    document: str
    done: int
    total: int
    step: IngestProgress


def resplit(library: Library, cancelled: Cancel = never) -> Iterator[Resplit]:
    """Split what is due, one document after another; one that cannot be is noted and stays as it was.

    Raises Cancelled, EmbeddingError and RetrievalError; what is due then is due the next time.
    """
    tried = set[str]()
    while due := [id_ for id_ in library.collections.due() if id_ not in tried]:
        tried.add(due[0])
        try:
            record = library.documents.get(due[0])
            for step in _anew(library, record, cancelled):
                yield Resplit(record.name, len(tried) - 1, len(tried) - 1 + len(due), step)
        except NotFound as error:  # removed meanwhile
            log.info("%s", error)
        except DocumentRefused as error:
            library.documents.set_state(due[0], "ready", FAILED.format(error))


def _anew(library: Library, record: DocumentRecord, cancelled: Cancel) -> Iterator[IngestProgress]:
    """Index the new chunks beside the old ones, then exchange them in one commit of the ledger.

    Their ids differ, and an index's finds count only where the ledger has them: no question sees both. What
    is cut off before that commit is taken back, by `Library.recover` where there is no time for it.
    """
    yield IngestProgress("reading", 0, 1)
    way = library.collections.splitting_of(record.id)
    edition = read_edition(library.files, record, way, library.recognition)
    chunks = edition.chunks_of(record)
    try:
        yield from _index(library, record, chunks, cancelled)
        before = _keep(library, record, edition)
    except BaseException:
        library.indexes.forget(chunk.id for chunk in chunks)
        raise
    library.indexes.forget(before)


def _index(
    library: Library, record: DocumentRecord, chunks: list[ChunkRecord], cancelled: Cancel
) -> Iterator[IngestProgress]:
    library.indexes.words.add(to_entry(chunk) for chunk in chunks)
    vectors = library.indexes.vectors
    library.indexes.carry_over(twins(chunks, library.documents.chunks(record.id)))
    present = vectors.present([chunk.id for chunk in chunks])
    missing = [chunk for chunk in chunks if chunk.id not in present]
    yield from library.add_vectors(vectors, missing, len(chunks), cancelled)


def _keep(library: Library, record: DocumentRecord, edition: Edition) -> list[str]:
    """Exchange a document's chunks; return the ids of those that go."""
    before = [chunk.id for chunk in library.documents.chunks(record.id)]
    edition.keep(library.documents, record.id)
    library.documents.set_state(record.id, "ready")
    return before
