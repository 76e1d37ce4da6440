"""Memory of the server while it takes in a long document, measured in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="reads a process's peak memory in /proc: run it on Linux"
)
MEMORY = """
import random, sys
from pathlib import Path
from storage.database import Database

def memory(kind):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(kind)).split()[1]) / 1024

database = Database.open(Path(sys.argv[1]))
"""
SERVER = """
from tests.rag.ingest.test_library import HashEmbedder
from rag.ingest.library import Library

class Wide(HashEmbedder):
    dimension = 384

def text(megabytes):
    draw = random.Random(0)
    words = ["".join(chr(draw.randrange(0xAC00, 0xD7A3)) for _ in range(3)) for _ in range(5000)]
    for _ in range(megabytes):
        yield "".join(f"{' '.join(draw.choices(words, k=12))}.\\n\\n" for _ in range(8000)).encode()

library = Library(database, "ann", Wide)
small, _ = library.add("small.txt", b"The harbour opened in 1962.")
list(library.index(small.id))
large, _ = library.add("large.txt", text(int(sys.argv[2])))
Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from now on
idle = memory("VmRSS")
for step in library.index(large.id):
    if step.stage == sys.argv[3]:
        break
print(memory("VmHWM") - idle)
library.close()
"""
LEDGER = """
from storage.documents import Documents
from storage.records import ChunkSpan

documents = Documents(database, "ann")
large, _ = documents.add("large.txt", "0" * 64, 1)
text = "\\uac00" * 14_000_000
idle = memory("VmRSS") - 2 * len(text) / (1 << 20)
documents.save_chunks(large.id, text, [], [ChunkSpan(0, 100)])
assert documents.text(large.id) == text
del text
print(memory("VmRSS") - idle)
"""


def measured(program: str, *arguments: str) -> float:
    command = [sys.executable, "-c", MEMORY + program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    return float(done.stdout.split()[-1])


@pytest.mark.parametrize(
    ("megabytes", "until", "most"),
    [
        (6, "words", 60),
        pytest.param(50, "the end", 200, marks=pytest.mark.slow(reason="a minute to index 50,000 passages")),
    ],
)
def test_a_long_document_takes_little_memory_of_the_server(
    tmp_path: Path, megabytes: int, until: str, most: int
) -> None:
    """50 parts make 16 million characters of Korean, which are 46 MB, in 50,000 passages."""
    assert measured(SERVER, str(tmp_path), str(megabytes), until) < most


def test_a_text_that_was_saved_does_not_stay_in_memory(tmp_path: Path) -> None:
    """The text is 40 MB of UTF-8, which the driver keeps where nothing else is bound to its statement."""
    assert measured(LEDGER, str(tmp_path)) < 20
