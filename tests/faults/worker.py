"""What is killed: it ingests a file, answers a question or syncs a folder, once, and prints each step."""

from pathlib import Path

from rag.chat.conversation import Conversation
from rag.chat.pipeline import RagPipeline
from rag.connectors.folder import FolderSettings, FolderSource
from rag.connectors.sync import Sync
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.embeddings import Embedder
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from storage.conversations import Conversations
from storage.database import Database
from storage.sources import SourceItems, SourceStore


def embedder() -> Embedder:
    from tests.faults.opened import EMBEDDER

    return EMBEDDER


def ingest(data: Path, file: Path) -> None:
    library = Library(Database.open(data), "ann", embedder)
    library.recover()
    record, _ = library.add(file.name, file.read_bytes())
    print("added", flush=True)
    for progress in library.index(record.id):
        print(progress.stage, progress.done, progress.total, flush=True)
    print("ready", flush=True)


def answer(data: Path, url: str, question: str) -> None:
    database = Database.open(data)
    conversations = Conversations(database, "ann")
    library = Library(database, "ann", embedder)
    pipeline = RagPipeline(
        library.retriever("bm25", 3), LLM(LLMSettings(base_url=url, api_key="", model="fake"))
    )
    conversation = Conversation(conversations, lambda: pipeline)
    turn = conversation.begin(conversations.create().id, question)
    print("begun", flush=True)
    for event in conversation.run(turn, never):
        print(type(event).__name__, flush=True)


def sync(data: Path, folder: Path) -> None:
    database = Database.open(data)
    library = Library(database, "ann", embedder)
    library.recover()
    sources, items = SourceStore(database, "ann"), SourceItems(database, "ann")
    source = next(iter(sources.list()), None) or sources.create("folder", "Folder", {"path": str(folder)})
    reading = Sync(library, sources, items, lambda _: None, library.remove, 1 << 20)
    print("begun", flush=True)
    for synced in reading.run(source.id, lambda: FolderSource(FolderSettings(path=str(folder)))):
        print("items", synced.items, flush=True)
    print("ready", flush=True)
