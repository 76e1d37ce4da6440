"""A product's processes: start, first page, memory, end."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import httpx
import psutil

from benchmarks.product_steps.report import Spent

START = 1800.0  # seconds that a product may take until it can be asked
MARK = "FOOTNOTE_BENCHMARK_RUN"
"""Variable by which processes of a product are known, also those that leave its process tree."""
PAUSE = 1.0  # seconds between two looks at the memory


class ProductFailed(Exception):
    """A product that did not install, start or answer, with the sentence that says so."""


class Running:
    """A command, and everything that it starts, with the most memory that they held together."""

    def __init__(
        self,
        command: Sequence[str | Path],
        variables: Mapping[str, str],
        folder: Path,
        *,
        talks: bool = False,
    ):
        """Start the command in `folder`, with its output in the file `log`, or in a pipe if it `talks`."""
        folder.mkdir(parents=True, exist_ok=True)
        self.log, self.began, self.peak = folder / "log", time.perf_counter(), 0
        self._mark = f"{os.getpid()}-{time.monotonic_ns()}"
        self._ended = threading.Event()
        self._known: dict[psutil.Process, bool] = {}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **variables, MARK: self._mark},
                stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                stdout=subprocess.PIPE if talks else log,
                stderr=log,
            )
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def __enter__(self) -> "Running":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def wait_for(
        self, url: str, ready: Callable[[httpx.Response], bool] = lambda r: r.status_code == 200
    ) -> Spent:
        """Ask until the answer is as wanted; return the time since the start. Raises ProductFailed."""
        while time.perf_counter() - self.began < START:
            if self.process.poll() is not None:
                raise ProductFailed(f"It ended with {self.process.returncode}: {last_line(self.log)}")
            try:
                if ready(httpx.get(url, timeout=30)):
                    return Spent(time.perf_counter() - self.began, self.processor_seconds())
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise ProductFailed(f"It did not answer within {START:.0f} s: {last_line(self.log)}")

    def stop(self) -> None:
        """End the command and what it started."""
        self._ended.set()
        self._watcher.join()
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        left = self._marked()
        for one in left:
            one.terminate()
        for one in psutil.wait_procs(left, timeout=30)[1]:
            one.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()

    def processor_seconds(self) -> float:
        """Return the processor time of the processes that run and of those that they waited for."""
        return sum(map(_processor_seconds, self._marked()))

    def _watch(self) -> None:
        while not self._ended.wait(PAUSE):
            self.peak = max(self.peak, sum(map(_resident, self._marked())))

    def _marked(self) -> list[psutil.Process]:
        """Return the processes with the mark, and their descendants, whose variables may be overwritten."""
        found: dict[int, psutil.Process] = {}
        for one in psutil.process_iter():
            if one not in self._known:
                self._known[one] = self._has_mark(one)
            if self._known[one] and one.is_running():
                found[one.pid] = one
        return list(found.values())

    def _has_mark(self, process: psutil.Process) -> bool:
        try:
            ancestors = process.parents()
            return process.environ().get(MARK) == self._mark or any(map(self._known.get, ancestors))
        except psutil.Error:
            return False


def _processor_seconds(process: psutil.Process) -> float:
    try:
        return float(sum(process.cpu_times()[:4]))  # its own, and of children that it waited for
    except psutil.Error:
        return 0.0


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def last_line(log: Path) -> str:
    """Return the last line of a log that says something."""
    lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "it said nothing")


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def disk(folder: Path) -> int:
    """Return the bytes that the files of a folder take up on the disk."""
    return sum(
        path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
    )
