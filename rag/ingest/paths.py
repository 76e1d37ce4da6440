"""Files that paths on a command line stand for, each with the name of its document."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rag.errors import QuestionRefused
from rag.i18n import N_

MAX_SHOWN = 1000  # characters of a path in a message


class FoundFile(NamedTuple):
    """File with the name of its document; `outside` is true for a link that leads out of the folder given."""

    path: Path
    name: str
    outside: bool = False


def iter_files(paths: Sequence[Path]) -> Iterator[FoundFile]:
    """Yield each file, named by its path below the folder given; QuestionRefused for what is neither.

    Links that lead out of a folder are yielded as `outside`, and are not to be read.
    """
    for path in paths:
        try:
            is_folder, is_file = path.is_dir(), path.is_file()
        except (OSError, ValueError):  # a name no file can have
            is_folder = is_file = False
        if is_folder:
            yield from _files_below(path)
        elif is_file:
            yield FoundFile(path, path_text(Path(path.name)))
        else:
            raise QuestionRefused(
                N_("There is no file or folder {path}. Check the path.", path=path_text(path))
            )


def _files_below(folder: Path) -> Iterator[FoundFile]:
    real = folder.resolve()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts):
            continue
        outside = not Path(os.path.realpath(path)).is_relative_to(real)
        if outside or path.is_file():
            yield FoundFile(path, path_text(name), outside)


def path_text(path: Path) -> str:
    """Return a path as text; bytes that are not UTF-8 become question marks."""
    return path.as_posix().encode("utf-8", "replace").decode()[:MAX_SHOWN]
