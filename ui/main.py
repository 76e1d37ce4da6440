"""The entry of every page view: page config, what stands in the way, navigation."""

from pathlib import Path

import streamlit as st

from storage.errors import FootnoteError
from ui import notices, pages
from ui.markdown import verbatim
from ui.services import services

LOGO = str(Path(__file__).with_name("logo.svg"))
ICON = str(Path(__file__).with_name("favicon.svg"))

st.set_page_config(page_title="Footnote", page_icon=ICON, layout="centered")
st.logo(LOGO, size="large")

try:
    services()
except FootnoteError as error:
    st.error(verbatim(str(error)), icon=":material/error:")
    st.button("Try again")
    st.stop()

notices.show()
st.navigation([pages.CHAT, pages.DOCUMENTS, pages.SETTINGS]).run()
