"""A library with two documents of several subjects, and the trees over them."""

import pytest

from rag.ingest.library import Library
from rag.text.chunking import split
from rag.text.document import LoadedDocument
from storage.records import ChunkSpan

SUBJECTS = {
    "engine": "The engine {n} burns heavy fuel and its pump must be primed before the crew starts it.",
    "harbour": "Harbour {n} closes at dusk, and the pilot of the port boards every vessel by launch.",
    "cargo": "Hold {n} carries grain in sacks, and the mate signs the bill of lading for the cargo.",
    "storm": "During storm {n} the waves broke over the deck and the wind tore the foresail away.",
}


def story(names, lines=14):
    """Several paragraphs a subject, so that each leaf is about one of them."""
    return "\n\n".join(
        " ".join(SUBJECTS[name].format(n=f"{number}{at}") for at in range(4))
        for name in names
        for number in range(lines // len(names))
    )


@pytest.fixture
def make_library(database, embedder):
    return lambda **parts: Library(database, "ann", lambda: embedder, **parts)


@pytest.fixture
def library(make_library):
    return make_library()


def add(library, name, text):
    """Add a text as if it had been read and embedded, which no tree asks for; returns the document's id."""
    record, _ = library.documents.add(name, *library.files.save(text.encode()))
    chunks = [ChunkSpan(piece.start, piece.end) for piece in split(LoadedDocument(text))]
    library.documents.save_chunks(record.id, text, [], chunks)
    library.documents.set_state(record.id, "ready")
    return record.id


def grow(library, *document_ids):
    """Build the branches of documents, and what stands above all."""
    for document_id in document_ids:
        list(library.forest.build_branch(document_id))
    list(library.forest.build_top())
