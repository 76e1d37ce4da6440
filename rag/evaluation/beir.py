"""Question sets in BEIR's form: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv`` in one folder.

``corpus.jsonl {_id, title, text}``; ``queries.jsonl {_id, text}``, with ``answers`` where words answer a
question, with ``history``, a list of {role, content}, and ``rewrite`` where it comes from a conversation;
``qrels.tsv`` with a header, then query-id, corpus-id, score.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag.errors import QuestionRefused

Lines = list[dict[str, Any]]
Parts = tuple[Lines, Lines, dict[str, dict[str, float]]]  # passages, questions, judgements by question


def read(directory: Path) -> Parts:
    """Read the folder's three files; raises QuestionRefused naming file and line."""
    questions = read_questions(directory)
    judgements = _judgements(directory / "qrels.tsv")
    return list(read_lines(directory / "corpus.jsonl")), questions, judgements


def read_questions(directory: Path) -> Lines:
    """Read the folder's questions alone; raises QuestionRefused naming file and line."""
    return list(read_lines(directory / "queries.jsonl"))


def read_text(path: Path) -> str:
    """Return a file's text; raises QuestionRefused where it has none."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise QuestionRefused(
            f"{path} cannot be read as a file of a question set: {error.strerror}."
        ) from error
    except ValueError as error:
        raise QuestionRefused(f"{path} cannot be read as a file of a question set: no UTF-8.") from error


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON lines file, each with _id and text; raises QuestionRefused naming the line.

    Only line feeds end lines, since texts hold other breaks.
    """
    seen: set[str] = set()
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        entry = _entry(line, f"Line {number} of {path}")
        if entry["_id"] in seen:
            raise QuestionRefused(f"Line {number} of {path} has the _id of an earlier line: {entry['_id']}.")
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
    if not _is_texts(entry.get("answers") or []):
        raise QuestionRefused(f"{place} has answers that are no list of texts.")
    return {**entry, "_id": str(entry["_id"]), "history": _history(entry.get("history"), place)}


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _history(turns: Any, place: str) -> list[tuple[str, str]]:
    try:
        history = [(turn["role"], turn["content"]) for turn in turns or []]
        if all(isinstance(part, str) for turn in history for part in turn):
            return history
    except (TypeError, KeyError) as error:
        raise QuestionRefused(f"{place} has a history that is no list of role and content.") from error
    raise QuestionRefused(f"{place} has a history that is no list of role and content.")


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
