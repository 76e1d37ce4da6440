"""A disk that fills up while documents are read and embedded: said in a sentence, and healed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LIFE = '''
import os, sys
from pathlib import Path
from rag.ingest.library import Library
from storage.database import Database
from storage.errors import FootnoteError
from tests.faults.auditing import audit
from tests.rag.word_vectors import WordVectors

MODEL = WordVectors("model", 32)
directory = Path(sys.argv[1])
database = Database.open(directory)
library = Library(database, "ann", lambda: MODEL)
filler = directory / "filler"

def text(name):
    parts = (f"# Part {n}\\n\\n" + " ".join(f"{name}{n}x{each}" for each in range(30)) for n in range(20))
    return "\\n\\n".join(parts).encode()

def fill(leave):
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"0" * 4096)
        except OSError:
            pass
    os.truncate(filler, filler.stat().st_size - leave)

def full(name, leave, work):
    """Work on a full disk; tell whether that failed, in a sentence about it; what was there answers."""
    fill(leave)
    try:
        list(work())
        failed = False
    except FootnoteError as error:
        assert "no space left" in str(error), error
        failed = True
    for way in ("bm25", "similarity"):
        found = library.retriever(way, 1).invoke(asked)
        assert [passage.metadata["document"] for passage in found] == ["kept.md"], way
    filler.unlink()
    for record in library.documents.unfinished():
        list(library.index(record.id))
    assert library.documents.get(library.documents.list()[0].id).state == "ready"
    return failed

record, _ = library.add("kept.md", text("kept"))
list(library.index(record.id))
asked = library.documents.chunks(record.id)[0].text
failures = 0
for leave in (0, 100_000, 4_000_000):
    record, _ = library.add(f"read{leave}.md", text(f"read{leave}w"))
    failures += full("read", leave, lambda: library.read(record.id))
    record, _ = library.add(f"embed{leave}.md", text(f"embed{leave}w"))
    list(library.read(record.id))
    failures += full("embed", leave, lambda: library.embed(record.id))
    audit(library, database)
assert failures >= 3, failures
library.close()
database.close()
print("healed")
'''


def test_reading_and_embedding_on_a_full_disk_fail_in_a_sentence_and_heal_without_a_restart(tmp_path: Path):
    disk = tmp_path / "disk"
    disk.mkdir()
    script = 'mount -t tmpfs -o size=48m tmpfs "$1" || exit 99; exec "$2" -c "$3" "$1/data"'
    alone = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", disk, sys.executable, LIFE]
    try:
        done = subprocess.run(alone, capture_output=True, text=True, cwd=ROOT)
    except FileNotFoundError:
        pytest.skip("no unshare here to make a small disk with")
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip("this system lets nobody make a small disk: " + done.stderr)
    assert done.stdout == "healed\n", done.stderr
