"""`footnote eval answers`: whether citations hold the right words where no language model answers."""

import json
from argparse import ArgumentTypeError
from contextlib import closing
from pathlib import Path
from typing import Any

from rag.chat.answerable import decide
from rag.chat.pipeline import RagPipeline
from rag.chat.rewrite import make_standalone
from rag.citations.meaning import SCALES
from rag.cli.collecting import SLOW, collection_of
from rag.cli.common import Commands, Options
from rag.cli.progress import ProgressBar
from rag.evaluation.answers import ask_answers, summary
from rag.evaluation.collection import Collection
from rag.evaluation.datasets import load
from rag.evaluation.refusals import Decided, LabelledTurn, load_turns, report
from rag.langchain import RetrievalQA
from rag.passage import Passage
from rag.settings import Settings

DESCRIPTION = """Ask the questions of a set whose answers are known, as the app asks them without a language
model, and look for the answers in what is cited. Indexes are kept for the next run."""


def add_command(kinds: Commands) -> None:
    """Add the command to `footnote eval`."""
    answers = kinds.add_parser("answers", help="how right answers are", description=DESCRIPTION)
    add = answers.add_argument
    add("dataset", type=Path, metavar="DATASET_DIR", help="a question set whose questions have answers")
    add("--limit", type=_positive, metavar="N", help="only the first N questions")
    add(
        "--unanswerable",
        action="store_true",
        help="how often questions that the documents do not answer are refused, and others with them",
    )
    add("--json", action="store_true", help="one JSON line")
    answers.set_defaults(command=answers_command)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def answers_command(settings: Settings, options: Options) -> int:
    """Print what was measured over the questions of a set."""
    if options.unanswerable:
        return _refusals(settings, options)
    questions = load(options.dataset, limit=options.limit)
    with closing(ProgressBar(SLOW)) as told, collection_of(settings, questions, told) as collection:
        pipeline = _pipeline(settings, collection)
        answers = []
        for answer in ask_answers(questions, pipeline):
            answers.append(answer)
            told("answering", len(answers), len(questions.answers))
    _show(summary(questions.name, answers), options)
    return 0


def _refusals(settings: Settings, options: Options) -> int:
    """Print how often the decision whether the documents answer at all is wrong, and at which score."""
    turns = load_turns(options.dataset, limit=options.limit)
    questions = load(options.dataset)
    with closing(ProgressBar(SLOW)) as told, collection_of(settings, questions, told) as collection:
        decided = []
        for turn in turns:
            decided.append(_decided(turn, settings, collection))
            told("deciding", len(decided), len(turns))
    _show(report(questions.name, decided), options)
    return 0


def _decided(turn: LabelledTurn, settings: Settings, collection: Collection) -> Decided:
    rarity = collection.words.rarity
    asked = make_standalone(turn.text, turn.history, rarity=rarity, embedder=collection.embedder).text
    found = collection.retriever(settings.retriever, settings.k).invoke(asked)
    scale = SCALES.get(settings.embedding_model)
    passages = [Passage.from_document(document) for document in found]
    decision = decide(asked, passages, rarity, middle=scale.asked if scale else None)
    return Decided(decision.answered, decision.score, turn.answerable)


def _pipeline(settings: Settings, collection: Collection) -> RagPipeline:
    chain = RetrievalQA(
        retriever=collection.retriever(settings.retriever, settings.k),
        embedder=collection.embedder,
        rarity=collection.words.rarity,
    )
    return chain.pipeline()


def _show(told: dict[str, Any], options: Options) -> None:
    if options.json:
        print(json.dumps(told, ensure_ascii=False))
    else:
        print("\n".join(f"{name:<20} {value}" for name, value in told.items() if name != "curve"))
        for point in told.get("curve", ()):
            print("  ".join(f"{name} {value:.2f}" for name, value in point.items()))
