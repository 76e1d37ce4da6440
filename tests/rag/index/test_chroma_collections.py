import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rag.index.chroma import open_client, open_collection

LOCK = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(10)
"""


@contextmanager
def locked(database: Path) -> Iterator[subprocess.Popen[str]]:
    """Keep others from writing for ten seconds, in another process: SQLite's locks do not stop their own."""
    command = [sys.executable, "-c", LOCK, str(database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def test_a_collection_that_exists_is_opened_without_beginning_to_write(tmp_path: Path):
    client = open_client(tmp_path)
    made = open_collection(client, "chunks", "cosine")
    with locked(tmp_path / "chroma.sqlite3") as other:
        opened = open_collection(client, "chunks", "cosine")
        assert other.poll() is None, "the collection was opened only once nobody else wrote any more"
    client.close()
    assert opened.id == made.id


def test_a_collection_is_made_where_there_is_none_and_keeps_its_space(tmp_path: Path):
    client = open_client(tmp_path)
    assert open_collection(client, "chunks", "l2").configuration_json["hnsw"]["space"] == "l2"
    assert open_collection(client, "chunks", "cosine").configuration_json["hnsw"]["space"] == "l2"
    client.close()
