"""The trees page: summaries over the documents, opened level by level, as a chart and in words."""

from typing import Any

import streamlit as st

from rag.raptor.view import OpenedPath, open_tree
from rag.workspace import Workspace
from storage.errors import FootnoteError
from ui import pages
from ui.components.markdown import label, plain, verbatim
from ui.components.messages import told, tried
from ui.server.services import services, workspace
from ui.trees.chart import draw, show_list
from ui.trees.labels import Marks, chosen, cost_of, count, go, levels_of, marks, share_of, step_of

# How far trees are, on their page: what is due and its cost, a build with a way to stop it, what failed.
TICK = 1.0  # seconds between looks


def show_building(here: Workspace) -> None:
    """Show how far the trees are, and what can be done."""
    if here.ingest.grows():
        st.fragment(_follow, run_every=TICK)(here)
        return
    failed = here.ingest.growing_failed()
    if failed is not None:
        said = (
            str(failed)
            if isinstance(failed, FootnoteError)
            else "Something in Footnote went wrong; its log has it."
        )
        st.error(f"The trees could not be built. {verbatim(said)}", icon=":material/error:")
    _show_left_out(here)
    with told():
        _show_due(here)


def _follow(here: Workspace) -> None:
    """Show a build; at its end have the page drawn anew."""
    if not here.ingest.grows():
        st.rerun()
    tended = here.ingest.growing()
    st.progress(share_of(tended), text=f"Building trees. {step_of(tended)}")
    st.button("Stop", icon=":material/stop_circle:", key="tree-stop", on_click=here.ingest.stop_growing)
    st.caption("It goes on when you leave this page. What is made stays when it is stopped.")


def _show_due(here: Workspace) -> None:
    """Say what is not built yet and what that takes, with the way to begin; or what could be made anew."""
    forest, on = here.library.forest, services().settings.raptor != "off"
    due, begun = forest.due(), bool(forest.trees.list())
    if not on:
        _show_off(begun=begun)
    if due and (on or begun):
        st.markdown(
            f"{count(len(due), 'document has', 'documents have')} no tree yet, or one that is not finished. "
            f"To build: {cost_of(forest.cost())}."
        )
        st.button(
            "Go on building" if begun else "Build",
            type="primary",
            icon=":material/play_arrow:",
            key="tree-build",
            on_click=tried(here.ingest.grow),
        )
        if on:
            st.caption("It begins by itself, too, with the next document, or when Footnote is started again.")
    elif on and not due:
        _show_anew(here)


def _show_off(*, begun: bool) -> None:
    kept = " Those that stand are kept as they are; new documents get none." if begun else ""
    st.info(f"No trees are built now: that is a choice on the Settings page.{kept}", icon=":material/info:")
    if services().administers():
        st.page_link(pages.SETTINGS, label="Choose whether trees are built", icon=":material/tune:")


def _show_anew(here: Workspace) -> None:
    """Offer to have summaries written anew that something else wrote than would now."""
    forest = here.library.forest
    others = forest.due(rewrite_summaries=True)
    if not others:
        return
    with st.expander(
        f"Summaries of {count(len(others), 'document')} were written in another way", type="compact"
    ):
        cost = cost_of(forest.cost(rewrite_summaries=True))
        st.markdown(f"They stay until you ask for them anew. That takes {cost}.")
        st.button(
            "Write them anew",
            icon=":material/refresh:",
            key="tree-anew",
            on_click=tried(here.ingest.grow),
            kwargs={"anew": True},
        )


def _show_left_out(here: Workspace) -> None:
    """Say which summaries could not be made, and what that means, with the way to try again."""
    left_out = sum(branch.left_out for branch in here.library.forest.trees.list())
    if not left_out:
        return
    st.warning(
        f"{count(left_out, 'summary', 'summaries')} could not be made: the model failed three times, or "
        "wrote nothing that could be used. What it "
        "would have stood above is still searched, but does not hang in the tree.",
        icon=":material/warning:",
    )
    st.button("Try again", icon=":material/refresh:", key="tree-retry", on_click=_try_again, args=(here,))


@tried
def _try_again(here: Workspace) -> None:
    here.library.forest.trees.reopen(incomplete=True)
    here.ingest.grow()


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


def _show_chart(opened: OpenedPath, tree: str | None, name: str, found: Marks) -> None:
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
