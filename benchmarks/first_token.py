"""Latency that Footnote adds before the first token of a remote model, over many documents' chunks.

    python benchmarks/first_token.py [--documents 1000] [--questions 50] [--json]

Documents are made up of random common words, about four chunks each; their vectors are the default
embedder's for the questions and random for the chunks, which costs a search the same. The model is a
local server that answers at once; its own delay is subtracted.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.chat.answer import Token
from rag.factory import make_bench_library
from rag.ingest.library import Library
from rag.jobs import never
from rag.langchain import RetrievalQA
from rag.models.embeddings import Embedder, open_embedder
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.settings import default_model_cache
from storage.database import Database
from tests.rag.fake_llm import FakeLLM

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("nder", "lis", "rkt", "mo")]


class MadeUpVectors(Embedder):
    """The default embedder for questions; random unit vectors for chunks."""

    def __init__(self, real: Embedder):
        self._real, self._random = real, np.random.default_rng(1)
        self.name, self.dimension, self.fingerprint = real.name, real.dimension, real.fingerprint

    def _vectors(self, texts: Sequence[str], role: str) -> np.ndarray:
        if role == "query":
            return np.array([self._real.embed_query(text) for text in texts], np.float32)
        return self._random.standard_normal((len(texts), self.dimension)).astype(np.float32)


def fill(library: Library, documents: int) -> int:
    """Add made-up documents and return how many chunks they have."""
    rng = random.Random(1)
    for number in range(documents):
        paragraphs = [" ".join(rng.choices(WORDS, k=110)) + "." for _ in range(4)]
        record, _ = library.add(f"{number}.txt", "\n\n".join(paragraphs).encode())
        for _ in library.index(record.id):
            pass
    return len(library.documents.chunk_ids())


def measure(library: Library, questions: int) -> dict[str, float]:
    """Ask, and return the median and 95th percentile of the added latency, in milliseconds."""
    rng = random.Random(2)
    added = []
    with FakeLLM() as fake, LLM(LLMSettings(base_url=fake.url, api_key="", model="fake")) as llm:
        pipeline = RetrievalQA(
            retriever=library.retriever("ensemble-cc", 6),
            llm=llm,
            embedder=library.indexes.embedder,
            rarity=library.rarity,
        ).pipeline()
        for number in range(questions + 5):
            fake.say("An answer [1].")
            question = " ".join(rng.choices(WORDS, k=7)) + "?"
            started = time.perf_counter()
            for event in pipeline.ask(question, [("user", "What is it?"), ("assistant", "That [1].")], never):
                if isinstance(event, Token):
                    break
            if number >= 5:  # the first ones open things
                added.append((time.perf_counter() - started) * 1000)
    return {
        "p50_ms": round(statistics.median(added), 1),
        "p95_ms": round(sorted(added)[int(len(added) * 0.95)], 1),
    }


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documents", type=int, default=1000)
    options.add_argument("--questions", type=int, default=50)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    real = open_embedder("multilingual-e5-small", cache=default_model_cache())
    with tempfile.TemporaryDirectory() as folder:
        database = Database.open(Path(folder))
        library = make_bench_library(database, "bench", lambda: MadeUpVectors(real))
        chunks = fill(library, given.documents)
        result = {"documents": given.documents, "chunks": chunks, **measure(library, given.questions)}
        database.close()
    print(json.dumps(result) if given.json else "\n".join(f"{k:>10} {v}" for k, v in result.items()))


if __name__ == "__main__":
    main()
