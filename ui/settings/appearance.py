"""Light or dark: the choices of the page's menu, where they are looked for."""

import streamlit as st

from rag.i18n import N_, _, translated

THEMES = {
    "System": (N_("Automatic"), ":material/contrast:"),
    "Light": (N_("Light"), ":material/light_mode:"),
    "Dark": (N_("Dark"), ":material/dark_mode:"),
}
"""Names of the themes in Streamlit's menu, which the page's script presses there."""


def show_appearance() -> None:
    """Show a button for each theme; the browser keeps the choice."""
    with st.container(key="appearance", gap="xsmall"):
        st.caption(_("Appearance"))
        with st.container(horizontal=True, gap="xsmall"):
            for theme, (name, icon) in THEMES.items():
                st.button(translated(name), icon=icon, key=f"theme-{theme}")
