"""Trees page: build summary trees and browse them level by level."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from rag.i18n import N_, _, ngettext, translated
from rag.raptor.tree import OpenedPath, numbers_above, open_tree
from rag.workspace import Workspace
from storage.errors import FootnoteError
from ui import pages
from ui.chat.citations import CitedPassage, marked
from ui.components.markdown import escape_text, label, plain_line
from ui.components.messages import action, show_errors
from ui.server.services import services, workspace
from ui.trees import labels
from ui.trees.chart import draw_tree, show_list

TICK = 1.0  # seconds between updates


def _show_building(here: Workspace) -> None:
    if here.ingest.grows():
        st.fragment(_follow, run_every=TICK)(here)
        return
    failed = here.ingest.growing_failed()
    if failed is not None:
        said = (
            translated(str(failed))
            if isinstance(failed, FootnoteError)
            else _("Internal error. See the server's log.")
        )
        st.error(
            _("The trees could not be built. {reason}", reason=escape_text(said)), icon=":material/error:"
        )
    _show_left_out(here)
    with show_errors():
        _show_due(here)


def _follow(here: Workspace) -> None:
    if not here.ingest.grows():
        st.rerun()
    tended = here.ingest.growing()
    st.progress(labels.share_of(tended), text=_("Building trees. {reason}", reason=labels.step_of(tended)))
    st.button(_("Stop"), icon=":material/stop_circle:", key="tree-stop", on_click=here.ingest.stop_growing)
    st.caption(_("Continues if you leave this page. Finished summaries are kept if you stop."))


def _show_due(here: Workspace) -> None:
    forest, on = here.library.forest, here.builds_trees()
    alone = services().settings.raptor == "auto"
    due, begun = forest.due(), bool(forest.trees.list())
    if not on:
        _show_off(begun=begun, alone=alone)
    if due and (on or begun or alone):
        st.markdown(
            ngettext(
                "{count} document has no tree yet or an unfinished one. Cost: {cost}.",
                "{count} documents have no tree yet or an unfinished one. Cost: {cost}.",
                len(due),
                cost=labels.cost_of(forest.cost()),
            )
        )
        name = _("Continue building") if begun else _("Build")
        action(name, "play_arrow", "tree-build", here.ingest.grow, kind="primary")
        if on:
            st.caption(_("Also starts with the next document, or when Footnote restarts."))
    elif on and not due:
        _show_outdated(here)


def _show_off(*, begun: bool, alone: bool) -> None:
    said = (
        _("Summaries are off. Existing summaries are kept; new documents get none.")
        if begun
        else _("Summaries are off.")
    )
    more = _("They are built where a model is connected and it takes only a few minutes.") if alone else ""
    st.info(" ".join(filter(None, (said, more))), icon=":material/info:")
    if services().administers():
        st.page_link(pages.SETTINGS, label=_("Turn on"), icon=":material/tune:")


def _show_outdated(here: Workspace) -> None:
    forest = here.library.forest
    others = forest.due(rewrite_summaries=True)
    if not others:
        return
    with st.expander(
        ngettext(
            "Summaries of {count} document use another method",
            "Summaries of {count} documents use another method",
            len(others),
        ),
        type="compact",
    ):
        cost = labels.cost_of(forest.cost(rewrite_summaries=True))
        st.markdown(_("They are kept until you rewrite them. Cost: {cost}.", cost=cost))
        rewrite = partial(here.ingest.grow, anew=True)
        action(_("Rewrite summaries"), "refresh", "tree-anew", rewrite, kind="secondary")


def _show_left_out(here: Workspace) -> None:
    left_out = sum(branch.left_out for branch in here.library.forest.trees.list())
    if not left_out:
        return
    st.warning(
        ngettext(
            "{count} summary could not be written: the model failed three times, or returned "
            "nothing usable. The passages below them are still searched, but are missing from "
            "the tree.",
            "{count} summaries could not be written: the model failed three times, or returned "
            "nothing usable. The passages below them are still searched, but are missing from "
            "the tree.",
            left_out,
        ),
        icon=":material/warning:",
    )
    action(_("Try again"), "refresh", "tree-retry", _try_again, here, kind="secondary")


def _try_again(here: Workspace) -> None:
    here.library.forest.trees.reopen(incomplete=True)
    here.ingest.grow()


ALL = N_("All documents")
INK = {"light": ("#23282d", "#fcfbf8"), "dark": ("#e8e5de", "#14181b")}  # the theme's text, and its page
_ABOUT = N_(
    "Footnote groups related passages and summarises them level by level. Answers still cite the original "
    "passages."
)
_LEGEND = N_("● summary ■ passage ◆ leads to a cited passage. Click one to open it.")


def show() -> None:
    """Show the trees page."""
    here = workspace()
    st.title(_("Trees"))
    st.markdown(translated(_ABOUT))
    if not here.library.documents.list():
        st.markdown(_("No documents yet. Add documents first."))
        return
    _show_building(here)
    ready = _ready_trees(here)
    if ready - {None}:
        _show_tree(here, ready)


def _ready_trees(here: Workspace) -> set[str | None]:
    return {branch.document_id for branch in here.library.forest.trees.list() if branch.state == "ready"}


def _show_tree(here: Workspace, ready: set[str | None]) -> None:
    tree, way = _path_in_address(here, ready)
    name = _choose(here, ready, tree)
    try:
        opened = open_tree(here.library.forest, tree, way)
    except FootnoteError as error:
        st.info(escape_text(translated(str(error))), icon=":material/info:")
        return
    found = _last_citations(here)
    st.caption(labels.levels_of(here.library.forest.trees.levels(tree)))
    if found.answer is not None and found.conversation is not None:
        st.caption(
            ":material/format_quote: "
            + _(
                "Shows what the last answer cites, in the chat “{title}”.",
                title=label(found.conversation.title, 60),
            )
        )
    chart, words = st.container(key="tree").columns([3, 2], gap="medium")
    with chart:
        _show_chart(opened, tree, name, found)
    with words:
        show_list(opened, tree, name, found)


def _choose(here: Workspace, ready: set[str | None], tree: str | None) -> str:
    names = {record.id: record.name for record in here.library.documents.list() if record.id in ready}
    options = [*([""] if None in ready or tree is None else []), *names]
    key = f"tree-of-{tree or 'all'}"
    st.selectbox(
        _("Summary tree of"),
        options,
        index=options.index(tree or ""),
        format_func=lambda id_: plain_line(names.get(id_, translated(ALL)), 90),
        key=key,
        on_change=lambda: labels.open_path(st.session_state[key] or None, ()),
    )
    return names.get(tree, translated(ALL)) if tree else translated(ALL)


def _show_chart(opened: OpenedPath, tree: str | None, name: str, found: labels.LastCitations) -> None:
    drawn = draw_tree(opened, name, found.of, *INK[st.context.theme.type or "light"])
    key = f"tree-chart-{tree}-{opened.node.id if opened.node else ''}"

    def open_clicked() -> None:
        clicked = _clicked(st.session_state[key])
        if 0 < clicked <= len(drawn.paths):
            labels.open_path(tree, drawn.paths[clicked - 1])

    st.echarts_chart(
        drawn.spec,
        height=drawn.height,
        key=key,
        on_select=open_clicked,
        alt=_("Summary tree of {name}. The list beside it shows the same.", name=plain_line(name, 60)),
    )
    st.caption(translated(_LEGEND))


def _clicked(state: Any) -> int:
    """Return the index of the clicked node, counted from 1; 0 for none."""
    groups = state["selection"]["selected"]
    return int(groups[0]["data_indices"][0]) if groups and groups[0]["data_indices"] else 0


def _path_in_address(here: Workspace, ready: set[str | None]) -> tuple[str | None, labels.NodePath]:
    """Return the tree and path in the address; by default the tree over all, else the first document's."""
    named = st.query_params.get(labels.TREE) or None
    if named not in ready:
        documents = (record.id for record in here.library.documents.list() if record.id in ready)
        named = None if None in ready else next(documents, None)
    return named, tuple(part for part in st.query_params.get(labels.PATH, "").split(".") if part)


NEWEST = 5  # conversations, and messages of each, searched for a citation


def _last_citations(here: Workspace) -> labels.LastCitations:
    for conversation in here.conversations.list()[:NEWEST]:
        for message in reversed(here.conversations.messages(conversation.id, limit=NEWEST)):
            if found := marked(message):
                return labels.LastCitations(_numbers(here, found), message, conversation)
    return labels.LastCitations()


def _numbers(here: Workspace, found: list[tuple[int, CitedPassage]]) -> Mapping[str, tuple[int, ...]]:
    numbers: dict[str, set[int]] = {}
    for _at, cited in found:
        place = cited.passage.document_id, cited.start, cited.end
        for leaf in here.library.forest.trees.leaves_at(*place):
            numbers.setdefault(leaf, set()).add(cited.passage.number)
    return numbers_above(here.library.forest, numbers)
