"""Time of a sync in which nothing has changed, without the network.

    python benchmarks/syncing.py [--pages 1000] [--rounds 5] [--json]

A source in memory lists its pages, as a wiki would. The first sync takes them all, and they
are read and embedded; then it is synced again, and again. Fails where anything is fetched or embedded anew.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.connectors.base import Checkpoint, Item, Listed, Source
from rag.connectors.sync import Sync
from rag.factory import make_bench_library, make_embedder
from rag.jobs import Cancel, never
from rag.settings import load
from storage.database import Database
from storage.sources import SourceItems, SourceStore


class Pages(Source):
    """Pages in memory, of a paragraph each."""

    def __init__(self, count: int):
        self.count = count
        self.fetched = 0

    def test(self) -> str:
        """Say how many there are."""
        return f"{self.count} pages."

    def list(self, cursor: str | None = None, cancelled: Cancel = never) -> Iterator[Listed]:
        """Yield every page at version 1."""
        yield from (Item(f"{n}", f"Page {n}.md", "1", f"https://wiki.test/{n}") for n in range(self.count))
        yield Checkpoint("", whole=True)

    def fetch(self, item: Item, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield a page."""
        self.fetched += 1
        yield f"# Page {item.id}\n\nThe harbour of district {item.id} handled {item.id} ships.".encode()


def measure(pages: int, rounds: int) -> dict[str, float]:
    """Return the seconds of the first sync, of parsing its documents, and of each later sync."""
    settings = load({})
    with tempfile.TemporaryDirectory() as folder:
        database = Database.open(Path(folder) / "data")
        library = make_bench_library(database, "ann", lambda: make_embedder(settings))
        sources, items = SourceStore(database, "ann"), SourceItems(database, "ann")
        source = sources.create("pages", "Pages", {})
        shelf = Pages(pages)
        sync = Sync(library, sources, items, lambda _: None, library.remove, max_bytes=1 << 20)

        def run() -> float:
            begun = time.perf_counter()
            for _ in sync.run(source.id, lambda: shelf):
                pass
            return time.perf_counter() - begun

        first = run()
        begun = time.perf_counter()
        for record in library.documents.unfinished():
            for _ in library.index(record.id):
                pass
        read = time.perf_counter() - begun
        again = [run() for _ in range(rounds)]
        left = len(library.documents.unfinished())
        library.close()
        database.close()
    if shelf.fetched != pages or left:
        raise SystemExit(f"Fetched {shelf.fetched} of {pages} pages; {left} were to be read again.")
    return {
        "pages": pages,
        "first": first,
        "read": read,
        "again": statistics.median(again),
        "worst": max(again),
    }


def main() -> None:
    """Print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.pages, options.rounds)
    if options.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name:<6} {value:8.2f}" if name != "pages" else f"pages  {value:8,}")


if __name__ == "__main__":
    main()
