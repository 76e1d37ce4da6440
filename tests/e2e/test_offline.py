"""A start without a network: nothing but loopback is tried, and the page's server answers."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import ROOT

UNSHARE = ["unshare", "--map-root-user", "--net"]
DRIVER = Path(__file__).with_name("offline_start.py")


def allowed() -> bool:
    """Return whether this system lets a process have a network namespace of its own."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(
    not allowed(), reason="needs a Linux that lets a process make a network namespace"
)


def start(folder: Path, *also: str) -> dict[str, Any]:
    command = [*UNSHARE, sys.executable, str(DRIVER), str(ROOT), str(folder), *also]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr + (folder / "log").read_text()
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


def test_a_start_and_an_answer_try_nothing_but_loopback(tmp_path: Path):
    told = start(tmp_path)
    assert "4.1 million containers" in told["answer"]
    assert told["looked_up"] == []
    assert told["unroutable"] == 0


@pytest.mark.slow(reason="starts the server a second time, to see that the test above can fail")
def test_an_address_outside_would_be_counted(tmp_path: Path):
    assert start(tmp_path, "try")["unroutable"] > 0
