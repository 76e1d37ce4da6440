"""Which tree the address names and how far it is opened, so that an open tree can be shared."""

from collections.abc import Sequence

import streamlit as st

from rag.workspace import Workspace
from storage.tree_rows import NodeRecord

TREE, WAY = "tree", "way"  # a document's id, none for the tree over all; ids of nodes from the top, "a.b.c"

Way = tuple[str, ...]


def go(tree: str | None, way: Way) -> None:
    """Open a document's tree, or the one over all, as far as `way` leads; it goes into the address."""
    st.query_params.from_dict({TREE: tree or "", WAY: ".".join(way)})


def chosen(here: Workspace) -> tuple[str | None, Way]:
    """Return which tree the address names, and the way in it; where it names none, the one over all.

    Where there is none over all yet, a document's.
    """
    standing = {branch.document_id for branch in here.library.forest.trees.list() if branch.state == "ready"}
    named = st.query_params.get(TREE) or None
    if named not in standing:
        documents = (record.id for record in here.library.documents.list() if record.id in standing)
        named = None if None in standing else next(documents, None)
    return named, tuple(part for part in st.query_params.get(WAY, "").split(".") if part)


def way_in_document(above: Sequence[NodeRecord], leaf_id: str) -> str:
    """Return the way to a passage in its own document's tree, as addresses have it."""
    own = [node.id for node in reversed(above) if node.document_id is not None]
    return ".".join([*own, leaf_id])
