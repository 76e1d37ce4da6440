"""What can be done to a turn: ask it otherwise, correct how it was understood, answer it anew or go on."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from rag.chat.pipeline import MAX_QUESTION
from rag.workspace import Workspace
from storage.records import Message
from ui.chat import paging
from ui.components.faults import tried
from ui.components.markdown import label


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
    paging.show_newest()
    action()
