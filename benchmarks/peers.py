"""Footnote's retrieval beside LangChain's own classes: same chunks, same model, same machine, same run.

    python benchmarks/peers.py [--sizes 10000,50000,200000] [--model all-MiniLM-L6-v2] [--json]

The peers are installed into an environment of their own. Each side is a process that answers requests,
turn by turn, so that what else the machine does falls on both. Chunks and their vectors are made up;
questions are embedded for real, and so is everything in the row on ingest. What is built is kept in
--cache: the first run takes half an hour, the next ones a few minutes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from peer_steps import environment, made

from rag.index.chroma import GRAPH
from rag.settings import default_model_cache
from rag.text.tokenize import TOKENIZER

STEPS = Path(__file__).parent / "peer_steps"
TURNS = 3  # of each side, in every comparison


@dataclass(frozen=True)
class Row:
    """One line of the table: `ours` against `against`, and the most (or least) that their ratio may be."""

    what: str
    unit: str
    ours: float
    against: float
    ratio: float
    bar: str
    holds: bool
    samples: dict[str, dict[str, float]]


class Child:
    """A process that measures on request."""

    def __init__(self, python: Path | str, script: str):
        variables = {
            "TOKENIZERS_PARALLELISM": "false",
            "ANONYMIZED_TELEMETRY": "False",
            "HF_HUB_OFFLINE": "1",
        }
        self._process = subprocess.Popen(
            [python, STEPS / script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | variables,
        )

    def __call__(self, step: str, **arguments: Any) -> Any:
        assert self._process.stdin and self._process.stdout  # noqa: S101 - opened above
        print(json.dumps({"step": step, **arguments}), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{step} failed: see the lines above.")
        return json.loads(line)

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


@dataclass(frozen=True)
class Bench:
    """Folders and model of a benchmark run."""

    cache: Path
    python: Path
    model: str
    peer_model: str
    questions: int
    middle: int  # chunks, where both sides' hybrid search and memory are compared

    def ours(self) -> Child:
        """Start the child process of Footnote."""
        return Child(sys.executable, "ours.py")

    def theirs(self) -> Child:
        """Start the child process of LangChain."""
        return Child(self.python, "theirs.py")

    def folder(self, side: str, size: int) -> str:
        """Return the folder of one side's index of `size` chunks."""
        settings = "-".join([TOKENIZER, *(str(value) for value in GRAPH.values())]) if side == "ours" else "1"
        return str(self.cache / f"{side}-{made.VERSION}-{size}-{settings}")


def summary(samples: Sequence[float]) -> dict[str, float]:
    """Return fastest, median and 95th percentile."""
    ordered = sorted(samples)
    return {
        "n": len(ordered),
        "min": round(ordered[0], 3),
        "median": round(statistics.median(ordered), 3),
        "p95": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))], 3),
    }


def at_most(
    what: str, most: float, ours: Sequence[float], against: Sequence[float], figure: str = "median"
) -> Row:
    """Compare times in milliseconds; a bar of 1/150 says how much less ours must be."""
    mine, other = summary(ours), summary(against)
    ratio = mine[figure] / other[figure]
    bar = f"<= 1/{1 / most:.0f}" if most < 0.5 else f"<= {most:g}"
    samples = {"ours": mine, "against": other}
    return Row(
        f"{what}, {figure}", "ms", mine[figure], other[figure], round(ratio, 5), bar, ratio <= most, samples
    )


