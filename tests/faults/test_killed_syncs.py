"""SIGKILL in the middle of a sync: what was taken is whole, the next one takes the rest, each thing once."""

import random
from pathlib import Path

from rag.ingest.library import Library
from rag.models.embeddings import Embedder
from storage.database import Database
from storage.sources import SourceItems, SourceStore
from tests.faults import worker
from tests.faults.auditing import audit
from tests.faults.forks import Fork
from tests.faults.test_kills import kill_after


def test_a_sync_killed_again_and_again_takes_everything_once(tmp_path: Path, embedder: Embedder):
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number:02d}.md").write_text(f"The castle number {number} was built in {1400 + number}.")
    data, chance = tmp_path / "data", random.Random(3)
    for after in ("begun", "items 5", "items 17", "items 30"):
        said = kill_after(Fork(worker.sync, data, folder), after, chance.random() * 0.02)
        assert "ready" not in said
    (folder / "00.md").write_text("The castle number 0 was torn down.")
    (folder / "39.md").unlink()
    assert "ready" in Fork(worker.sync, data, folder).finish()
    database = Database.open(data)
    library = Library(database, "ann", lambda: embedder)
    (source,) = SourceStore(database, "ann").list()
    for document_id in library.recover():
        list(library.index(document_id))
    items = SourceItems(database, "ann").list(source.id)
    assert (source.state, len(items), {item.reason for item in items}) == ("idle", 39, {None})
    assert {item.document_id for item in items} == {record.id for record in library.documents.list()}
    audit(library, database)
    library.close()
    database.close()
