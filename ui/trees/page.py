"""The trees page: summaries over the documents, opened level by level, as a chart and in words."""

from typing import Any

import streamlit as st

from rag.raptor.opened import Opened, open_tree
from rag.workspace import Workspace
from storage.errors import FootnoteError
from ui.components.markdown import label, plain, verbatim
from ui.server.services import workspace
from ui.trees.chart import draw
from ui.trees.labels import levels_of
from ui.trees.tree_building import show_building
from ui.trees.tree_list import show_list
from ui.trees.tree_marks import Marks, marks
from ui.trees.tree_way import chosen, go

ALL = "All documents"
INK = {"light": ("#23282d", "#fcfbf8"), "dark": ("#e8e5de", "#14181b")}  # the theme's text, and its page
_ABOUT = (
    "Passages that belong together are summarised, and so are the summaries, up to one: so a question about "
    "a whole document finds its way down to the passages that answer it. Only passages are cited."
)
_LEGEND = (
    "Circle: a summary. Square: a passage. Large: opened. Diamond: cited in the last answer, by its number "
    "in brackets, or above what is. A click opens a node; the list says the same in words."
)


def show() -> None:
    """Show the trees page."""
    here = workspace()
    st.title("Trees")
    st.markdown(_ABOUT)
    if not here.library.documents.list():
        st.markdown("There is nothing to build a tree over yet. Add documents first.")
        return
    show_building(here)
    standing = [branch for branch in here.library.forest.trees.list() if branch.state == "ready"]
    if any(branch.document_id for branch in standing):
        _show_tree(here)


def _show_tree(here: Workspace) -> None:
    tree, way = chosen(here)
    name = _choose(here, tree)
    try:
        opened = open_tree(here.library.forest, tree, way)
    except FootnoteError as error:
        st.info(verbatim(str(error)), icon=":material/info:")
        return
    found = marks(here)
    st.caption(levels_of(here.library.forest.trees.levels(tree)))
    if found.answer is not None and found.conversation is not None:
        st.caption(
            ":material/format_quote: Marked: what the last answer cites, in the chat "
            f"“{label(found.conversation.title, 60)}”."
        )
    chart, words = st.container(key="tree").columns([3, 2], gap="medium")
    with chart:
        _show_chart(opened, tree, name, found)
    with words:
        show_list(opened, tree, name, found)


def _choose(here: Workspace, tree: str | None) -> str:
    """Show which tree is looked at, with a way to look at another; returns its name."""
    standing = {branch.document_id for branch in here.library.forest.trees.list() if branch.state == "ready"}
    names = {record.id: record.name for record in here.library.documents.list() if record.id in standing}
    options = [*([""] if None in standing or tree is None else []), *names]
    key = f"tree-of-{tree or 'all'}"
    st.selectbox(
        "Tree over",
        options,
        index=options.index(tree or ""),
        format_func=lambda id_: plain(names.get(id_, ALL), 90),
        key=key,
        on_change=lambda: go(st.session_state[key] or None, ()),
    )
    return names.get(tree, ALL) if tree else ALL


def _show_chart(opened: Opened, tree: str | None, name: str, found: Marks) -> None:
    drawn = draw(opened, name, found.of, *INK[st.context.theme.type or "light"])
    key = f"tree-chart-{tree}-{opened.node.id if opened.node else ''}"

    def open_clicked() -> None:
        way = drawn.way_at(_clicked(st.session_state[key]))
        if way is not None:
            go(tree, way)

    st.echarts_chart(
        drawn.spec,
        height=drawn.height,
        key=key,
        on_select=open_clicked,
        alt=f"The tree over {plain(name, 60)}, as far as it is opened. The list beside it says the same.",
    )
    st.caption(_LEGEND)


def _clicked(state: Any) -> int:
    """Return which node of the chart was clicked, counted from 1; 0 for none."""
    groups = state["selection"]["selected"]
    return int(groups[0]["data_indices"][0]) if groups and groups[0]["data_indices"] else 0
