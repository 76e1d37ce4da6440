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
    # Streamlit would write the translated label into the address.
    st.session_state[VIEW] = SOURCES if st.query_params.get(VIEW) == SOURCES else DOCUMENTS
    with st.container(key="library"):
        st.title(_("Library"))
        view = st.segmented_control(
            _("Show"),
            [DOCUMENTS, SOURCES],
            format_func=translated,
            required=True,
            label_visibility="collapsed",
            key=VIEW,
            on_change=_keep_view,
        )
        if view == SOURCES:
            sources.show()
        else:
            documents.show()
    panel.show_chosen(here)


def _keep_view() -> None:
    """Write the chosen view into the address, in every language by the same name."""
    if st.session_state[VIEW] == SOURCES:
        st.query_params[VIEW] = SOURCES
    else:
        st.query_params.pop(VIEW, None)
