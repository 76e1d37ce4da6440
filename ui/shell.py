"""What surrounds every page: style sheet, tab title, the drawer that makes way on a narrow screen."""

from pathlib import Path

import streamlit as st

from ui.components.markdown import plain

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
