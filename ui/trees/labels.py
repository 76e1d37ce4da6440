"""What is said of trees: who writes their summaries, how far a build is, and what it costs. Pure."""

from collections.abc import Mapping, Sequence

from rag.raptor.cost import Cost
from rag.raptor.tree import Tended
from storage.tree_rows import NodeRecord
from ui.components.markdown import label

MODES: dict[str, str] = {
    "off": "Off",
    "extractive": "Summaries out of the documents' own sentences",
    "model": "Summaries by the connected language model",
}


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun: 1 -> "1 summary", 1200 -> "1,200 summaries"."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def cost_of(cost: Cost) -> str:
    """Say what a build takes.

    >>> cost_of(Cost(leaves=1000, summaries=200, tokens=184000, seconds=72.0))
    '1,000 passages, about 200 summaries, about 1 minute of this computer, about 184,000 tokens of the model'
    """
    minutes = max(1, round(cost.seconds / 60))
    said = [
        count(cost.leaves, "passage"),
        f"about {count(cost.summaries, 'summary', 'summaries')}",
        f"about {count(minutes, 'minute')} of this computer",
    ]
    return ", ".join([*said, *([f"about {cost.tokens:,} tokens of the model"] if cost.tokens else [])])


def step_of(tended: Tended | None) -> str:
    """Say how far a build is, in Markdown."""
    if tended is None:
        return "Waiting to begin"
    step = tended.step
    over = f"{label(tended.document, 60)}, {tended.done + 1:,} of {tended.total:,} documents"
    if not tended.document:
        over = "Above all documents"
    if step.level == 0:
        return f"{over}: passages, {step.done:,} of {step.total:,}"
    return f"{over}: level {step.level}, {step.done:,} of {step.total:,}"


def share_of(tended: Tended | None) -> float:
    """Return how much of a build is done, from 0 to 1: the passages are half of a document's tree.

    How many levels come is not known before: each is given half of what is left.
    """
    if tended is None:
        return 0.0
    step = tended.step
    part = 0.5 * step.done / max(1, step.total) if step.level == 0 else 1.0 - 0.5**step.level
    return min(1.0, (tended.done + part * bool(tended.document)) / max(1, tended.total))


def kind_of(node: NodeRecord) -> str:
    """Say what a node is: "Passage", or "Summary on level 2"."""
    return f"Summary on level {node.level}" if node.level else "Passage"


def below_of(nodes: Sequence[NodeRecord]) -> str:
    """Say of how many a summary is made: "7 passages", "3 summaries", or both."""
    leaves = sum(node.level == 0 for node in nodes)
    parts = [
        count(len(nodes) - leaves, "summary", "summaries") if leaves < len(nodes) else "",
        count(leaves, "passage") if leaves else "",
    ]
    return " and ".join(part for part in parts if part)


def levels_of(levels: Mapping[int, int]) -> str:
    """Say how many nodes stand on each level, the highest first.

    >>> levels_of({0: 120, 1: 24, 2: 1})
    'Level 2: 1 summary · Level 1: 24 summaries · 120 passages'
    """
    above = [
        f"Level {level}: {count(number, 'summary', 'summaries')}"
        for level, number in sorted(levels.items(), reverse=True)
        if level > 0
    ]
    return " · ".join([*above, count(levels.get(0, 0), "passage")])


def cited_as(numbers: Sequence[int]) -> str:
    """Name the markers that a node is cited by, in plain text: (1, 3) -> "[1] [3]"."""
    return " ".join(f"[{number}]" for number in numbers)
