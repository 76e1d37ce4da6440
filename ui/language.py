"""Language of a page: what the person chose, else the browser's."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from rag.i18n import ENGLISH, preferred, read_language_from, supported

CHOSEN = "language"
"""Key of the session's state that holds the chosen language; absent where the browser's is taken."""


def page_language() -> str:
    """Return the language of the page that runs in this thread; English where none does."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return ENGLISH
    return supported(st.session_state.get(CHOSEN)) or browser_language()


def browser_language() -> str:
    """Return the language that the browser asks for."""
    locale: str | None = st.context.locale
    return supported(locale) or preferred(st.context.headers.get("Accept-Language", ""))


read_language_from(page_language)
