"""Labels, build progress and cost of summary trees; last citations in a tree; the open path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from rag.i18n import N_, _, enumerated, ngettext
from rag.raptor.tree import Cost, ForestProgress
from storage.records import ConversationRecord, Message
from storage.trees import NodeRecord
from ui.components.markdown import label

MODES: dict[str, str] = {
    "auto": N_("Automatic"),
    "off": N_("Off"),
    "extractive": N_("Quoted from the documents"),
    "model": N_("Written by the language model"),
}


def cost_of(cost: Cost) -> str:
    """Return the cost of a build in words.

    >>> cost_of(Cost(leaves=1000, summaries=200, tokens=184000, seconds=72.0))
    '1,000 passages, about 200 summaries, about 1 minute of computing, and about 184,000 tokens'
    """
    minutes = max(1, round(cost.seconds / 60))
    said = [
        ngettext("{count} passage", "{count} passages", cost.leaves),
        ngettext("about {count} summary", "about {count} summaries", cost.summaries)
        if cost.summaries
        else "",
        ngettext("about {count} minute of computing", "about {count} minutes of computing", minutes),
        _("about {number} tokens", number=f"{cost.tokens:,}") if cost.tokens else "",
    ]
    return enumerated([part for part in said if part])


def step_of(tended: ForestProgress | None) -> str:
    """Return the progress of a build, in Markdown."""
    if tended is None:
        return _("Waiting to start")
    step = tended.step
    over = _("All documents")
    if tended.document:
        over = _(
            "{name}, {at} of {total} documents",
            name=label(tended.document, 60),
            at=f"{tended.done + 1:,}",
            total=f"{tended.total:,}",
        )
    numbers = {"done": f"{step.done:,}", "total": f"{step.total:,}"}
    if step.level == 0:
        return _("{over}: passages, {done} of {total}", over=over, **numbers)
    return _("{over}: level {level}, {done} of {total}", over=over, level=step.level, **numbers)


def share_of(tended: ForestProgress | None) -> float:
    """Return the share of a build that is done; passages are half of a tree, each level half of the rest."""
    if tended is None:
        return 0.0
    step = tended.step
    part = 0.5 * step.done / max(1, step.total) if step.level == 0 else 1.0 - 0.5**step.level
    return min(1.0, (tended.done + part * bool(tended.document)) / max(1, tended.total))


def kind_of(node: NodeRecord) -> str:
    """Return the kind of a node: "Passage" or "Summary on level 2"."""
    return _("Summary on level {level}", level=node.level) if node.level else _("Passage")


def below_of(nodes: Sequence[NodeRecord]) -> str:
    """Return the number of children in words: "7 passages", "3 summaries", or both."""
    leaves = sum(node.level == 0 for node in nodes)
    above = len(nodes) - leaves
    parts = [
        ngettext("{count} summary", "{count} summaries", above) if above else "",
        ngettext("{count} passage", "{count} passages", leaves) if leaves else "",
    ]
    return enumerated([part for part in parts if part])


def levels_of(levels: Mapping[int, int]) -> str:
    """Return the number of nodes on each level, highest first.

    >>> levels_of({0: 120, 1: 24, 2: 1})
    'Level 2: 1 summary · Level 1: 24 summaries · 120 passages'
    """
    above = [
        ngettext("Level {level}: {count} summary", "Level {level}: {count} summaries", number, level=level)
        for level, number in sorted(levels.items(), reverse=True)
        if level > 0
    ]
    return " · ".join([*above, ngettext("{count} passage", "{count} passages", levels.get(0, 0))])


def cited_as(numbers: Sequence[int]) -> str:
    """Return the citation markers of a node as plain text: (1, 3) -> "[1] [3]"."""
    return " ".join(f"[{number}]" for number in numbers)


@dataclass(frozen=True)
class LastCitations:
    """Source numbers of the last answer by node, with the answer and its conversation."""

    numbers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    answer: Message | None = None
    conversation: ConversationRecord | None = None

    def of(self, node_id: str) -> tuple[int, ...]:
        """Return the numbers of the sources at a node, or below it."""
        return self.numbers.get(node_id, ())


TREE, PATH = "tree", "way"  # a document's id, none for the tree over all; ids of nodes from the top, "a.b.c"
NodePath = tuple[str, ...]


def open_path(tree: str | None, way: NodePath) -> None:
    """Open a path in a document's tree, or in the tree over all; it goes into the address."""
    st.query_params.from_dict({TREE: tree or "", PATH: ".".join(way)})


def path_in_document(above: Sequence[NodeRecord], leaf_id: str) -> str:
    """Return the path to a passage in its document's tree, as in addresses."""
    own = [node.id for node in reversed(above) if node.document_id is not None]
    return ".".join([*own, leaf_id])
