"""A file is read through once in the background, and never in the way of anything."""

from pathlib import Path

import numpy as np
import pytest

from rag.index.exact import AT_ONCE, Prefetch, VectorFile

IO = Path("/proc/self/io")
SIZE = 3 * AT_ONCE + 5


def read_so_far() -> int:
    return int(IO.read_text().split("rchar: ")[1].split()[0])


def read(file: Path) -> None:
    warming = Prefetch(file)
    warming.start()
    warming.join()


@pytest.mark.skipif(not IO.exists(), reason="the system does not tell how much was read")
def test_a_file_is_read_to_its_end(tmp_path: Path):
    file = tmp_path / "rows"
    file.write_bytes(bytes(SIZE))
    before = read_so_far()
    read(file)
    assert SIZE <= read_so_far() - before < 2 * SIZE  # other threads may read something, too


def test_one_that_would_drive_out_everything_else_is_not_read(tmp_path: Path):
    file = tmp_path / "rows"
    with file.open("wb") as opened:
        opened.truncate(1 << 42)  # holes only
    read(file)  # and over at once: four terabytes would take half an hour


def test_a_file_that_is_gone_is_left_to_whoever_needs_it(tmp_path: Path):
    read(tmp_path / "none")
    Prefetch(tmp_path / "none").stop()


def test_rows_are_found_while_they_are_read_and_can_be_closed_meanwhile(tmp_path: Path):
    rows = VectorFile(tmp_path, "v")
    rows.put(["a", "b"], ["x", "x"], np.eye(2, dtype=np.float32))
    assert rows.nearest([1, 0], 1, ["x"], "cosine") == [("a", 0.0)]
    rows.close()
