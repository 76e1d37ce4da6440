"""Time from the upload of a PDF until BM25, and then vectors, find it.

    python benchmarks/searchable.py [--pages 100] [--languages en ko ja] [--meanwhile] [--json]

Each PDF is made, full pages of one sentence, and added to a library as the Documents page does it. With
`--meanwhile` the library holds a smaller one already, a question is searched by words, over and over, until
the large one is found by them, and the memory of the parser and of the server are told, too.
"""

import argparse
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
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
BY_WORDS = ("searchable_by_words", "searchable_by_meaning", "ready")
Figures = dict[str, float | int | str]


class Meanwhile:
    """Searches of a library while a document is read, and the memory that its parser takes."""

    def __init__(self, library: Library):
        self._library, self._took, self._parser = library, list[float](), 0
        self._before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def look(self) -> None:
        """Search once, look at the memory, and wait a little."""
        started = time.perf_counter()
        self._library.retriever("bm25", k=10).invoke(QUESTION)
        self._took.append(1000 * (time.perf_counter() - started))
        for child in psutil.Process().children():
            with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
                self._parser = max(self._parser, child.memory_info().rss)
        time.sleep(0.05)

    def figures(self) -> Figures:
        """Return the times of the searches and the memory."""
        grew = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self._before
        return {
            "searches": len(self._took),
            "search_ms_median": round(statistics.median(self._took), 1),
            "search_ms_worst": round(max(self._took), 1),
            "parser_mb": self._parser >> 20,
            "server_grew_mb": grew >> 10,
        }


def wait_for(library: Library, document_id: str, states: tuple[str, ...], look: Callable[[], None]) -> None:
    """Look again and again until the document is in one of `states`; end where it is refused."""
    while (record := library.documents.get(document_id)).state not in states:
        if record.state == "refused":
            raise SystemExit(f"The PDF was refused: it {record.reason}")
        look()


def measure(library: Library, ingest: Ingest, content: bytes, *, meanwhile: bool) -> Figures:
    """Add a PDF and return the seconds until it is searchable."""
    searches = Meanwhile(library) if meanwhile else None
    started = time.perf_counter()
    record, _ = library.add("book.pdf", content)
    ingest.start(record.id)
    wait_for(library, record.id, BY_WORDS, searches.look if searches else lambda: time.sleep(0.01))
    words = time.perf_counter() - started
    told = searches.figures() if searches else {}
    wait_for(library, record.id, ("ready",), lambda: time.sleep(0.01))
    meaning = time.perf_counter() - started
    chunks = library.documents.get(record.id).chunks
    return {
        "chunks": chunks,
        "words_s": round(words, 2),
        "meaning_s": round(meaning, 2),
        "chunks_per_s": round(chunks / (meaning - words), 1),
        **told,
    }


def main() -> None:
    """Print the figures of each language."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--pages", type=int, default=100)
    options.add_argument("--languages", nargs="+", choices=("en", "ko", "ja"), default=["en", "ko", "ja"])
    options.add_argument("--meanwhile", action="store_true", help="search while the PDF is read")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    embedder = open_embedder("multilingual-e5-small", cache=default_model_cache())
    with tempfile.TemporaryDirectory() as folder, closing(Database.open(Path(folder) / "data")) as database:
        for language in given.languages:
            library = make_bench_library(database, language, lambda: embedder)
            if given.meanwhile:
                small, _ = library.add("small.pdf", book(Path(folder) / "a.pdf", language, 3).read_bytes())
                list(library.index(small.id))
            content = book(Path(folder) / "b.pdf", language, given.pages).read_bytes()
            with closing(Jobs(LANES)) as jobs:
                found = measure(library, Ingest(library, jobs), content, meanwhile=given.meanwhile)
            row = {"language": language, "pages": given.pages, "mb": round(len(content) / 1e6, 1), **found}
            print(json.dumps(row) if given.json else row, flush=True)


if __name__ == "__main__":
    main()
