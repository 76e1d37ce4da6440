"""Which part of a long conversation is shown: its newest messages, or a page further back."""

from collections.abc import Callable, Sequence

import streamlit as st

from storage.records import Message

PAGE = 30  # messages shown at once: a page of hundreds takes long at every click
_KEY = "turned-back"


def page_of(conversation_id: str, read: Callable[[str | None, int], Sequence[Message]]) -> Sequence[Message]:
    """Return the messages to show, and offer the way to earlier ones.

    `read` gives the last so many messages, of those before the one that is named if one is.
    """
    starts = _starts(conversation_id)
    messages = read(starts[-1] if starts else None, PAGE + 1)
    shown = messages[-PAGE:]
    if len(messages) > PAGE:
        st.button("Earlier messages", icon=":material/history:", on_click=_turn_back, args=(shown[0].id,))
    return shown


def show_ways_forward(conversation_id: str) -> None:
    """Offer the way to later messages, if there are any."""
    starts = _starts(conversation_id)
    if not starts:
        return
    with st.container(horizontal=True, gap="small"):
        st.button("Later messages", icon=":material/expand_more:", on_click=_turn_forward)
        if len(starts) > 1:
            st.button("The newest", icon=":material/keyboard_double_arrow_down:", on_click=show_newest)


def show_newest() -> None:
    """Show the newest messages again: something was asked, or another version is shown."""
    st.session_state.pop(_KEY, None)


def shows_newest(conversation_id: str) -> bool:
    """Whether the newest messages of a conversation are what is shown."""
    return not _starts(conversation_id)


def _starts(conversation_id: str) -> list[str]:
    """Return the first message of each page that was turned back, of this conversation alone."""
    if st.session_state.get(_KEY, ("",))[0] != conversation_id:
        st.session_state[_KEY] = (conversation_id, [])
    starts: list[str] = st.session_state[_KEY][1]
    return starts


def _turn_back(first_id: str) -> None:
    st.session_state[_KEY][1].append(first_id)


def _turn_forward() -> None:
    st.session_state[_KEY][1].pop()
