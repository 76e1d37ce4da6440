"""Question sets in SQuAD's form: one JSON file of articles, their paragraphs, and questions about each.

``{"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question"}]}]}]}``. The corpus is the
paragraphs, equal ones once; the right passage of a question is the paragraph it was asked about.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from rag.errors import QuestionRefused
from rag.evaluation.beir import Parts, read_text

META = "meta.json"  # says where a set comes from; it is no set


def file_at(path: Path) -> Path | None:
    """Return the file of such a set: `path` itself, or the only JSON file of a folder without a corpus."""
    try:
        if path.is_file():
            return path
    except OSError as error:
        raise QuestionRefused(f"{path} cannot be read as a question set: {error.strerror}.") from error
    if (path / "corpus.jsonl").exists():
        return None
    files = [file for file in sorted(path.glob("*.json")) if file.name != META]
    return files[0] if len(files) == 1 else None


def read(file: Path) -> Parts:
    """Return passages, questions and judgements; raises QuestionRefused naming the file.

    Questions that are marked impossible have no right passage.
    """
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
