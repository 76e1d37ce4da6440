"""Question sets in BEIR's and SQuAD's forms: passages, questions, and the right passages of each."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.documents import Document

from rag.chat.corpus import History
from rag.errors import QuestionRefused
from rag.evaluation.metrics import Judgements
from rag.text.normalize import replace_surrogates

T = TypeVar("T")
Lines = list[dict[str, Any]]
Parts = tuple[Lines, Lines, dict[str, dict[str, float]]]  # passages, questions, judgements by question


def read_beir(directory: Path) -> Parts:
    """Read ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv``; raises QuestionRefused naming the line."""
    questions = read_questions(directory)
    judgements = _judgements(directory / "qrels.tsv")
    return list(read_lines(directory / "corpus.jsonl")), questions, judgements


def read_questions(directory: Path) -> Lines:
    """Read the folder's questions alone; raises QuestionRefused naming file and line."""
    return list(read_lines(directory / "queries.jsonl"))


def read_text(path: Path) -> str:
    """Return a file's text; raises QuestionRefused where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no UTF-8"
        raise QuestionRefused(f"{path} cannot be read as a file of a question set: {reason}.") from error


def lines_with_places(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each line that is not blank with its place, "Line 3 of FILE"; raises QuestionRefused.

    Only line feeds end lines, since texts hold other breaks.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield line, f"Line {number} of {path}"


def parse_lines(path: Path, parse: Callable[[dict[str, Any]], Iterable[T]], form: str) -> Iterator[T]:
    """Yield the items that `parse` finds in each JSON line; raises QuestionRefused for any other form."""
    for line, place in lines_with_places(path):
        try:
            yield from parse(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise QuestionRefused(f"{place} is {form}.") from error


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON lines file, with _id and text; raises QuestionRefused naming the line."""
    seen: set[str] = set()
    for line, place in lines_with_places(path):
        entry = _entry(line, place)
        if entry["_id"] in seen:
            raise QuestionRefused(f"{place} has the _id of an earlier line: {entry['_id']}.")
        seen.add(entry["_id"])
        yield entry


