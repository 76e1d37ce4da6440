"""RAPTOR's tree beside flat search, at the same budget of tokens, over questions about whole documents."""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from langchain_core.documents import Document

from rag.evaluation.metrics import percentile
from rag.evaluation.wholes import WholeQuestion, Wholes, content_recall, evidence_recall, interval
from rag.factory import make_bench_library
from rag.ingest.library import Library
from rag.models.embeddings import Embedder
from rag.raptor.retrievers import (
    CollapsedTreeRetriever,
    LeavesRetriever,
    TreeRetriever,
    TreeTraversalRetriever,
)
from rag.raptor.summarize import Extracting, Summariser
from rag.text.chunking import split
from rag.text.document import LoadedDocument
from storage.database import Database
from storage.records import ChunkSpan

OWNER = "evaluation"
FLAT = "flat"
KINDS: Mapping[str, type[TreeRetriever]] = {
    FLAT: LeavesRetriever,
    "collapsed": CollapsedTreeRetriever,
    "traversal": TreeTraversalRetriever,
}

Told = Callable[[str, int, int], None]


@dataclass(frozen=True)
class TreeScore:
    """Result of one way of searching for one question: recalls from 0 to 1, None where nothing tells."""

    way: str
    kind: str
    content: float | None
    evidence: float | None
    ms: float


@contextmanager
def planted(
    wholes: Wholes,
    open_embedder: Callable[[], Embedder],
    *,
    cache: Path,
    told: Told,
    summariser: Callable[[], Summariser] = Extracting,
) -> Iterator[tuple[Library, dict[str, str]]]:
    """Give a library with trees over the documents, and their ids in it; kept in `cache` for the next run."""
    key = hashlib.sha256(repr(sorted(wholes.documents.items())).encode()).hexdigest()[:32]
    database = Database.open(cache / f"trees-{key}")
    library = make_bench_library(database, OWNER, open_embedder, summariser)
    try:
        ids = {name: _add(library, name, text) for name, text in wholes.documents.items()}
        for done, document_id in enumerate(ids.values()):
            told("trees", done, len(ids))
            for _ in library.forest.grow(document_id):
                pass
        for _ in library.forest.join():
            pass
        told("trees", len(ids), len(ids))
        yield library, ids
    finally:
        library.close()
        database.close()


def ask_all(
    library: Library, ids: Mapping[str, str], wholes: Wholes, *, tokens: int, told: Told
) -> Iterator[TreeScore]:
    """Yield what each way brings for each question, within a budget of tokens."""
    names = {document_id: name for name, document_id in ids.items()}
    for way, kind in KINDS.items():
        for done, asked in enumerate(wholes.questions, start=1):
            chosen = {ids[asked.document]} if asked.document is not None else None
            retriever = kind(forest=library.forest, tokens=tokens, document_ids=chosen)
            begun = time.perf_counter()
            found = retriever.invoke(asked.text)
            yield _scored(way, asked, found, names, (time.perf_counter() - begun) * 1000)
            told(way, done, len(wholes.questions))


def report(name: str, scored: Sequence[TreeScore]) -> Iterator[dict[str, Any]]:
    """Yield a flat line for each kind of question and way: means, and the differences from flat search.

    ``content_diff`` is the mean over the questions, ``content_low`` to ``content_high`` its 95 % interval.
    """
    for kind in sorted({each.kind for each in scored}):
        for way in KINDS:
            own = [each for each in scored if (each.kind, each.way) == (kind, way)]
            flat = [each for each in scored if (each.kind, each.way) == (kind, FLAT)]
            times = [each.ms for each in own]
            yield {
                "dataset": name,
                "questions": kind,
                "retriever": way,
                "count": len(own),
                **_compared("content", [x.content for x in own], [x.content for x in flat]),
                **_compared("evidence", [x.evidence for x in own], [x.evidence for x in flat]),
                "p50_ms": round(percentile(times, 50), 1),
            }


def _compared(
    name: str, own: Sequence[float | None], flat: Sequence[float | None]
) -> dict[str, float | None]:
    """Return mean, difference and interval over the questions that tell; None where none does."""
    pairs = [(a, b) for a, b in zip(own, flat, strict=True) if a is not None and b is not None]
    keys = (name, f"{name}_diff", f"{name}_low", f"{name}_high")
    if not pairs:
        return dict.fromkeys(keys)
    apart = [a - b for a, b in pairs]
    values = (fmean(a for a, _ in pairs), fmean(apart), *interval(apart))
    return {key: round(value, 4) for key, value in zip(keys, values, strict=True)}


def _scored(
    way: str, asked: WholeQuestion, found: Sequence[Document], names: Mapping[str, str], ms: float
) -> TreeScore:
    """Measure a context; its passages stand in the order of their documents, for every way alike."""
    places = sorted((names[d.metadata["document_id"]], d.metadata["start"], d.metadata["end"]) for d in found)
    texts = {(names[d.metadata["document_id"]], d.metadata["start"]): d.page_content for d in found}
    context = [texts[name, start] for name, start, _ in places]
    return TreeScore(
        way,
        asked.kind,
        content_recall(asked.references, context) if asked.references else None,
        evidence_recall(asked.evidence, places) if asked.evidence else None,
        ms,
    )


def _add(library: Library, name: str, text: str) -> str:
    """Add a document as if it had been read; returns its id. One that is there stays."""
    record, outcome = library.documents.add(name, *library.files.save(text.encode("utf-8", "replace")))
    if outcome != "unchanged" or record.state != "ready":
        chunks = [ChunkSpan(piece.start, piece.end) for piece in split(LoadedDocument(text))]
        library.documents.save_chunks(record.id, text, [], chunks)
        library.documents.set_state(record.id, "ready")
    return record.id
