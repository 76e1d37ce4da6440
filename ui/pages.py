"""Pages of the app, so that each can link to the others."""

from collections.abc import Callable, Mapping
from copy import copy

import streamlit as st

_bodies: dict[str, Callable[[], None]] = {}


def _page(title: str, icon: str, *, default: bool = False) -> st.Page:
    def show() -> None:
        _bodies[title]()

    return st.Page(show, title=title, icon=icon, url_path=title.lower(), default=default)


CHAT = _page("Chat", ":material/forum:", default=True)
DOCUMENTS = _page("Documents", ":material/library_books:")
SOURCES = _page("Sources", ":material/sync:")
TREES = _page("Trees", ":material/account_tree:")
LAB = _page("Lab", ":material/science:")
SETTINGS = _page("Settings", ":material/tune:")
PEOPLE = _page("People", ":material/group:")
_FOR_ALL = [CHAT, DOCUMENTS, SOURCES, TREES, LAB, SETTINGS]


def draw_with(bodies: Mapping[str, Callable[[], None]]) -> None:
    """Set the functions that draw the pages, by title; this module imports none of them."""
    _bodies.update(bodies)


def offered(*, people: bool) -> list[st.Page]:
    """Return the pages of one run, with the one about people or without it.

    The pages are the run's own: Streamlit notes in a page that it may be run, and strikes that out as it
    runs it. Of two visitors who shared a page and came at once, the second would see an error in its place.
    """
    return [copy(page) for page in (*_FOR_ALL, *([PEOPLE] if people else []))]
