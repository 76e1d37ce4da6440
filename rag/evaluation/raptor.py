"""Evaluation of RAPTOR: its tree beside flat search, at one token budget, on questions about documents."""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from statistics import fmean
from typing import Any

from langchain_core.documents import Document

from rag.errors import QuestionRefused
from rag.evaluation.collection import Progress
from rag.evaluation.datasets import read_beir, read_lines
from rag.evaluation.metrics import interval, longest_common, percentile
from rag.factory import make_bench_library
from rag.ingest.library import Library
from rag.models.embeddings import Embedder
from rag.raptor.retrievers import (
    CollapsedTreeRetriever,
    LeavesRetriever,
    TreeRetriever,
    TreeTraversalRetriever,
)
from rag.raptor.summarize import Summariser
from rag.text.chunking import split
from rag.text.document import LoadedDocument
from rag.text.tokenize import tokens
from storage.database import Database
from storage.records import ChunkSpan

Span = tuple[str, int, int]  # a document's id, and [start, end) of its text
BETWEEN = "\n\n"  # separates the passages of one document


@dataclass(frozen=True)
class DocumentQuestion:
    """A question about one document, or about all: reference summaries, and the spans that answer it."""

    text: str
    document: str | None
    kind: str
    references: tuple[str, ...] = ()
    evidence: tuple[Span, ...] = ()


@dataclass(frozen=True)
class DocumentQuestions:
    """Documents by id, and questions about them."""

    name: str
    documents: Mapping[str, str]
    questions: tuple[DocumentQuestion, ...]


def load_document_questions(directory: Path, *, limit: int | None = None) -> DocumentQuestions:
    """Read a folder in either form, or its first `limit` documents; raises QuestionRefused."""
    files = sorted(directory.glob("*.docs.jsonl"))
    questions = _long(directory, files[0]) if files else _passages(directory)
    if limit is None:
        return questions
    documents = dict(islice(questions.documents.items(), limit))
    asked = tuple(one for one in questions.questions if _about(one) <= documents.keys())
    return DocumentQuestions(questions.name, documents, asked)


def content_recall(references: Sequence[str], context: Sequence[str]) -> float:
    """Return the mean of the references' ROUGE-L recall by the context, over stems of content words.

    >>> content_recall(["The ship sinks in a storm."], ["A storm.", "The ship has sunk in the storm."])
    0.6666666666666666
    """
    words = [word for text in context for word in tokens(text)]
    wanted = [tokens(reference) for reference in references]
    return fmean(longest_common(each, words) / len(each) if each else 0.0 for each in wanted)


def evidence_recall(evidence: Sequence[Span], found: Sequence[Span]) -> float:
    """Return the share of the evidence's characters in the spans found.

    >>> evidence_recall([("a", 0, 10)], [("a", 5, 20), ("a", 0, 2), ("b", 0, 9)])
    0.7
    """
    wanted = {(id_, at) for id_, start, end in evidence for at in range(start, end)}
    there = {(id_, at) for id_, start, end in found for at in range(start, end)}
    return len(wanted & there) / len(wanted) if wanted else 0.0


def _about(asked: DocumentQuestion) -> set[str]:
    return {asked.document} if asked.document is not None else {id_ for id_, _, _ in asked.evidence}


def _long(directory: Path, file: Path) -> DocumentQuestions:
    documents = {entry["_id"]: entry["text"] for entry in read_lines(file)}
    lines = {  # the start of each line, and of one after the last
        id_: list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
        for id_, text in documents.items()
    }
    asked: list[DocumentQuestion] = []
    for entry in read_lines(file.with_name(file.name.replace(".docs.", ".queries."))):
        document = str(entry.get("doc"))
        if document not in documents:
            raise QuestionRefused(f"The question {entry['_id']} is about {document}, which is not in {file}.")
        first = all(question.document != document for question in asked)
        asked.append(_question(entry, document, "general" if first else "specific", lines[document]))
    return DocumentQuestions(directory.resolve().name, documents, tuple(asked))


def _question(entry: Mapping[str, Any], document: str, kind: str, lines: Sequence[int]) -> DocumentQuestion:
    spans = [(int(first), int(last)) for first, last in entry.get("spans") or []]
    return DocumentQuestion(
        text=entry["text"],
        document=document,
        kind=str(entry.get("kind") or kind),
        references=tuple(entry.get("answers") or ()),
        evidence=tuple(
            (document, lines[first], lines[last + 1] - 1) for first, last in spans if last + 1 < len(lines)
        ),
    )