def _entry(line: str, place: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise QuestionRefused(f"{place} is no JSON: {error}") from error
    if not isinstance(entry, dict) or "_id" not in entry or not isinstance(entry.get("text"), str):
        raise QuestionRefused(f"{place} is no object with _id and text.")
    if not all(isinstance(entry.get(name) or "", str) for name in ("title", "rewrite")):
        raise QuestionRefused(f"{place} has a title or rewrite that is no text.")
    answers = entry.get("answers") or []
    if not isinstance(answers, list) or not all(isinstance(text, str) for text in answers):
        raise QuestionRefused(f"{place} has answers that are no list of texts.")
    return {**entry, "_id": str(entry["_id"]), "history": _history(entry.get("history"), place)}


def _history(turns: Any, place: str) -> list[tuple[str, str]]:
    try:
        return [(turn["role"] + "", turn["content"] + "") for turn in turns or []]
    except (TypeError, KeyError) as error:
        raise QuestionRefused(f"{place} has a history that is no list of role and content.") from error


def _judgements(path: Path) -> dict[str, dict[str, float]]:
    judgements: dict[str, dict[str, float]] = {}
    for number, line in enumerate(read_text(path).split("\n")[1:], start=2):
        if line.strip():
            try:
                question, passage, score = line.rstrip("\r").split("\t")
                judgements.setdefault(question, {})[passage] = float(score)
            except ValueError as error:
                raise QuestionRefused(
                    f"Line {number} of {path} is not query-id, corpus-id, score."
                ) from error
    return judgements


META = "meta.json"  # describes a set's origin; not a set itself


def _find_squad_file(path: Path) -> Path | None:
    """Return the file of a set in SQuAD's form: `path`, or the only JSON file of its folder, or None."""
    try:
        if path.is_file():
            return path
    except OSError as error:
        raise QuestionRefused(f"{path} cannot be read as a question set: {error.strerror}.") from error
    if (path / "corpus.jsonl").exists():
        return None
    files = [file for file in sorted(path.glob("*.json")) if file.name != META]
    return files[0] if len(files) == 1 else None


def _read_squad(file: Path) -> Parts:
    """Read a file in SQuAD's form; raises QuestionRefused. Impossible questions have no right passage."""
    try:
        return _parts(json.loads(read_text(file))["data"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise QuestionRefused(
            f"{file} is no question set in SQuAD's form: "
            "articles with paragraphs, each with its context and qas, each with id and question."
        ) from error


def _parts(articles: Any) -> Parts:
    passages: dict[str, dict[str, Any]] = {}
    questions: dict[str, dict[str, Any]] = {}
    judgements: dict[str, dict[str, float]] = {}
    for article in articles:
        for paragraph in article["paragraphs"]:
            text = paragraph["context"]
            passage = hashlib.sha256(text.encode()).hexdigest()[:16]
            passages.setdefault(passage, {"_id": passage, "title": article.get("title"), "text": text})
            for asked in paragraph["qas"]:
                id_ = str(asked["id"])
                answers = [answer["text"] + "" for answer in asked.get("answers") or ()]
                questions[id_] = {"_id": id_, "text": asked["question"] + "", "answers": answers}
                if not asked.get("is_impossible"):
                    judgements.setdefault(id_, {})[passage] = 1.0
    return list(passages.values()), list(questions.values()), judgements


@dataclass(frozen=True)
class QuestionSet:
    """Passages to search, questions by id, and for each question the passages that answer it.

    Questions that were asked in a conversation have it in `histories`, (role, content), oldest first;
    `rewrites` holds the questions that a person has made to stand alone, `answers` the words that answer a
    question, each of them by itself. Every question has judgements.
    """

    name: str
    corpus: tuple[Document, ...]
    questions: Mapping[str, str]
    judgements: Mapping[str, Judgements]
    histories: Mapping[str, History] = field(default_factory=dict)
    rewrites: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def rewritten(self) -> "QuestionSet":
        """Return the set with its questions as a person rewrote them; QuestionRefused where one is not."""
        missing = [id_ for id_ in self.questions if id_ not in self.rewrites]
        if missing:
            raise QuestionRefused(
                f"{self.name} has no rewrite of the question {missing[0]}. "
                "Ask its questions as text, or condensed."
            )
        return replace(self, questions={id_: self.rewrites[id_] for id_ in self.questions})


def load(path: Path, *, limit: int | None = None) -> QuestionSet:
    """Read a question set with its first `limit` judged questions: those that have a right passage.

    `path` is a folder in BEIR's form (`read_beir`), or a file in SQuAD's (`_read_squad`) or its folder. A
    judged passage that the corpus lacks stays judged, and cannot be found. Raises QuestionRefused for any
    other form, naming the file, and the line where there are lines.
    """
    file = _find_squad_file(path)
    passages, asked, judgements = read_beir(path) if file is None else _read_squad(file)
    questions = {question["_id"]: question for question in asked}
    judged = [id_ for id_ in questions if any(score > 0 for score in judgements.get(id_, {}).values())]
    if not judged:
        raise QuestionRefused(f"{path} has no question with a right passage, so there is nothing to measure.")
    chosen = {id_: questions[id_] for id_ in judged[:limit]}
    return QuestionSet(
        name=path.stem if path.is_file() else path.resolve().name,
        corpus=tuple(
            Document(
                replace_surrogates(f"{entry.get('title') or ''}\n{entry['text']}".strip()), id=entry["_id"]
            )
            for entry in passages
        ),
        questions={id_: replace_surrogates(question["text"]) for id_, question in chosen.items()},
        judgements={id_: judgements[id_] for id_ in chosen},
        histories={id_: question["history"] for id_, question in chosen.items() if question.get("history")},
        rewrites={id_: question["rewrite"] for id_, question in chosen.items() if question.get("rewrite")},
        answers={
            id_: tuple(question["answers"]) for id_, question in chosen.items() if question.get("answers")
        },
    )
