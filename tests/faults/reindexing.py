"""What is killed: it embeds a library by another model beside the index that there is, saying each step."""

from pathlib import Path

from rag.ingest.library import Library
from storage.database import Database
from tests.rag.word_vectors import WordVectors

MODELS = {"old": WordVectors("old", 96), "new": WordVectors("new", 128)}


def reindex(data: Path) -> None:
    library = Library(Database.open(data), "ann", lambda: MODELS["new"], open_named=MODELS.__getitem__)
    print("begun", flush=True)
    for step in library.reindex():
        print(step.step, step.done, step.total, flush=True)
    print("done", flush=True)
