"""Flash messages, errors of a page, the confirmation before a deletion, and the bar that undoes one."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Literal, ParamSpec

import streamlit as st

from rag.i18n import Translatable, _, translated
from rag.undo import OFFERED, Deletions, WaitingDeletion
from storage.errors import FootnoteError
from ui.components.markdown import escape_text, label

_FLASH, _LOGGED = "notice", "faults"


def flash(text: str, icon: str) -> None:
    """Show a toast in the next run of the page, since a run that is ended early shows none."""
    st.session_state[_FLASH] = (text, icon)


def show_flash() -> None:
    """Show the toast that the previous run left."""
    notice = st.session_state.get(_FLASH)
    if notice is not None:
        text, icon = notice
        st.toast(text, icon=icon)
        del st.session_state[_FLASH]  # not before: Streamlit may end the run at any call


P = ParamSpec("P")
log = logging.getLogger(__name__)


@contextmanager
def show_errors() -> Iterator[None]:
    """Show an error in place of the part of the page, or of the fragment, that raised it."""
    try:
        yield
    except FootnoteError as error:
        show_error(error)


@contextmanager
def show_refusal() -> Iterator[None]:
    """Show the error of what a visitor asked for, below the button, and skip what follows."""
    try:
        yield
    except FootnoteError as error:
        show_sentence(error)


def show_sentence(error: object) -> None:
    """Show the sentence of an error, in the language of the page."""
    st.error(escape_text(translated(str(error))), icon=":material/error:")


def show_error(error: FootnoteError) -> None:
    """Show an error; log it once in a session."""
    logged: set[str] = st.session_state.setdefault(_LOGGED, set())
    if str(error) not in logged:
        log.warning("A page could not be shown: %s", error)
    logged.add(str(error))
    show_sentence(error)


def flash_errors(act: Callable[P, object]) -> Callable[P, None]:
    """Wrap a callback of a widget, so that the next run of the page shows its error."""

    @wraps(act)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            act(*args, **kwargs)
        except FootnoteError as error:
            flash(label(translated(str(error)), 300), ":material/error:")

    return wrapped


def action(
    name: str,
    icon: str,
    key: str,
    act: Callable[..., object],
    *args: object,
    kind: Literal["primary", "secondary", "tertiary"] = "tertiary",
    **options: Any,
) -> None:
    """Show a button that calls `act` with `args`; an error of it is shown by the next run of the page."""
    callback = flash_errors(act)
    st.button(name, icon=f":material/{icon}:", key=key, type=kind, on_click=callback, args=args, **options)


def dialog(
    title: str, icon: str, width: Literal["small", "medium", "large"] = "small"
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Make a function open a dialog, whose title is in the language of the page."""

    def decorate(body: Callable[P, None]) -> Callable[P, None]:
        @wraps(body)
        def opened(*args: P.args, **kwargs: P.kwargs) -> None:
            st.dialog(translated(title), width=width, icon=icon)(body)(*args, **kwargs)

        return opened

    return decorate


def rename_action(title: str, name: str, limit: int, key: str, act: Callable[[], None], *, at: str) -> None:
    """Show a popover at the key `at` to change a name; `act` reads the new one from the state of `key`.

    Enter saves and closes it; so does the button, before which the field gives its name away.
    """

    def save() -> None:
        close()
        act()

    def close() -> None:
        st.session_state[at] = False

    with st.popover(_("Rename"), icon=":material/edit:", type="tertiary", key=at, on_change="rerun"):
        st.text_input(title, value=name, max_chars=limit, key=key, on_change=flash_errors(save))
        st.button(_("Save"), key=f"{at}-save", type="primary", on_click=close)


def confirm_deletion(question: str, consequence: str, *, key: str, act: Callable[[], None]) -> None:
    """Ask in a dialog with an escaped `consequence`; if confirmed, call `act` and run the page again."""
    st.dialog(question, width="small", icon=":material/delete:")(_confirm)(consequence, key, act)


def _confirm(consequence: str, key: str, act: Callable[[], None]) -> None:
    st.markdown(consequence)
    with st.container(horizontal=True):
        if st.button(
            _("Delete permanently"),
            type="primary",
            icon=":material/delete:",
            key=key,
            on_click=flash_errors(act),
        ):
            st.rerun()
        if st.button(_("Cancel"), key=f"keep-{key}"):
            st.rerun()


Undone = Callable[[WaitingDeletion], object]


def show_undo(deletions: Deletions, then: Undone) -> None:
    """Show the bar while there is something to undo; `then` is called with what was undone."""
    offered = deletions.offered()
    if offered is None:
        return
    waiting, left = offered
    with st.container(key="undo", horizontal=True, gap="small", vertical_alignment="center", wrap=False):
        st.markdown(_said(waiting), width="stretch")
        st.button(
            _("Undo"),
            icon=":material/undo:",
            key="undo-delete",
            help=_hint(waiting),
            on_click=_undo,
            args=(deletions, then),
        )
    # Looks once, when the time is over: a look each second took clicks away.
    st.fragment(_take_away, run_every=left)(deletions, waiting)


def _said(waiting: WaitingDeletion) -> str:
    if isinstance(waiting.said, Translatable):
        return _("{number_of_things} deleted.", number_of_things=label(translated(waiting.said), 80))
    return _("“{name}” deleted.", name=label(waiting.said, 80))


def _hint(waiting: WaitingDeletion) -> str:
    if waiting.restore is not None:
        return _("Later, restore it in Settings under “Deleted chats”.")
    return _("Possible for {seconds} seconds after the deletion.", seconds=f"{OFFERED:.0f}")


def _take_away(deletions: Deletions, waiting: WaitingDeletion) -> None:
    offered = deletions.offered()
    if offered is None:  # a click before this was worked on before it
        deletions.complete(waiting)
    if offered is None or offered[0] is not waiting:
        st.rerun()


def _undo(deletions: Deletions, then: Undone) -> None:
    undone = deletions.undo()
    if undone is None:
        flash(_("Too late to undo: it is deleted."), ":material/info:")
    else:
        then(undone)
