"""`footnote eval condense`: how follow-ups are made to stand alone, beside what people made of them."""

import json
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from rag.cli.common import Commands, Options
from rag.cli.progress import ProgressBar
from rag.errors import EmbeddingError
from rag.evaluation.rewriting import Turn, Written, load_turns, report, write_all
from rag.factory import make_embedder, make_llm, rephrase_seconds
from rag.models.embeddings import Embedder
from rag.models.protocol import LanguageModel
from rag.settings import Settings

DESCRIPTION = """Make each follow-up of a set stand alone, as the app does, and compare with the rewrites of
people: by carrying terms over, and by the connected model too where there is one."""


def add_command(kinds: Commands) -> None:
    """Add the command to `footnote eval`."""
    condense = kinds.add_parser("condense", help="how follow-ups are understood", description=DESCRIPTION)
    add = condense.add_argument
    add("dataset", type=Path, metavar="DATASET_DIR", help="a folder with queries.jsonl, with rewrites in it")
    add("--limit", type=int, metavar="N", help="only the first N turns")
    add("--json", action="store_true", help="one JSON line for the rule, one for the model")
    condense.set_defaults(command=condense_command)


def condense_command(settings: Settings, options: Options) -> int:
    """Print a line for the rule, and one for the model where one is connected."""
    turns = load_turns(options.dataset, options.limit)
    embedder = _embedder(settings)
    name = options.dataset.resolve().name
    for by, llm in {"rule": None, "model": make_llm(settings)}.items():
        if by == "rule" or llm is not None:
            found = asdict(report(_written(turns, llm, embedder, rephrase_seconds(settings, llm))))
            line = {"dataset": name, "by": by, **{key: round(value, 4) for key, value in found.items()}}
            print(json.dumps(line) if options.json else _lines(line), flush=True)
    return 0


def _embedder(settings: Settings) -> Embedder | None:
    """Return the embedding model; terms are always carried over where it cannot be had."""
    try:
        return make_embedder(settings)
    except EmbeddingError as error:
        print(f"footnote: {error}", file=sys.stderr)
        return None


def _written(
    turns: list[Turn], llm: LanguageModel | None, embedder: Embedder | None, seconds: float
) -> list[Written]:
    done = []
    with closing(ProgressBar({"condensing": "making {total} questions stand alone."})) as told:
        for written in write_all(turns, llm=llm, embedder=embedder, seconds=seconds):
            done.append(written)
            told("condensing", len(done), len(turns))
    return done


def _lines(line: dict[str, object]) -> str:
    return "\n".join(f"{name:<26} {value}" for name, value in line.items()) + "\n"
