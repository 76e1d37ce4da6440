"""A process to be killed: ingests a file, answers a question or syncs a folder, saying each step.

python tests/faults/worker.py ingest DATA FILE
python tests/faults/worker.py answer DATA LLM_URL QUESTION
python tests/faults/worker.py sync DATA FOLDER
"""

import sys
from pathlib import Path

from rag.ask import Asker
from rag.config import default_model_cache
from rag.conversation import Conversation
from rag.embeddings import Embedder, open_embedder
from rag.jobs import never
from rag.library import Library
from rag.llm import LLM, LLMSettings
from rag.sources.folder import FolderSettings, FolderSource
from rag.sources.sync import Sync
from storage.conversations import Conversations
from storage.database import Database
from storage.source_items import SourceItems
from storage.sources import Sources


def embedder() -> Embedder:
    return open_embedder("multilingual-e5-small", cache=default_model_cache())


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
    asker = Asker(library.retriever("bm25", 3), LLM(LLMSettings(base_url=url, api_key="", model="fake")))
    conversation = Conversation(conversations, lambda: asker)
    turn = conversation.begin(conversations.create().id, question)
    print("begun", flush=True)
    for event in conversation.run(turn, never):
        print(type(event).__name__, flush=True)


def sync(data: Path, folder: Path) -> None:
    database = Database.open(data)
    library = Library(database, "ann", embedder)
    library.recover()
    sources, items = Sources(database, "ann"), SourceItems(database, "ann")
    source = next(iter(sources.list()), None) or sources.create("folder", "Folder", {"path": str(folder)})
    reading = Sync(library, sources, items, lambda _: None, library.remove, 1 << 20)
    print("begun", flush=True)
    for synced in reading.run(source.id, lambda: FolderSource(FolderSettings(path=str(folder)))):
        print("items", synced.items, flush=True)
    print("ready", flush=True)


if __name__ == "__main__":
    command, directory, *rest = sys.argv[1:]
    if command == "ingest":
        ingest(Path(directory), Path(rest[0]))
    elif command == "sync":
        sync(Path(directory), Path(rest[0]))
    else:
        answer(Path(directory), *rest)
