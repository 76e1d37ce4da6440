"""One question, or one answer with its sources, as the conversation shows it."""

from collections.abc import Iterable

import streamlit as st

from rag.omissions import LeftOut
from storage.errors import FootnoteError
from storage.records import Message, PassageRecord, Rating
from ui import evidence, pages
from ui.citing import cited_numbers, links, place_name
from ui.markdown import label, safe_answer, verbatim
from ui.workspace import Workspace

QUESTION_AVATAR, ANSWER_AVATAR = ":material/person:", ":material/format_quote:"

_NOTES = {
    "stopped": "Stopped. What was written until then is kept.",
    "interrupted": "Interrupted: Footnote was shut down while it wrote this answer.",
    "failed": "This answer could not be finished.",
}
_RATINGS: dict[Rating, tuple[str, str, str]] = {
    "up": (":material/thumb_up:", "Helpful", "Marked helpful"),
    "down": (":material/thumb_down:", "Not helpful", "Marked not helpful"),
}


def show_question(message: Message) -> None:
    """Show a question as it was asked."""
    with st.container(key=f"question-{message.id}"), st.chat_message("user", avatar=QUESTION_AVATAR):
        st.markdown(verbatim(message.content))


def show_answer(message: Message, asked: str, workspace: Workspace) -> None:
    """Show a finished answer: the question as it was understood, the text, its sources, a way to retry."""
    with st.chat_message("assistant", avatar=ANSWER_AVATAR):
        show_understood(message.standalone_question, asked)
        if message.content:
            st.markdown(safe_answer(message.content, links(message)), anchors=False)
        _show_note(message, workspace)
        show_left_out(LeftOut(part.what, part.reason) for part in message.left_out)
        _show_way_to_add(message, workspace)
        _show_sources(message)
        _show_rating(message, workspace)


def show_understood(standalone: str | None, asked: str) -> None:
    """Show the question that was searched for, where it is not the one that was typed."""
    if standalone and " ".join(standalone.split()) != " ".join(asked.split()):
        st.caption(f"Understood as: **{label(standalone, 400)}**")


def show_left_out(parts: Iterable[LeftOut]) -> None:
    """Say which parts of the search gave nothing for an answer, each in a sentence."""
    for part in parts:
        st.caption(f":material/search_off: {label(part.sentence, 600)}")


def _show_way_to_add(message: Message, workspace: Workspace) -> None:
    if message.state == "complete" and not message.passages and not workspace.library.documents.list():
        st.page_link(pages.DOCUMENTS, label="Add documents", icon=":material/upload:")


def _show_note(message: Message, workspace: Workspace) -> None:
    if message.state not in _NOTES:
        return
    reason = verbatim(message.error) if message.error else ""
    st.warning(f"{_NOTES[message.state]} {reason}".strip(), icon=":material/info:")
    st.button(
        "Retry",
        key=f"retry-{message.id}",
        icon=":material/refresh:",
        on_click=_retry,
        args=(workspace, message.id),
    )


def _retry(workspace: Workspace, answer_id: str) -> None:
    try:
        workspace.retry(answer_id)
    except FootnoteError as error:
        st.toast(label(str(error), 300), icon=":material/error:")


def _show_sources(message: Message) -> None:
    numbers = cited_numbers(message)
    by_number = {passage.number: passage for passage in message.passages}
    others = [passage for passage in message.passages if passage.number not in numbers]
    with st.container(key=f"sources-{message.id}", gap="small"):
        if numbers:
            with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                st.caption("Sources", width="content")
                for number in numbers:
                    _source(message, by_number[number])
        if others:
            with st.expander(
                f"Also read: {len(others)} more passage{'s' * (len(others) > 1)}", type="compact"
            ):
                for passage in others:
                    _source(message, passage)


def _show_rating(message: Message, workspace: Workspace) -> None:
    """Show who wrote an answer, and how it served: a second click takes the word back."""
    with st.container(key=f"rating-{message.id}", horizontal=True, gap="small", vertical_alignment="center"):
        if message.model:
            st.caption(f"Written by {label(message.model)}", width="content")
        if message.state != "complete" or not message.passages:
            return
        for rating, (icon, unmarked, marked) in _RATINGS.items():
            chosen = message.rating == rating
            st.button(
                marked if chosen else unmarked,
                key=f"rate-{rating}-{message.id}",
                icon=icon,
                type="secondary" if chosen else "tertiary",
                on_click=_rate,
                args=(workspace, message.id, None if chosen else rating),
            )


def _rate(workspace: Workspace, answer_id: str, rating: Rating | None) -> None:
    try:
        workspace.conversations.rate(answer_id, rating)
    except FootnoteError as error:
        st.toast(label(str(error), 300), icon=":material/error:")


def _source(message: Message, passage: PassageRecord) -> None:
    st.button(
        f"{passage.number} · {label(place_name(passage), 60)}",
        key=f"source-{message.id}-{passage.number}",
        help=label(passage.heading, 200) if passage.heading else None,
        on_click=evidence.choose,
        args=(f"{message.id}-p{passage.number}",),
        type="secondary",
    )
