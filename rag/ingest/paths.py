"""The files that paths on a command line stand for, each with the name it is known by."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rag.errors import QuestionRefused

SHOWN = 1000  # characters of a path in a message


def files_of(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield each file with its path inside the folder that was given; hidden ones are passed over.

    Raises QuestionRefused for a path that is neither file nor folder.
    """
    for path in paths:
        if _is(path, "dir"):
            found = (p for p in sorted(path.rglob("*")) if p.is_file() and not _hidden(p.relative_to(path)))
            yield from ((p, shown(p.relative_to(path))) for p in found)
        elif _is(path, "file"):
            yield path, shown(Path(path.name))
        else:
            raise QuestionRefused(f"There is no file or folder {shown(path)}. Check the path.")


def shown(path: Path) -> str:
    """Return a path as text; bytes that are not UTF-8 are shown as question marks."""
    return path.as_posix().encode("utf-8", "replace").decode()[:SHOWN]


def _is(path: Path, kind: str) -> bool:
    try:
        return path.is_dir() if kind == "dir" else path.is_file()
    except (OSError, ValueError):  # a name no file can have
        return False


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
