"""Connections to LanceDB, and its errors."""

import os
import re
from typing import Any

from rag.text.normalize import canonical

FULL = "there is no space left on its disk. Free some, then try again."
_PANIC = "PanicException"  # a BaseException that no module exports
_PLACE = re.compile(r",? \S+\.rs(:\d+)*")
_ADDRESS = re.compile(r"\w+://\S+")
_DETAIL = 200  # letters of an error


def is_failure(error: BaseException) -> bool:
    """Return whether LanceDB, or the disk, raised this error; on damaged files its Rust code may panic."""
    return isinstance(error, OSError | ValueError | RuntimeError) or type(error).__name__ == _PANIC


def is_conflict(error: BaseException) -> bool:
    """Return whether another writer's commit came first, so that a write may succeed when tried again."""
    return isinstance(error, OSError | ValueError | RuntimeError) and "commit conflict" in str(error).lower()


def reason_of(error: BaseException) -> str:
    r"""Return the first line of an error, without addresses and the place in LanceDB's source code.

    >>> reason_of(RuntimeError("lance error: no such column, /src/table.rs:12:8\nCaused by: ..."))
    'lance error: no such column'
    >>> reason_of(OSError("cannot GET http://store:9000/bucket/key in 3 ms"))
    'cannot GET … in 3 ms'
    >>> reason_of(OSError(28, "No space left on device"))
    'there is no space left on its disk. Free some, then try again.'
    """
    said = str(error)
    if "No space left" in said:
        return FULL
    first = (said.strip() or type(error).__name__).splitlines()[0]
    return canonical(_ADDRESS.sub("…", _PLACE.sub("", first)))[:_DETAIL]


def connect(place: str) -> Any:
    """Return LanceDB's connection to a folder, or to an address of an object store."""
    # Otherwise the statistics of an index with a graph print a warning.
    os.environ.setdefault("LANCE_INCLUDE_VECTOR_CENTROIDS", "false")
    import lancedb  # takes more than a second

    options = {"allow_http": "true"} if "://" in place else None
    return lancedb.connect(place, storage_options=options)
