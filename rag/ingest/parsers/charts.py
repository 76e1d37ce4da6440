"""Charts of Office files: their title and their numbers as a table, a row for each category."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from rag.ingest.parsers.ooxml import local, named, text_of
from rag.ingest.parsers.tables import markdown_table

_MAX_POINTS = 10_000


def chart(root: Any) -> Iterator[str]:
    """Yield what a chart's XML (lxml) says: its title as a heading, its series as the columns of a table."""
    if title(root):
        yield f"### {title(root)}"
    numbers = list(markdown_table(rows(root)))
    if numbers:
        yield "\n".join(numbers)


def title(root: Any) -> str:
    """Return a chart's own title, not those of its axes."""
    found = next(named(root, "title"), None)
    is_own = found is not None and local(found.getparent()) == "chart"
    return text_of(found) if is_own else ""


def rows(root: Any) -> list[list[str]]:
    """Return a chart's numbers: a row of the names of its series, then one for each category."""
    columns = [_series(series) for series in named(root, "ser")]
    if not columns:
        return []
    labels = max((labels for _, labels, _ in columns), key=len)
    lines = zip_longest(labels, *(values for _, _, values in columns), fillvalue="")
    return [["", *(name for name, _, _ in columns)], *(list(line) for line in lines)]


def _series(series: Any) -> tuple[str, list[str], list[str]]:
    """Return a series' name, its categories and its values, as the chart keeps them."""
    name = next(named(series, "tx"), None)
    values = _points(series, "val") or _points(series, "yVal")
    return (
        text_of(name) if name is not None else "",
        _points(series, "cat") or _points(series, "xVal"),
        values,
    )


def _points(series: Any, name: str) -> list[str]:
    """Return the points of an axis in their places; those it leaves out are empty."""
    axis = next(named(series, name), None)
    found = (
        {int(point.get("idx", 0)): text_of(point) for point in named(axis, "pt")} if axis is not None else {}
    )
    return [found.get(place, "") for place in range(max(found, default=-1) + 1)][:_MAX_POINTS]
