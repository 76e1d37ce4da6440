"""New questions in a chat, and follow-ups, that get terms of it without a language model.

    python benchmarks/new_questions.py

`benchmarks/follow_ups/conversations.json` has three documents a language, and conversations about them: a
first question, new questions and follow-ups. "By the vector" are those that would get terms without a search,
"after the search" those that get them in the app.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.chat.answer import Condensed, Done
from rag.chat.pipeline import RagPipeline
from rag.chat.rewrite import make_standalone
from rag.factory import make_pipeline
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.embeddings import Embedder, open_embedder
from rag.settings import Settings, default_model_cache
from storage.database import Database

MODEL = "multilingual-e5-small"
CONVERSATIONS = Path(__file__).parent / "follow_ups" / "conversations.json"
KINDS = ("new", "follow_ups")


def ask(pipeline: RagPipeline, question: str, history: list[tuple[str, str]]) -> tuple[str, str]:
    """Return the question that was searched, and the answer."""
    searched = answered = ""
    for event in pipeline.ask(question, history, never):
        if isinstance(event, Condensed):
            searched = event.question
        if isinstance(event, Done):
            answered = event.text
    return searched, answered


def measure(code: str, given: dict[str, Any], embedder: Embedder) -> None:
    """Print the shares of one language."""
    counts = {kind: [0, 0, 0] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        database = Database.open(Path(folder))
        library = Library(database, "benchmark", lambda: embedder)
        for name, text in given["documents"].items():
            record, _ = library.add(name, text.encode())
            list(library.index(record.id))
        pipeline = make_pipeline(Settings(), library, None)
        for conversation in given["conversations"]:
            first = conversation["first"]
            history = [("user", first), ("assistant", ask(pipeline, first, [])[1])]
            for kind in KINDS:
                for question in conversation[kind]:
                    alone = make_standalone(
                        question, history, rarity=pipeline.corpus.rarity, embedder=embedder
                    )
                    counts[kind][0] += 1
                    counts[kind][1] += alone.text != question
                    counts[kind][2] += ask(pipeline, question, history)[0] != question
        library.close()
        database.close()
    for kind, (asked, by_vector, after) in counts.items():
        print(f"{code} {kind:<11} {asked:>3}  by the vector {by_vector:>2}  after the search {after:>2}")


def main() -> None:
    """Print a line for each language and kind."""
    embedder = open_embedder(MODEL, cache=default_model_cache())
    for code, given in json.loads(CONVERSATIONS.read_text("utf-8")).items():
        measure(code, given, embedder)


if __name__ == "__main__":
    main()
