"""Memory of the server while it takes in a long document, measured in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="reads a process's peak memory in /proc: run it on Linux"
)
SERVER = """
import random, sys
from pathlib import Path
from tests.rag.ingest.test_library import HashEmbedder
from rag.ingest.library import Library
from storage.database import Database

def memory(kind):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(kind)).split()[1]) / 1024

def text(megabytes):
    draw = random.Random(0)
    words = ["".join(chr(draw.randrange(0xAC00, 0xD7A3)) for _ in range(3)) for _ in range(5000)]
    for _ in range(megabytes):
        yield "".join(f"{' '.join(draw.choices(words, k=12))}.\\n\\n" for _ in range(8000)).encode()

library = Library(Database.open(Path(sys.argv[1])), "ann", HashEmbedder)
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


@pytest.mark.parametrize(
    ("megabytes", "until", "most"),
    [
        (6, "words", 60),
        pytest.param(
            40, "the end", 200, marks=pytest.mark.slow(reason="half a minute to index 45,000 passages")
        ),
    ],
)
def test_a_long_document_takes_little_memory_of_the_server(
    tmp_path: Path, megabytes: int, until: str, most: int
) -> None:
    """40 parts make 12.5 million characters of Korean, which are 37 MB."""
    command = [sys.executable, "-c", SERVER, str(tmp_path), str(megabytes), until]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    assert float(done.stdout.split()[-1]) < most
