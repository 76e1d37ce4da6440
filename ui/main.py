"""The entry of every page view: page config, what stands in the way, navigation."""

from pathlib import Path

import streamlit as st

from storage.errors import FootnoteError
from ui import conversations, notices, pages, shell, signing_in
from ui.markdown import verbatim
from ui.services import services, workspace

LOGO = str(Path(__file__).with_name("logo.svg"))
ICON = str(Path(__file__).with_name("favicon.svg"))

st.set_page_config(page_title="Footnote", page_icon=ICON, layout="centered")
st.logo(LOGO, size="large")

try:
    held = services()
except FootnoteError as error:
    st.error(verbatim(str(error)), icon=":material/error:")
    st.button("Try again")
    st.stop()

shell.mount()
visitor = signing_in.let_in(held)
notices.show()
page = st.navigation(pages.FOR_ADMINISTRATORS if held.knows_people() else pages.FOR_ALL)
shell.name_tab(page.title)
if page != pages.CHAT:  # which draws the list itself, with the chat that a question has just begun
    conversations.show_list(workspace(), None)
signing_in.show_visitor(visitor, held)
page.run()
