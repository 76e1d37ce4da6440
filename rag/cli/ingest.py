"""The `footnote ingest`, `reindex`, `sync`, `tree` and `work` commands.

`work` reads and embeds the documents that wait in the ledger, without a page.
"""

import argparse
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from rag.api_client import ApiClient
from rag.cli.common import (
    Commands,
    Options,
    ProgressBar,
    open_services,
    parse_names,
    positive,
    print_result,
    run_ingest,
    say,
)
from rag.cli.remote import add_file, ensure_collection, running_server
from rag.connectors.registry import open_source
from rag.connectors.sync import Sync, SyncProgress
from rag.errors import ApiError, DocumentRefused, EmbeddingError, FootnoteError, SourceError
from rag.factory import make_means
from rag.i18n import N_, N_plural
from rag.ingest.library import Library
from rag.ingest.parsers import unpack
from rag.ingest.paths import FoundFile, iter_files, path_text
from rag.ingest.queue import resplit
from rag.jobs import never
from rag.services import Services
from rag.settings import Settings
from storage.documents import EMBED, READ
from storage.errors import DataDirectoryLocked
from storage.records import SourceRecord
from storage.sources import SourceItems, SourceStore

KINDS = (READ, EMBED)
LOOK_SECONDS = 0.5  # between two looks whether anything is left
WORK = """Read and embed the documents that wait in the ledger, by the same code as `footnote serve`. A
document whose worker was killed is taken over. Where processes share everything (docs/operator/operating.md)
any number of workers may run beside `footnote serve --workers 0`; elsewhere stop it meanwhile."""


def add_work_command(commands: Commands) -> None:
    """Add the group's command to the command line."""
    work = commands.add_parser("work", help="read and embed waiting documents", description=WORK)
    work.add_argument(
        "--kinds",
        type=_kinds,
        default=KINDS,
        help=f"what to do, of {' and '.join(KINDS)}; default: both",
    )
    work.add_argument("--concurrency", type=positive, default=1, help="documents of each kind at once")
    work.add_argument("--once", action="store_true", help="end when nothing is left to do")
    work.set_defaults(command=_work_command)


def _kinds(text: str) -> tuple[str, ...]:
    return parse_names(text, KINDS, "kind of work")


def _work_command(settings: Settings, options: Options) -> int:
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    lanes = dict.fromkeys(options.kinds, options.concurrency)
    with closing(Services(settings, documents=lanes)) as services:
        waiting = services.database.queue.waiting(options.kinds)
        say(N_plural("{count} document waits", "{count} documents wait", waiting))
        services.warm_up()
        while not stopped.wait(LOOK_SECONDS):
            if options.once and not _left(services, options):
                break
    return 0


def _left(services: Services, options: argparse.Namespace) -> bool:
    here = any(kind in options.kinds for kind, _ in services.jobs.standing())
    return here or services.database.queue.waiting(options.kinds) > 0


AddOne = Callable[[str, str, bytes], dict[str, Any]]
"""Adds a file, by its path as shown, its name and its content; returns the line of its result."""
STATUSES = {"new": "ready", "replaces": "replaced", "unchanged": "unchanged"}
SLOW = {
    "embedding": "embedding {total} passages; stopped, it goes on the next time",
    "words": "indexing the words of {total} passages anew; stopped, it goes on the next time",
    "verifying": "looking for {total} passages by their own words",
    "splitting": "splitting {total} documents anew",
    "weighing": "weighing words against meaning over {total} passages",
}


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    add_work_command(commands)
    ingest = commands.add_parser("ingest", help="add files and folders")
    ingest.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    ingest.add_argument("--collection", metavar="NAME", help="put them into this collection, made if need be")
    ingest.add_argument("--json", action="store_true", help="one JSON line per file")
    ingest.set_defaults(command=_ingest_command)

    reindex = commands.add_parser("reindex", help="embed every document anew, after a change of model")
    reindex.add_argument("--words", action="store_true", help="make the word index anew instead")
    reindex.set_defaults(command=_reindex_command)
    _add_sync_command(commands)
    _add_tree_command(commands)


def _ingest_command(settings: Settings, options: Options) -> int:
    files = list(iter_files(options.paths))
    try:
        with open_services(settings) as (_, library):
            return _ingest_here(library, files, options)
    except DataDirectoryLocked as locked:
        return _ingest_there(running_server(settings, locked), files, options)


def _ingest_here(library: Library, files: Sequence[FoundFile], options: Options) -> int:
    library.recover()
    _renew_bm25(library)
    into = None
    if (name := options.collection) is not None:
        into = (library.collections.named(name) or library.collections.create(name)).id
    add = partial(_ingest_one, library, into=into, quiet=options.json)
    status = _ingest_files(files, add, options)
    _resplit_if_due(library)
    _weigh_if_due(library)
    return status


