"""Which files of a folder are meant: patterns like `**/*.pdf`, and names that only machines look at. Pure."""

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from fnmatch import translate

Matches = Callable[[str], object]

_BY_MACHINES = frozenset(
    {"thumbs.db", "desktop.ini", "__macosx", "$recycle.bin", "system volume information"}
)


def chosen(patterns: Collection[str]) -> Callable[[str], bool]:
    """Return whether a path below the folder is one of those that any of the patterns means.

    `*` and `?` stand for what has no slash, `**` for any folders; all else, brackets too, for itself.
    Capitals and small letters are the same. A pattern without a slash means files in every folder.

    >>> chosen(["*.pdf"])("reports/2025/Q3.PDF")
    True
    >>> chosen(["reports/*.pdf"])("reports/2025/Q3.pdf")
    False
    """
    meant = [_steps(pattern) for pattern in patterns or ["**"]]

    def is_chosen(path: str) -> bool:
        parts = _comparable(path).split("/")
        return any(_leads(steps, parts) for steps in meant)

    return is_chosen


def is_hidden(name: str) -> bool:
    """Whether a file or folder is kept from people's eyes: `.git`, `~$report.docx`, `Thumbs.db`."""
    return name.startswith((".", "~$")) or name.lower() in _BY_MACHINES


def is_pattern(pattern: str) -> bool:
    """Whether a pattern stays in the folder: not `/etc/*`, not `../*`."""
    return bool(pattern) and not pattern.startswith("/") and ".." not in pattern.split("/")


def _steps(pattern: str) -> list[Matches | None]:
    """Return what each folder and the name must match; None for any number of folders."""
    steps = _comparable(pattern).split("/")
    steps = ["**", *steps] if len(steps) == 1 else [step for step in steps if step != "."]
    steps = [*steps[:-1], "**"] if steps[-1] == "" else steps
    return [None if step == "**" else re.compile(translate(step.replace("[", "[[]"))).match for step in steps]


def _leads(steps: Sequence[Matches | None], parts: Sequence[str]) -> bool:
    """Whether the steps can be gone over all of the parts: every way at once, so that none is gone twice."""
    at = _beyond(steps, {0})
    for part in parts:
        on = {place for place in at if place < len(steps)}
        at = _beyond(steps, {_next(steps[place], place, part) for place in on} - {-1})
    return len(steps) in at


def _next(step: Matches | None, place: int, part: str) -> int:
    """Return the place after one part, -1 where it does not fit."""
    if step is None:
        return place
    return place + 1 if step(part) else -1


def _beyond(steps: Sequence[Matches | None], at: set[int]) -> set[int]:
    """Add the places that are reached without a part: `**` stands for no folder too."""
    reached = set(at)
    for place in range(len(steps)):
        if place in reached and steps[place] is None:
            reached.add(place + 1)
    return reached


def _comparable(path: str) -> str:
    """Return a path whose capitals and whose ways to write 각 in Unicode make no difference."""
    return unicodedata.normalize("NFC", path).casefold()
