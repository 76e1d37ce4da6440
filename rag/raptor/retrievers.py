"""RAPTOR's two ways to search, as LangChain retrievers: only leaves come out, with the path above them."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from rag.raptor.search import collapsed, filled, in_turns
from rag.raptor.view import View, to_document
from rag.raptor.whole import asks_about_whole

if TYPE_CHECKING:
    from rag.raptor.tree import Forest

BUDGET = 2000  # tokens, as in the paper
CANDIDATES = 200  # nodes that a question is near to; a leaf beyond them bears on it less than all of these
TOP_K = 5  # of each layer, as in the paper
ASKED = 0.5  # how much a question about the whole counts against what a leaf tells, both in deviations


class TreeRetriever(BaseRetriever):
    """Fills a budget of `tokens` with leaves of a forest, of the chosen documents or of all; at most `k`.

    Each result's metadata has its similarity to the question as "score", and as "path" the summaries above
    it, ``[{"id", "level", "text"}]``, the topmost last. Raises RetrievalError where there is no tree.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    forest: Any  # a Forest; pydantic would look into it
    tokens: int = BUDGET
    k: int | None = None
    document_ids: Collection[str] | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        forest: Forest = self.forest
        view = View(forest, query, self.document_ids)
        chosen = filled(self._ordered(query, view), view.size, self.tokens)
        return [to_document(*found) for found in view.described(chosen[: self.k])]

    def _ordered(self, query: str, view: View) -> Iterator[str]:
        """Yield the ids of leaves, best first."""
        raise NotImplementedError


class CollapsedTreeRetriever(TreeRetriever):
    """All nodes at once, the nearest first; a summary found stands for the leaves under it.

    A question about the whole is near to everything and to nothing: it is answered from the root down,
    each part of the tree in its turn, by the leaves that tell most of what their part is about.
    """

    def _ordered(self, query: str, view: View) -> Iterator[str]:
        if asks_about_whole(query):
            yield from overview(view)
            return
        near = view.nearest(CANDIDATES)
        leaves = view.leaves_among(near)
        yield from collapsed(near, leaves, view.ancestors(leaves))


class TreeTraversalRetriever(TreeRetriever):
    """From the root down: of each layer the `top_k` nearest nodes, or all above a `threshold`, go on."""

    top_k: int = TOP_K
    threshold: float | None = None

    def _ordered(self, query: str, view: View) -> Iterator[str]:  # noqa: ARG002 - the view knows it
        layer, found = view.roots(), dict[str, float]()
        while layer:
            near = view.similarities(layer)
            found |= {id_: near[id_] for id_ in near if view.is_leaf(id_)}
            inner = sorted((id_ for id_ in near if not view.is_leaf(id_)), key=lambda id_: (-near[id_], id_))
            layer = [child for id_ in self._going_on(inner, near) for child in view.children(id_)]
        yield from sorted(found, key=lambda id_: (-found[id_], id_))

    def _going_on(self, ordered: list[str], near: dict[str, float]) -> list[str]:
        if self.threshold is None:
            return ordered[: self.top_k]
        return [id_ for id_ in ordered if near[id_] >= self.threshold]


class LeavesRetriever(TreeRetriever):
    """The leaves alone, the nearest first: what a tree is compared with."""

    def _ordered(self, query: str, view: View) -> Iterator[str]:  # noqa: ARG002 - the view knows it
        near = view.nearest(CANDIDATES)
        yield from view.leaves_among(near)


def overview(view: View) -> Iterator[str]:
    """Yield the most telling leaf of each cluster, the parts of the tree in turn; then the rest of them."""
    given: dict[str, None] = {}
    seen: dict[str, None] = {}
    roots = _nearest_first(view, view.roots())
    for cluster in in_turns(_clusters(view, id_) for id_ in roots):
        leaves = [cluster] if view.is_leaf(cluster) else view.leaves_among(view.children(cluster))
        fresh = [id_ for id_ in leaves if id_ not in seen]
        seen.update(dict.fromkeys(fresh))
        if fresh:
            best = _most_telling(view, fresh)[0]
            given[best] = None
            yield best
    yield from _most_telling(view, [id_ for id_ in seen if id_ not in given])


def _clusters(view: View, node_id: str) -> Iterator[str]:
    """Yield the nodes under a node that have leaves, at each of them the nearest the question first."""
    if view.is_leaf(node_id):
        yield node_id
        return
    children = view.children(node_id)
    inner = [id_ for id_ in children if not view.is_leaf(id_)]
    yield from in_turns(_clusters(view, id_) for id_ in _nearest_first(view, inner))
    if len(inner) < len(children):
        yield node_id


def _nearest_first(view: View, ids: list[str]) -> list[str]:
    near = view.similarities(ids)
    return sorted(ids, key=lambda id_: (-near[id_], id_))


def _most_telling(view: View, leaves: list[str]) -> list[str]:
    """Return leaves by what they tell of their document, and half as much by how near the question is."""
    if not leaves:
        return []
    near = view.similarities(leaves)
    values = list(near.values())
    middle, spread = float(np.mean(values)), float(np.std(values)) or 1.0
    worth = {id_: view.weight(id_) + ASKED * (near[id_] - middle) / spread for id_ in leaves}
    return sorted(leaves, key=lambda id_: (-worth[id_], id_))


TREES: Mapping[str, type[TreeRetriever]] = {  # by the names people choose them by
    "raptor-collapsed": CollapsedTreeRetriever,
    "raptor-traversal": TreeTraversalRetriever,
}