def _ingest_there(client: ApiClient, files: Sequence[FoundFile], options: Options) -> int:
    if options.collection is not None:
        ensure_collection(client, options.collection)
    return _ingest_files(files, partial(_send_one, client, into=options.collection), options)


def _ingest_files(files: Sequence[FoundFile], add: AddOne, options: Options) -> int:
    refused = 0
    for file in files:
        for result in _ingest_file(file, add):
            refused += result["status"] == "refused"
            print_result(result, _ingest_line(result), options)
    return 1 if refused else 0


def _reindex_command(settings: Settings, options: Options) -> int:
    with open_services(settings) as (_, library):
        if options.words:
            library.indexes.words.clear()
            library.indexes.words.recover()
        library.recover()
        if options.words:
            print(f"The words of {len(library.indexes.words.ids()):,} passages are indexed anew.")
            return 0
        _renew_bm25(library)
        if library.reindexer.possible:
            _reindex_beside(library)
            waiting = [record.id for record in library.documents.unfinished()]
        else:
            waiting = library.rebuild_vectors()
        for document_id in waiting:
            name = library.documents.get(document_id).name
            run_ingest(library, document_id, name, quiet=False)
            print(f"ready       {name}")
        _weigh_if_due(library)
    return 0


def _renew_bm25(library: Library) -> None:
    """Rebuild the BM25 index where another tokenizer made it, as before an analyser came or went."""
    with ProgressBar(SLOW) as bar:
        for step in library.indexes.words.renew(never):
            bar(step.step, step.done, step.total)


def _reindex_beside(library: Library) -> None:
    before = library.reindexer.answering
    print(
        f"Until it is done, {library.reindexer.needs() / 1e6:,.0f} MB more are needed on the disk.",
        flush=True,
    )
    with ProgressBar(SLOW) as bar:
        for step in library.reindex(force=True):
            bar(step.step, step.done, step.total)
    print(f"Embedded with {library.reindexer.answering}, before with {before}.")


def _ingest_file(file: FoundFile, add: AddOne) -> Iterator[dict[str, Any]]:
    """Add a file, or each document of a ZIP archive; yield what became of it."""
    path, name, outside = file
    if outside:
        shown = path_text(path)
        reason = f"{shown} is a link that leads out of the folder. To add the file, name it by itself."
        yield _refused(shown, reason)
        return
    try:
        content = path.read_bytes()
        archive = unpack(name, [content])
    except OSError as error:
        yield _refused(path_text(path), f"{path_text(path)} cannot be read: {error.strerror}.")
        return
    except DocumentRefused as error:
        yield _refused(path_text(path), str(error))
        return
    if archive is None:
        yield add(path_text(path), name, content)
        return
    for inside, unpacked in archive.attached:
        yield add(f"{path_text(path)}: {inside}", inside, unpacked)
    if archive.note:
        yield _refused(path_text(path), archive.note)


def _refused(path: str, reason: str) -> dict[str, Any]:
    found = {"document_id": None, "pages": None, "chunks": 0}
    return {"path": path, "status": "refused", **found, "reason": reason}


def _ingest_one(
    library: Library, path: str, name: str, content: bytes, *, into: str | None, quiet: bool
) -> dict[str, Any]:
    result = _refused(path, "")
    record, outcome = library.add(name, content)
    if into is not None:
        library.collections.put([record.id], into)
    reason = None
    try:
        run_ingest(library, record.id, name, quiet=quiet)
    except EmbeddingError as error:
        reason = str(error)
    record = library.documents.get(record.id)
    if reason is None and record.state != "refused":
        result["status"] = STATUSES[outcome]
    found = {"document_id": record.id, "pages": record.pages, "chunks": record.chunks}
    return {**result, **found, "reason": reason or record.reason}


def _send_one(client: ApiClient, path: str, name: str, content: bytes, *, into: str | None) -> dict[str, Any]:
    """Add a file by the server that runs, and wait for it."""
    result = _refused(path, "")
    try:
        outcome, document = add_file(client, name, content, into)
    except ApiError as error:
        return {**result, "reason": str(error)}
    if document["state"] == "ready":
        result["status"] = STATUSES[outcome]
    found = {"document_id": document["id"], "pages": document["pages"], "chunks": document["chunks"]}
    return {**result, **found, "reason": document["reason"]}


def _resplit_if_due(library: Library) -> None:
    due = len(library.collections.due())
    with ProgressBar(SLOW) as bar:
        for step in resplit(library):
            bar("splitting", step.done, max(due, step.total))


def _weigh_if_due(library: Library) -> None:
    if library.weighing.due():
        with ProgressBar(SLOW) as bar:
            for tuned in library.weighing.find():
                bar("weighing", tuned.done, tuned.total)


