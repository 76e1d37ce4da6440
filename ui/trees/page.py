"""Trees page: build summary trees and browse them level by level, as a chart and as a list."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from rag.i18n import N_, _, ngettext, translated
from rag.raptor.tree import OpenedPath, numbers_above, open_tree
from rag.workspace import Workspace
from storage.errors import FootnoteError
from storage.trees import NodeRecord
from ui import pages
from ui.chat.citations import CitedPassage, marked
from ui.chat.evidence_panel import PARAMETER as CITE
from ui.components.markdown import escape_text, label, plain_line
from ui.components.messages import action, show_errors
from ui.components.pagination import paginated
from ui.server.services import services, workspace
from ui.trees import labels
from ui.trees.labels import LastCitations, NodePath, below_of, cited_as, kind_of, open_path

MAX_DRAWN = 12  # nodes of one level in the chart; the list has all
ROW_HEIGHT = 26  # pixels
MIN_HEIGHT = 180  # pixels of height
WIDTH = 560  # pixels shared by the levels; the rest is for the last labels
MAX_LABEL = 46  # letters of a label
NODE, LINE = "#2f8a94", "#8a9299"  # 3 to 1 on the light page and on the dark one
NARROW = {"query": {"maxWidth": 520}, "option": {"series": [{"right": 56, "label": {"formatter": "{c}"}}]}}
Numbers = Callable[[str], Sequence[int]]


@dataclass
class TreeChart:
    """Chart specification, its height in pixels, and the path that each drawn node opens."""

    spec: dict[str, Any] = field(default_factory=dict)
    height: int = MIN_HEIGHT
    paths: list[NodePath] = field(default_factory=list)


def draw_tree(opened: OpenedPath, name: str, numbers: Numbers, ink: str, paper: str) -> TreeChart:
    """Draw the opened part of a tree; `name` labels the root of several tops, labels are `ink` on `paper`."""
    drawn = TreeChart()
    if len(opened.layers[0]) == 1:
        roots = _level(opened, 0, numbers, drawn)
    else:
        drawn.paths.append(())
        top = _item(plain_line(name, MAX_LABEL), plain_line(name, 8), (), opened=True)
        roots = [{**top, "children": _level(opened, 0, numbers, drawn)}]
    columns = len(opened.layers) + (len(opened.layers[0]) != 1)
    rows = sum(min(len(layer), MAX_DRAWN + 2) for layer in opened.layers)
    drawn.height = max(MIN_HEIGHT, rows * ROW_HEIGHT + 2 * ROW_HEIGHT)
    drawn.spec = _spec(roots, WIDTH // max(1, columns), ink, paper)
    return drawn


def window(layer: Sequence[NodeRecord], chosen: str | None) -> tuple[int, int]:
    """Return the range of drawn nodes of a level, around the open one."""
    at = next((place for place, node in enumerate(layer) if node.id == chosen), 0)
    first = max(0, min(at - MAX_DRAWN // 2, len(layer) - MAX_DRAWN))
    return first, min(len(layer), first + MAX_DRAWN)


def _level(opened: OpenedPath, depth: int, numbers: Numbers, drawn: TreeChart) -> list[dict[str, Any]]:
    """Return the chart items of a level, the open one with its children, and record their paths."""
    layer = opened.layers[depth]
    chosen = opened.way[depth].id if depth < len(opened.way) else None
    above = tuple(node.id for node in opened.way[:depth])
    first, last = window(layer, chosen)
    items = [_more(first, above, drawn)] if first else []
    for at in range(first, last):
        node = layer[at]
        drawn.paths.append((*above, node.id))
        item = _node_item(node, at + 1, numbers(node.id), opened=node.id == chosen)
        if node.id == chosen and depth + 1 < len(opened.layers):
            item["children"] = _level(opened, depth + 1, numbers, drawn)
        items.append(item)
    return [*items, *([_more(len(layer) - last, above, drawn)] if last < len(layer) else [])]


def _node_item(node: NodeRecord, number: int, cited: Sequence[int], *, opened: bool) -> dict[str, Any]:
    marks = f"{cited_as(cited)} " if cited else ""
    item = _item(
        f"{number} · {marks}{plain_line(node.text, MAX_LABEL)}", f"{number} {marks}".strip(), cited, opened
    )
    return item if node.level or cited else {**item, "symbol": "rect", "symbolSize": 10}


def _item(name: str, short: str, cited: Sequence[int], opened: bool) -> dict[str, Any]:
    """Return a chart item: larger if open, a diamond if it is cited or leads to a cited passage."""
    item: dict[str, Any] = {"name": name, "value": short, "symbol": "diamond" if cited else "circle"}
    item["symbolSize"] = (16 if opened else 10) + 4 * bool(cited)
    if opened or cited:
        item["label"] = {"fontWeight": "bold"}
    if opened:
        item["label"] = {**item["label"], "position": [0, -16], "verticalAlign": "middle"}
    return item


def _more(count: int, above: NodePath, drawn: TreeChart) -> dict[str, Any]:
    """Return an item for nodes that are not drawn; it opens their parent, whose list has all."""
    drawn.paths.append(above)
    return {"name": _("{number} more", number=f"{count:,}"), "value": f"+{count:,}", "symbol": "none"}


def _spec(roots: list[dict[str, Any]], step: int, ink: str, paper: str) -> dict[str, Any]:
    label = {"position": "right", "align": "left", "verticalAlign": "middle", "color": ink, "fontSize": 12}
    label |= {"backgroundColor": paper, "padding": [1, 3]}  # a line that passes below leaves it readable
    series = {
        "type": "tree",
        "data": roots,
        "orient": "LR",
        "expandAndCollapse": False,
        "initialTreeDepth": -1,
        "selectedMode": "single",
        "animation": False,
        "left": 16,
        "right": step,
        "top": 20,
        "bottom": 8,
        "itemStyle": {"color": NODE, "borderColor": NODE},
        "lineStyle": {"color": LINE, "width": 1.2},
        "label": {**label, "width": max(56, step - 24), "overflow": "truncate", "formatter": "{b}"},
        "emphasis": {"label": {"fontWeight": "bold"}},
    }
    return {"baseOption": {"tooltip": {"show": False}, "series": [series]}, "media": [NARROW]}


LIST_PAGE = 30  # children shown at once
LIST_LINE = 150  # letters of a node's text on its button


def show_list(opened: OpenedPath, tree: str | None, name: str, marks: LastCitations) -> None:
    """Show the path to the open node, the node, and its children."""
    _show_way(opened, tree, name)
    if opened.node is not None:
        _show_node(opened.node, opened, marks)
    below = opened.below or (() if opened.node is not None else opened.layers[0])
    if below:
        st.markdown(
            _("**Below: {nodes}**", nodes=below_of(below)) if opened.node else f"**{below_of(below)}**"
        )
        _show_below(below, tuple(node.id for node in opened.way), tree, marks)


def _show_way(opened: OpenedPath, tree: str | None, name: str) -> None:
    steps = _steps(opened, name)
    if len(steps) < 2:
        return
    st.caption(_("Path from the top"))
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="tree-way"):
        for at, (said, way) in enumerate(steps):
            st.button(
                label(said, 40),
                key=f"tree-step-{at}",
                type="tertiary",
                icon=":material/chevron_right:" if at else None,
                disabled=at == len(steps) - 1,
                on_click=open_path,
                args=(tree, way),
            )


def _steps(opened: OpenedPath, name: str) -> list[tuple[str, NodePath]]:
    steps: list[tuple[str, NodePath]] = [(name, ())] if len(opened.layers[0]) != 1 else []
    for depth, node in enumerate(opened.way):
        number = opened.layers[depth].index(node) + 1
        place = f"{number}" if steps else _("Top")
        level = _("level {level}", level=node.level) if node.level else _("passage")
        steps.append((f"{place} · {level}", tuple(one.id for one in opened.way[: depth + 1])))
    return steps


def _show_node(node: NodeRecord, opened: OpenedPath, marks: LastCitations) -> None:
    kind = kind_of(node)
    made = _("{kind}, of {nodes}", kind=kind, nodes=below_of(opened.below)) if opened.below else kind
    st.markdown(f"##### {made}", anchors=False)
    place = [
        label(node.document, 90),
        _("page {number}", number=node.page) if node.page else "",
        label(node.heading, 160),
    ]
    if node.level == 0 or node.document:
        st.caption(" · ".join(part for part in place if part))
    with st.container(border=True, key="tree-open"):
        st.markdown(escape_text(node.text))
    if node.level:
        st.caption(_("Answers cite the passages below, never the summary."))
    _show_cited(node, marks)


def _show_cited(node: NodeRecord, marks: LastCitations) -> None:
    numbers = marks.of(node.id)
    if not numbers or marks.answer is None or marks.conversation is None:
        return
    where = _("Cited in the last answer") if node.level == 0 else _("Leads to what the last answer cites")
    st.markdown(f":material/format_quote: {where}: {label(cited_as(numbers))}")
    if node.level == 0:
        st.page_link(
            pages.CHAT,
            label=_("Open the citation"),
            icon=":material/forum:",
            query_params={"chat": marks.conversation.id, CITE: f"{marks.answer.id}-p{numbers[0]}"},
        )


def _show_below(nodes: tuple[NodeRecord, ...], way: NodePath, tree: str | None, marks: LastCitations) -> None:
    key = f"tree-page-{way[-1] if way else ''}"
    with paginated(len(nodes), LIST_PAGE, key) as part, st.container(key="tree-below", gap="xsmall"):
        for at, node in enumerate(nodes[part], start=part.start + 1):
            _show_one(node, at, way, tree, marks)


def _show_one(node: NodeRecord, number: int, way: NodePath, tree: str | None, marks: LastCitations) -> None:
    cited = marks.of(node.id)
    mark = f"**{label(_('cited {markers}', markers=cited_as(cited)))}** · " if cited else ""
    icon = "format_quote" if cited else "account_tree" if node.level else "notes"
    name, key = f"**{number}** · {mark}{label(node.text, LIST_LINE)}", f"tree-below-{node.id}"
    action(name, icon, key, open_path, tree, (*way, node.id), kind="secondary", width="stretch")


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
