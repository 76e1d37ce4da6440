"""Lists of OpenDocument as Markdown's: which are numbered, how and from where, their styles say."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rag.ingest.parsers.numbering import formed
from rag.ingest.parsers.ooxml import attribute, local, named

_FORMS = {
    "1": "decimal",
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
    "가, 나, 다, ...": "ganada",
    "ㄱ, ㄴ, ㄷ, ...": "chosung",
    "ア, イ, ウ, ...": "aiueo",
    "一, 二, 三, ...": "japaneseCounting",
}
_DEEPEST = 10  # levels that a style describes


@dataclass(frozen=True)
class _Level:
    """How a level of a list is numbered: ``shown`` is how many levels stand in a number, as in 1.2."""

    form: str
    before: str
    after: str
    start: int
    shown: int


class Lists:
    """The lists of one document, by its styles in `roots` (lxml); their numbers are counted as they come."""

    def __init__(self, *roots: Any):
        styles = [style for root in roots for style in named(root, "list-style")]
        self._levels = {attribute(style, "name"): _levels(style) for style in styles}
        self._counts: dict[tuple[str, int], int] = {}

    def lines(
        self, listed: Any, words: Callable[[Any], str], style: str = "", depth: int = 1, indent: str = ""
    ) -> Iterator[str]:
        """Yield a line for each paragraph of a list and of lists within it; `words` tells what it says."""
        style = attribute(listed, "style-name") or style
        if attribute(listed, "continue-numbering") != "true" and not attribute(listed, "continue-list"):
            self._counts.pop((style, depth), None)
        for item in (part for part in listed if isinstance(part.tag, str)):
            mark = self._mark(item, style, depth)
            lead = indent + mark
            for part in (part for part in item if isinstance(part.tag, str)):
                if local(part) == "list":
                    yield from self.lines(part, words, style, depth + 1, indent + " " * min(len(mark), 3))
                elif said := words(part):
                    yield lead + said
                    lead = indent + " " * len(mark)

    def _mark(self, item: Any, style: str, depth: int) -> str:
        """Count an item that has a paragraph of its own, and return what stands before it."""
        level = self._levels.get(style, {}).get(depth)
        if level is None or not any(isinstance(part.tag, str) and local(part) in ("p", "h") for part in item):
            return "- "
        given = attribute(item, "start-value")
        counted = self._counts.get((style, depth), level.start - 1) + 1
        self._counts[style, depth] = int(given) if given.isdecimal() else counted
        number = ".".join(
            formed(self._counts.get((style, place), 1), level.form)
            for place in range(max(1, depth - level.shown + 1), depth + 1)
        )
        written = f"{level.before}{number}{level.after}".strip()
        is_markdowns = written in (f"{self._counts[style, depth]}.", f"{self._counts[style, depth]})")
        return f"{written} " if is_markdowns else f"- {written} "


def _levels(style: Any) -> dict[int, _Level]:
    """Return the levels of a list's style that are numbered, by their depth from 1 on."""
    found = {}
    for level in named(style, "list-level-style-number"):
        depth, start, shown = (
            int(given) if (given := attribute(level, name)).isdecimal() else 1
            for name in ("level", "start-value", "display-levels")
        )
        if depth <= _DEEPEST and (form := attribute(level, "num-format")):
            before, after = attribute(level, "num-prefix"), attribute(level, "num-suffix")
            found[depth] = _Level(_FORMS.get(form, "decimal"), before, after, start, shown)
    return found
