"""The entry of every page view: page config, navigation, what stands in the way."""

from pathlib import Path

import streamlit as st

from storage.errors import FootnoteError
from ui import conversations, faults, notices, pages, shell, signing_in
from ui.services import services, workspace

LOGO = str(Path(__file__).with_name("logo.svg"))
ICON = str(Path(__file__).with_name("favicon.svg"))


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


pages.draw_with(
    {
        pages.CHAT.title: _chat,
        pages.DOCUMENTS.title: _documents,
        pages.SOURCES.title: _sources,
        pages.TREES.title: _trees,
        pages.LAB.title: _lab,
        pages.SETTINGS.title: _settings,
        pages.PEOPLE.title: _people,
    }
)


def _show() -> None:
    """Show the page of the address to whoever is let in."""
    held = services()
    shell.mount()
    visitor = signing_in.let_in(held)
    notices.show()
    page = st.navigation(pages.offered(people=held.knows_people()))
    shell.name_tab(page.title)
    if page.url_path != pages.CHAT.url_path:  # which draws the list itself, with a chat just begun
        conversations.show_list(workspace(), None)
    signing_in.show_visitor(visitor, held)
    page.run()


st.set_page_config(page_title="Footnote", page_icon=ICON, layout="centered")
st.logo(LOGO, size="large")
try:
    _show()
except FootnoteError as error:
    faults.tell(error)
    st.button("Try again")
