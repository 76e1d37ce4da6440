"""One question, or one answer with its sources, as the conversation shows it."""

from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from rag.chat import carrying
from rag.citations.quoting import place_name, remarks
from rag.citations.support import Backing, backing, found_nothing
from rag.retrieval.omissions import LeftOut
from rag.workspace import Workspace
from storage.records import Message, PassageRecord, Rating
from storage.standing import Standing
from ui import pages
from ui.chat import evidence_panel as evidence
from ui.chat import trace_panel as tracing
from ui.chat import turns
from ui.chat.citations import cited_numbers, links
from ui.components.answer_text import safe_answer
from ui.components.faults import tried
from ui.components.markdown import label, verbatim

QUESTION_AVATAR, ANSWER_AVATAR = ":material/person:", ":material/format_quote:"

_NOTES = {
    "stopped": "Stopped. What was written until then is kept.",
    "interrupted": "Interrupted: Footnote was shut down while it wrote this answer.",
    "failed": "This answer could not be finished.",
}
_UNSEARCHED = {
    "queued": "it was still waiting to be read",
    "reading": "it was still being read",
    "searchable_by_words": "searched by words only, its meaning was not learned yet",
    "refused": "it could not be read",
}
_RATINGS: dict[Rating, tuple[str, str, str]] = {
    "up": (":material/thumb_up:", "Helpful", "Marked helpful"),
    "down": (":material/thumb_down:", "Not helpful", "Marked not helpful"),
}


def show_question(message: Message, workspace: Workspace, *, settled: bool) -> None:
    """Show a question as it was asked; in a settled conversation, with its versions and a way to edit it."""
    with st.container(key=f"question-{message.id}"), st.chat_message("user", avatar=QUESTION_AVATAR):
        with st.container(horizontal=True, vertical_alignment="top", gap="small", wrap=False):
            st.markdown(verbatim(message.content), width="stretch")
            if settled:
                turns.show_edit(message, workspace)
        if settled:
            turns.show_versions(message, workspace)


def show_answer(
    message: Message,
    question: Message | None,
    workspace: Workspace,
    standings: Mapping[str, Standing],
    *,
    settled: bool,
    model: bool,
    searched: str = "",
) -> None:
    """Show a finished answer: how much of it is backed, the text, its sources, ways to have it otherwise.

    `standings` tell what became of its passages' documents, by the documents' ids; `settled` whether no
    answer of the conversation is on its way, `model` whether there is one to go on with. `searched` says in
    Markdown what it was searched in.
    """
    with st.chat_message("assistant", avatar=ANSWER_AVATAR):
        turns.show_understood(message, question, workspace if settled else None)
        if searched:
            st.caption(searched)
        _show_backing(backing(message), own_words=message.model is None)
        if message.content:
            st.markdown(safe_answer(message.content, links(message), remarks(message)), anchors=False)
        _show_note(message)
        if settled and message.state in _NOTES:
            turns.show_ways_on(message, workspace, model=model)
        show_left_out(LeftOut(part.what, part.reason) for part in message.left_out)
        _show_way_to_add(message, workspace)
        _show_sources(message, standings)
        if found_nothing(message):
            _show_unsearched(message, workspace)
        _show_rating(message, workspace, settled=settled)


def show_left_out(parts: Iterable[LeftOut]) -> None:
    """Say which parts of the search gave nothing for an answer, each in a sentence."""
    for part in parts:
        st.caption(f":material/search_off: {label(part.sentence, 600)}")


def _show_backing(counted: Backing | None, *, own_words: bool) -> None:
    """Say over an answer how many of its statements are backed, in words beside the icon."""
    if counted is None:
        return
    whole, none = counted.backed == counted.total, counted.backed == 0
    icon = "verified" if whole else "error" if none else "rule"
    sentence = (
        f"{counted.sentence.removesuffix('.')}, word for word." if own_words and whole else counted.sentence
    )
    st.caption(f":material/{icon}: {sentence}")


