"""`footnote backup` and `footnote restore`: all that cannot be made again, into one file and back."""

import json
from contextlib import closing
from pathlib import Path

from rag.cli.collecting import say
from rag.cli.common import Commands, Options
from rag.cli.ingest import run_ingest
from rag.cli.progress import ProgressBar
from rag.errors import EmbeddingError, RetrievalError
from rag.ingest.library import Library
from rag.services import Services
from rag.settings import SAVED, Settings, load, shareable
from storage import archives, restoring
from storage.database import Database
from storage.documents import owners
from storage.errors import StorageError

BACKUP = """Write every document, chat and setting into one new file, also while the app runs. What can be
made from them again, the search indexes, is left out; so are keys and passwords."""
RESTORE = """Put a backup into a data directory that holds nothing yet, and make its documents searchable. A
backup of the ledger alone (*.db) is put in the ledger's place, and what was there is kept."""


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    backup = commands.add_parser(
        "backup", help="write documents, chats and settings into one file", description=BACKUP
    )
    backup.add_argument("file", type=Path, metavar="FILE")
    backup.set_defaults(command=backup_command)

    restore = commands.add_parser("restore", help="put a backup back", description=RESTORE)
    restore.add_argument("file", type=Path, metavar="FILE")
    restore.set_defaults(command=restore_command)


def backup_command(settings: Settings, options: Options) -> int:
    """Write an archive beside whoever works on the data directory; 1 when an original was lost before."""
    _refuse_server(settings)
    also = {SAVED: json.dumps(shareable(settings.data), indent=2).encode()}
    with closing(
        ProgressBar({"copying originals": "copying {total:,} bytes of originals"}, unit="B")
    ) as told:
        manifest = archives.write(settings.data, options.file, also, told)
    print(f"{manifest.originals} documents, the chats and the settings are saved in {options.file}.")
    print(f"It has {options.file.stat().st_size / 1e6:,.1f} MB, unencrypted: keep it where only you read it.")
    for name in manifest.lost.values():
        say(f"The original file of {name} is gone or damaged, and is not in the backup. Its text is.")
    return 1 if manifest.lost else 0


def restore_command(settings: Settings, options: Options) -> int:
    """Put an archive into an empty data directory, or a ledger in the place of another."""
    _refuse_server(settings)
    if not restoring.is_archive(options.file):
        kept = Database.restore(settings.data, options.file)
        print(
            f"Restored from {options.file}." + (f" What was there before is kept as {kept}." if kept else "")
        )
        return 0
    with closing(ProgressBar({}, unit="B")) as told:
        manifest = restoring.restore(settings.data, options.file, told)
    print(
        f"Restored {manifest.originals} documents, the chats and the settings of {manifest.made}.", flush=True
    )
    return _make_searchable(load({"data": settings.data}))


def _make_searchable(settings: Settings) -> int:
    """Make what is derived from the ledger, for every owner; 1 when that has to wait for a model."""
    status = 0
    with closing(Services(settings)) as services:
        for owner in owners(services.database):
            with closing(services.library(owner)) as library:
                try:
                    _fill(library)
                except (EmbeddingError, RetrievalError) as error:
                    library.indexes.recover()
                    say(f"Found by their words only, until the app starts with that model: {error}")
                    status = 1
    return status


def _fill(library: Library) -> None:
    if library.documents.index_state("vectors"):
        _ = library.indexes.vectors  # where its model cannot be had, say so now
    waiting = library.recover()
    for at, document_id in enumerate(waiting):
        name = library.documents.get(document_id).name
        say(f"making {name} searchable, {at + 1} of {len(waiting)}")
        run_ingest(library, document_id, name, quiet=False)
    if library.forest.trees.list():
        for _ in library.forest.tend():
            pass


def _refuse_server(settings: Settings) -> None:
    if settings.database_url:
        raise StorageError(
            "This ledger lives on a database server: back it up and restore it with the server's own tools, "
            f"and copy {settings.data / 'files'}, which has the original files."
        )
