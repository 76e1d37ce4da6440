"""`footnote serve --no-ui` as a process of its own, over documents of two people and a fake model.

It is forked (`tests/faults/forks.py`), or started from nothing.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from rag.services import Services
from rag.settings import load
from storage.keys import ApiKeys
from tests.faults.forks import ForkedProcess, forked_command
from tests.rag.fake_llm import FakeLLM

ROOT = Path(__file__).parents[2]
DOCUMENTS = {
    "ann": "# Harbour authority\n\nThe harbour handled 4.1 million containers in 2024.\n",
    "bob": "# Lighthouse\n\nThe harbour lamp of the lighthouse burned whale oil until 1901.\n",
}


@dataclass(frozen=True)
class ServedProcess:
    """A running server, its people's keys, and its process."""

    url: str
    keys: dict[str, str]
    process: psutil.Process
    log: Path

    def client(self, owner: str = "ann") -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.keys[owner]}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def memory(self) -> int:
        """Return the resident bytes of the server."""
        return self.process.memory_info().rss


@contextmanager
def serving(folder: Path, *, from_nothing: bool = False, **settings: str) -> Iterator[ServedProcess]:
    """Add the documents, make the keys, and run the command until the end."""
    data, log = folder / "data", folder / "log"
    with closing(Services(load({"data": data}))) as services:
        for owner, text in DOCUMENTS.items():
            library = services.workspace(owner).library
            list(library.index(library.add("harbour.md", text.encode())[0].id))
        keys = {owner: ApiKeys(services.database, owner).create("Test")[1] for owner in DOCUMENTS}
    with FakeLLM(keeps_questions=True) as fake:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("FOOTNOTE_")},
            "PYTHONPATH": str(ROOT),
            "FOOTNOTE_LLM_BASE_URL": fake.url,
            "FOOTNOTE_LLM_MODEL": "fake",
            "FOOTNOTE_SHUTDOWN_SECONDS": "0",
            **settings,
        }
        words = ["--data", str(data), "serve", "--no-ui", "--port", "0"]
        start = _started if from_nothing else forked_command
        process = start(words, environment=environment, log=log, cwd=folder)
        try:
            url = _address(process, log)
            yield ServedProcess(url, keys, psutil.Process(process.pid), log)
        finally:
            process.terminate()
            try:
                process.wait(60)
            finally:
                process.kill()


def _started(
    words: Sequence[str], *, environment: Mapping[str, str], log: Path, cwd: Path
) -> subprocess.Popen[bytes]:
    with log.open("wb") as written:
        command = [sys.executable, "-m", "rag.cli", *words]
        return subprocess.Popen(command, env=environment, stdout=written, stderr=written, cwd=cwd)


def _address(process: subprocess.Popen[bytes] | ForkedProcess, log: Path) -> str:
    """Return the address that the server tells, once it is ready."""
    deadline = time.monotonic() + 90
    while (told := re.search(r"http://127\.0\.0\.1:\d+", log.read_text())) is None or not _is_ready(told[0]):
        assert process.poll() is None and time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
    return told[0]


def _is_ready(url: str) -> bool:
    return httpx.get(f"{url}/readyz", timeout=60).status_code == 200
