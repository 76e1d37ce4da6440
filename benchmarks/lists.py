"""Items that "List all ...", "How many ..." and "Which documents mention ..." find, without a model.

    python benchmarks/lists.py FILES [--half mend|report] [--show]

100 questions with known sets: 70 over documents this script makes of `lists/made.json`, 30 over pages of
FastAPI's documentation in English and Japanese and of React's in Korean (`lists/real.json`), which FILES has
in `docs-fastapi` and `docs-react-ko`. The questions are split by document: rules may be mended on the half
`mend`, `report` is only reported. The documents that mention a word are those whose text has it.

Each half is a library, made and real documents each a collection of it that their questions are asked
within. An item is found where a line of the answer's list has it, or, where a search answered instead,
where the answer has it. "Named" questions are those whose items stand under a heading, in a list, a table or
a pattern; the others name them in running text.
"""

import argparse
import json
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.chat.answer import Done
from rag.chat.map_reduce import Coverage
from rag.chat.pipeline import RagPipeline
from rag.chat.scope import scope_within
from rag.cli import main as command
from rag.cli.common import open_services
from rag.factory import make_pipeline
from rag.jobs import never
from rag.settings import load

DATA = Path(__file__).parent / "lists"
HALVES = ("mend", "report")
_MARKER = re.compile(r"\[\d+\] \|")
_MARKUP = re.compile(r"\]\([^)]*\)|\{ #[^}]*\}|\{/\*.*?\*/\}|<[^>]*>|https?://\S+|[`*_\[\]]")


@dataclass(frozen=True)
class Question:
    """Question asked within a collection, with the items to be found."""

    text: str
    collection: str
    items: tuple[str, ...]
    kind: str  # named, prose, documents


@dataclass(frozen=True)
class Result:
    """Result of a question: items missed, lines of its list, and those that are no item."""

    question: Question
    missed: tuple[str, ...]
    lines: int
    other: int
    coverage: Coverage | None


# Made documents
def text_of(document: dict[str, Any], filler: Sequence[str]) -> str:
    """Return the Markdown of a made document: what names its items between paragraphs of filler."""
    paragraphs = [f"# {document['title']}", " ".join(filler), *_naming(document, filler)]
    return "\n\n".join([*paragraphs, " ".join([*filler[2:], *document["also"]])]) + "\n"


