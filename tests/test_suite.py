"""How `make test` runs the suite."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

MAKEFILE = (Path(__file__).parents[1] / "Makefile").read_text("utf-8")
(OPTIONS,) = re.findall(r"^PYTEST := \$\(BIN\)/pytest (.*)$", MAKEFILE, re.MULTILINE)
GOOD = "def test_one(): ...\n\n\ndef test_two(): ...\n"
DIES = "import os\n\n\ndef test_one(): ...\n\n\ndef test_two():\n    os.kill(os.getpid(), 9)\n"


@pytest.mark.slow(reason="runs pytest in three processes")
@pytest.mark.timeout(600)
def test_a_process_that_dies_fails_the_run_instead_of_holding_it_up(tmp_path: Path):
    for name, source in (("a", GOOD), ("b", DIES), ("c", GOOD)):
        (tmp_path / f"test_{name}.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "--numprocesses", "2", *OPTIONS.split(), str(tmp_path)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "test_b.py::test_two" in ended.stdout and "1 failed, 5 passed" in ended.stdout
