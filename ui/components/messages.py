"""A word on what was just done, kept over the run of the page that follows it."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec

import streamlit as st

from storage.errors import FootnoteError
from ui.components.markdown import label, verbatim

_KEY = "notice"


def leave(text: str, icon: str) -> None:
    """Have `text` shown by the next run: what a run shows before it ends itself is never seen."""
    st.session_state[_KEY] = (text, icon)


def show() -> None:
    """Show what the run before left."""
    notice = st.session_state.get(_KEY)
    if notice is not None:
        text, icon = notice
        st.toast(text, icon=icon)
        del st.session_state[_KEY]  # not before: Streamlit may end the run at any line that speaks to it


# What a page cannot show or do, said to whoever is at it: at once, or by the next run of the page.
P = ParamSpec("P")
_TOLD = "faults"
log = logging.getLogger(__name__)


@contextmanager
def told() -> Iterator[None]:
    """Say why a part of a page cannot be shown, in its place.

    A fragment needs it as a decorator: what goes wrong in one does not reach the page around it.
    """
    try:
        yield
    except FootnoteError as error:
        tell(error)


def tell(error: FootnoteError) -> None:
    """Say what went wrong; in the log once a visit, however often it is drawn."""
    told_before: set[str] = st.session_state.setdefault(_TOLD, set())
    if str(error) not in told_before:
        log.warning("A page could not be shown: %s", error)
    told_before.add(str(error))
    st.error(verbatim(str(error)), icon=":material/error:")


def tried(act: Callable[P, object]) -> Callable[P, None]:
    """Return what does the same when something is pressed, or has the next run of the page say why not."""

    @wraps(act)
    def pressed(*given: P.args, **named: P.kwargs) -> None:
        try:
            act(*given, **named)
        except FootnoteError as error:
            leave(label(str(error), 300), ":material/error:")

    return pressed


# A question before what cannot be undone.


def ask_first(question: str, consequence: str, *, key: str, act: Callable[[], None]) -> None:
    """Ask in a dialog whether to delete; `act` is called, and the page run again, when the answer is yes.

    Where it cannot be done, that run says why. `consequence` is Markdown: whatever of it is not ours must
    be escaped.
    """
    st.dialog(question, width="small", icon=":material/delete:")(_answer)(consequence, key, act)


def _answer(consequence: str, key: str, act: Callable[[], None]) -> None:
    st.markdown(consequence)
    with st.container(horizontal=True):
        if st.button(
            "Delete permanently", type="primary", icon=":material/delete:", key=key, on_click=tried(act)
        ):
            st.rerun()
        if st.button("Cancel", key=f"keep-{key}"):
            st.rerun()
