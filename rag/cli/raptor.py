"""`footnote eval raptor`: whether a tree over documents brings more of what questions about them ask for."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

from rag.cli.collecting import say
from rag.cli.common import Commands, Options, positive
from rag.cli.progress import ProgressBar
from rag.errors import LLMError, SettingsError
from rag.evaluation.collection import default_cache
from rag.evaluation.raptor import ask_all, planted, report
from rag.evaluation.wholes import load
from rag.factory import make_embedder, make_llm
from rag.raptor.retrievers import BUDGET
from rag.raptor.summarize import ByModel, Extracting, Summariser
from rag.settings import Settings

DESCRIPTION = """Build a tree over each document of a set, and ask its questions of the leaves alone (flat),
of the collapsed tree and by traversal, each filling the same budget of tokens. Where questions have reference
summaries, content is the share of their words, in order, that the context holds; where they have spans of
evidence, evidence is the share of it. Trees are kept for the next run."""

SLOW = {"trees": "building trees over {total} documents; they are kept for the next run."}
HEAD = (
    f"{'questions':<10} {'retriever':<10} {'count':>5}  {'content':>8} {'difference':>26}  "
    f"{'evidence':>8} {'difference':>26} {'p50 ms':>7}"
)


def add_command(kinds: Commands) -> None:
    """Add the command to `footnote eval`."""
    raptor = kinds.add_parser("raptor", help="what a tree brings", description=DESCRIPTION)
    add = raptor.add_argument
    add(
        "dataset",
        type=Path,
        metavar="DATASET_DIR",
        help="a folder with *.docs.jsonl and *.queries.jsonl, or one as for `eval retrieval`",
    )
    add("--tokens", type=positive, default=BUDGET, metavar="N", help=f"of a context (default: {BUDGET})")
    add("--limit", type=positive, metavar="N", help="only the first N documents, and questions about them")
    add("--summaries", choices=("extractive", "model"), default="extractive", help="who writes them")
    add("--json", action="store_true", help="one JSON line per kind of question and retriever")
    raptor.set_defaults(command=raptor_command)


def raptor_command(settings: Settings, options: Options) -> int:
    """Print a line for each kind of question and each way of searching."""
    wholes = load(options.dataset, limit=options.limit)
    written = _by_model(settings) if options.summaries == "model" else Extracting()
    with (
        closing(ProgressBar(SLOW)) as told,
        planted(
            wholes,
            lambda: make_embedder(settings),
            cache=default_cache(),
            told=told,
            summariser=lambda: written,
        ) as (library, ids),
    ):
        scored = list(ask_all(library, ids, wholes, tokens=options.tokens, told=told))
    if not options.json:
        print(HEAD)
    for line in report(wholes.name, scored):
        print(json.dumps(line, ensure_ascii=False) if options.json else _row(line), flush=True)
    return 0


def _by_model(settings: Settings) -> Summariser:
    llm = make_llm(settings)
    if llm is None:
        raise SettingsError("No language model is connected to write summaries. Set FOOTNOTE_LLM_MODEL.")
    return ByModel(llm, _left_out)


def _left_out(error: LLMError) -> None:
    say(f"a summary was left out: {error}")


def _row(line: dict[str, Any]) -> str:
    content, evidence = _figures(line, "content"), _figures(line, "evidence")
    named = f"{line['questions']:<10} {line['retriever']:<10} {line['count']:>5}"
    return f"{named}  {content}  {evidence} {line['p50_ms']:>7}"


def _figures(line: dict[str, Any], name: str) -> str:
    if line[name] is None:
        return f"{'-':>8} {'':>26}"
    apart = f"{line[f'{name}_diff']:+.4f} [{line[f'{name}_low']:+.4f}, {line[f'{name}_high']:+.4f}]"
    return f"{line[name]:>8.4f} {apart:>26}"
