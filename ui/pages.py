"""The pages there are, so that each can point to the others."""

import streamlit as st


def _chat() -> None:
    from ui.chat import show

    show()


def _documents() -> None:
    from ui.documents import show

    show()


def _sources() -> None:
    from ui.sources import show

    show()


def _trees() -> None:
    from ui.trees import show

    show()


def _lab() -> None:
    from ui.lab import show

    show()


def _settings() -> None:
    from ui.settings import show

    show()


def _people() -> None:
    from ui.people import show

    show()


CHAT = st.Page(_chat, title="Chat", icon=":material/forum:", url_path="chat", default=True)
DOCUMENTS = st.Page(_documents, title="Documents", icon=":material/library_books:", url_path="documents")
SOURCES = st.Page(_sources, title="Sources", icon=":material/sync:", url_path="sources")
TREES = st.Page(_trees, title="Trees", icon=":material/account_tree:", url_path="trees")
LAB = st.Page(_lab, title="Lab", icon=":material/science:", url_path="lab")
SETTINGS = st.Page(_settings, title="Settings", icon=":material/tune:", url_path="settings")
PEOPLE = st.Page(_people, title="People", icon=":material/group:", url_path="people")
FOR_ALL = [CHAT, DOCUMENTS, SOURCES, TREES, LAB, SETTINGS]
FOR_ADMINISTRATORS = [*FOR_ALL, PEOPLE]
