"""Files that paths on a command line stand for, each with the name of its document."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rag.errors import QuestionRefused

MAX_SHOWN = 1000  # characters of a path in a message


def iter_files(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield each file and its path below the folder given; QuestionRefused for what is neither."""
    for path in paths:
        try:
            is_folder, is_file = path.is_dir(), path.is_file()
        except (OSError, ValueError):  # a name no file can have
            is_folder = is_file = False
        if is_folder:
            for file in sorted(path.rglob("*")):
                name = file.relative_to(path)
                if file.is_file() and not any(part.startswith(".") for part in name.parts):
                    yield file, path_text(name)
        elif is_file:
            yield path, path_text(Path(path.name))
        else:
            raise QuestionRefused(f"There is no file or folder {path_text(path)}. Check the path.")


def path_text(path: Path) -> str:
    """Return a path as text; bytes that are not UTF-8 become question marks."""
    return path.as_posix().encode("utf-8", "replace").decode()[:MAX_SHOWN]