def _passages(directory: Path) -> DocumentQuestions:
    corpus, questions, judgements = read_beir(directory)
    documents: dict[str, str] = {}
    places: dict[str, Span] = {}
    for passage in corpus:
        name = passage.get("title") or passage["_id"]
        before = documents[name] + BETWEEN if name in documents else ""
        documents[name] = before + passage["text"]
        places[passage["_id"]] = (name, len(before), len(documents[name]))
    asked = []
    for question in questions:
        judged = judgements.get(question["_id"], {})
        if spans := tuple(places[id_] for id_, score in judged.items() if score > 0 and id_ in places):
            asked.append(DocumentQuestion(question["text"], None, "specific", (), spans))
    return DocumentQuestions(directory.resolve().name, documents, tuple(asked))


OWNER = "evaluation"
FLAT = "flat"
KINDS: Mapping[str, type[TreeRetriever]] = {
    FLAT: LeavesRetriever,
    "collapsed": CollapsedTreeRetriever,
    "traversal": TreeTraversalRetriever,
}


@dataclass(frozen=True)
class TreeScore:
    """Recalls of one retriever for one question, from 0 to 1; None where the question has no reference."""

    way: str
    kind: str
    content: float | None
    evidence: float | None
    ms: float


@contextmanager
def open_tree_library(
    questions: DocumentQuestions,
    open_embedder: Callable[[], Embedder],
    *,
    cache: Path,
    progress: Progress,
    summariser: Summariser,
) -> Iterator[tuple[Library, dict[str, str]]]:
    """Open a library with trees over the documents, and their ids in it, cached for the next run."""
    key = hashlib.sha256(repr(sorted(questions.documents.items())).encode()).hexdigest()[:32]
    database = Database.open(cache / f"trees-{key}")
    library = make_bench_library(database, OWNER, open_embedder, lambda: summariser)
    try:
        ids = {name: _add(library, name, text) for name, text in questions.documents.items()}
        for done, document_id in enumerate(ids.values()):
            progress("trees", done, len(ids))
            for _ in library.forest.build_branch(document_id):
                pass
        for _ in library.forest.build_top():
            pass
        progress("trees", len(ids), len(ids))
        yield library, ids
    finally:
        library.close()
        database.close()


def score_all(
    library: Library, ids: Mapping[str, str], questions: DocumentQuestions, *, tokens: int, progress: Progress
) -> Iterator[TreeScore]:
    """Yield the score of each retriever for each question, within a budget of tokens."""
    names = {document_id: name for name, document_id in ids.items()}
    for way, kind in KINDS.items():
        for done, asked in enumerate(questions.questions, start=1):
            chosen = {ids[asked.document]} if asked.document is not None else None
            retriever = kind(forest=library.forest, tokens=tokens, document_ids=chosen)
            begun = time.perf_counter()
            found = retriever.invoke(asked.text)
            yield _score(way, asked, found, names, (time.perf_counter() - begun) * 1000)
            progress(way, done, len(questions.questions))


def tree_report(name: str, scored: Sequence[TreeScore]) -> Iterator[dict[str, Any]]:
    """Yield a flat line for each kind of question and retriever: means, and differences from flat search.

    ``content_diff`` is the mean over the questions, ``content_low`` to ``content_high`` its 95 % interval.
    """
    for kind in sorted({each.kind for each in scored}):
        for way in KINDS:
            own = [each for each in scored if (each.kind, each.way) == (kind, way)]
            flat = [each for each in scored if (each.kind, each.way) == (kind, FLAT)]
            yield {
                "dataset": name,
                "questions": kind,
                "retriever": way,
                "count": len(own),
                **_compared("content", [x.content for x in own], [x.content for x in flat]),
                **_compared("evidence", [x.evidence for x in own], [x.evidence for x in flat]),
                "p50_ms": round(percentile([each.ms for each in own], 50), 1),
            }


def _compared(
    name: str, own: Sequence[float | None], flat: Sequence[float | None]
) -> dict[str, float | None]:
    pairs = [(a, b) for a, b in zip(own, flat, strict=True) if a is not None and b is not None]
    keys = (name, f"{name}_diff", f"{name}_low", f"{name}_high")
    if not pairs:
        return dict.fromkeys(keys)
    apart = [a - b for a, b in pairs]
    values = (fmean(a for a, _ in pairs), fmean(apart), *interval(apart))
    return {key: round(value, 4) for key, value in zip(keys, values, strict=True)}


def _score(
    way: str, asked: DocumentQuestion, found: Sequence[Document], names: Mapping[str, str], ms: float
) -> TreeScore:
    """Measure a context, with its passages in the order of their documents for every retriever."""
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
    """Add a parsed document, unless it exists; return its id."""
    record, outcome = library.documents.add(name, *library.files.save(text.encode("utf-8", "replace")))
    if outcome != "unchanged" or record.state != "ready":
        chunks = [ChunkSpan(piece.start, piece.end) for piece in split(LoadedDocument(text))]
        library.documents.save_chunks(record.id, text, [], chunks)
        library.documents.set_state(record.id, "ready")
    return record.id
