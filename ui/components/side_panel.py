"""The side panel: its place in the address, a citation, a trace or a document, one at a time; its buttons."""

from collections.abc import Callable
from typing import Any

import streamlit as st

DOCUMENT_PARAMETERS = DOCUMENT, PAGE, WORDS = ("document", "page", "words")
PARAMETERS = ("cite", "how", *DOCUMENT_PARAMETERS)


def open_panel(**chosen: str) -> None:
    """Have the panel show what these parameters name, in place of what it shows."""
    for name in PARAMETERS:
        st.query_params.pop(name, None)
    for name, value in chosen.items():
        st.query_params[name] = value


def open_document(document_id: str, page: int | None = None, words: tuple[int, int] | None = None) -> None:
    """Open a document by its place in the address, which can be shared: a page, and words to highlight.

    The words are a span of the document's text. Without a page the part with them is shown.
    """
    at = {} if page is None else {PAGE: str(page)}
    marked = {} if words is None else {WORDS: f"{words[0]}-{words[1]}"}
    open_panel(**{DOCUMENT: document_id}, **at, **marked)


def icon_button(name: str, icon: str, act: Callable[[Any], None], given: object, **options: Any) -> None:
    """Show a button whose name is only read aloud; it is disabled where there is nothing to give to `act`."""
    st.button(
        name,
        icon=f":material/{icon}:",
        key=f"source-{icon}",
        type="tertiary",
        disabled=given is None,
        help=name,
        on_click=act,
        args=(given,),
        **options,
    )
