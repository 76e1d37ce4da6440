"""The way through a tree to a cited passage: the summaries above it, which only led there."""

import streamlit as st

from rag.raptor.leaves import is_leaf_id
from rag.workspace import Workspace
from storage.records import PassageRecord
from ui import pages
from ui.components.markdown import verbatim
from ui.trees.labels import kind_of
from ui.trees.tree_way import TREE, WAY, way_in_document


def show_tree_path(passage: PassageRecord, here: Workspace) -> None:
    """Show, closed at first, the summaries above a passage that was found in a tree, the topmost first."""
    if not is_leaf_id(passage.chunk_id):
        return
    with st.expander("The way through the tree", type="compact", icon=":material/account_tree:"):
        st.caption("Only the passage is cited. The summaries above it are the way there, and no source.")
        above = here.library.forest.path(passage.chunk_id)
        if not above:
            st.markdown(
                "The tree has been changed since this answer was written: the way is not there any more."
            )
            return
        for node in reversed(above):
            st.markdown(f"**{kind_of(node)}**")
            with st.container(border=True):
                st.markdown(verbatim(node.text))
        st.markdown(f"**The passage**, number {passage.number}: the words above.")
        st.page_link(
            pages.TREES,
            label="See it in the tree",
            icon=":material/account_tree:",
            query_params={TREE: passage.document_id, WAY: way_in_document(above, passage.chunk_id)},
        )
