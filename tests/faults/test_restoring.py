"""A dump of a shared ledger, restored with the originals alone: every document answers again."""

import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from rag.ingest.library import Library
from rag.services import Services
from rag.settings import LOCAL_OWNER, Settings
from tests.faults.auditing import audit_ledger
from tests.faults.forks import footnote
from tests.faults.replicas import cluster, until
from tests.storage import postgres
from tests.storage.conftest import WITHOUT_SERVER
from tests.storage.postgres import Postgres

pytestmark = pytest.mark.timeout(600)


def test_a_restored_dump_and_the_originals_alone_answer_after_a_start(tmp_path: Path):
    if WITHOUT_SERVER:
        pytest.skip(postgres.MISSING)
    with postgres.running() as server, cluster(tmp_path, server) as made:
        with closing(Services(made.settings("first"))) as services:
            services.warm_up()
            library = services.workspace(LOCAL_OWNER).library
            library.recover()
            castle = add(library, "The moat of the castle is nine metres deep.")
            tower = add(library, "The tower has a bell of bronze.")
            run(server, "pg_dump", "--format=custom", f"--file={tmp_path}/dump", "postgres")
            add(library, "The bridge is of oak.")
        run(server, "createdb", "restored")
        run(server, "pg_restore", "--dbname=restored", f"{tmp_path}/dump")
        shutil.copytree(tmp_path / "shared" / "files", tmp_path / "restored" / "files")
        settings = made.settings("fresh").model_copy(
            update={
                "database_url": server.url.replace("/postgres?", "/restored?"),
                "objects": f"file://{tmp_path}/restored",
            }
        )
        with closing(Services(settings)) as services:
            services.warm_up()
            library = services.workspace(LOCAL_OWNER).library
            until(lambda: not library.documents.unfinished() and library.indexes.words.ids())
            assert {record.id for record in library.documents.list()} == {castle, tower}
            assert {record.state for record in library.documents.list()} == {"ready"}
            audit_ledger(services.database)
            chunks = library.documents.chunk_ids()
            assert library.indexes.words.ids() == chunks == library.indexes.vectors.ids()
            for mode in ("bm25", "similarity"):
                (found,) = library.retriever(mode, 1).invoke("How deep is the moat of the castle?")
                assert found.metadata["document_id"] == castle
        reindex(settings, "--words")
        with closing(Services(settings)) as services:
            library = services.workspace(LOCAL_OWNER).library
            assert library.indexes.words.ids() == library.documents.chunk_ids() != set()


def add(library: Library, text: str) -> str:
    record, _ = library.add(f"{text.split()[1]}.md", f"# Castle\n\n{text}\n".encode())
    list(library.index(record.id))
    return record.id


def run(server: Postgres, program: str, *arguments: str) -> None:
    command = shutil.which(program)
    assert command, f"{program} is not in the PATH"
    where = ["--host", str(server.folder), "--username", "footnote"]
    subprocess.run([command, *where, *arguments], check=True, capture_output=True, timeout=60)


def reindex(settings: Settings, *options: str) -> None:
    given = settings.model_dump(include=settings.model_fields_set)
    environment = {f"FOOTNOTE_{name.upper()}": str(value) for name, value in given.items()}
    footnote({**os.environ, **environment}, "reindex", *options)
