"""`footnote work`: reads and embeds what waits in the ledger, and what a killed worker has left."""

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from rag import cli
from rag.services import Services
from rag.settings import Settings
from storage.documents import EMBED, READ
from storage.records import DocumentRecord

TEXT = "# Castle {0}\n\nThe castle of Aldenburg {0} was built in 1432.\n"


def queue(data: Path, count: int) -> None:
    with closing(Services(Settings(data=data))) as services:
        for number in range(count):
            services.library("local").add(f"{number}.md", TEXT.format(number).encode())


def documents(data: Path) -> list[DocumentRecord]:
    with closing(Services(Settings(data=data))) as services:
        return services.library("local").documents.list()


def begun(data: Path) -> bool:
    """Return whether a worker has read any document."""
    with closing(sqlite3.connect(f"file:{data / 'footnote.db'}?mode=ro", uri=True)) as db:
        return bool(db.execute("SELECT 1 FROM documents WHERE state != 'queued'").fetchone())


def test_work_reads_and_embeds_what_waits_and_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    queue(tmp_path / "data", 3)
    assert cli.main(["--data", str(tmp_path / "data"), "work", "--once", "--concurrency", "2"]) == 0
    assert "3 documents wait" in capsys.readouterr().err
    assert {record.state for record in documents(tmp_path / "data")} == {"ready"}


def test_a_worker_for_one_kind_leaves_the_other(tmp_path: Path):
    queue(tmp_path / "data", 2)
    assert cli.main(["--data", str(tmp_path / "data"), "work", "--once", "--kinds", READ]) == 0
    assert {record.state for record in documents(tmp_path / "data")} == {"searchable_by_words"}
    assert cli.main(["--data", str(tmp_path / "data"), "work", "--once", "--kinds", EMBED]) == 0
    assert {record.state for record in documents(tmp_path / "data")} == {"ready"}


def test_an_unknown_kind_of_work_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        cli.main(["--data", str(tmp_path / "data"), "work", "--kinds", "dream"])
    assert "dream" in capsys.readouterr().err


def test_what_a_killed_worker_was_doing_is_gone_on_with(tmp_path: Path):
    queue(tmp_path / "data", 12)
    command = [sys.executable, "-m", "rag.cli", "--data", str(tmp_path / "data"), "work"]
    worker = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert worker.stderr is not None and "12 documents wait" in worker.stderr.readline()
    while not begun(tmp_path / "data"):
        time.sleep(0.02)
    worker.send_signal(signal.SIGKILL)
    worker.communicate()
    assert cli.main(["--data", str(tmp_path / "data"), "work", "--once"]) == 0
    assert {record.state for record in documents(tmp_path / "data")} == {"ready"}


def test_a_server_without_workers_reads_nothing(tmp_path: Path):
    queue(tmp_path / "data", 1)
    with closing(Services(Settings(data=tmp_path / "data", workers=0))) as services:
        services.warm_up()
        there = services.workspace("local")
        (record,) = there.documents()
        assert there.ingest.running(record.id)
        there.ingest.start(record.id)
        assert {kind for kind, _ in services.jobs.standing()}.isdisjoint({READ, EMBED})
    assert [record.state for record in documents(tmp_path / "data")] == ["queued"]