def _ingest_line(result: dict[str, Any]) -> str:
    pages = f"{result['pages']} pages, " if result["pages"] else ""
    detail = result["reason"] or f"{pages}{result['chunks']} chunks"
    return f"{result['status']:<11} {result['path']}  ({detail})"


# footnote sync
SYNC = """Read the sources that were added in the Library: all of them, or those named. What is
new or changed there is taken and embedded, what is gone goes. Stopped, it goes on where it was."""


def _add_sync_command(commands: Commands) -> None:
    sync = commands.add_parser("sync", help="read sources and take what is new", description=SYNC)
    sync.add_argument("names", nargs="*", metavar="NAME", help="the sources to read; all where none is named")
    sync.add_argument(
        "--again", action="store_true", help="try all again that could not be had, whatever it waits for"
    )
    sync.add_argument(
        "--may-be-empty",
        action="store_true",
        help="where a source that held something is empty now, that is meant: what came from it goes",
    )
    sync.add_argument("--json", action="store_true", help="one JSON line per source")
    sync.set_defaults(command=_sync_command)


def _sync_command(settings: Settings, options: Options) -> int:
    failed = False
    with open_services(settings) as (services, library):
        library.recover()
        sources = SourceStore(services.database, library.owner)
        items = SourceItems(services.database, library.owner)
        # Documents are read after the last source.
        sync = Sync(library, sources, items, lambda _: None, library.remove, settings.max_upload_mb << 20)
        means = make_means(settings, library.owner)
        for record in _sources_named(sources.list(), options.names):
            if options.again:
                items.retry(record.id, datetime.now(UTC))
            opened = partial(open_source, record.kind, record.settings, means)
            result = _sync_one(
                record, partial(sync.run, record.id, opened, may_be_empty=options.may_be_empty)
            )
            failed |= bool(result["failed"] or result["reason"])
            print_result(result, _sync_line(result), options)
        for document in library.documents.unfinished():
            run_ingest(library, document.id, document.name, quiet=options.json)
        _weigh_if_due(library)
    return 1 if failed else 0


def _sources_named(records: Sequence[SourceRecord], names: Sequence[str]) -> list[SourceRecord]:
    there = {record.name for record in records}
    for name in names:
        if name not in there:
            known = ", ".join(sorted(there)) or "none yet"
            raise SourceError(
                N_(
                    "There is no source {name}. There are: {names}. Add one in the Library under Sources.",
                    name=repr(name),
                    names=known,
                )
            )
    return [record for record in records if not names or record.name in names]


def _sync_one(record: SourceRecord, run: Callable[[], Iterator[SyncProgress]]) -> dict[str, Any]:
    synced, reason = SyncProgress(), None
    with ProgressBar() as bar:
        try:
            for synced in run():
                bar(record.name, synced.items, 0)
        except FootnoteError as error:
            reason = str(error)
    return {**asdict(synced), "name": record.name, "reason": reason}


def _sync_line(result: dict[str, Any]) -> str:
    if result["reason"]:
        return f"{result['name']}: {result['reason']}"
    counts = ", ".join(
        f"{result[what]} {what}" for what in ("new", "changed", "unchanged", "removed", "failed")
    )
    return f"{result['name']}: {counts}"


# footnote tree
TREE = """Build a tree of summaries over each document that has none, and one over all of them.
Stopped, it goes on where it was the next time. With FOOTNOTE_RAPTOR=model the connected model writes the
summaries."""


def _add_tree_command(commands: Commands) -> None:
    tree = commands.add_parser("tree", help="build trees of summaries over documents", description=TREE)
    tree.add_argument("--cost", action="store_true", help="only say what it would take")
    tree.add_argument("--json", action="store_true", help="one JSON line at the end")
    tree.set_defaults(command=_tree_command)


def _tree_command(settings: Settings, options: Options) -> int:
    with open_services(settings) as (_, library):
        library.recover()
        say(f"{library.forest.cost()}.")
        if options.cost:
            return 0
        _build_trees(library)
        trees = library.forest.trees
        branches = trees.list()
        found = {
            "documents": sum(branch.document_id is not None for branch in branches),
            "nodes": len(trees.node_ids()),
            "left_out": sum(branch.left_out for branch in branches),
        }
    print_result(found, _tree_line(found), options)
    return 1 if found["left_out"] else 0


def _build_trees(library: Library) -> None:
    with ProgressBar() as bar:
        for tended in library.forest.build_due():
            step = tended.step
            bar(f"{tended.document or 'all documents'}, layer {step.level}", step.done, step.total)


def _tree_line(found: dict[str, int]) -> str:
    left = f"; {found['left_out']} summaries could not be made and were left out" if found["left_out"] else ""
    return f"Trees over {found['documents']} documents, {found['nodes']} nodes{left}."
