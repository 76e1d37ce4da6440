"""Columns of entries that go into an index: equally long, and a batch at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

BATCH = 5000  # entries: Chroma takes 5,461 at once, its SQLite 32,766 names in a query


def check_lengths(**columns: Sequence[Any]) -> None:
    """Raise ValueError, naming the columns, when they are not equally long."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"Different lengths: {', '.join(f'{n} {name}' for name, n in lengths.items())}.")


def batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield the items in order, at most BATCH at a time."""
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
