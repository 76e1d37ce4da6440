"""Choice of the interface's language, by each person for themselves."""

import streamlit as st

from rag.i18n import LANGUAGES, _
from storage.accounts import Account
from ui import language as page_language
from ui.components.messages import flash_errors

KEY = "settings-language"


def show_language(account: Account) -> None:
    """Show the languages; the one that is chosen is taken at once."""
    options: list[str] = ["", *LANGUAGES]
    chosen = st.session_state.get(page_language.CHOSEN, "")
    browser = LANGUAGES[page_language.browser_language()]

    def shown(code: str) -> str:
        return LANGUAGES.get(code) or _("As in the browser ({language})", language=browser)

    def choose() -> None:
        page_language.choose(str(st.session_state[KEY]), account)

    st.selectbox(
        _("Language"),
        options,
        index=options.index(chosen) if chosen in options else 0,
        format_func=shown,
        key=KEY,
        on_change=flash_errors(choose),
    )
