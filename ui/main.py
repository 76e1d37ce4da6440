"""Entry script of every page view: page config, sign-in, navigation."""

from pathlib import Path

import streamlit as st

from storage.errors import FootnoteError
from ui import pages
from ui.auth import sign_in
from ui.chat import sidebar
from ui.components.messages import show_error, show_flash
from ui.server.services import services, workspace

LOGO = str(Path(__file__).with_name("logo.svg"))
ICON = str(Path(__file__).with_name("favicon.svg"))


def _chat() -> None:
    from ui.chat.page import show

    show()


def _documents() -> None:
    from ui.documents.page import show

    show()


def _sources() -> None:
    from ui.sources.page import show

    show()


def _trees() -> None:
    from ui.trees.page import show

    show()


def _lab() -> None:
    from ui.lab.page import show

    show()


def _settings() -> None:
    from ui.settings.page import show

    show()


def _people() -> None:
    from ui.auth.people_page import show

    show()


pages.register(
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
    """Show the page of the address to a person who is signed in."""
    server = services()
    pages.mount()
    visitor = sign_in.let_in(server)
    show_flash()
    page = st.navigation(pages.for_visitor(people=server.knows_people()))
    pages.name_tab(page.title)
    if (
        page.url_path != pages.CHAT.url_path
    ):  # the chat page draws the list itself, with a chat that has just begun
        sidebar.show_list(workspace(), None)
    sign_in.show_visitor(visitor, server)
    page.run()


st.set_page_config(page_title="Footnote", page_icon=ICON, layout="centered")
st.logo(LOGO, size="large")
try:
    _show()
except FootnoteError as error:
    show_error(error)
    st.button("Try again")
