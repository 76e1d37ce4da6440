"""A data directory as SIGKILL would leave it at any step of what is being done: copied in the midst of it."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parent.parent.parent
OURS = (f"{ROOT / 'rag'}/", f"{ROOT / 'storage'}/")
TRIES = 20


class Snapshot:
    """Copies `directory` to `target` when the thread has entered our functions so many times, or at the end.

    What is on disk at that moment is what a killed process leaves: the rest of its memory is lost either way.
    With `named` only entries into that function count, as of ``"Library.remove"``. `taken` is called after
    the copy, before anything more is done; `midway` says afterwards whether it was made before the end.
    """

    def __init__(
        self,
        directory: Path,
        target: Path,
        calls: int = 1,
        taken: Callable[[], None] = lambda: None,
        named: str = "",
    ):
        self._directory, self._target, self._taken = directory, target, taken
        self._left, self._named = calls, named
        self.midway = False

    def __enter__(self) -> "Snapshot":
        sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        if self._left > 0:
            self._take()

    def _look(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            self._left -= self._named in ("", frame.f_code.co_qualname)
            if self._left == 0 and not self.midway:
                self.midway = True
                self._take()

    def _take(self) -> None:
        for _ in range(TRIES):
            try:
                shutil.copytree(self._directory, self._target)
                break
            except (shutil.Error, FileNotFoundError):  # files that the word index was merging went meanwhile
                shutil.rmtree(self._target)
        self._taken()
