"""A process to be killed: ingests a file or answers a question over a data directory, saying each step.

python tests/faults/worker.py ingest DATA FILE
python tests/faults/worker.py answer DATA LLM_URL QUESTION
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
from storage.conversations import Conversations
from storage.database import Database


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


if __name__ == "__main__":
    command, directory, *rest = sys.argv[1:]
    if command == "ingest":
        ingest(Path(directory), Path(rest[0]))
    else:
        answer(Path(directory), *rest)
