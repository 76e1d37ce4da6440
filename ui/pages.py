"""Pages of the app, so that each can link to the others."""

from collections.abc import Callable, Mapping
from pathlib import Path

import streamlit as st

from ui.components.markdown import plain

_bodies: dict[str, Callable[[], None]] = {}


CHAT: st.Page
DOCUMENTS: st.Page
SOURCES: st.Page
TREES: st.Page
LAB: st.Page
SETTINGS: st.Page
PEOPLE: st.Page
_ICONS = {
    "CHAT": ":material/forum:",
    "DOCUMENTS": ":material/library_books:",
    "SOURCES": ":material/sync:",
    "TREES": ":material/account_tree:",
    "LAB": ":material/science:",
    "SETTINGS": ":material/tune:",
    "PEOPLE": ":material/group:",
}


def __getattr__(name: str) -> st.Page:
    """Return a new page: Streamlit makes complete ones in a script run only, and keeps state in them."""
    if name not in _ICONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    title = name.title()

    def show() -> None:
        _bodies[title]()

    return st.Page(show, title=title, icon=_ICONS[name], url_path=title.lower(), default=name == "CHAT")


def draw_with(bodies: Mapping[str, Callable[[], None]]) -> None:
    """Set the functions that draw the pages, by title; this module imports none of them."""
    _bodies.update(bodies)


def offered(*, people: bool) -> list[st.Page]:
    """Return the pages of one run, with the People page or without it."""
    return [__getattr__(name) for name in _ICONS if people or name != "PEOPLE"]


# What surrounds every page: style sheet, tab title, the drawer that makes way on a narrow screen.
TITLE = 60  # characters of a tab's title: more is cut by every browser


# A chat that was chosen is to be seen. On a narrow screen the drawer lies over it.
_JS = """
const CHOICES = '.st-key-chats button, .st-key-new-chat button';
const CLOSE = '[data-testid="stSidebarCollapseButton"] button';

function makeWay(event) {
  const choice = event.target instanceof Element ? event.target.closest(CHOICES) : null;
  if (choice && window.matchMedia('(max-width: 767px)').matches) {
    const close = document.querySelector(CLOSE);
    if (close) setTimeout(() => close.click(), 0);
  }
}

export default function () {
  document.addEventListener('click', makeWay);
  return () => document.removeEventListener('click', makeWay);
}
"""
_CSS = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
_shell = st.components.v2.component("footnote_shell", js=_JS, css=_CSS, isolate_styles=False)


def mount() -> None:
    """Bring style and drawer to the page; called once in each run."""
    _shell(key="shell", height=1)


def name_tab(title: str) -> None:
    """Name the browser's tab after what the page shows: "Lab · Footnote"."""
    st.set_page_config(page_title=f"{plain(title, TITLE)} · Footnote" if title else "Footnote")
