"""The pages there are, so that each can point to the others."""

from copy import copy

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
_FOR_ALL = [CHAT, DOCUMENTS, SOURCES, TREES, LAB, SETTINGS]


def offered(*, people: bool) -> list[st.Page]:
    """Return the pages there are for one run, with the one about people or without it.

    They are its own: Streamlit notes in a page that it may be run, and strikes that out as it runs it. Of two
    visitors who shared a page and came at once, the second would see an error in its place.
    """
    return [copy(page) for page in (*_FOR_ALL, *([PEOPLE] if people else []))]
