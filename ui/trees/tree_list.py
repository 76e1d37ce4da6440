"""An open tree in words: the way down, the open node's text, and what stands below it, each a button."""

import streamlit as st

from rag.raptor.opened import Opened
from storage.tree_rows import NodeRecord
from ui import pages
from ui.chat.evidence_panel import PARAMETER as CITE
from ui.components.markdown import label, verbatim
from ui.trees.labels import below_of, cited_as, kind_of
from ui.trees.tree_marks import Marks
from ui.trees.tree_way import Way, go

SHOWN = 30  # of what stands below a node, at once
LINE = 150  # letters of a node's text on its button


def show_list(opened: Opened, tree: str | None, name: str, marks: Marks) -> None:
    """Show the way to the open node, the node, and the ways on."""
    _show_way(opened, tree, name)
    if opened.node is not None:
        _show_node(opened.node, opened, marks)
    below = opened.below or (() if opened.node is not None else opened.layers[0])
    if below:
        st.markdown(f"**Below it: {below_of(below)}**" if opened.node else f"**{below_of(below)}**")
        _show_below(below, tuple(node.id for node in opened.way), tree, marks)


def _show_way(opened: Opened, tree: str | None, name: str) -> None:
    steps = _steps(opened, name)
    if len(steps) < 2:
        return
    st.caption("The way from the top")
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="tree-way"):
        for at, (said, way) in enumerate(steps):
            st.button(
                label(said, 40),
                key=f"tree-step-{at}",
                type="tertiary",
                icon=":material/chevron_right:" if at else None,
                disabled=at == len(steps) - 1,
                on_click=go,
                args=(tree, way),
            )


def _steps(opened: Opened, name: str) -> list[tuple[str, Way]]:
    """Return each step from the top to the open node: what it is called, and the way that it opens."""
    steps: list[tuple[str, Way]] = [(name, ())] if len(opened.layers[0]) != 1 else []
    for depth, node in enumerate(opened.way):
        number = opened.layers[depth].index(node) + 1
        place = f"{number}" if steps else "Top"
        level = f"level {node.level}" if node.level else "passage"
        steps.append((f"{place} · {level}", tuple(one.id for one in opened.way[: depth + 1])))
    return steps


def _show_node(node: NodeRecord, opened: Opened, marks: Marks) -> None:
    made = f", of {below_of(opened.below)}" if opened.below else ""
    st.markdown(f"##### {kind_of(node)}{made}", anchors=False)
    place = [label(node.document, 90), f"page {node.page}" if node.page else "", label(node.heading, 160)]
    if node.level == 0 or node.document:
        st.caption(" · ".join(part for part in place if part))
    with st.container(border=True, key="tree-open"):
        st.markdown(verbatim(node.text))
    if node.level:
        st.caption("A summary only shows the way. Answers cite the passages below it, never the summary.")
    _show_cited(node, marks)


def _show_cited(node: NodeRecord, marks: Marks) -> None:
    """Say that the last answer cites a passage, or what is below a summary; of a passage, the way there."""
    numbers = marks.of(node.id)
    if not numbers or marks.answer is None or marks.conversation is None:
        return
    where = "Cited in the last answer" if node.level == 0 else "Below it stands what the last answer cites"
    st.markdown(f":material/format_quote: {where}: {label(cited_as(numbers))}")
    if node.level == 0:
        st.page_link(
            pages.CHAT,
            label="Open the cited words",
            icon=":material/forum:",
            query_params={"chat": marks.conversation.id, CITE: f"{marks.answer.id}-p{numbers[0]}"},
        )


def _show_below(nodes: tuple[NodeRecord, ...], way: Way, tree: str | None, marks: Marks) -> None:
    last = -(-len(nodes) // SHOWN)
    key = f"tree-page-{way[-1] if way else ''}"
    number = min(st.session_state.get(key, 1), last)
    with st.container(key="tree-below", gap="xsmall"):
        for at in range((number - 1) * SHOWN, min(len(nodes), number * SHOWN)):
            _show_one(nodes[at], at + 1, way, tree, marks)
    if last > 1:
        st.pagination(last, key=key)


def _show_one(node: NodeRecord, number: int, way: Way, tree: str | None, marks: Marks) -> None:
    cited = marks.of(node.id)
    mark = f"**{label(f'cited {cited_as(cited)}')}** · " if cited else ""
    icon = "format_quote" if cited else "account_tree" if node.level else "notes"
    st.button(
        f"**{number}** · {mark}{label(node.text, LINE)}",
        key=f"tree-below-{node.id}",
        icon=f":material/{icon}:",
        width="stretch",
        on_click=go,
        args=(tree, (*way, node.id)),
    )
