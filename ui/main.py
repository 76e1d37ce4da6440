"""Entry script of every page view: page config, sign-in, navigation."""

from pathlib import Path

import streamlit as st

from rag.i18n import _
from storage.errors import FootnoteError
from ui import language as page_language
from ui import pages
from ui.auth import sign_in
from ui.auth.activity_page import show as show_activity
from ui.auth.identity import LocalUser
from ui.auth.people_page import show as show_people
from ui.chat import sidebar
from ui.chat.page import show as show_chat
from ui.check.page import show as show_check
from ui.components.messages import show_error, show_flash, show_undo
from ui.documents.page import show as show_library
from ui.grid.page import show as show_grid
from ui.lab.page import show as show_lab
from ui.server.services import services, workspace
from ui.settings.page import show as show_settings
from ui.trees.page import show as show_trees

LOGO = str(Path(__file__).with_name("logo.svg"))
ICON = str(Path(__file__).with_name("favicon.svg"))


pages.register(
    CHAT=show_chat,
    GRID=show_grid,
    CHECK=show_check,
    LIBRARY=show_library,
    TREES=show_trees,
    LAB=show_lab,
    SETTINGS=show_settings,
    ACTIVITY=show_activity,
    PEOPLE=show_people,
)


def _show() -> None:
    server = services()
    visitor = sign_in.let_in(server)
    page_language.recall(server.account(visitor.id))
    pages.mount()
    show_flash()
    signs_in = not isinstance(server.auth_mode, LocalUser)
    page = st.navigation(pages.for_visitor(people=server.knows_people(), signs_in=signs_in))
    pages.name_tab(page.title)
    # The chat page draws the list itself, with a chat that has just begun.
    if page.url_path != pages.CHAT.url_path:
        pages.leave_chat()
        sidebar.show_list(workspace(), None)
    sign_in.show_visitor(visitor, server)
    show_undo(workspace().deletions, sidebar.return_to)
    page.run()


st.set_page_config(page_title="Footnote", page_icon=ICON, layout="centered")
st.logo(LOGO, size="large")
try:
    _show()
except FootnoteError as error:
    show_error(error)
    st.button(_("Try again"))
