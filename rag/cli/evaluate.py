"""`footnote eval retrieval`: how well each retriever finds what a question set says it should."""

import argparse
import json
from contextlib import closing
from pathlib import Path

from rag.cli import answers, claims, condensing, raptor, reranking
from rag.cli.collecting import SLOW, collection_of, say
from rag.cli.common import MAX_K, Commands, Options, count, positive
from rag.cli.progress import ProgressBar
from rag.evaluation.collection import Collection
from rag.evaluation.datasets import QuestionSet, condensed, load
from rag.evaluation.metrics import METRICS
from rag.evaluation.runs import Result, ask_all, summary
from rag.factory import make_llm
from rag.settings import Settings

RETRIEVERS = ("similarity", "mmr", "bm25", "ensemble-rrf", "ensemble-cc")
DESCRIPTION = """Ask each retriever the questions of a set and measure what it finds. A passage of the
corpus is searched as it is, not split. Indexes are kept, so that a second run embeds only the questions;
index_s says what making them, or opening those kept, took this time."""

COLUMNS = {
    "retriever": "<13",
    "queries": ">7",
    **dict.fromkeys(METRICS, ">9.4f"),
    **dict.fromkeys(("p50_ms", "p95_ms", "index_s"), ">8.2f"),
    "errors": ">6",
}
HEAD = "  ".join(f"{name:{form.split('.')[0]}}" for name, form in COLUMNS.items())


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    kinds = commands.add_parser("eval", help="measure on a question set").add_subparsers(required=True)
    retrieval = kinds.add_parser("retrieval", help="how well passages are found", description=DESCRIPTION)
    add = retrieval.add_argument
    add(
        "dataset",
        type=Path,
        metavar="DATASET_DIR",
        help="a folder with corpus.jsonl, queries.jsonl and qrels.tsv, or with one file in SQuAD's form",
    )
    add(
        "--retrievers", type=retrievers, default=RETRIEVERS, metavar="NAMES", help="default: all, with commas"
    )
    add(
        "--queries",
        choices=("text", "rewrite", "condensed"),
        default="text",
        help="follow-ups as they were asked, as a person rewrote them, or as the app condenses them",
    )
    add(
        "--k",
        type=count,
        default=10,
        metavar="N",
        help=f"passages for a question, 1 to {MAX_K} (default: 10)",
    )
    add("--limit", type=positive, metavar="N", help="only the first N judged questions")
    add("--model", metavar="NAME", help="the embedding model (default: the one in the settings)")
    add("--json", action="store_true", help="one JSON line per retriever")
    retrieval.set_defaults(command=retrieval_command)
    claims.add_command(kinds)
    answers.add_command(kinds)
    condensing.add_command(kinds)
    reranking.add_command(kinds)
    raptor.add_command(kinds)


def retrievers(text: str) -> tuple[str, ...]:
    """Read names of retrievers with commas between them; one named twice counts once."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in RETRIEVERS:
            known = ",".join(RETRIEVERS)
            raise argparse.ArgumentTypeError(f"there is no retriever {name!r}: choose among {known}")
    return names


def retrieval_command(settings: Settings, options: Options) -> int:
    """Print a line per retriever as soon as all its answers are there; 1 when a search failed."""
    chosen = settings.model_copy(update={"embedding_model": options.model or settings.embedding_model})
    questions = load(options.dataset, limit=options.limit)
    if options.queries == "rewrite":
        questions = questions.rewritten()
    show = _show_json if options.json else _show_row
    failed = 0
    with closing(ProgressBar(SLOW)) as told, collection_of(chosen, questions, told) as collection:
        if options.queries == "condensed":
            questions = _condensed(chosen, questions, collection, told)
        if not options.json:
            print(HEAD)
        for name in options.retrievers:
            result = _measured(collection, questions, name, options.k, told)
            show(result)
            failed += result.errors
    return 1 if failed else 0


def _condensed(
    settings: Settings, questions: QuestionSet, collection: Collection, told: ProgressBar
) -> QuestionSet:
    return condensed(
        questions,
        llm=make_llm(settings),
        rarity=collection.words.rarity,
        embedder=collection.embedder_if_there(),
        told=lambda done, total: told("condensing", done, total),
    )


def _measured(collection: Collection, questions: QuestionSet, name: str, k: int, told: ProgressBar) -> Result:
    retriever = collection.retriever(name, k)
    next(ask_all(questions, {name: retriever}))  # what is loaded when first asked is not a question's time
    answered = []
    for answer in ask_all(questions, {name: retriever}):
        answered.append(answer)
        told(name, len(answered), len(questions.questions))
    result = summary(questions, name, answered, index_s=collection.index_seconds(name))
    if result.errors:
        first = next(answer.error for answer in answered if answer.error)
        say(f"{name} failed for {result.errors} of {result.queries} questions, first with: {first}")
    return result


def _show_json(result: Result) -> None:
    print(json.dumps(result.as_dict(), ensure_ascii=False), flush=True)


def _show_row(result: Result) -> None:
    row = result.as_dict()
    print("  ".join(f"{row[name]:{form}}" for name, form in COLUMNS.items()), flush=True)
