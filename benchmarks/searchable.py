"""Time from the upload of a 100-page PDF until BM25, and then vectors, find it.

    python benchmarks/searchable.py [--pages 100] [--json]

Three made PDFs, in English, Korean and Japanese, each added to a library as the Documents page does it.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.factory import make_bench_library
from rag.ingest.library import Library
from rag.ingest.queue import LANES, Ingest
from rag.jobs import Jobs
from rag.models.embeddings import open_embedder
from rag.settings import default_model_cache
from storage.database import Database
from tests.rag.ingest.parsers.makers import book


def wait_for(library: Library, document_id: str, states: tuple[str, ...], started: float) -> float:
    """Return the seconds since `started` at which the document was in one of `states`."""
    while library.documents.get(document_id).state not in states:
        time.sleep(0.01)
    return round(time.perf_counter() - started, 2)


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=100)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    embedder = open_embedder("multilingual-e5-small", cache=default_model_cache())
    with tempfile.TemporaryDirectory() as folder:
        database = Database.open(Path(folder) / "data")
        library, jobs = make_bench_library(database, "bench", lambda: embedder), Jobs(LANES)
        ingest = Ingest(library, jobs)
        for language in ("en", "ko", "ja"):
            content = book(Path(folder) / f"{language}.pdf", language, given.pages).read_bytes()
            started = time.perf_counter()
            record, _ = library.add(f"{language}.pdf", content)
            ingest.start(record.id)
            words = wait_for(library, record.id, ("searchable_by_words", "ready"), started)
            meaning = wait_for(library, record.id, ("ready",), started)
            chunks = library.documents.get(record.id).chunks
            row = {
                "language": language,
                "pages": given.pages,
                "chunks": chunks,
                "words_s": words,
                "meaning_s": meaning,
                "chunks_per_s": round(chunks / (meaning - words), 1),
            }
            print(json.dumps(row) if given.json else row, flush=True)
        jobs.close()
        database.close()


if __name__ == "__main__":
    main()
