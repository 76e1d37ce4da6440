"""Actions of one answer: rating, export, a link that opens the chat at it, another search or model for it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import get_args

import streamlit as st

from rag.chat.export import MEDIA_TYPES, FormName, file_name
from rag.i18n import N_, _, in_language, language, translated
from rag.models.llm import LLM
from rag.settings import RetrieverName
from rag.workspace import AnswerWith, Workspace
from storage.answers import LONGEST_NOTE
from storage.records import Message, Rating, RatingReason
from ui.chat.sidebar import FORMS, PARAMETER
from ui.components.copy_buttons import copy_buttons
from ui.components.labels import TREE_RETRIEVERS, USES, retriever_name
from ui.components.markdown import plain_line
from ui.components.messages import action, dialog, flash, flash_errors, show_refusal
from ui.server.services import services
from ui.settings.fields import server_of

Again = Callable[[AnswerWith], object]

_MODELS = "server-models"
ANSWER = "answer"
"""Query parameter: the id of the answer that the page scrolls to."""
_RATINGS: Mapping[Rating, tuple[str, str, str]] = {
    "up": ("thumb_up", N_("Helpful"), N_("Marked helpful")),
    "down": ("thumb_down", N_("Not helpful"), N_("Marked not helpful")),
}
REASONS: Mapping[RatingReason, str] = {
    "wrong": N_("Wrong"),
    "not_in_documents": N_("Not in my documents"),
    "incomplete": N_("Incomplete"),
    "hard_to_read": N_("Hard to read"),
    "other": N_("Other"),
}


def button(message: Message, workspace: Workspace) -> None:
    """Show a button that opens the dialog with the actions."""
    if st.button(_("Share"), icon=":material/ios_share:", key=f"share-{message.id}", type="tertiary"):
        _share(message, st.query_params.get(PARAMETER, ""), workspace)


@dialog(N_("Share this answer"), ":material/ios_share:")
def _share(message: Message, chat: str, workspace: Workspace) -> None:
    st.caption(_("A file with the answer, its question and its quotes:"))
    name = plain_line(message.standalone_question or message.content, 60)
    with st.container(horizontal=True, gap="small"):
        for form, title in FORMS.items():
            st.download_button(
                translated(title),
                data=partial(_exported, workspace, chat, form, message.id, language()),
                file_name=file_name(name, form),
                mime=MEDIA_TYPES[form],
                icon=":material/download:",
                on_click="ignore",
                key=f"share-{form}-{message.id}",
            )
    st.caption(_("A link that opens this chat at the answer. Only you can open it; for others, send a file."))
    copy_buttons({_("Copy link"): link(st.context.url or "", chat, message.id)}, f"copy-link-{message.id}")


def another_search(message: Message, workspace: Workspace, again: Again) -> None:
    """Show a button for the search modes that an answer was not made with; `again` answers with one."""
    if st.button(_("Other search"), icon=":material/tune:", key=f"other-{message.id}", type="tertiary"):
        _choose_search(message, workspace, again)


@dialog(N_("Answer again with another search"), ":material/tune:")
def _choose_search(message: Message, workspace: Workspace, again: Again) -> None:
    trace = workspace.traces.get(message.id)
    used = None if trace is None else trace.settings.get("retriever")
    before, mode = AnswerWith.of(trace), f"other-mode-{message.id}"
    trees = services().settings.raptor not in ("auto", "off")
    modes = [
        name for name in get_args(RetrieverName) if name != used and (trees or name not in TREE_RETRIEVERS)
    ]
    with st.form(f"other-form-{message.id}", border=False):
        st.radio(
            _("Search mode"),
            modes,
            format_func=retriever_name,
            captions=[translated(USES.get(name, "")) for name in modes],
            key=mode,
        )
        st.caption(_("For this answer only. The earlier answer stays available."))
        answer = flash_errors(lambda: again(replace(before, retriever=st.session_state[mode])))
        if st.form_submit_button(_("Answer again"), type="primary", on_click=answer):
            st.rerun()


def another_model(message: Message, workspace: Workspace, again: Again) -> None:
    """Show a button for the other models of the connected server; `again` answers with one."""
    server = services()
    if not server.settings.connected or not server.administers():
        return
    if st.button(_("Other model"), icon=":material/swap_horiz:", key=f"model-{message.id}", type="tertiary"):
        _choose_model(message, workspace, again)


@dialog(N_("Answer again with another model"), ":material/swap_horiz:")
def _choose_model(message: Message, workspace: Workspace, again: Again) -> None:
    key, before = f"other-model-{message.id}", AnswerWith.of(workspace.traces.get(message.id))
    names: list[str] = []
    with show_refusal():  # a name can be typed all the same
        names = [name for name in _models() if name != message.model]
    with st.form(f"model-form-{message.id}", border=False):
        st.selectbox(
            _("Model"),
            names,
            key=key,
            index=None,
            accept_new_options=True,
            placeholder=_("Choose one, or type its name"),
        )
        st.caption(_("For this answer only. The earlier answer stays available."))
        answer = flash_errors(lambda: again(replace(before, model=str(st.session_state[key] or "").strip())))
        if st.form_submit_button(_("Answer again"), type="primary", on_click=answer):
            st.rerun()


def _models() -> list[str]:
    """Return the models of the connected server, asked for once in a session."""
    reached = server_of(services().settings)
    known: dict[str, list[str]] = st.session_state.setdefault(_MODELS, {})
    if reached.base_url not in known:
        with LLM(reached) as llm, st.spinner(_("Listing the models…")):
            known[reached.base_url] = [name for name in llm.models() if name]
    return known[reached.base_url]


def link(page: str, chat: str, answer_id: str) -> str:
    """Return the address of an answer on the chat page.

    >>> link("http://127.0.0.1:8501/?chat=a", "a", "b")
    'http://127.0.0.1:8501/?chat=a&answer=b'
    """
    return f"{page.partition('?')[0]}?{PARAMETER}={chat}&{ANSWER}={answer_id}"


def _exported(workspace: Workspace, chat: str, form: FormName, answer_id: str, code: str) -> bytes:
    """Export an answer in a language: the server asks for it outside of the page."""
    with in_language(code):
        return workspace.exported(chat, form, answer_id=answer_id).encode()


def show_rating(message: Message, workspace: Workspace) -> None:
    """Show the buttons that rate an answer, on one line."""
    with st.container(horizontal=True, width="content", gap="xxsmall", wrap=False):
        for rating, (icon, unmarked, marked) in _RATINGS.items():
            chosen = message.rating == rating
            name, key = translated(marked if chosen else unmarked), f"rate-{rating}-{message.id}"
            rate = partial(workspace.conversations.rate, message.id, None if chosen else rating)
            action(name, icon, key, rate, kind="secondary" if chosen else "tertiary", help=name)


def show_reasons(message: Message, workspace: Workspace) -> None:
    """Show the reasons why an answer is not helpful, where it is rated so."""
    if message.rating != "down" or message.state != "complete":
        return
    reason, note = f"reason-{message.id}", f"reason-note-{message.id}"
    explain = flash_errors(partial(_explain, message.id, reason, note, workspace))
    with st.container(key=f"why-{message.id}", gap="small"):
        chosen = st.pills(
            _("What was not helpful?"),
            list(REASONS),
            default=message.rating_reason,
            format_func=lambda reason: translated(REASONS[reason]),
            key=reason,
            on_change=explain,
        )
        if chosen == "other":
            st.text_input(
                _("In your words"),
                message.rating_note or "",
                key=note,
                max_chars=LONGEST_NOTE,
                on_change=explain,
            )


def _explain(answer_id: str, reason: str, note: str, workspace: Workspace) -> None:
    chosen = st.session_state[reason]
    said = str(st.session_state.get(note, "")) if chosen == "other" else ""
    workspace.feedback.explain(answer_id, chosen, said)
    if chosen and (chosen != "other" or said):
        flash(_("Thank you. Your reason is saved."), ":material/check:")
