"""What is killed: it ingests file after file, or asks question after question, and says what it has done."""

import itertools
import time
from multiprocessing.connection import Connection
from pathlib import Path

from rag.chat.answer import Token
from rag.chat.conversation import Conversation
from rag.chat.pipeline import RagPipeline
from rag.factory import make_cell_reader
from rag.grid.grids import Grids
from rag.grid.run import LANES, GridRuns
from rag.ingest.library import Library
from rag.jobs import Jobs, never
from rag.models.embeddings import Embedder
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from storage.conversations import Conversations
from storage.database import Database

OWNER = "ann"


def embedder() -> Embedder:
    from tests.faults.opened import EMBEDDER

    return EMBEDDER


def text(name: str) -> bytes:
    """A file of its own of a few chunks, by its name."""
    said = "\n\n".join(f"The tower {name} has {n} windows on floor {n}. " * 6 for n in range(6))
    return f"# {name}\n\n{said}\n".encode()


def ingest(data: Path, first: int, said: Connection) -> None:
    """Finish what an earlier life began, then add files `first`, `first + 1`, ... and read and embed each."""
    library = Library(Database.open(data), OWNER, embedder)
    for document_id in library.recover():
        list(library.index(document_id))
    said.send(("begun", ""))
    for number in itertools.count(first):
        name = f"tower-{number}.md"
        record, _ = library.add(name, text(name))
        said.send(("added", name))
        for _ in library.index(record.id):
            pass
        said.send(("ready", name))


def grids_of(database: Database) -> Grids:
    """The owner's grids, read by rules."""
    library = Library(database, OWNER, embedder)
    return Grids(database, library, lambda _sent: make_cell_reader(library, None))


def run_grid(data: Path, said: Connection) -> None:
    """Go on with the grid that is to run; say each cell once it is kept."""
    grids, jobs = grids_of(Database.open(data)), Jobs(LANES)
    runs = GridRuns(grids, OWNER, jobs)
    runs.recover()
    said.send(("begun",))
    seen, job = 0, runs.job(grids.list()[0].id)
    while job is not None and not job.done:
        for event in job.since(seen, 0.05):
            seen += 1
            if event.document_id:
                said.send(("kept", event.document_id, event.column_id))


def answer(data: Path, url: str, said: Connection) -> None:
    """Ask again and again in one conversation; say when each question is kept, and when each word is."""
    database = Database.open(data)
    conversations = Conversations(database, OWNER)
    pipeline = RagPipeline(
        Library(database, OWNER, embedder).retriever("bm25", 3),
        LLM(LLMSettings(base_url=url, api_key="", model="fake")),
    )
    conversation = Conversation(conversations, lambda: pipeline)
    chat = conversations.list()[0].id
    for pending in conversations.messages(chat, limit=10_000):
        if pending.state == "pending":
            conversations.finish(pending.id, "interrupted", pending.content)
    for number in itertools.count():
        turn = conversation.begin(chat, f"How many windows has floor {number}?")
        said.send(("begun", turn.answer_id, time.monotonic(), 0))
        words = 0
        for event in conversation.run(turn, never):
            if isinstance(event, Token):
                words += len(event.text.split())
                said.send(("word", turn.answer_id, time.monotonic(), words))
        said.send(("done", turn.answer_id, time.monotonic(), words))
