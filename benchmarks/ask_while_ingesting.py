"""Latency of one person's answers while another one's library parses and embeds thousands of pages.

    python benchmarks/ask_while_ingesting.py [--pages 5000] [--files 10] [--questions 100] [--json]

One process, as a server is: the same database, jobs and embedding model for both. Ann asks, again and again,
before Bob's files come, while they are read and embedded, and after; the model is a local server that
answers at once. A wait is that from the question to the stored answer. Fails where an answer is not
complete, a document not ready, or anything is logged, such as a database that is locked.
"""

import argparse
import json
import logging
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.first_token import WORDS, fill
from rag.chat.conversation import Conversation
from rag.factory import make_bench_library
from rag.ingest.library import Library
from rag.ingest.queue import LANES, Ingest
from rag.jobs import Jobs, never
from rag.langchain import RetrievalQA
from rag.models.embeddings import Embedder, open_embedder
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.settings import default_model_cache
from storage.conversations import Conversations
from storage.database import Database
from tests.rag.fake_llm import FakeLLM, Reply
from tests.rag.ingest.parsers.makers import book

DOCUMENTS = 25  # of Ann's, of about four chunks each
THINKING = 0.1  # seconds between an answer and the next question
FEWEST = 20  # questions of which a 95th percentile says anything
BAR = 2.0  # times as long as with nothing else to do


class Complaints(logging.Handler):
    """Log handler that keeps warnings and errors."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.said.append(record.getMessage())


def asking(database: Database, embedder: Embedder, llm: LLM) -> Callable[[], float]:
    """Return a function that asks one question of Ann's and returns the milliseconds of the answer."""
    library = make_bench_library(database, "ann", lambda: embedder)
    fill(library, DOCUMENTS)
    pipeline = RetrievalQA(
        retriever=library.retriever("ensemble-cc", 6),
        llm=llm,
        embedder=library.indexes.embedder,
        rarity=library.rarity,
    ).pipeline()
    conversations = Conversations(database, "ann")
    conversation = Conversation(conversations, lambda: pipeline)
    chance = random.Random(2)

    def ask() -> float:
        chat = conversations.create().id
        question = " ".join(chance.choices(WORDS, k=7)) + "?"
        started = time.perf_counter()
        turn = conversation.begin(chat, question)
        for _ in conversation.run(turn, never):
            pass
        waited = (time.perf_counter() - started) * 1000
        answer = conversations.message(turn.answer_id)
        if answer.state != "complete":
            raise SystemExit(f"An answer is {answer.state}: {answer.error}")
        time.sleep(THINKING)
        return waited

    return ask


def add(ingest: Ingest, library: Library, folder: Path, pages: int, files: int) -> None:
    """Add so many files of so many pages together, and queue them."""
    languages = ("en", "ko", "ja")
    for number in range(files):
        path = book(folder / f"{number}.pdf", languages[number % 3], pages // files)
        # What is read twice is kept once: each file has its own first page.
        record, _ = library.add(path.name, path.read_bytes() + f"\n% {number}\n".encode())
        ingest.start(record.id)


def spread(waits: list[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of waits, in milliseconds."""
    return {
        "p50_ms": round(statistics.median(waits), 1),
        "p95_ms": round(sorted(waits)[int(len(waits) * 0.95)], 1),
    }


def measure(folder: Path, pages: int, files: int, questions: int) -> dict[str, object]:
    """Ask before, during and after the ingest, and return the latencies."""
    embedder = open_embedder("multilingual-e5-small", cache=default_model_cache())
    with (
        closing(Database.open(folder / "data")) as database,
        closing(Jobs(LANES)) as jobs,
        FakeLLM(default=Reply("An answer of a few words [1].")) as fake,
        LLM(LLMSettings(base_url=fake.url, api_key="", model="fake")) as llm,
    ):
        ask = asking(database, embedder, llm)
        for _ in range(5):  # the first ones open things
            ask()
        before = [ask() for _ in range(questions // 2)]
        library = make_bench_library(database, "bob", lambda: embedder)
        ingest = Ingest(library, jobs)
        add(ingest, library, folder, pages, files)
        started = time.perf_counter()
        waits: dict[str, list[float]] = {"reading": [], "embedding": []}
        while unfinished := {record.state for record in library.documents.unfinished()}:
            if not any(map(ingest.running, (record.id for record in library.documents.unfinished()))):
                raise SystemExit(f"Documents are left {unfinished}.")
            waits["reading" if unfinished & {"queued", "reading"} else "embedding"].append(ask())
        took = time.perf_counter() - started
        after = [ask() for _ in range(questions // 2)]
        chunks = len(library.documents.chunk_ids())
    return {
        "pages": pages,
        "chunks": chunks,
        "ingest_s": round(took),
        "questions": sum(map(len, waits.values())),
        "idle": spread(before + after),
        **{stage: spread(stage_waits) for stage, stage_waits in waits.items() if len(stage_waits) >= FEWEST},
        "while": spread([wait for stage_waits in waits.values() for wait in stage_waits]),
    }


def main() -> None:
    """Print the figures; end with an error where they miss the bar."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=5000)
    options.add_argument("--files", type=int, default=10)
    options.add_argument("--questions", type=int, default=100, help="of those with nothing else to do")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    with tempfile.TemporaryDirectory() as folder:
        result = measure(Path(folder), given.pages, given.files, given.questions)
    print(json.dumps(result) if given.json else "\n".join(f"{k:>10} {v}" for k, v in result.items()))
    if complaints.said:
        raise SystemExit(f"{len(complaints.said)} warnings, such as: {complaints.said[0]}")
    idle, busy = result["idle"]["p95_ms"], result["while"]["p95_ms"]  # type: ignore[index]
    if busy >= BAR * idle:
        raise SystemExit(
            f"p95 is {busy / idle:.1f} times as long as with nothing else to do; {BAR:g} is the bar."
        )


if __name__ == "__main__":
    main()
