"""Parsing result of every file of a folder: read or refused with its sentence, time and memory.

    python benchmarks/parsing.py FOLDER [--expected-only] [--worst 0.95] [--json]

Each file is parsed in the sandbox, as an upload is. Where a text that is
expected of a file lies beside it, as in the repositories of docling and markitdown
(`groundtruth/NAME.md` for `sources/NAME`, `expected_outputs/STEM.md` for `../STEM.*`), the share of
that text's words that were read is printed too. One file at a time is read in a forked process of its own,
which is what makes the memory of its parser known.
"""

import argparse
import html
import json
import multiprocessing
import re
import resource
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.errors import DocumentRefused
from rag.ingest.parsers import load

_WORD = re.compile(r"[^\W_]+")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_NOT_SHOWN = re.compile(r"<!--.*?-->|\]\([^()\s]*(?:\([^()]*\)[^()]*)*\)|</?[a-z][^<>]*>|\\(?=[^\w\s])", re.S)
# What docling writes that stands in no file: commands of LaTeX, labels of comments, kinds of charts.
_DOCLINGS = re.compile(
    r"\\[a-zA-Z]+(?=[^a-zA-Z])(?:\[[^\]]*\])?|\[author: (?=[^\]]*\]:)|, time: [^\]]*(?=\]:)"
    r"|^(?:Bar|Line|Pie|Scatter|Other) chart$",
    re.M,
)
_REPEATED = re.compile(r"(?<=\|) *([^|\n]+?) *\|(?: *\1 *\|)+")
_EXPECTED = ("groundtruth", "expected_outputs")


@dataclass(frozen=True)
class Outcome:
    """Result of one file; ``memory_mb`` is the parser's, ``recall`` None where no text is expected."""

    path: str
    format: str
    state: str  # read, refused or crashed
    reason: str
    characters: int
    seconds: float
    memory_mb: int
    recall: float | None
    words: int  # of the expected text


def words(text: str) -> Counter[str]:
    """Count the words of a text, wide letters one by one: Markdown's marks, links and escapes left out.

    A cell that spans columns counts once, whether or not it is written in each of them.

    >>> words("See [the guide](a.md), 항구&amp;sea.")
    Counter({'see': 1, 'the': 1, 'guide': 1, '항': 1, '구': 1, 'sea': 1})
    """
    shown = _NOT_SHOWN.sub(" ", _REPEATED.sub(r"\1|", text))
    plain = unicodedata.normalize("NFKC", html.unescape(html.unescape(shown))).casefold()
    return Counter(_WORD.findall(_WIDE.sub(lambda letter: f" {letter[0]} ", plain)))


def recall(expected: Counter[str], read: Counter[str]) -> float:
    """Return the share of the expected words, with their counts, that were read.

    >>> recall(Counter("aab"), Counter("abc"))
    0.6666666666666666
    """
    return sum((expected & read).values()) / max(expected.total(), 1)


def expected_of(path: Path) -> Path | None:
    """Return the file that holds the text expected of another, if there is one."""
    places = [path.parent / name for name in _EXPECTED]
    for parent in path.parents:
        if parent.name == "sources":
            below = path.relative_to(parent)
            places.append(parent.parent / "groundtruth")
            named = parent.parent / "groundtruth" / ("_".join(below.parts) + ".md")
            if named.is_file():
                return named
    names = (f"{path.name}.md", f"{path.stem}.md") if path.suffix.lower() == ".pdf" else (f"{path.name}.md",)
    return next((place / name for place in places for name in names if (place / name).is_file()), None)


def outcome(path: Path) -> Outcome:
    """Parse a file as an upload is parsed."""
    started, state, reason, text = time.perf_counter(), "read", "", ""
    try:
        text = load(path, path.name).text
    except DocumentRefused as error:
        state, reason = "refused", str(error)
    except Exception as error:  # noqa: BLE001 - what the bars call a crash, told in the table
        state, reason = "crashed", repr(error)
    expected = expected_of(path)
    wanted = _DOCLINGS.sub(" ", expected.read_text("utf-8")) if expected and state == "read" else ""
    counted = words(wanted)
    return Outcome(
        path=str(path),
        format=path.suffix.lower().lstrip(".") or "none",
        state=state,
        reason=reason,
        characters=len(text),
        seconds=round(time.perf_counter() - started, 2),
        memory_mb=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10,
        recall=round(recall(counted, words(text)), 4) if counted else None,
        words=counted.total(),
    )


def outcomes(paths: list[Path]) -> Iterator[Outcome]:
    """Read files one after the other, each from a process of its own."""
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        yield from pool.imap(outcome, paths, chunksize=1)


def summary(found: list[Outcome]) -> Iterator[dict[str, object]]:
    """Yield a row for each format."""
    for name in sorted({row.format for row in found}):
        rows = [row for row in found if row.format == name]
        expected = [row for row in rows if row.recall is not None]
        total = sum(row.words for row in expected)
        yield {
            "format": name,
            "files": len(rows),
            "read": sum(row.state == "read" for row in rows),
            "refused": sum(row.state == "refused" for row in rows),
            "crashed": sum(row.state == "crashed" for row in rows),
            "empty": sum(row.state == "read" and not row.characters for row in rows),
            "seconds": max(row.seconds for row in rows),
            "memory_mb": max(row.memory_mb for row in rows),
            "expected": len(expected),
            "recall": round(sum((row.recall or 0) * row.words for row in expected) / total, 4)
            if total
            else None,
        }


def main() -> None:
    """Print the result of each file with a problem, then a row for each format."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("--expected-only", action="store_true", help="only files with an expected text")
    options.add_argument("--worst", type=float, default=0.95, help="name files whose recall is below this")
    options.add_argument("--json", action="store_true", help="one line of JSON a file and a format")
    given = options.parse_args()
    paths = sorted(path for path in given.folder.rglob("*") if path.is_file())
    if given.expected_only:
        paths = [path for path in paths if expected_of(path)]
    found = []
    for row in outcomes(paths):
        found.append(row)
        if given.json:
            print(json.dumps(asdict(row), ensure_ascii=False), flush=True)
        elif row.state != "read":
            print(f"{row.state} {row.path}: {row.reason} ({row.seconds} s, {row.memory_mb} MB)", flush=True)
        elif row.recall is not None and row.recall < given.worst:
            print(f"recall {row.recall:.3f} of {row.words} words: {row.path}", flush=True)
    for line in summary(found):
        print(json.dumps(line) if given.json else line, flush=True)


if __name__ == "__main__":
    main()
