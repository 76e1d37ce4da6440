"""Tables of the products: times as ratios to Footnote's of the same run, everything else as it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import mean

STEPS = {
    "add": "takes in",
    "ask": "asks",
    "restart": "restart to the first answer",
    "page": "first page",
    "delete": "deletes one",
}
"""Steps that take time, with their headings."""
REFERENCE = "Footnote"


@dataclass(frozen=True)
class Spent:
    """Seconds of a step, and seconds of processor time of the product's own processes."""

    seconds: float
    processor: float


@dataclass(frozen=True)
class Result:
    """Figures of one run of a product, or the sentence that says why there are none."""

    product: str
    version: str = ""
    failed: str = ""
    spent: dict[str, Spent] = field(default_factory=dict)
    memory: int = 0
    disk: int = 0
    first: int = 0
    among: int = 0
    again: int = 0
    gone: bool = False

    @property
    def title(self) -> str:
        """Product and version."""
        return f"{self.product} {self.version}".strip()


def ratio(value: float, reference: Sequence[float]) -> str:
    """Return a value in multiples of the reference's mean.

    >>> [ratio(3.0, [1.0, 2.0]), ratio(0.01, [1.0]), ratio(30.0, [2.0]), ratio(1.0, [])]
    ['2.0', '0.01', '15', '-']
    """
    if not reference or not mean(reference):
        return "-"
    multiple = value / mean(reference)
    return (
        f"{multiple:.0f}" if multiple >= 10 else f"{multiple:.1f}" if multiple >= 0.1 else f"{multiple:.2g}"
    )


def megabytes(size: int) -> str:
    """Return a size in millions of bytes.

    >>> [megabytes(331_776), megabytes(1_123_180_544)]
    ['0.3 MB', '1,123 MB']
    """
    return f"{size / 1e6:,.{1 if size < 10_000_000 else 0}f} MB"


def times(results: Sequence[Result]) -> Iterator[str]:
    """Yield the table of times: `seconds / processor seconds` in multiples of Footnote's mean."""
    ran = [one for one in results if not one.failed]
    own = [one.spent for one in ran if one.product == REFERENCE]
    yield f"| product | {' | '.join(STEPS.values())} |"
    yield f"|---|{'--:|' * len(STEPS)}"
    for one in ran:
        cells = []
        for step in STEPS:
            if (spent := one.spent.get(step)) is None:
                cells.append("none")
                continue
            seconds = ratio(spent.seconds, [it[step].seconds for it in own if step in it])
            cells.append(
                f"{seconds} / {ratio(spent.processor, [it[step].processor for it in own if step in it])}"
            )
        yield f"| {one.title} | {' | '.join(cells)} |"


def figures(results: Sequence[Result], questions: int) -> Iterator[str]:
    """Yield the lines of the table of hits and sizes, and then a sentence for each failure."""
    right = f"right document, of {questions}"
    yield f"| product | {right} | first | after the restart | deleted is gone | memory | disk |"
    yield "|---|--:|--:|--:|---|--:|--:|"
    for one in results:
        if not one.failed:
            sizes = [megabytes(size) for size in (one.memory, one.disk)]
            cells = [str(one.among), str(one.first), str(one.again), "yes" if one.gone else "**no**", *sizes]
            yield f"| {one.title} | {' | '.join(cells)} |"
    for one in results:
        if one.failed:
            yield f"\n{one.title}: {one.failed}"
