"""`footnote eval answers`: whether citations hold the right words where no language model answers."""

import json
from argparse import ArgumentTypeError
from contextlib import closing
from pathlib import Path
from typing import Any

from rag.ask import Asker
from rag.cli.collecting import SLOW, collection_of
from rag.cli.options import Commands, Options
from rag.cli.progress import Progress
from rag.config import Settings
from rag.evaluation.answers import ask_answers, summary
from rag.evaluation.collection import Collection
from rag.evaluation.question_sets import load

DESCRIPTION = """Ask the questions of a set whose answers are known, as the app asks them without a language
model, and look for the answers in what is cited. Indexes are kept for the next run."""


def add_command(kinds: Commands) -> None:
    """Add the command to `footnote eval`."""
    answers = kinds.add_parser("answers", help="how right answers are", description=DESCRIPTION)
    add = answers.add_argument
    add("dataset", type=Path, metavar="DATASET_DIR", help="a question set whose questions have answers")
    add("--limit", type=_positive, metavar="N", help="only the first N questions")
    add("--json", action="store_true", help="one JSON line")
    answers.set_defaults(command=answers_command)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def answers_command(settings: Settings, options: Options) -> int:
    """Print what was measured over the questions of a set."""
    questions = load(options.dataset, limit=options.limit)
    with closing(Progress(SLOW)) as told, collection_of(settings, questions, told) as collection:
        asker = _asker(settings, collection)
        answers = []
        for answer in ask_answers(questions, asker):
            answers.append(answer)
            told("answering", len(answers), len(questions.answers))
    _show(summary(questions.name, answers), options)
    return 0


def _asker(settings: Settings, collection: Collection) -> Asker:
    return Asker(
        retriever=collection.retriever(settings.retriever, settings.k),
        embedder=collection.embedder,
        rarity=collection.words.rarity,
    )


def _show(report: dict[str, Any], options: Options) -> None:
    if options.json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        print("\n".join(f"{name:<20} {value}" for name, value in report.items()))