def by_words(bench: Bench, size: int, ours: Child, theirs: Child) -> Iterator[Row]:
    """Compare BM25: search, adding, opening."""
    asked = made.questions(bench.questions, size)
    share = -(-len(asked) // TURNS)
    mine, other = [], []
    ours("words", questions=made.questions(20, size, seed=1))
    for turn in made.together(asked, share):
        mine += ours("words", questions=turn)
        other += theirs("words", questions=turn)
    yield at_most(f"BM25 query at {size:,} chunks", 1 / 150, mine, other)
    if size == bench.middle:
        yield at_most(f"adding 100 chunks to {size:,}", 1 / 50, ours("add", times=9), theirs("add", times=3))
        mine = ours("cold", times=9, question=asked[0])
        yield at_most(
            f"opening {size:,} chunks cold", 1 / 100, mine, theirs("cold", times=3, question=asked[0])
        )


def by_both(bench: Bench, ours: Child, theirs: Child) -> Iterator[Row]:
    """Compare hybrid search, and then the memory of both."""
    theirs(
        "open_meaning", size=bench.middle, model=bench.peer_model, folder=bench.folder("theirs", bench.middle)
    )
    asked = made.questions(bench.questions, bench.middle, seed=9)
    mine, other = [], []
    for child in (ours, theirs):
        child("hybrid", questions=made.questions(5, bench.middle, seed=1))
    for turn in made.together(asked, -(-len(asked) // TURNS)):
        mine += ours("hybrid", questions=turn)
        other += theirs("hybrid", questions=turn)
    yield at_most(f"hybrid query at {bench.middle:,} chunks, embedding included", 1 / 20, mine, other)
    here, there = ours("memory"), theirs("memory")
    ratio = here / there
    yield Row(
        f"memory at {bench.middle:,} chunks", "MB", here, there, round(ratio, 3), "<= 0.5", ratio <= 0.5, {}
    )


def within(bench: Bench, size: int, ours: Child) -> Iterator[Row]:
    """Compare ours with ourselves: MMR with similarity search, limited with unlimited, index with truth."""
    asked = made.questions(2 * bench.questions, size, seed=4)
    whole, limited = [], []
    ours("limited", questions=asked[:5], share=0.05)
    for turn in made.together(asked, -(-len(asked) // TURNS)):
        whole += ours("hybrid", questions=turn)
        limited += ours("limited", questions=turn, share=0.05)
    what = f"limited to 5 % of the documents against unlimited, {size:,} chunks"
    yield at_most(what, 2, limited, whole, "p95")
    if size == bench.middle:
        ours("mmr", times=20)
        ours("similarity", times=20)
        mmr, plain = [], []
        for _ in range(TURNS):
            mmr += ours("mmr", times=40)
            plain += ours("similarity", times=40)
        yield at_most("MMR, fetch_k=50, against similarity search", 1.2, mmr, plain)
        recall = ours("recall", size=size, times=100)
        yield Row(f"recall@10 at {size:,} chunks", "", recall, 1.0, recall, ">= 0.98", recall >= 0.98, {})


def growth(bench: Bench, small: int, large: int) -> Iterator[Row]:
    """Compare hybrid search at two sizes, in turns."""
    with bench.ours() as few, bench.ours() as many:
        few("open", folder=bench.folder("ours", small), model=bench.model)
        many("open", folder=bench.folder("ours", large), model=bench.model)
        at = {id(few): [], id(many): []}
        for child in (few, many):
            child("hybrid", questions=made.questions(10, small, seed=2))
        for turn in made.together(made.questions(2 * bench.questions, small, seed=3), 20):
            for child in (few, many):
                at[id(child)] += child("hybrid", questions=turn)
        what = f"hybrid query, embedding included, {large:,} against {small:,} chunks"
        yield at_most(what, 2, at[id(many)], at[id(few)], "p95")


def ingest(bench: Bench) -> Iterator[Row]:
    """Compare chunks a second, files to searchable, with the real model."""
    mine, other = [], []
    with bench.ours() as ours, bench.theirs() as theirs:
        for _ in range(TURNS):
            with tempfile.TemporaryDirectory() as folder:
                chunks = str(Path(folder) / "chunks.jsonl")
                mine.append(ours("ingest", model=bench.model, folder=folder, documents=4, chunks=chunks))
                other.append(theirs("ingest", model=bench.peer_model, chunks=chunks))
    here, there = (sum(t["chunks"] for t in side) / sum(t["seconds"] for t in side) for side in (mine, other))
    ratio = here / there
    what = f"ingest of {mine[0]['chunks']} chunks, {bench.model}"
    samples = {
        "ours": summary([t["seconds"] for t in mine]),
        "against": summary([t["seconds"] for t in other]),
    }
    yield Row(what, "/s", here, there, round(ratio, 2), ">= 2", ratio >= 2, samples)


def table(bench: Bench, sizes: Sequence[int]) -> Iterator[Row]:
    """Build missing indexes, then yield the rows as they are measured."""
    for size in sizes:
        print(f"Building {size:,} chunks, unless they are kept", file=sys.stderr)
        with bench.ours() as builder:
            builder("build", size=size, folder=bench.folder("ours", size), model=bench.model)
    yield from ingest(bench)
    with bench.theirs() as builder:
        builder("open_words", size=bench.middle)
        folder = bench.folder("theirs", bench.middle)
        builder("open_meaning", size=bench.middle, model=bench.peer_model, folder=folder)
    for size in sizes[len(sizes) // 2 :]:
        with bench.ours() as ours, bench.theirs() as theirs:
            ours("open", folder=bench.folder("ours", size), model=bench.model)
            theirs("open_words", size=size)
            if size == bench.middle:
                yield from by_both(bench, ours, theirs)
            yield from by_words(bench, size, ours, theirs)
            yield from within(bench, size, ours)
    if len(sizes) > 1:
        yield from growth(bench, sizes[0], sizes[-1])


def line(row: Row) -> str:
    """Return a row of the Markdown table."""
    figures = f"{row.ours:,.4g} {row.unit} | {row.against:,.4g} {row.unit}"
    ratio = f"1/{1 / row.ratio:.0f}" if 0 < row.ratio < 0.2 else f"{row.ratio:.3g}"
    return f"| {row.what} | {figures} | {ratio} | {row.bar} | {'yes' if row.holds else '**no**'} |"


def main() -> None:
    """Print the table, or one object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,50000,200000")
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--cache", type=Path, default=default_model_cache().parent / "benchmarks" / "peers")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    peer_model = environment.sentence_transformer(given.model, given.cache)
    python = environment.python(given.cache)
    sizes = sorted(int(size) for size in given.sizes.split(","))
    middle = sizes[len(sizes) // 2]
    bench = Bench(given.cache, python, given.model, peer_model, given.questions, middle)
    rows = []
    if not given.json:
        print("| what | ours | against | ratio | bar | holds |\n|---|--:|--:|--:|--:|---|", flush=True)
    for row in table(bench, sizes):
        rows.append(row)
        if not given.json:
            print(line(row), flush=True)
    run = {
        "date": str(date.today()),
        "model": given.model,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[2],
    }
    if given.json:
        print(json.dumps({**run, "sizes": sizes, "rows": [asdict(row) for row in rows]}))
    else:
        print(f"\n{run['date']}, {run['model']}, {run['cores']} cores, {run['load']:.1f} processes at a time")


if __name__ == "__main__":
    main()
