"""Bar that names the latest deletion and undoes it, as long as that can be undone."""

import streamlit as st

from rag.i18n import _, translated
from rag.undo import Deletions
from ui.components.markdown import label
from ui.components.messages import flash

LOOK = 1.0  # seconds between looks whether the time is over


def show_undo(deletions: Deletions) -> None:
    """Show the bar while there is something to undo."""
    if deletions.latest is not None:
        _show(deletions)


@st.fragment(run_every=LOOK)
def _show(deletions: Deletions) -> None:
    waiting = deletions.latest
    if waiting is None:
        st.rerun()
        return
    with st.container(key="undo", horizontal=True, gap="small", vertical_alignment="center", wrap=False):
        st.markdown(_("{name} deleted.", name=label(translated(waiting.said), 80)), width="stretch")
        st.button(_("Undo"), icon=":material/undo:", key="undo-delete", on_click=_undo, args=(deletions,))


def _undo(deletions: Deletions) -> None:
    if deletions.undo() is None:
        flash(_("Too late to undo: it is deleted."), ":material/info:")
