"""Language of a page: what the person chose, else the browser's."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from rag.i18n import ENGLISH, preferred, read_language_from, supported
from storage.accounts import Account

CHOSEN = "language"
"""Key of the session's state that holds the chosen language; empty where the browser's is taken."""


def recall(account: Account) -> None:
    """Read the language that a person chose, once in a session."""
    if CHOSEN not in st.session_state:
        st.session_state[CHOSEN] = account.language()


def choose(code: str, account: Account) -> None:
    """Keep the language that a person chose; an empty code stands for the browser's."""
    account.choose_language(code)
    st.session_state[CHOSEN] = code


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
