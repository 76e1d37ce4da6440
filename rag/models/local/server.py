"""llama.cpp serving one model in a child process: started when first asked for, ended with the app.

A process of its own, so that a file that makes llama.cpp crash, or a system that ends what takes too much
memory, costs an answer and not the app. It listens on 127.0.0.1 only, on a port that the system chooses, and
serves holders of a random key; the key goes by standard input, where no list of processes shows it.
"""

import contextlib
import json
import logging
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from rag.errors import Cancelled, OwnModelUnusable
from rag.jobs import never
from rag.models.local import runtime
from rag.models.local.gguf import read_head
from rag.models.local.memory import require_memory

log = logging.getLogger(__name__)

START_SECONDS = 180.0
"""Reading 1 GB from a slow disk takes less; what takes longer is stuck."""
LOOK = 0.1
_PROJECT = Path(__file__).resolve().parents[3]
# Threads that wait for each other by spinning stand still where something else uses the cores, too: with two
# cores and other work, a word took ten times as long.
_ENVIRONMENT = {"OMP_WAIT_POLICY": "passive", "PYTHONPATH": str(_PROJECT), "PATH": os.defpath}


@dataclass(frozen=True)
class Address:
    """Where a server is, and the key to it."""

    base_url: str
    api_key: str = field(repr=False)


class Server:
    """One model's server. Safe to share between threads: whoever asks first starts it, the others wait."""

    def __init__(self, model: Path, *, name: str, context_tokens: int):
        self._model = model
        self._name = name
        self._context_tokens = context_tokens
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._address: Address | None = None

    @property
    def running(self) -> bool:
        """Whether it could answer now without being started."""
        child = self._child
        return child is not None and self._address is not None and child.poll() is None

    def address(self, cancelled: Callable[[], bool] = never) -> Address:
        """Return where it answers, started first where it is not running (any more).

        Raises OwnModelUnusable, and Cancelled, after which nothing runs that did not before.
        """
        while not self._lock.acquire(timeout=LOOK):
            _look(cancelled)
        try:
            if self._address is None or not self.running:
                self._end()
                self._address = self._start(cancelled)
            return self._address
        finally:
            self._lock.release()

    def close(self) -> None:
        """End it; the next call of `address` would start it anew."""
        with self._lock:
            self._end()

    def _start(self, cancelled: Callable[[], bool]) -> Address:
        head = read_head(self._model)
        require_memory(self._model, self._name, self._context_tokens * head.token_bytes)
        runtime.require()
        key = secrets.token_urlsafe(32)
        with tempfile.TemporaryFile() as complaint:
            self._child = self._spawn(complaint)
            try:
                self._tell(self._child, key)
                return Address(f"{self._told(self._child, complaint, cancelled)}/v1", key)
            except BaseException:
                self._end()
                raise

    def _spawn(self, complaint: IO[bytes]) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-P", "-m", "rag.models.local.worker"]
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(  # noqa: S603 - our own interpreter and module
                command, stdin=pipe, stdout=pipe, stderr=complaint, env=_ENVIRONMENT, cwd="/"
            )
        except OSError as error:
            raise OwnModelUnusable(
                f"{self._name} could not be served: no process can be started ({error.strerror}). "
                "Close other programs, and ask again."
            ) from error

    def _tell(self, child: "subprocess.Popen[bytes]", key: str) -> None:
        """Say what to serve; standard input stays open, since the child ends with it."""
        request = {
            "path": str(self._model.absolute()),
            "name": self._name,
            "key": key,
            "context_tokens": self._context_tokens,
        }
        assert child.stdin is not None  # noqa: S101 - asked for when it was started
        with contextlib.suppress(BrokenPipeError):  # a child that died says why elsewhere
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()

    def _told(
        self, child: "subprocess.Popen[bytes]", complaint: IO[bytes], cancelled: Callable[[], bool]
    ) -> str:
        """Wait for the child's one line, and return the address that it holds."""
        assert child.stdout is not None  # noqa: S101 - asked for when it was started
        until = time.monotonic() + START_SECONDS
        while not select.select([child.stdout], [], [], LOOK)[0]:
            _look(cancelled)
            if time.monotonic() > until:
                raise OwnModelUnusable(
                    f"{self._name} was not ready after {START_SECONDS:g} seconds. Ask again."
                )
        line = child.stdout.readline()
        if not line:
            raise OwnModelUnusable(_reason(self._name, self._model, child.wait(), complaint))
        return str(json.loads(line)["address"])

    def _end(self) -> None:
        child, self._child, self._address = self._child, None, None
        if child is None:
            return
        child.kill()  # it has nothing to put in order
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # what it did not read is lost with it
                    pipe.close()


def _look(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled("You stopped the answer.")


def _reason(name: str, model: Path, status: int, complaint: IO[bytes]) -> str:
    """Say why a child ended before it served, from its exit status (negative: a signal) and last words."""
    complaint.seek(0)
    words = complaint.read().decode("utf-8", "replace")
    log.warning("serving %s ended with status %s: %s", name, status, words[-2000:])
    if "ModuleNotFoundError" in words or "ImportError" in words:
        return f"llama.cpp could not be loaded here. {runtime.HOW}"
    if status == -signal.SIGKILL or any(sign in words for sign in ("bad_alloc", "failed to allocate")):
        return (
            f"{name} could not be served: there was not enough memory. "
            "Close other programs, or choose a smaller model."
        )
    return (
        f"{name} could not be served: llama.cpp cannot read {model.name}, which is damaged, not whole, or of "
        "a kind that it does not know. Fetch it again, or choose another model."
    )
