"""Footnote beside whole products: the same documents, questions and models, on the same machine, in one run.

    python benchmarks/products.py SET [--products Footnote,txtai,...] [--environments FOLDER] [--json FILE]

SET is a question set in BEIR's form: its passages become the documents. Each product runs in an environment
of its own, into which it is installed at first, and embeds by one server that speaks OpenAI's interface. It
takes in the documents, answers the questions, restarts, answers them again, and deletes one. Times are told
as ratios to Footnote's, which runs first and last: seconds, and processor seconds of the product's own
processes, which other work on the machine changes less.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from functools import partial
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parent.parent))

import httpx

from benchmarks.product_steps import environment
from benchmarks.product_steps.footnote import Footnote
from benchmarks.product_steps.haiku_rag import HaikuRag
from benchmarks.product_steps.open_webui import OpenWebUI
from benchmarks.product_steps.process import ProductFailed, disk, last_line
from benchmarks.product_steps.product import SOURCES, Place, Product
from benchmarks.product_steps.report import Result, Spent, figures, times
from benchmarks.product_steps.task import Task, draw, first_names, hits
from benchmarks.product_steps.txtai import Txtai
from rag.settings import default_model_cache
from storage.errors import FootnoteError

T = TypeVar("T")
PRODUCTS: dict[str, type[Product]] = {kind.name: kind for kind in (Footnote, OpenWebUI, HaikuRag, Txtai)}

FAILURES = (
    ProductFailed,
    FootnoteError,
    httpx.HTTPError,
    subprocess.SubprocessError,
    OSError,
    KeyError,
    ValueError,
)


@contextmanager
def model_server() -> Iterator[str]:
    """Run the model server; yield its address."""
    command = [sys.executable, "-m", "benchmarks.product_steps.model_server"]
    root = Path(__file__).parent.parent
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=root, stdin=pipe, stdout=pipe, text=True)
    assert process.stdout  # noqa: S101 - opened above
    try:
        address = process.stdout.readline().strip()
        if not address:
            raise SystemExit("The model server did not start: see the lines above.")
        yield address
    finally:
        process.communicate()  # it ends with its standard input


Steps = dict[str, Spent]


def timed(product: Product, step: str, action: Callable[[], T], spent: Steps) -> T:
    """Do a step of a product, and note the time that it takes."""
    before, begun = product.processor_seconds(), time.perf_counter()
    done = action()
    seconds = time.perf_counter() - begun
    spent[step] = Spent(seconds, max(0.0, product.processor_seconds() - before))
    return done


def answers(product: Product, task: Task) -> list[list[str]]:
    """Return the names of the sources of each question."""
    return [first_names(product.ask(question.text), SOURCES) for question in task.questions]


def measure(product: Product, task: Task, files: Sequence[Path]) -> Result:
    """Run a product through the task."""
    spent: Steps = {}
    try:
        product.start()
        timed(product, "add", lambda: product.add(files), spent)
        found = timed(product, "ask", lambda: answers(product, task), spent)
        memory = product.peak
        product.stop()
        used = disk(product.place.folder)
        timed(product, "restart", lambda: _restarted(product, task, spent), spent)
        again = answers(product, task)
        gone = _deleted(product, task, again, spent)
        memory = max(memory, product.peak)
    finally:
        product.stop()
    return Result(
        product.name,
        environment.version(product),
        spent=spent,
        memory=memory,
        disk=used,
        first=hits(found, task.questions, 1),
        among=hits(found, task.questions, SOURCES),
        again=hits(again, task.questions, SOURCES),
        gone=gone,
    )


def _restarted(product: Product, task: Task, spent: Steps) -> None:
    """Start a product again and ask it a question; note the time to its first page."""
    page = product.start()
    if page is not None:
        spent["page"] = page
    product.ask(task.questions[0].text)


def _deleted(product: Product, task: Task, found: Sequence[Sequence[str]], spent: Steps) -> bool:
    """Delete the first right document that was found; return True if it is not found any more."""
    for question, names in zip(task.questions, found, strict=True):
        for name in names:
            if name in question.files:
                timed(product, "delete", partial(product.delete, name), spent)
                return name not in product.ask(question.text)
    return False


def run(name: str, task: Task, files: Sequence[Path], models: str, environments: Path, work: Path) -> Result:
    """Install a product where it is not, and measure it; a failure is a result as well."""
    kind = PRODUCTS[name]
    folder = Path(tempfile.mkdtemp(prefix=f"{name.replace(' ', '-')}-", dir=work))
    try:
        product = kind(Place(environment.python(kind, environments), folder, models))
        return measure(product, task, files)
    except FAILURES as error:
        said = f"{type(error).__name__}: {error}. The last line of its log: {last_line(folder / 'log')}"
        return Result(name, environment.version(kind), failed=said)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", type=Path)
    parser.add_argument("--products", default=",".join([*PRODUCTS, Footnote.name]))
    parser.add_argument("--documents", type=int, default=500)
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--environments", type=Path, default=default_model_cache().parent / "benchmarks" / "products"
    )
    parser.add_argument("--json", type=Path, help="file for the results as they were measured")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # end what was started
    task = draw(given.set, given.documents, given.questions, given.seed)
    counts = f"{len(task.documents)} documents, {len(task.questions)} questions"
    print(f"{counts} of {given.set.name}, {date.today()}")
    results = []
    with tempfile.TemporaryDirectory() as folder, model_server() as models:
        work = Path(folder)
        files = task.write(work / "files")
        httpx.post(f"{models}/v1/embeddings", json={"input": ["warm"]}, timeout=600).raise_for_status()
        for name in given.products.split(","):
            results.append(run(name, task, files, models, given.environments, work))
            print(results[-1], file=sys.stderr, flush=True)
            if given.json:
                given.json.write_text(
                    json.dumps([asdict(one) for one in results], indent=1), encoding="utf-8"
                )
    print("\n".join([*times(results), "", *figures(results, len(task.questions)), ""]))
    for name in dict.fromkeys(one.product for one in results):
        print(f"- {name}: {PRODUCTS[name].settings}.")


if __name__ == "__main__":
    main()
