"""Write what tests/rag/ledgers/ keeps of each revision: `python tests/rag/write_ledger.py LEDGER.sql`.

Two documents, and a chat of two questions answered without a model, by the code as it is now.
"""

import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from rag.chat.conversation import Conversation
from rag.chat.pipeline import RagPipeline
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.embeddings import Embedder, open_embedder
from rag.settings import default_model_cache
from storage.conversations import Conversations
from storage.database import Database
from tests.rag.test_upgrades import ORIGINALS, QUESTIONS

NAMES = ("castle.md", "등대.md")


def open_model() -> Embedder:
    return open_embedder("multilingual-e5-small", cache=default_model_cache())


def fill(database: Database) -> None:
    library = Library(database, "ann", open_model)
    for name, text in zip(NAMES, ORIGINALS, strict=True):
        record, _ = library.add(name, text.encode())
        list(library.index(record.id))
    list(library.forest.build_due())
    chats = Conversations(database, "ann")
    chat = chats.create()
    conversation = Conversation(chats, lambda: RagPipeline(library.retriever("bm25", 3)))
    for question in QUESTIONS:
        list(conversation.run(conversation.begin(chat.id, question), never))
    library.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        database = Database.open(Path(folder) / "data")
        fill(database)
        database.close()
        with closing(sqlite3.connect(Path(folder) / "data" / "footnote.db")) as db:
            Path(sys.argv[1]).write_text("\n".join(db.iterdump()) + "\n", encoding="utf-8")
