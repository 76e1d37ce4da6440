"""The side panel's place in the address: a citation, a trace or a document, one at a time."""

import streamlit as st

DOCUMENT, PAGE = "document", "page"
PARAMETERS = ("cite", "how", DOCUMENT, PAGE)


def open_panel(**chosen: str) -> None:
    """Have the panel show what these parameters name, in place of what it shows."""
    for name in PARAMETERS:
        st.query_params.pop(name, None)
    for name, value in chosen.items():
        st.query_params[name] = value


def open_document(document_id: str, page: int | None = None) -> None:
    """Open a document, at a page if one is given, by its place in the address, which can be shared."""
    open_panel(**{DOCUMENT: document_id}, **({} if page is None else {PAGE: str(page)}))