def _show_unsearched(message: Message, workspace: Workspace) -> None:
    """Say which files could not be searched for an answer that was not found."""
    trace = workspace.traces.get(message.id)
    if trace is None or not trace.unsearched:
        return
    more = trace.unsearched_count - len(trace.unsearched)
    lines = [f"- {label(one.name, 90)}: {_UNSEARCHED.get(one.state, one.state)}" for one in trace.unsearched]
    rest = [f"- and {more:,} more"] if more > 0 else []
    st.caption("\n".join(["Not searched, or not wholly, for this answer:\n", *lines, *rest]))


def _show_way_to_add(message: Message, workspace: Workspace) -> None:
    if message.state == "complete" and not message.passages and not workspace.library.documents.list():
        st.page_link(pages.DOCUMENTS, label="Add documents", icon=":material/upload:")


def _show_note(message: Message) -> None:
    if message.state not in _NOTES:
        return
    reason = verbatim(message.error) if message.error else ""
    st.warning(f"{_NOTES[message.state]} {reason}".strip(), icon=":material/info:")


def _show_sources(message: Message, standings: Mapping[str, Standing]) -> None:
    numbers = cited_numbers(message)
    by_number = {passage.number: passage for passage in message.passages}
    others = [passage for passage in message.passages if passage.number not in numbers]
    with st.container(key=f"sources-{message.id}", gap="small"):
        if numbers:
            with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                st.caption("Sources", width="content")
                for number in numbers:
                    _source(message, by_number[number], standings)
        if others:
            _show_others(message, others, standings)


def _show_others(
    message: Message, others: Sequence[PassageRecord], standings: Mapping[str, Standing]
) -> None:
    """Show the passages that were read and are not cited; open where they are all there is to look at.

    Closed it is empty, since most stay closed, and a chat has many.
    """
    passages = (
        f"{len(others)} {'more ' * (len(others) < len(message.passages))}passage{'s' * (len(others) > 1)}"
    )
    nothing = found_nothing(message)
    title = f"Nearest to the question: {passages}" if nothing else f"Also read: {passages}"
    key = f"others-{message.id}"
    opened = st.expander(title, type="compact", expanded=nothing, on_change="rerun", key=key)
    if opened.open:
        with opened, st.container(horizontal=True, gap="small", vertical_alignment="center"):
            for passage in others:
                _source(message, passage, standings)


def _show_rating(message: Message, workspace: Workspace, *, settled: bool) -> None:
    """Show who wrote an answer, and how it served: a second click takes the word back."""
    with st.container(key=f"rating-{message.id}", horizontal=True, gap="small", vertical_alignment="center"):
        if message.model:
            st.caption(f"Written by {label(message.model)}", width="content")
        if message.timings_ms or message.passages:
            tracing.button(message)
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
        if settled:
            turns.show_again(message, workspace)


@tried
def _rate(workspace: Workspace, answer_id: str, rating: Rating | None) -> None:
    workspace.conversations.rate(answer_id, rating)


def _source(message: Message, passage: PassageRecord, standings: Mapping[str, Standing]) -> None:
    """Show a way to a passage, beside it whether it was carried over, and what became of its document."""
    standing = standings.get(passage.document_id, "here")
    notes = ["from your previous question"] if carrying.NAME in passage.found_by else []
    notes += [f"{standing} since"] if standing != "here" else []
    if not notes:
        _way_to(message, passage)
        return
    with st.container(horizontal=True, width="content", gap="xxsmall", vertical_alignment="center"):
        _way_to(message, passage)
        for note in notes:
            st.badge(note, color="gray")


def _way_to(message: Message, passage: PassageRecord) -> None:
    st.button(
        f"{passage.number} · {label(place_name(passage), 60)}",
        key=f"source-{message.id}-{passage.number}",
        help=label(passage.heading, 200) if passage.heading else None,
        on_click=evidence.choose,
        args=(f"{message.id}-p{passage.number}",),
        type="secondary",
    )
