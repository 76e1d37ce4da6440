"""OLE compound files, the containers of HWP 5, Outlook messages and old Office: their streams by name."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.i18n import N_

_DAMAGED = (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, struct.error)


@contextmanager
def open_ole(path: Path) -> Iterator[Any]:
    """Open a compound file (olefile); DocumentRefused where its container is damaged."""
    import olefile  # type: ignore[import-untyped]

    try:
        container = olefile.OleFileIO(str(path))
    except _DAMAGED as error:
        raise DocumentRefused(N_("is damaged: its OLE container cannot be opened.")) from error
    with container:
        yield container


def names(container: Any, folder: str = "") -> list[str]:
    """Return the names of the streams and storages right in a folder."""
    parts = [part for part in folder.split("/") if part]
    listed = container.listdir(streams=True, storages=True)
    return list({entry[len(parts)]: None for entry in listed if entry[: len(parts)] == parts != entry})


def stream(container: Any, name: str) -> bytes | None:
    """Return a stream as far as it can be read, None where there is none."""
    try:
        return bytes(container.openstream(name).read()) if container.exists(name) else None
    except _DAMAGED:
        return None
