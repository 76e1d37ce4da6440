"""Share of two-step questions whose gold passages are all among an answer's sources.

    footnote --data FILINGS ingest FOLDER; footnote --data DOCS ingest FOLDER
    python benchmarks/steps.py FILINGS DOCS [--half fit|report] [--missed] [--check]

Each question is asked as the app asks it without a model, in steps and as a single search, which is also
given twice as many passages. A line of `benchmarks/steps/HALF.jsonl` names its `library` and, for each of its
two steps, the file and a pattern of the words of a passage that answers it; `--check` counts such passages.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.chat.answer import Done, Sources
from rag.chat.pipeline import RagPipeline
from rag.chat.steps import Planned
from rag.cli.common import open_services
from rag.factory import make_pipeline
from rag.ingest.library import Library
from rag.jobs import never
from rag.passage import Passage
from rag.settings import Settings, load

QUESTIONS = Path(__file__).parent / "steps"
LIBRARIES = ("filings", "docs")
SINGLE, DOUBLE, STEPS, QUOTED = "one search", "one search, twice as many", "in steps", "in steps, quoted"


def is_gold(passage: Passage, gold: dict[str, str]) -> bool:
    """Return True for a passage that answers a step."""
    named = re.fullmatch(gold["file"], passage.document)
    return named is not None and re.search(gold["match"], passage.text) is not None


def questions(half: str, library: str) -> Iterator[dict[str, Any]]:
    """Yield the questions over a library."""
    for line in (QUESTIONS / f"{half}.jsonl").read_text("utf-8").splitlines():
        if (entry := json.loads(line))["library"] == library:
            yield entry


def ask(pipeline: RagPipeline, question: str) -> tuple[list[Passage], list[Passage], list[str]]:
    """Return the sources of an answer, those that are quoted, and its steps."""
    passages, quoted, steps = list[Passage](), list[Passage](), list[str]()
    for event in pipeline.ask(question, (), never):
        if isinstance(event, Planned):
            steps = [step.question for step in event.steps]
        if isinstance(event, Sources):
            passages = list(event.passages)
        if isinstance(event, Done):
            quoted = [passages[one.marker - 1] for one in event.citations if one.marker]
    return passages, quoted, steps


def measure(settings: Settings, library: Library, entry: dict[str, Any]) -> tuple[dict[str, bool], list[str]]:
    """Return in which ways all gold passages of a question are found, and its steps."""
    pipeline = make_pipeline(settings, library, None)
    twice = make_pipeline(settings, library, None, k=2 * settings.k)
    alone, _, _ = ask(replace(pipeline, steps=None), entry["question"])
    double, _, _ = ask(replace(twice, steps=None), entry["question"])
    found, quoted, steps = ask(pipeline, entry["question"])
    ways = {SINGLE: alone, DOUBLE: double, STEPS: found, QUOTED: quoted}
    return {way: finds(passages, entry["gold"]) for way, passages in ways.items()}, steps


def finds(passages: list[Passage], wanted: list[dict[str, str]]) -> bool:
    """Return True where each step has a passage that answers it."""
    return all(any(is_gold(one, gold) for one in passages) for gold in wanted)


def main() -> None:
    """Print the shares by library and language."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in LIBRARIES:
        options.add_argument(name, type=Path)
    options.add_argument("--half", choices=("fit", "report"), default="report")
    options.add_argument("--missed", action="store_true", help="print the steps of the questions that fail")
    options.add_argument("--check", action="store_true", help="count the passages of each step instead")
    given = options.parse_args()
    held: dict[str, list[dict[str, bool]]] = {}
    for name in LIBRARIES:
        settings = load({"data": getattr(given, name)})
        with open_services(settings) as (_, library):
            every = [*make_pipeline(settings, library, None).corpus.all_passages()] if given.check else []
            for entry in questions(given.half, name):
                if given.check:
                    print([sum(is_gold(p, gold) for p in every) for gold in entry["gold"]], entry["question"])
                    continue
                found, steps = measure(settings, library, entry)
                for group in (name, entry["lang"], "all"):
                    held.setdefault(group, []).append(found)
                if given.missed and not found[STEPS]:
                    print(entry["question"], steps, file=sys.stderr)
    for group, results in held.items():
        shares = {way: sum(one[way] for one in results) / len(results) for way in results[0]}
        print(
            f"{group:<8} {len(results):>3}  "
            + "  ".join(f"{way} {share:.2f}" for way, share in shares.items())
        )


if __name__ == "__main__":
    main()
