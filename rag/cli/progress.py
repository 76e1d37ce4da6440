"""How far a command is, on stderr: a bar where that is a terminal, else a line on what takes long."""

import sys

from tqdm import tqdm


class ProgressBar:
    """Told of one thing after the other; `slow` names those that are worth a line where no bar is seen."""

    def __init__(self, slow: dict[str, str], *, unit: str = "it"):
        self._slow = slow
        self._unit = unit
        self._shown = sys.stderr.isatty()
        self._what = ""
        self._bar: tqdm[None] | None = None

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that `done` of `total` are done of `what`; a finished bar goes away."""
        if what != self._what or (self._bar is None and done < total):
            self._begin(what, total)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
        if done == total:
            self.close()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None

    def _begin(self, what: str, total: int) -> None:
        self.close()
        self._what = what
        if not self._shown and what in self._slow:
            print(f"footnote: {self._slow[what].format(total=total)}", file=sys.stderr, flush=True)
        scale = self._unit == "B"
        self._bar = tqdm(
            desc=what, total=total, leave=False, disable=not self._shown, unit=self._unit, unit_scale=scale
        )
