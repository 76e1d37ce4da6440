"""Installation of a local model: llama.cpp, the model's file in resumable parts, and a trial answer.

Files from their makers' repositories on a hub are verified by the hash that the hub states. The HTTP client
is passed in, since this package may not import the one that keeps the SSRF policy.
"""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, cast
from urllib.parse import quote, urlsplit

from rag.errors import Cancelled, FootnoteError, ModelUnavailable
from rag.i18n import N_
from rag.jobs import SERVER, Cancel, Job, Jobs, never
from rag.models.local import server as runtime
from rag.models.local.catalog import HubModel, ModelChoice, ModelOffer, ModelPackage, size
from rag.models.local.server import LocalModel
from rag.models.packaged.wheels import Wheel, read_files_with_progress

BLOCK = 1 << 20  # bytes of a file that are hashed at once
DAMAGED = "{title} has the sha256 {found}..., not {stated}... as {host} states, so it was removed. Try again."


class Opened(Protocol):
    """Response whose body is still to be read."""

    @property
    def status(self) -> int:
        """Status code."""
        ...

    def pieces(self) -> Iterator[bytes]:
        """Return the body in pieces."""
        ...


class Web(Protocol):
    """HTTP client; `rag/connectors/http.py` has one that keeps to the SSRF policy on every hop."""

    def open(
        self, url: str, *, headers: Mapping[str, str], cancelled: Callable[[], bool]
    ) -> AbstractContextManager[Opened]:
        """Open the response at an address, after redirects."""
        ...

    def get(self, url: str, *, cancelled: Callable[[], bool]) -> Any:
        """Return the response at an address, which has `checked` and `json`."""
        ...


@dataclass(frozen=True)
class HubFile:
    """File of a repository at one commit: its address, size and hash as the hub states them."""

    url: str
    bytes: int
    sha256: str


class Hub:
    """Hub at an address, such as https://huggingface.co or a mirror of it."""

    def __init__(self, address: str, web: Web):
        self._address, self._web = address.rstrip("/"), web

    @property
    def host(self) -> str:
        """The hub's host."""
        return urlsplit(self._address).netloc

    def find(self, model: HubModel, cancelled: Callable[[], bool]) -> HubFile:
        """Return the model's file at the newest commit of its repository; raises ModelUnavailable."""
        repository = quote(model.repository)
        stated = self._web.get(f"{self._address}/api/models/{repository}?blobs=true", cancelled=cancelled)
        try:
            told = stated.checked().json()
            file = next(one for one in told["siblings"] if one["rfilename"] == model.file)
            url = f"{self._address}/{repository}/resolve/{quote(told['sha'])}/{quote(model.file)}"
            return HubFile(url, int(file["lfs"]["size"]), str(file["lfs"]["sha256"]))
        except (KeyError, TypeError, ValueError, StopIteration) as error:
            raise ModelUnavailable(
                N_(
                    "{host} states no file {file} with a hash in {repository}. Choose another model.",
                    host=self.host,
                    file=model.file,
                    repository=model.repository,
                )
            ) from error

    def download(self, model: HubModel, path: Path, cancelled: Callable[[], bool]) -> Iterator[int]:
        """Put the verified file at `path`, yielding the bytes that have come; a later call goes on.

        Raises ModelUnavailable and Cancelled.
        """
        try:
            stated = self.find(model, cancelled)
            yield from self._complete(model, stated, path, cancelled)
        except (Cancelled, ModelUnavailable):
            raise
        except FootnoteError as error:
            raise ModelUnavailable(
                N_(
                    "{title} could not be fetched from {host}. {reason} A model of the package index "
                    "needs no hub.",
                    title=model.title,
                    host=self.host,
                    reason=error,
                )
            ) from error

    def _complete(
        self, model: HubModel, stated: HubFile, path: Path, cancelled: Callable[[], bool]
    ) -> Iterator[int]:
        coming = path.with_suffix(".partial")
        with coming.open("a+b") as file:
            whole = hashlib.sha256()
            if file.tell() > stated.bytes:  # of another version
                file.truncate(0)
            yield from _hash(file, whole.update, cancelled)
            if file.tell() < stated.bytes:
                yield from self._append(stated, file, whole, cancelled)
            file.flush()
            os.fsync(file.fileno())
            found = whole.hexdigest() if file.tell() == stated.bytes else ""
        if found != stated.sha256:
            coming.unlink()
            raise ModelUnavailable(
                DAMAGED.format(title=model.title, found=found[:12], stated=stated.sha256[:12], host=self.host)
            )
        coming.rename(path)

    def _append(
        self, stated: HubFile, file: IO[bytes], whole: Any, cancelled: Callable[[], bool]
    ) -> Iterator[int]:
        """Append what is missing; a hub that does not resume is read past what has come."""
        have = file.tell()
        headers = {"Range": f"bytes={have}-"} if have else {}
        with self._web.open(stated.url, headers=headers, cancelled=cancelled) as response:
            if response.status not in (200, 206):
                raise ModelUnavailable(
                    N_(
                        "{host} answered with status {status}. Try again later.",
                        host=self.host,
                        status=response.status,
                    )
                )
            known = have if response.status == 200 else 0
            for piece in response.pieces():
                new, known = piece[known:], max(0, known - len(piece))
                file.write(new)
                whole.update(new)
                if file.tell() > stated.bytes:
                    return
                yield file.tell()


