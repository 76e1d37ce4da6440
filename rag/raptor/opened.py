"""A tree as far as someone has opened it: the way down to a node, and what stands on each step."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.raptor.view import View

if TYPE_CHECKING:
    from rag.raptor.tree import Forest
    from storage.tree_rows import NodeRecord


@dataclass(frozen=True)
class Opened:
    """`way` leads from the top to the open node; ``layers[n]`` is what ``way[n]`` was chosen from.

    The last layer is what stands below the open node; of an open leaf there is none.
    """

    way: tuple["NodeRecord", ...]
    layers: tuple[tuple["NodeRecord", ...], ...]

    @property
    def node(self) -> "NodeRecord | None":
        """The open node; None where none of several tops is."""
        return self.way[-1] if self.way else None

    @property
    def below(self) -> tuple["NodeRecord", ...]:
        """What stands below the open node."""
        return self.layers[-1] if len(self.layers) > len(self.way) else ()


def open_tree(forest: "Forest", document_id: str | None, way: Sequence[str]) -> Opened:
    """Open a document's tree, or the one over all, as far as `way`, ids from the top, leads.

    Where it leads nowhere a single top is open. A node may stand below several: the way says which is meant.
    Raises RetrievalError where there is no tree.
    """
    layers = [tuple(forest.roots(None if document_id is None else {document_id}))]
    wanted = list(way) if way and way[0] in {node.id for node in layers[0]} else []
    if not wanted and len(layers[0]) == 1:
        wanted = [layers[0][0].id]
    opened: list[NodeRecord] = []
    for node_id in wanted:
        node = next((node for node in layers[-1] if node.id == node_id), None)
        if node is None:
            break
        opened.append(node)
        if not node.children:
            break
        layers.append(tuple(forest.trees.nodes_by_id(node.children).values()))
    return Opened(tuple(opened), tuple(layers))


def upwards(forest: "Forest", numbers: Mapping[str, Collection[int]]) -> dict[str, tuple[int, ...]]:
    """Give the numbers of leaves to all that stands above them, too: by node, each number once, in order."""
    given = {leaf: set(those) for leaf, those in numbers.items()}
    for leaf, above in View(forest, "", None).ancestors(list(numbers)).items():
        for node_id in above:
            given.setdefault(node_id, set()).update(numbers[leaf])
    return {node_id: tuple(sorted(those)) for node_id, those in given.items()}
