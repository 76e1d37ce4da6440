"""`footnote ingest` and `footnote reindex`: documents into the library, and embedded anew."""

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from tqdm import tqdm

from rag.cli.common import Commands, Options
from rag.cli.library import open_library
from rag.cli.progress import ProgressBar
from rag.errors import EmbeddingError
from rag.ingest.library import Library
from rag.ingest.paths import files_of, shown
from rag.ingest.resplitting import resplit
from rag.jobs import never
from rag.settings import Settings

_SLOW = {
    "embedding": "embedding {total} passages; stopped, it goes on the next time",
    "words": "indexing the words of {total} passages anew; stopped, it goes on the next time",
    "verifying": "looking for {total} passages by their own words",
}


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    ingest = commands.add_parser("ingest", help="add files and folders")
    ingest.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    ingest.add_argument("--collection", metavar="NAME", help="put them into this collection, made if need be")
    ingest.add_argument("--json", action="store_true", help="one JSON line per file")
    ingest.set_defaults(command=ingest_command)

    reindex = commands.add_parser("reindex", help="embed every document anew, after a change of model")
    reindex.set_defaults(command=reindex_command)


def ingest_command(settings: Settings, options: Options) -> int:
    """Add every file, one result line each; 1 when any was refused."""
    files = list(files_of(options.paths))
    refused = 0
    with open_library(settings) as library:
        library.recover()
        _renew_words(library)
        into = None if options.collection is None else _collection(library, options.collection)
        for path, name in files:
            result = _ingest_one(library, path, name, into, quiet=options.json)
            refused += result["status"] == "refused"
            print(
                json.dumps(result, ensure_ascii=False) if options.json else _ingest_line(result), flush=True
            )
        _split_if_due(library)
        weigh_if_due(library)
    return 1 if refused else 0


def reindex_command(settings: Settings, options: Options) -> int:
    """Embed every document anew with the model of the settings, beside the index that there is."""
    with open_library(settings) as library:
        library.recover()
        _renew_words(library)
        if library.reindexer.possible:
            _beside(library)
            waiting = [record.id for record in library.documents.unfinished()]
        else:
            waiting = library.rebuild_vectors()
        for document_id in waiting:
            name = library.documents.get(document_id).name
            run_ingest(library, document_id, name, quiet=False)
            print(f"ready       {name}")
        weigh_if_due(library)
    return 0


def _renew_words(library: Library) -> None:
    """Index the words anew where another tokenizer did it: Footnote's own, or an analyser came or went."""
    with closing(ProgressBar(_SLOW)) as told:
        for step in library.indexes.words.renew(never):
            told(step.step, step.done, step.total)


def _beside(library: Library) -> None:
    """Make another index, and say what it takes before and which model answers afterwards."""
    before = library.reindexer.answering
    print(
        f"Until it is done, {library.reindexer.needs() / 1e6:,.0f} MB more are needed on the disk.",
        flush=True,
    )
    with closing(ProgressBar(_SLOW)) as told:
        for step in library.reindex(force=True):
            told(step.step, step.done, step.total)
    print(f"Embedded with {library.reindexer.answering}, before with {before}.")


def _collection(library: Library, name: str) -> str:
    return (library.collections.named(name) or library.collections.create(name)).id


def _ingest_one(library: Library, path: Path, name: str, into: str | None, *, quiet: bool) -> dict[str, Any]:
    result = {"path": shown(path), "status": "refused", "document_id": None, "pages": None, "chunks": 0}
    try:
        record, outcome = library.add(name, path.read_bytes())
    except OSError as error:
        return {**result, "reason": f"{shown(path)} cannot be read: {error.strerror}."}
    if into is not None:
        library.collections.put([record.id], into)
    reason = None
    try:
        run_ingest(library, record.id, name, quiet=quiet)
    except EmbeddingError as error:
        reason = str(error)
    record = library.documents.get(record.id)
    if reason is None and record.state != "refused":
        result["status"] = {"new": "ready", "replaces": "replaced", "unchanged": "unchanged"}[outcome]
    found = {"document_id": record.id, "pages": record.pages, "chunks": record.chunks}
    return {**result, **found, "reason": reason or record.reason}


def run_ingest(library: Library, document_id: str, name: str, *, quiet: bool) -> None:
    """Read and embed a document, with a bar where stderr is a terminal."""
    with tqdm(desc=name[:40], unit="chunk", leave=False, disable=quiet or not sys.stderr.isatty()) as bar:
        for progress in library.index(document_id):
            bar.total = progress.total
            bar.update(progress.done - bar.n)


def _split_if_due(library: Library) -> None:
    """Split anew what was there and was put into a collection that splits in another way."""
    told = ProgressBar({"splitting": "splitting {total} documents anew"})
    due = len(library.collections.due())
    for step in resplit(library):
        told("splitting", step.done, max(due, step.total))
    told.close()


def weigh_if_due(library: Library) -> None:
    """Find anew how words are weighed against meaning, where the collection has changed much."""
    if library.weighing.due():
        told = ProgressBar({"weighing": "weighing words against meaning over {total} passages"})
        for tuned in library.weighing.find():
            told("weighing", tuned.done, tuned.total)


def _ingest_line(result: dict[str, Any]) -> str:
    pages = f"{result['pages']} pages, " if result["pages"] else ""
    detail = result["reason"] or f"{pages}{result['chunks']} chunks"
    return f"{result['status']:<11} {result['path']}  ({detail})"
