"""`footnote sync`: sources read, and what is new or changed there taken into the library."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any

from rag.cli.common import Commands, Options
from rag.cli.ingest import run_ingest, weigh_if_due
from rag.cli.library import open_services
from rag.cli.progress import ProgressBar
from rag.connectors.registry import open_source
from rag.connectors.sync import Sync, Synced
from rag.errors import FootnoteError, SourceError
from rag.factory import make_means
from rag.ingest.library import Library
from rag.settings import Settings
from storage.source_items import SourceItems
from storage.source_records import SourceRecord
from storage.sources import SourceStore

DESCRIPTION = """Read the sources that were added on the Sources page: all of them, or those named. What is
new or changed there is taken and embedded, what is gone goes. Stopped, it goes on where it was."""


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    sync = commands.add_parser("sync", help="read sources and take what is new", description=DESCRIPTION)
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
    sync.set_defaults(command=sync_command)


def sync_command(settings: Settings, options: Options) -> int:
    """Sync each source, one result line each; 1 when a source or something in it could not be had."""
    failed = False
    with open_services(settings) as (services, library):
        library.recover()
        sources = SourceStore(services.database, library.owner)
        items = SourceItems(services.database, library.owner)
        # Documents are read after the last source.
        sync = Sync(library, sources, items, lambda _: None, library.remove, settings.max_upload_mb << 20)
        means = make_means(settings, library.owner)
        for record in _named(sources.list(), options.names):
            if options.again:
                items.retry(record.id, datetime.now(UTC))
            opened = partial(open_source, record.kind, record.settings, means)
            result = _sync_one(
                record, partial(sync.run, record.id, opened, may_be_empty=options.may_be_empty)
            )
            failed |= bool(result["failed"] or result["reason"])
            print(json.dumps(result, ensure_ascii=False) if options.json else _line(result), flush=True)
        _read(library, quiet=options.json)
    return 1 if failed else 0


def _named(records: Sequence[SourceRecord], names: Sequence[str]) -> list[SourceRecord]:
    """Return the sources that go by one of these names; SourceError for a name that none has."""
    there = {record.name for record in records}
    for name in names:
        if name not in there:
            known = ", ".join(sorted(there)) or "none yet"
            raise SourceError(
                f"There is no source {name!r}. There are: {known}. Add one on the Sources page."
            )
    return [record for record in records if not names or record.name in names]


def _sync_one(record: SourceRecord, run: Callable[[], Iterator[Synced]]) -> dict[str, Any]:
    synced, reason = Synced(), None
    with closing(ProgressBar({})) as told:
        try:
            for synced in run():
                told(record.name, synced.items, 0)
        except FootnoteError as error:
            reason = str(error)
    return {**asdict(synced), "name": record.name, "reason": reason}


def _read(library: Library, *, quiet: bool) -> None:
    for record in library.documents.unfinished():
        run_ingest(library, record.id, record.name, quiet=quiet)
    weigh_if_due(library)


def _line(result: dict[str, Any]) -> str:
    if result["reason"]:
        return f"{result['name']}: {result['reason']}"
    counts = ", ".join(
        f"{result[what]} {what}" for what in ("new", "changed", "unchanged", "removed", "failed")
    )
    return f"{result['name']}: {counts}"
