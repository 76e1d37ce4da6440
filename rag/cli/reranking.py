"""`footnote eval rerank`: what rerankers make of the same passages, beside the order they are given in."""

import argparse
import json
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

from rag.cli.collecting import say
from rag.cli.common import Commands, Options, positive
from rag.cli.progress import ProgressBar
from rag.evaluation.datasets import QuestionSet, load
from rag.evaluation.reranking import (
    CUTS,
    Candidates,
    Ordered,
    RerankingReport,
    listed,
    pooled,
    report,
    rerank_all,
)
from rag.evaluation.run_files import read_run
from rag.factory import make_llm, make_reranker
from rag.models.model_wrappers import Sent
from rag.models.protocol import LanguageModel
from rag.retrieval.rerank.base import Reranker
from rag.retrieval.rerank.llm import LLMReranker
from rag.retrieval.rerank.registry import NAMES, NONE
from rag.retrieval.rerank.remote import RemoteReranker
from rag.settings import Settings

DESCRIPTION = """Give each reranker the same passages for each question of a set and measure the order that it
makes of them. Those that ask a language model ask the connected one."""
PATIENCE = 600.0
"""Seconds for one question: what is measured is the order, and small machines take minutes for it."""

COLUMNS = {
    "reranker": "<18",
    "queries": ">7",
    **dict.fromkeys((f"ndcg@{cut}" for cut in CUTS), ">8.4f"),
    "s_per_query": ">11.2f",
    "requests": ">8",
    "fallbacks": ">9",
}
HEAD = "  ".join(f"{name:{form.split('.')[0]}}" for name, form in COLUMNS.items())


@dataclass(frozen=True)
class Named:
    """A reranker as the command names it, `NAME` or `NAME:MODEL`: ``cross-encoder:models/bge``."""

    name: str
    model: str

    def __str__(self) -> str:
        return f"{self.name}:{self.model}" if self.model else self.name


def add_command(kinds: Commands) -> None:
    """Add the command to `footnote eval`."""
    rerank = kinds.add_parser("rerank", help="how well passages are put in order", description=DESCRIPTION)
    add = rerank.add_argument
    add(
        "dataset",
        type=Path,
        metavar="DATASET_DIR",
        help="a folder with corpus.jsonl, queries.jsonl, qrels.tsv",
    )
    add(
        "--rerankers",
        type=rerankers,
        default=(Named(NONE, ""),),
        metavar="NAMES",
        help=f"with commas between them: {', '.join(NAMES)}; a model as in cross-encoder:FOLDER_OR_HUB_ID",
    )
    add("--run", type=Path, metavar="RUN.tsv", help="the passages to order (default: all that are judged)")
    add("--depth", type=positive, default=50, metavar="N", help="only the first N passages (default: 50)")
    add(
        "--queries",
        choices=("text", "rewrite"),
        default="text",
        help="follow-ups as they were asked, or as a person rewrote them",
    )
    add("--limit", type=positive, metavar="N", help="only the first N judged questions")
    add("--seconds", type=float, default=PATIENCE, metavar="S", help="for one question (default: 600)")
    add("--json", action="store_true", help="one JSON line per reranker")
    rerank.set_defaults(command=rerank_command)


def rerankers(text: str) -> tuple[Named, ...]:
    """Read rerankers with commas between them; one named twice counts once."""
    named = [Named(*part.strip().partition(":")[::2]) for part in text.split(",")]
    for one in named:
        if one.name not in NAMES:
            raise argparse.ArgumentTypeError(
                f"there is no reranker {one.name!r}: choose among {', '.join(NAMES)}"
            )
    return tuple(dict.fromkeys(named))


def rerank_command(settings: Settings, options: Options) -> int:
    """Print a line per reranker as soon as it is done; 1 when one left a question's order as it was."""
    questions = load(options.dataset, limit=options.limit)
    questions = questions.rewritten() if options.queries == "rewrite" else questions
    candidates = listed(questions, read_run(options.run)) if options.run else pooled(questions)
    candidates = {id_: given[: options.depth] for id_, given in candidates.items()}
    fallbacks = 0
    with make_llm(settings) or nullcontext() as llm:
        made = [(named, _made(settings, named, llm, options.seconds)) for named in options.rerankers]
        if not options.json:
            print(HEAD)
        for named, reranker in made:
            found = _measured(questions, candidates, str(named), reranker)
            _show(found, as_json=options.json)
            fallbacks += found.fallbacks
    return 1 if fallbacks else 0


def _made(settings: Settings, named: Named, llm: LanguageModel | None, seconds: float) -> Reranker | None:
    update = {"reranker": named.name, "rerank_model": named.model or settings.rerank_model}
    return make_reranker(settings.model_copy(update=update), llm, seconds=seconds, on_failure=_unsaid)


def _unsaid(what: str, error: Exception) -> None:
    """Say nothing of one failure: the first of a reranker is said with their number."""


def _measured(
    questions: QuestionSet, candidates: Candidates, name: str, reranker: Reranker | None
) -> RerankingReport:
    sent: list[Sent] = []
    noting = reranker.noting(sent) if isinstance(reranker, LLMReranker) else reranker
    done: list[Ordered] = []
    slow = {name: f"{name} puts the passages of {{total}} questions in order."} if reranker else {}
    with closing(ProgressBar(slow)) as told:
        for ordered in rerank_all(questions, candidates, noting):
            done.append(ordered)
            told(name, len(done), len(questions.questions))
    requests = reranker.requests if isinstance(reranker, RemoteReranker) else len(sent)
    found = report(questions, name, done, requests=requests)
    _say_why(name, done)
    return found


def _say_why(name: str, done: list[Ordered]) -> None:
    kept = [one.kept for one in done if one.kept]
    if kept:
        say(f"{name} left {len(kept)} of {len(done)} questions as they were, the first since: {kept[0]}")
    for note in dict.fromkeys(one.note for one in done if one.note and not one.kept):
        say(f"{name}: {note}")


def _show(found: RerankingReport, *, as_json: bool) -> None:
    row = found.as_dict()
    line = "  ".join(f"{row[name]:{form}}" for name, form in COLUMNS.items())
    print(json.dumps(row, ensure_ascii=False) if as_json else line, flush=True)
