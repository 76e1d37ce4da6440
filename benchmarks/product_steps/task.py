"""Documents that every product takes in, and the questions that each is asked about them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag.evaluation.datasets import read_beir


@dataclass(frozen=True)
class Question:
    """A question, and the files that answer it."""

    text: str
    files: frozenset[str]


@dataclass(frozen=True)
class Task:
    """Texts by file name, and questions about them."""

    documents: dict[str, str]
    questions: tuple[Question, ...]

    def write(self, folder: Path) -> list[Path]:
        """Write each text as a file; return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.documents.items():
            (folder / name).write_text(text, encoding="utf-8")
        return [folder / name for name in self.documents]


def draw(directory: Path, documents: int, questions: int, seed: int) -> Task:
    """Draw questions of a set in BEIR's form, the passages that answer them, and others beside those."""
    passages, asked, judged = read_beir(directory)
    chosen = random.Random(seed)
    texts = {entry["_id"]: entry for entry in passages}
    answers = {
        question: {id_ for id_, score in rated.items() if score > 0} for question, rated in judged.items()
    }
    usable = [entry for entry in asked if (ids := answers.get(entry["_id"])) and ids <= texts.keys()]
    drawn = chosen.sample(usable, min(questions, len(usable)))
    needed = {id_ for entry in drawn for id_ in answers[entry["_id"]]}
    others = [id_ for id_ in texts if id_ not in needed]
    kept = sorted(needed) + chosen.sample(others, max(0, min(documents - len(needed), len(others))))
    chosen.shuffle(kept)
    names = {id_: f"document-{number:04}.txt" for number, id_ in enumerate(kept, start=1)}
    return Task(
        {
            name: f"{texts[id_].get('title') or ''}\n\n{texts[id_]['text']}\n".lstrip()
            for id_, name in names.items()
        },
        tuple(
            Question(entry["text"], frozenset(names[id_] for id_ in answers[entry["_id"]])) for entry in drawn
        ),
    )


def hits(found: Sequence[Sequence[str]], questions: Sequence[Question], depth: int) -> int:
    """Return the number of questions with a right file among the first `depth` files of their sources."""
    return sum(
        bool(question.files & set(names[:depth])) for names, question in zip(found, questions, strict=True)
    )


def first_names(names: Sequence[str], count: int) -> list[str]:
    """Return the first different names.

    >>> first_names(["b", "a", "b", "c"], 2)
    ['b', 'a']
    """
    return list(dict.fromkeys(names))[:count]
