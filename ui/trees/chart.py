"""Summary tree as a chart and as a list, opened level by level."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from rag.i18n import _
from rag.raptor.tree import OpenedPath
from storage.trees import NodeRecord
from ui import pages
from ui.chat.evidence_panel import PARAMETER as CITE
from ui.components.markdown import escape_text, label, plain_line
from ui.components.messages import action
from ui.components.pagination import paginated
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