def _hash(file: IO[bytes], update: Callable[[bytes], object], cancelled: Callable[[], bool]) -> Iterator[int]:
    """Hash what has come already, and leave the file at its end."""
    file.seek(0)
    while block := file.read(BLOCK):
        if cancelled():
            raise Cancelled(N_("You stopped the download. What has come is kept; it goes on from there."))
        update(block)
        yield file.tell()


LOOK = 0.2  # seconds between checks whether another process is done
TRIAL_TOKENS = 512  # context of the trial


def fetch(
    offer: ModelOffer, cache: Path, cancelled: Callable[[], bool] = never, hub: Hub | None = None
) -> Iterator[int]:
    """Download and verify the model's file into `cache`, yielding the bytes that are there.

    A model of a hub comes from `hub`. Raises ModelUnavailable and Cancelled; a later call resumes.
    """
    path = offer.path(cache)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _download_lock(path.parent, cancelled):
            if not path.exists():
                for left in path.parent.glob(".wheel-*"):  # of downloads that were killed
                    shutil.rmtree(left)
                yield from _download(offer, path, cancelled, hub)
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


def _download(offer: ModelOffer, path: Path, cancelled: Callable[[], bool], hub: Hub | None) -> Iterator[int]:
    if isinstance(offer, ModelPackage):
        yield from _download_missing(offer, path, cancelled)
    elif isinstance(offer, HubModel) and hub is not None:
        coming = path.with_suffix(".partial")
        _require_room(offer, path.parent, offer.bytes - (coming.stat().st_size if coming.exists() else 0))
        yield from hub.download(offer, path, cancelled)


def _download_missing(offer: ModelPackage, path: Path, cancelled: Callable[[], bool]) -> Iterator[int]:
    folder, coming = path.parent, path.with_suffix(".partial")
    with coming.open("a+b") as file:
        whole = hashlib.sha256()
        kept = yield from _verify_parts(offer, file, whole.update)
        missing = offer.bytes - kept * offer.part_bytes
        _require_room(offer, folder, missing + 2 * offer.part_bytes if missing > 0 else 0)
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


def _require_room(offer: ModelOffer, folder: Path, needed: int) -> None:
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
    offer: ModelOffer, cache: Path, cancelled: Callable[[], bool] = never, hub: Hub | None = None
) -> Iterator[InstallProgress]:
    """Install a model and try it, yielding the progress; raises ModelUnavailable, LLMError and Cancelled."""
    total = runtime.MEGABYTES * 1_000_000
    for done in runtime.install(cancelled):
        yield InstallProgress("llama.cpp", min(done, total), total)
    for done in fetch(offer, cache, cancelled, hub):
        yield InstallProgress(offer.title, min(done, offer.bytes), offer.bytes)
    yield InstallProgress("", 0, 0)
    try_out(ModelChoice.of(offer.name, cache), cancelled)


def try_out(choice: ModelChoice, cancelled: Callable[[], bool] = never) -> None:
    """Let a model write one token; raises LLMError where it cannot."""
    with LocalModel(choice.path, name=choice.name, context_tokens=TRIAL_TOKENS) as model:
        model.complete([{"role": "user", "content": "Say yes."}], max_tokens=1, cancelled=cancelled)


class Installs:
    """Background jobs that install models; `ready` gets the name of an installed model."""

    def __init__(
        self,
        jobs: Jobs,
        cache: Path,
        ready: Callable[[str], None],
        hub: Callable[[], Hub | None] = lambda: None,
    ):
        self._jobs = jobs
        self._hub = hub
        self._cache = cache
        self._ready = ready
        self._failed: dict[str, str] = {}

    def start(self, offer: ModelOffer) -> None:
        """Install a model, unless that is running already."""
        self._failed.pop(offer.name, None)
        self._jobs.start(SERVER, _key(offer), lambda cancelled: self._run(offer, cancelled))

    def running(self, offer: ModelOffer) -> Job[InstallProgress] | None:
        """Return the job that installs a model, if there is one."""
        return cast(Job[InstallProgress] | None, self._jobs.get(SERVER, _key(offer)))

    def failure(self, offer: ModelOffer) -> str:
        """Return why the last attempt failed; empty where it succeeded."""
        return self._failed.get(offer.name, "")

    def _run(self, offer: ModelOffer, cancelled: Cancel) -> Iterator[InstallProgress]:
        try:
            yield from install(offer, self._cache, cancelled, self._hub())
            self._ready(offer.name)
        except Cancelled:
            raise
        except FootnoteError as error:
            self._failed[offer.name] = str(error)
            raise


def _key(offer: ModelOffer) -> str:
    return f"install-{offer.name}"
