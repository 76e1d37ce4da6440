"""SIGKILL in the middle of a change of model: the old index answers, or the new one, and never a mixture."""

import random
import shutil
import time
from pathlib import Path

import pytest

from rag.ingest.library import Library
from storage.database import Database
from storage.records import ChunkSpan
from tests.faults.forks import Fork
from tests.faults.reindexing import MODELS, reindex
from tests.rag.index.test_staged_vectors import castle, finds

LONG = [pytest.mark.slow(reason="kills 50 changes of model"), pytest.mark.timeout(3600)]
DOCUMENTS, PARTS = 4, 12


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory of four documents in twelve chunks each, embedded by the old model."""
    directory = tmp_path_factory.mktemp("embedded") / "data"
    database = Database.open(directory)
    library = Library(database, "ann", lambda: MODELS["old"])
    for number in range(DOCUMENTS):
        text = castle(number)
        record, _ = library.add(f"{number}.md", text.encode())
        size = len(text) // PARTS
        spans = [ChunkSpan(at * size, (at + 1) * size) for at in range(PARTS)]
        library.documents.save_chunks(record.id, text, [], spans)
        library.documents.set_state(record.id, "searchable_by_words")
        list(library.embed(record.id))
    library.close()
    database.close()
    return directory


def kill(directory: Path, lines: int, seconds: float) -> None:
    """Start the worker, read so many of its lines, wait, and kill it."""
    process = Fork(reindex, directory)
    for _ in range(lines):
        process.said.readline()
    time.sleep(seconds)
    process.kill()


def audit(directory: Path) -> str:
    """Open what is left as the app does, see that all of it is found, and tell the model that answers."""
    database = Database.open(directory)
    database.check()
    library = Library(database, "ann", lambda: MODELS["new"], open_named=MODELS.__getitem__)
    assert library.recover() == []
    answering = library.reindexer.answering
    assert answering is not None
    assert library.indexes.vectors.embeddings is MODELS[answering]
    assert library.indexes.vectors.ids() == library.documents.chunk_ids()
    assert all(finds(library, number) for number in range(DOCUMENTS))
    library.close()
    database.close()
    return answering


@pytest.mark.parametrize(("kills", "seed"), [(3, 3), pytest.param(50, 4, marks=LONG)])
def test_a_killed_change_of_model_is_gone_on_with_and_one_index_answers_all_the_time(
    embedded: Path, tmp_path: Path, kills: int, seed: int
):
    chance = random.Random(seed)
    directory = tmp_path / "data"
    shutil.copytree(embedded, directory)
    changed = 0
    for _ in range(kills):
        kill(directory, chance.randrange(1, DOCUMENTS * 4 + 12), chance.random() * 0.3)
        if audit(directory) == "new":
            changed += 1
            shutil.rmtree(directory)
            shutil.copytree(embedded, directory)
    database = Database.open(directory)
    library = Library(database, "ann", lambda: MODELS["new"], open_named=MODELS.__getitem__)
    list(library.reindex())
    library.close()
    database.close()
    assert audit(directory) == "new"
    (folder,) = (path for path in directory.glob("indexes/*/vectors-*") if not path.name.endswith("-tree"))
    assert folder.is_dir()
