"""Pages of the app, so that each can link to the others; style sheet, drawer and tab title of them all."""

from collections.abc import Callable, Mapping
from copy import copy
from pathlib import Path

import streamlit as st

from ui.components.markdown import plain_line

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


def register(bodies: Mapping[str, Callable[[], None]]) -> None:
    """Set the functions that draw the pages, by title; this module imports none of them."""
    _bodies.update(bodies)


def for_visitor(*, people: bool) -> list[st.Page]:
    """Return copies of the pages for one run, with the People page or without it.

    Streamlit keeps state in a page object while it runs it: two visitors who shared one at the same moment
    would get an error.
    """
    return [copy(page) for page in (*_FOR_ALL, *([PEOPLE] if people else []))]


MAX_TITLE = 60  # characters: browsers cut longer tab titles

# On a narrow screen the drawer lies over the page, so choosing a chat closes it.
_JS = """
const CHOICES = '.st-key-chats button, .st-key-new-chat button';
const CLOSE = '[data-testid="stSidebarCollapseButton"] button';

function closeDrawer(event) {
  const choice = event.target instanceof Element ? event.target.closest(CHOICES) : null;
  if (choice && window.matchMedia('(max-width: 767px)').matches) {
    const close = document.querySelector(CLOSE);
    if (close) setTimeout(() => close.click(), 0);
  }
}

export default function () {
  document.addEventListener('click', closeDrawer);
  return () => document.removeEventListener('click', closeDrawer);
}
"""
_CSS = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
_shell = st.components.v2.component("footnote_shell", js=_JS, css=_CSS, isolate_styles=False)


def mount() -> None:
    """Mount the style sheet and the drawer script; called once in each run."""
    _shell(key="shell", height=1)


def name_tab(title: str) -> None:
    """Set the title of the browser's tab: "Lab · Footnote"."""
    st.set_page_config(page_title=f"{plain_line(title, MAX_TITLE)} · Footnote" if title else "Footnote")
