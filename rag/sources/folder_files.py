"""A file below a folder opened so that no link, however late it is put there, leads out of the folder."""

import errno
import os
import stat
from pathlib import Path
from typing import IO

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def opened(root: Path, path: str, *, links: bool) -> IO[bytes]:
    """Open a regular file below `root` for reading; OSError where it is none, or leads out of `root`.

    With `links` the path may lead over links as long as it ends below `root`.
    """
    real = Path(os.path.realpath(root / path)) if links else root / path
    parts = real.relative_to(root).parts if real.is_relative_to(root) else ()
    if not parts or ".." in parts:
        raise OSError(errno.EACCES, "it leads out of the folder")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        file = os.open(parts[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)
    return _regular(file)


def _regular(file: int) -> IO[bytes]:
    """Return an open file as such; a pipe or device is none, and is not read."""
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is not a file")
    return os.fdopen(file, "rb")
