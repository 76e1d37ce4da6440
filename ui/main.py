"""The entry of every page view: page config, navigation, what stands in the way."""

from pathlib import Path

import streamlit as st

from storage.errors import FootnoteError
from ui import pages
from ui import pages as shell
from ui.auth import sign_in as signing_in
from ui.chat import sidebar as conversations
from ui.components import messages as faults
from ui.components import messages as notices
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
