"""One question, or one answer with its sources, as the conversation shows it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import streamlit as st

from rag.chat import pipeline as carrying
from rag.chat.pipeline import MAX_QUESTION
from rag.citations.support import Backing, backing, found_nothing, place_name, remarks
from rag.retrieval.degradation import Degraded
from rag.workspace import Workspace
from storage.answers import Standing
from storage.records import Message, PassageRecord, Rating
from ui import pages
from ui.chat import evidence_panel as evidence
from ui.chat import trace_panel as tracing
from ui.chat.citations import cited_numbers, links
from ui.components.markdown import label, safe_answer, verbatim
from ui.components.messages import tried

# Which part of a long conversation is shown: its newest messages, or a page further back.
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


# What can be done to a turn: ask it otherwise, correct how it was understood, answer it anew or go on.


def differs(standalone: str | None, asked: str) -> bool:
    """Whether a question was understood as something else than what was typed, white space aside."""
    return bool(standalone) and (standalone or "").split() != asked.split()


def show_edit(question: Message, workspace: Workspace) -> None:
    """Show the way to ask a question otherwise."""
    if st.button("Edit", key=f"edit-{question.id}", icon=":material/edit:", type="tertiary"):
        _edit(question, workspace)


def show_versions(question: Message, workspace: Workspace) -> None:
    """Show which of its versions a question is, where there are several, and the ways to its neighbours."""
    if not question.versions:
        return
    at, count = question.versions.index(question.id), len(question.versions)
    ways = (("Earlier version", "chevron_left", at - 1), ("Later version", "chevron_right", at + 1))
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption(f"Version {at + 1} of {count}", width="content")
        for name, icon, to in ways:
            if 0 <= to < count:
                st.button(
                    name,
                    key=f"{icon}-{question.id}",
                    icon=f":material/{icon}:",
                    type="tertiary",
                    on_click=_act,
                    args=(partial(workspace.conversations.show_version, question.versions[to]),),
                )


def show_understood(answer: Message, question: Message | None, workspace: Workspace | None) -> None:
    """Show what was searched, where it is not what was typed; with a workspace, the ways to correct it."""
    if question is None or not (said := understood_as(answer.standalone_question, question)):
        return
    with st.container(
        key=f"understood-{answer.id}", horizontal=True, gap="small", vertical_alignment="center"
    ):
        st.caption(said, width="content")
        if workspace is not None:
            _show_corrections(answer, question, workspace)


def understood_as(standalone: str | None, question: Message) -> str:
    """Return in Markdown what was searched for a question; nothing where that is what was typed."""
    corrected = question.standalone_question is not None
    if differs(standalone, question.content):
        return f"{'Searched for' if corrected else 'Understood as'}: **{label(standalone or '', 400)}**"
    return "Searched as you typed it." if corrected else ""


def _show_corrections(answer: Message, question: Message, workspace: Workspace) -> None:
    if st.button("Correct", key=f"correct-{answer.id}", icon=":material/edit:", type="tertiary"):
        _correct(answer, question, workspace)
    if differs(answer.standalone_question, question.content):
        st.button(
            "Search as I typed it",
            key=f"as-typed-{answer.id}",
            icon=":material/undo:",
            type="tertiary",
            on_click=_act,
            args=(lambda: workspace.otherwise(question.id, question.content, searched=question.content),),
        )


def show_again(answer: Message, workspace: Workspace) -> None:
    """Show the way to have a question answered anew."""
    st.button(
        "Answer again",
        key=f"again-{answer.id}",
        icon=":material/refresh:",
        type="tertiary",
        on_click=_act,
        args=(lambda: workspace.answer_again(answer.id),),
    )


def show_ways_on(answer: Message, workspace: Workspace, *, model: bool) -> None:
    """Show, under an answer that ended early, how to have it finished: by a model that goes on, or anew."""
    with st.container(horizontal=True, gap="small"):
        if model and answer.content and answer.passages:
            st.button(
                "Continue",
                key=f"continue-{answer.id}",
                icon=":material/play_arrow:",
                on_click=_act,
                args=(lambda: workspace.go_on(answer.id),),
            )
        st.button(
            "Retry",
            key=f"retry-{answer.id}",
            icon=":material/refresh:",
            on_click=_act,
            args=(lambda: workspace.retry(answer.id),),
        )


@st.dialog("Ask it otherwise", icon=":material/edit:")
def _edit(question: Message, workspace: Workspace) -> None:
    def ask(text: str) -> None:
        workspace.otherwise(question.id, text)

    _form("Your question", question.content, "Ask this", f"edited-{question.id}", ask)


@st.dialog("What shall be searched?", icon=":material/search:")
def _correct(answer: Message, question: Message, workspace: Workspace) -> None:
    def search(text: str) -> None:
        workspace.otherwise(question.id, question.content, searched=text)

    _form("Search for", answer.standalone_question or "", "Search for this", f"searched-{answer.id}", search)


def _form(name: str, text: str, submit: str, key: str, act: Callable[[str], object]) -> None:
    """Show a text to change; when it is submitted, `act` is called with it and the page run again."""
    with st.form(f"form-{key}", border=False):
        changed = st.text_area(name, text, key=key, max_chars=MAX_QUESTION)
        st.caption("What stands here now, and all that follows it, is kept as the earlier version.")
        if st.form_submit_button(submit, type="primary") and changed.strip():
            _act(lambda: act(changed))
            st.rerun()


@tried
def _act(action: Callable[[], object]) -> None:
    """Do what was asked for and show the newest of it."""
    show_newest()
    action()


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
                show_edit(message, workspace)
        if settled:
            show_versions(message, workspace)


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
        show_understood(message, question, workspace if settled else None)
        if searched:
            st.caption(searched)
        _show_backing(backing(message), own_words=message.model is None)
        if message.content:
            st.markdown(safe_answer(message.content, links(message), remarks(message)), anchors=False)
        _show_note(message)
        if settled and message.state in _NOTES:
            show_ways_on(message, workspace, model=model)
        show_left_out(Degraded(part.what, part.reason) for part in message.left_out)
        _show_way_to_add(message, workspace)
        _show_sources(message, standings)
        if found_nothing(message):
            _show_unsearched(message, workspace)
        _show_rating(message, workspace, settled=settled)


def show_left_out(parts: Iterable[Degraded]) -> None:
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
            show_again(message, workspace)


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
