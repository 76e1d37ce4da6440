"""Questions about whole documents, and what a context of limited length holds of what they ask for.

Two forms of folders are read. Long documents: ``*.docs.jsonl {_id, title, text}`` and ``*.queries.jsonl {_id,
doc, text, answers, kind, spans}``, where `answers` are reference summaries, `kind` is "general" or "specific"
(without one the first question of a document is general), and `spans` are the lines that answer, first and
last. And BEIR's form (see rag/evaluation/beir.py), where passages of one title are a document, and each
question is asked of all documents.
"""

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from rag.errors import QuestionRefused
from rag.evaluation import beir
from rag.text.tokenize import tokens

Span = tuple[str, int, int]  # a document's id, and [start, end) of its text
BETWEEN = "\n\n"  # passages of one document
DRAWS = 2000
SEED = 0


@dataclass(frozen=True)
class WholeQuestion:
    """A question about one document, or about all: reference summaries, and the spans that answer it."""

    id: str
    text: str
    document: str | None
    kind: str
    references: tuple[str, ...] = ()
    evidence: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Wholes:
    """Documents by id, and questions about them."""

    name: str
    documents: Mapping[str, str]
    questions: tuple[WholeQuestion, ...]


def load(directory: Path, *, limit: int | None = None) -> Wholes:
    """Read a folder in either form, or its first `limit` documents with their questions.

    Raises QuestionRefused for what is not of the form.
    """
    files = sorted(directory.glob("*.docs.jsonl"))
    wholes = _long(directory, files[0]) if files else _passages(directory)
    chosen = set(list(wholes.documents)[:limit])
    if limit is None:
        return wholes
    documents = {id_: text for id_, text in wholes.documents.items() if id_ in chosen}
    asked = tuple(q for q in wholes.questions if _about(q) <= chosen)
    return Wholes(wholes.name, documents, asked)


def content_recall(references: Sequence[str], context: Sequence[str]) -> float:
    """Return the mean, over references, of ROUGE-L recall by the context, counting the words that tell.

    That is the longest common subsequence's share of a reference, stems without stop words.

    >>> content_recall(["The ship sinks in a storm."], ["A storm.", "The ship has sunk in the storm."])
    0.6666666666666666
    """
    told = [word for text in context for word in tokens(text)]
    return statistics.fmean(_covered(tokens(reference), told) for reference in references)


def evidence_recall(evidence: Sequence[Span], found: Sequence[Span]) -> float:
    """Return the share of the evidence's characters that lie in what was found.

    >>> evidence_recall([("a", 0, 10)], [("a", 5, 20), ("a", 0, 2), ("b", 0, 9)])
    0.7
    """
    wanted = {(id_, at) for id_, start, end in evidence for at in range(start, end)}
    there = {(id_, at) for id_, start, end in found for at in range(start, end)}
    return len(wanted & there) / len(wanted) if wanted else 0.0


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of paired differences, by the bootstrap; the same every time."""
    draw = random.Random(SEED)  # noqa: S311 - no secret
    means = sorted(statistics.fmean(draw.choices(differences, k=len(differences))) for _ in range(DRAWS))
    return means[int(0.025 * DRAWS)], means[int(0.975 * DRAWS) - 1]


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, a row of bits at a time (Hyyrö, 2004).

    >>> longest_common("abcbdab", "bdcaba")
    4
    """
    places: dict[str, int] = {}
    for at, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << at
    every = (1 << len(first)) - 1
    row = every
    for word in second:
        same = row & places.get(word, 0)
        row = (row + same | row - same) & every
    return len(first) - row.bit_count()


def _covered(reference: Sequence[str], told: Sequence[str]) -> float:
    return longest_common(reference, told) / len(reference) if reference else 0.0


def _about(asked: WholeQuestion) -> set[str]:
    return {asked.document} if asked.document is not None else {id_ for id_, _, _ in asked.evidence}


def _long(directory: Path, file: Path) -> Wholes:
    documents = {entry["_id"]: entry["text"] for entry in beir.read_lines(file)}
    lines = {id_: _starts(text) for id_, text in documents.items()}
    asked: list[WholeQuestion] = []
    for entry in beir.read_lines(file.with_name(file.name.replace(".docs.", ".queries."))):
        document = str(entry.get("doc"))
        if document not in documents:
            raise QuestionRefused(f"The question {entry['_id']} is about {document}, which is not in {file}.")
        first = all(question.document != document for question in asked)
        asked.append(_asked(entry, document, "general" if first else "specific", lines[document]))
    return Wholes(directory.resolve().name, documents, tuple(asked))


def _asked(entry: Mapping[str, Any], document: str, kind: str, lines: Sequence[int]) -> WholeQuestion:
    spans = [(int(first), int(last)) for first, last in entry.get("spans") or []]
    return WholeQuestion(
        id=entry["_id"],
        text=entry["text"],
        document=document,
        kind=str(entry.get("kind") or kind),
        references=tuple(entry.get("answers") or ()),
        evidence=tuple(
            (document, lines[first], lines[last + 1] - 1) for first, last in spans if last + 1 < len(lines)
        ),
    )


def _starts(text: str) -> list[int]:
    """Return where each line begins, and where one after the last would."""
    return list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))


def _passages(directory: Path) -> Wholes:
    corpus, questions, judgements = beir.read(directory)
    documents: dict[str, str] = {}
    places: dict[str, Span] = {}
    for passage in corpus:
        name = passage.get("title") or passage["_id"]
        before = documents[name] + BETWEEN if name in documents else ""
        documents[name] = before + passage["text"]
        places[passage["_id"]] = (name, len(before), len(documents[name]))
    asked = [
        WholeQuestion(question["_id"], question["text"], None, "specific", (), evidence)
        for question in questions
        if (evidence := _judged(judgements.get(question["_id"], {}), places))
    ]
    return Wholes(directory.resolve().name, documents, tuple(asked))


def _judged(judgements: Mapping[str, float], places: Mapping[str, Span]) -> tuple[Span, ...]:
    return tuple(places[id_] for id_, score in judgements.items() if score > 0 and id_ in places)
