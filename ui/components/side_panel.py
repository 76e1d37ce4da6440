"""The side panel's place in the address: a citation, a trace or a document, one at a time."""

import streamlit as st

PARAMETERS = ("cite", "how", "document", "page")


def open_panel(**chosen: str) -> None:
    """Have the panel show what these parameters name, in place of what it shows."""
    for name in PARAMETERS:
        st.query_params.pop(name, None)
    for name, value in chosen.items():
        st.query_params[name] = value
