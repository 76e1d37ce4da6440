"""The pages there are, so that each can point to the others."""

import streamlit as st


def _chat() -> None:
    from ui.chat import show

    show()


def _documents() -> None:
    from ui.documents import show

    show()


def _settings() -> None:
    from ui.settings import show

    show()


CHAT = st.Page(_chat, title="Chat", icon=":material/forum:", url_path="chat", default=True)
DOCUMENTS = st.Page(_documents, title="Documents", icon=":material/library_books:", url_path="documents")
SETTINGS = st.Page(_settings, title="Settings", icon=":material/tune:", url_path="settings")
