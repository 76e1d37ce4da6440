"""What a page cannot show or do, said to whoever is at it: at once, or by the next run of the page."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec

import streamlit as st

from storage.errors import FootnoteError
from ui.components import messages as notices
from ui.components.markdown import label, verbatim

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
            notices.leave(label(str(error), 300), ":material/error:")

    return pressed
