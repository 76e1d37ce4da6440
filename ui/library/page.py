"""Library page: documents with their collections and tags, and the sources that bring them."""

import streamlit as st

from rag.i18n import N_, _, translated
from ui.chat import citations
from ui.documents import page as documents
from ui.documents import panel
from ui.server.services import workspace
from ui.sources import page as sources

VIEW, DOCUMENTS, SOURCES = "view", str(N_("Documents")), str(N_("Sources"))


def show() -> None:
    """Show the library page."""
    here = workspace()
    citations.listen(panel.choose)
    with st.container(key="library"):
        st.title(_("Library"))
        view = st.segmented_control(
            _("Show"),
            [DOCUMENTS, SOURCES],
            format_func=translated,
            default=DOCUMENTS,
            required=True,
            label_visibility="collapsed",
            key=VIEW,
            bind="query-params",
        )
        if view == SOURCES:
            sources.show()
        else:
            documents.show()
    panel.show_chosen(here)
