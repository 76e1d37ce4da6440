"""Figures of reference answers in the quotes of answers without a model, over a library of reports.

    footnote --data DATA ingest FOLDER
    python benchmarks/filings.py DATA QUESTIONS.jsonl [--only AAPL,MSFT]

A line of QUESTIONS.jsonl is `{"text", "docs", "answers": [...]}`; `docs` is a pattern of the name of the file
that answers, `"*2023 Q3 AAPL*"`. A figure is an amount with a currency sign, a per cent sign, a scale or
groups of digits; those that the question has itself do not count, and "$2.4 billion" is 2,400 in millions,
too. Questions over several files and those whose answer has no figure are left out.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.chat.answer import Done, Sources
from rag.chat.pipeline import RagPipeline
from rag.cli.common import open_services
from rag.factory import make_pipeline
from rag.jobs import never
from rag.settings import load

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_FIGURE = re.compile(r"([$€£¥₩]\s?)?(?<![\w.])(\d[\d,]*(?:\.\d+)?)(\s?%)?(\s(?:million|billion)\b)?")
_SOURCES = re.compile(r"\(?SOURCE")


def numbers(text: str) -> set[Decimal]:
    """Return the numbers of a text by value.

    >>> sorted(numbers("| Mac | $6,840 | (7.50)% |"))
    [Decimal('7.50'), Decimal('6840')]
    """
    return {_value(found[0]) for found in _NUMBER.finditer(text)}


def figures(answer: str) -> set[Decimal]:
    """Return the figures of a reference answer by value, each in its own scale and in millions.

    >>> sorted(figures("On July 1, 2023, sales had fallen by 3% to $2.4 billion (SOURCE: Q3 2023)"))
    [Decimal('2.4'), Decimal('3'), Decimal('2400.0')]
    """
    found = set()
    for sign, number, per_cent, scale in _FIGURE.findall(_SOURCES.split(answer)[0]):
        if sign or per_cent or scale or "," in number.rstrip(","):
            found |= {_value(number)} | ({_value(number) * 1000} if "billion" in scale else set())
    return found


def _value(number: str) -> Decimal:
    return Decimal(number.replace(",", ""))


def questions(path: Path, only: list[str]) -> Iterator[tuple[str, str, set[Decimal]]]:
    """Yield the questions over one file, with the pattern of its name and the figures of their answers."""
    for line in path.read_text("utf-8").splitlines():
        entry: dict[str, Any] = json.loads(line)
        wanted = figures(entry["answers"][0]) - numbers(entry["text"])
        single = not entry.get("type", "").startswith("Multi")
        if wanted and single and (not only or any(word in entry["docs"] for word in only)):
            yield entry["text"], entry["docs"], wanted


def ask(pipeline: RagPipeline, question: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the quotes and the passages of an answer, each as file name and text."""
    passages, quotes = [], []
    for event in pipeline.ask(question, (), never):
        if isinstance(event, Sources):
            passages = [(one.document, one.text) for one in event.passages]
        if isinstance(event, Done):
            quotes = [(passages[one.marker - 1][0], one.quote) for one in event.citations if one.marker]
    return quotes, passages


def main() -> None:
    """Print each question without such a quote, then the shares."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("data", type=Path)
    options.add_argument("questions", type=Path)
    options.add_argument("--only", default="", metavar="WORDS", help="files with one of these, with commas")
    given = options.parse_args()
    settings = load({"data": given.data})
    held: dict[str, list[bool]] = {}
    with open_services(settings) as (_, library):
        pipeline = make_pipeline(settings, library, None)
        for text, docs, wanted in questions(given.questions, list(filter(None, given.only.split(",")))):
            quotes, passages = ask(pipeline, text)
            good = [fnmatch(name, f"{docs}*") and bool(wanted & numbers(quote)) for name, quote in quotes]
            read = any(fnmatch(name, f"{docs}*") and wanted & numbers(words) for name, words in passages)
            first = bool(quotes) and fnmatch(quotes[0][0], f"{docs}*")
            shares = {"first quote": good[:1] == [True], "any quote": any(good), "passages": read}
            for name, value in {**shares, "first from the right file": first}.items():
                held.setdefault(name, []).append(value)
            if not any(good):
                print(text)
    for name, values in held.items():
        print(f"{name}: {sum(values)} of {len(values)} ({sum(values) / len(values):.3f})")


if __name__ == "__main__":
    main()
