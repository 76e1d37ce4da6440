"""Time and memory until a large PDF is searchable by BM25, and search latency meanwhile.

    python benchmarks/big_pdf.py [--pages 1000] [--language en] [--json]

The PDF is made, full pages of one sentence, and added to a library as the Documents page does it. While it is
read, a question is searched by words, over and over, in a library that already holds a smaller one.
"""

import argparse
import json
import resource
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.factory import make_bench_library
from rag.ingest.library import Library
from rag.ingest.queue import LANES, Ingest
from rag.jobs import Jobs
from rag.models.embeddings import open_embedder
from rag.settings import default_model_cache
from storage.database import Database
from tests.rag.ingest.parsers.makers import book

QUESTION = "When did the harbour of Veldham open?"
STAGES = ("searchable_by_words", "searchable_by_meaning", "ready")


def searched(library: Library) -> float:
    """Return the seconds that one search by words takes."""
    started = time.perf_counter()
    library.retriever("bm25", k=10).invoke(QUESTION)
    return time.perf_counter() - started


def measured(library: Library, ingest: Ingest, document_id: str) -> dict[str, float | int | str]:
    """Ingest a document until it is searchable by words, searching all the while."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, searches, parser = time.perf_counter(), [], 0
    ingest.start(document_id)
    while (state := library.documents.get(document_id).state) not in (*STAGES, "refused"):
        searches.append(searched(library))
        parser = max(parser, _parser_memory())
        time.sleep(0.05)
    return {
        "state": state,
        "words_s": round(time.perf_counter() - started, 1),
        "chunks": len(library.documents.chunks(document_id)),
        "server_grew_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10,
        "parser_mb": parser >> 20,
        "searches": len(searches),
        "search_ms_median": round(1000 * statistics.median(searches), 1),
        "search_ms_worst": round(1000 * max(searches), 1),
    }


def _parser_memory() -> int:
    """Return the memory of the largest parser process in bytes."""
    found = [0]
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            found.append(child.memory_info().rss)
    return max(found)


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--pages", type=int, default=1000)
    options.add_argument("--language", choices=("en", "ko", "ja"), default="en")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    embedder = open_embedder("multilingual-e5-small", cache=default_model_cache())
    with tempfile.TemporaryDirectory() as folder:
        database = Database.open(Path(folder) / "data")
        library, jobs = make_bench_library(database, "bench", lambda: embedder), Jobs(LANES)
        small, _ = library.add("small.pdf", book(Path(folder) / "small.pdf", given.language, 3).read_bytes())
        list(library.index(small.id))
        content = book(Path(folder) / "big.pdf", given.language, given.pages).read_bytes()
        record, _ = library.add("big.pdf", content)
        row = {"pages": given.pages, "language": given.language, "mb": round(len(content) / 1e6, 1)}
        row |= measured(library, Ingest(library, jobs), record.id)
        print(json.dumps(row) if given.json else row, flush=True)
        jobs.close()
        database.close()


if __name__ == "__main__":
    main()