def _naming(document: dict[str, Any], filler: Sequence[str]) -> list[str]:
    kind, items, form = document["kind"], document["items"], document["form"]
    of_each = {
        "headings": "## {kind} {n}: {item}\n\n{said}",
        "under": "### {item}\n\n{said}",
        "labels": "{said}\n\n{kind}: {item}",
        "numbers": "{said} {kind} {item}.",
        "sentences": "{said} {item}.",
        "bullets": "- {item}",
        "numbered": "{n}. {item}",
    }
    if form == "table":
        head = [kind, *document["columns"]]
        rows = [[item, *(str(10 * n + at) for at in range(2))] for n, item in enumerate(items, 1)]
        return ["\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))]
    if form == "prose":
        return [f"{document['lead']} {', '.join(items)}. {filler[3]}"]
    each = [
        of_each[form].format(kind=kind, item=item, n=n, said=filler[n % len(filler)])
        for n, item in enumerate(items, 1)
    ]
    lead = {"bullets": f"## {kind}", "under": f"## {kind}", "numbered": document.get("lead", "")}.get(form)
    joined = ["\n".join(each)] if form in ("bullets", "numbered") else each
    return [lead, *joined] if lead else joined


def write_made(half: str, folder: Path) -> list[Question]:
    """Write the made documents of a half; return their questions."""
    data = json.loads((DATA / "made.json").read_text("utf-8"))
    found, texts = [], {}
    for document in data["documents"]:
        if document["half"] == half:
            texts[document["file"]] = text_of(document, data["filler"][document["language"]])
            kind = "prose" if document["form"] == "prose" else "named"
            found += [Question(text, "made", (*document["items"],), kind) for text in document["questions"]]
    return found + _written(texts, folder, data["mentions"], half, "made")


def write_real(half: str, files: Path, folder: Path) -> list[Question]:
    """Copy the real documents of a half, under names that no other has; return their questions."""
    data = json.loads((DATA / "real.json").read_text("utf-8"))
    texts = {
        f"{language}-{name.replace('/', '-')}": (files / data["folders"][language] / name).read_text("utf-8")
        for language, names in data["files"][half].items()
        for name in names
    }
    lists = [one for one in data["lists"] if one["half"] == half]
    asked = [Question(one["question"], "real", (*one["items"],), "named") for one in lists]
    return asked + _written(texts, folder, data["mentions"], half, "real")


def _written(
    texts: dict[str, str], folder: Path, mentions: Sequence[dict[str, str]], half: str, collection: str
) -> list[Question]:
    """Write documents; return the questions for those that mention a word."""
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    return [
        Question(
            one["question"],
            collection,
            tuple(n for n, text in texts.items() if has(text, one["word"])),
            "documents",
        )
        for one in mentions
        if one["half"] == half
    ]


# Measuring
def plain(text: str) -> str:
    """Return a text without markup, in lower case and with single spaces."""
    return " ".join(_MARKUP.sub(" ", unicodedata.normalize("NFC", text)).casefold().split())


def has(text: str, item: str) -> bool:
    """Return True where a text has an item as words of its own.

    >>> has("- `dict`: pairs", "dict"), has("a printout", "print")
    (True, False)
    """
    return bool(re.search(rf"(?<![a-z0-9]){re.escape(plain(item))}(?![a-z0-9])", plain(text)))


def listed_lines(answer: str) -> Iterator[str]:
    """Yield the lines of an answer's list: bullets and, below a count, the rows of tables with a marker."""
    counted = answer.partition("\n")[0].endswith(":**")
    for line in answer.split("\n"):
        if line.startswith("- ") or (counted and line.startswith("| ") and _MARKER.search(line)):
            yield line


def ask(pipeline: RagPipeline, question: Question) -> Result:
    """Ask a question; return what its answer has of the items."""
    answer, coverage = "", None
    for event in pipeline.ask(question.text, (), never):
        if isinstance(event, Coverage):
            coverage = event
        if isinstance(event, Done):
            answer = event.text
    lines = list(listed_lines(answer))
    if question.kind == "documents":
        lines = [line.partition(": ")[0].replace("\\", "") for line in lines]
    where = lines or ([] if question.kind == "documents" else [answer])
    is_in = (lambda line, item: item in line) if question.kind == "documents" else has
    missed = tuple(item for item in question.items if not any(is_in(line, item) for line in where))
    other = sum(not any(is_in(line, item) for item in question.items) for line in lines)
    return Result(question, missed, len(lines), other, coverage)


def results(half: str, files: Path) -> Iterator[Result]:
    """Yield the result of each question of a half."""
    with TemporaryDirectory() as temporary:
        base = Path(temporary)
        asked = []
        for collection in ("made", "real"):
            folder = base / collection
            folder.mkdir()
            asked += write_made(half, folder) if collection == "made" else write_real(half, files, folder)
            if command(
                ["--data", str(base / "data"), "ingest", str(folder), "--collection", collection, "--json"]
            ):
                raise SystemExit("A document was refused.")
        settings = load({"data": base / "data"})
        with open_services(settings) as (_, library):
            pipelines = {
                name: make_pipeline(settings, library, None, scope=scope_within(library.collections, [name]))
                for name in ("made", "real")
            }
            for question in asked:
                yield ask(pipelines[question.collection], question)


def shares(found: Sequence[Result]) -> dict[str, str]:
    """Return the figures of a group of results."""
    items = sum(len(one.question.items) for one in found)
    missed = sum(len(one.missed) for one in found)
    lines = sum(one.lines for one in found)
    other = sum(one.other for one in found)
    return {
        "questions": f"{len(found)}",
        "items found": f"{items - missed} of {items} ({1 - missed / items:.3f})" if items else "-",
        "lines that are items": f"{lines - other} of {lines}",
        "exact lists": f"{sum(not one.missed and not one.other and one.lines > 0 for one in found)}",
        "coverage stated": f"{sum(one.coverage is not None for one in found)}",
    }


def main() -> None:
    """Print the figures of each half by kind of question."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("files", type=Path)
    options.add_argument("--half", choices=HALVES, action="append")
    options.add_argument(
        "--show", action="store_true", help="the questions with an item missed or coverage unsaid"
    )
    given = options.parse_args()
    for half in given.half or HALVES:
        found = list(results(half, given.files))
        for one in found if given.show else ():
            if one.missed or one.coverage is None or one.other:
                print(f"{one.question.text} missed {one.missed}, {one.other} of {one.lines} lines other")
        for name in ("made", "real"):
            for kind in ("named", "documents", "prose"):
                group = [r for r in found if (r.question.collection, r.question.kind) == (name, kind)]
                if group:
                    told = ", ".join(f"{title} {value}" for title, value in shares(group).items())
                    print(f"{half}, {name}, {kind}: {told}")


if __name__ == "__main__":
    main()
