"""A question before what cannot be undone."""

from collections.abc import Callable

import streamlit as st

from ui.components.faults import tried


def ask_first(question: str, consequence: str, *, key: str, act: Callable[[], None]) -> None:
    """Ask in a dialog whether to delete; `act` is called, and the page run again, when the answer is yes.

    Where it cannot be done, that run says why. `consequence` is Markdown: whatever of it is not ours must
    be escaped.
    """
    st.dialog(question, width="small", icon=":material/delete:")(_answer)(consequence, key, act)


def _answer(consequence: str, key: str, act: Callable[[], None]) -> None:
    st.markdown(consequence)
    with st.container(horizontal=True):
        if st.button(
            "Delete for good", type="primary", icon=":material/delete:", key=key, on_click=tried(act)
        ):
            st.rerun()
        if st.button("Keep", key=f"keep-{key}"):
            st.rerun()
