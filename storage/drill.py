"""Restore drill: restore a backup into a folder aside, open it, and check all that is in it."""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import func, select

from storage.backup import Progress, no_progress, restore_into
from storage.database import Database
from storage.documents import Documents, owners
from storage.errors import NotFound, StorageError
from storage.files import Files, folder_of
from storage.records import DocumentRecord
from storage.tables import ConversationRow, MessageRow

MOST_NAMED = 20  # faults given by name


@dataclass(frozen=True)
class Drill:
    """Outcome of a drill: what the backup holds, and a sentence for each fault that was found."""

    made: str
    revision: str
    people: int
    documents: int
    originals: int
    passages: int
    chats: int
    messages: int
    faults: tuple[str, ...] = ()


def drill(
    archive: Path, beside: Path | None = None, progress: Progress = no_progress, *, passphrase: str = ""
) -> Drill:
    """Restore an archive into a new folder in `beside`, open and check it, and remove the folder.

    The folder has the originals and the ledger unencrypted, as a data directory has. Raises what
    `restore_into` and `Database.open` raise, for a backup that cannot be used at all.
    """
    with tempfile.TemporaryDirectory(prefix=".drill-", dir=beside) as folder:
        directory = Path(folder) / "data"
        manifest = restore_into(directory, archive, progress, passphrase=passphrase)
        with closing(Database.open(directory)) as database:
            database.check()
            faults = [f"The original of {name} is not in the backup." for name in manifest.lost.values()]
            documents = passages = 0
            everyone = owners(database)
            for owner in everyone:
                records = Documents(database, owner).list()
                documents += len(records)
                passages += sum(record.chunks for record in records)
                faults += _faults(database, owner, records, frozenset(manifest.lost))
            with database.reading() as session:
                chats, messages = (
                    session.scalar(select(func.count()).select_from(table)) or 0
                    for table in (ConversationRow, MessageRow)
                )
        return Drill(
            made=manifest.made,
            revision=manifest.revision,
            people=len(everyone),
            documents=documents,
            originals=manifest.originals,
            passages=passages,
            chats=chats,
            messages=messages,
            faults=tuple(faults[:MOST_NAMED]),
        )


def _faults(
    database: Database, owner: str, records: list[DocumentRecord], lost: frozenset[str]
) -> Iterator[str]:
    """Yield a sentence for each document whose original or passages are not what the ledger says."""
    documents, originals = Documents(database, owner), Files(database.directory, owner)
    for record in records:
        try:
            is_lost = f"{folder_of(owner)}/{record.sha256}" in lost
            if not is_lost and originals.path(record.sha256).stat().st_size != record.size:
                yield f"The original of {record.name} has another size than the ledger says."
            yield from _passage_faults(documents, record)
        except (NotFound, StorageError) as error:
            yield f"{record.name}: {error}"


def _passage_faults(documents: Documents, record: DocumentRecord) -> Iterator[str]:
    if not record.chunks:
        return
    text, seen = documents.text(record.id), 0
    for chunks in documents.chunk_batches(record.id):
        seen += len(chunks)
        if any(text[chunk.start : chunk.end] != chunk.text for chunk in chunks):
            yield f"A passage of {record.name} is not in its text."
            return
    if seen != record.chunks:
        yield f"{record.name} has {seen:,} passages, and the ledger says {record.chunks:,}."
