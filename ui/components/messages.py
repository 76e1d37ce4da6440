"""A word on what was just done, kept over the run of the page that follows it."""

import streamlit as st

_KEY = "notice"


def leave(text: str, icon: str) -> None:
    """Have `text` shown by the next run: what a run shows before it ends itself is never seen."""
    st.session_state[_KEY] = (text, icon)


def show() -> None:
    """Show what the run before left."""
    notice = st.session_state.get(_KEY)
    if notice is not None:
        text, icon = notice
        st.toast(text, icon=icon)
        del st.session_state[_KEY]  # not before: Streamlit may end the run at any line that speaks to it
