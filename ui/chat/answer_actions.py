"""Less common actions of one answer: export, a link that opens the chat at it, another search for it."""

from collections.abc import Callable
from functools import partial
from typing import get_args

import streamlit as st

from rag.chat.export import MEDIA_TYPES, FormName, file_name
from rag.settings import RetrieverName
from rag.workspace import Workspace
from storage.records import Message
from ui.chat.sidebar import FORMS, PARAMETER
from ui.components.copy_buttons import copy_buttons
from ui.components.labels import TREE_RETRIEVERS, USES, retriever_name
from ui.components.markdown import plain_line
from ui.components.messages import flash_errors
from ui.server.services import services

Again = Callable[[RetrieverName], object]

ANSWER = "answer"
"""Query parameter: the id of the answer that the page scrolls to."""


def button(message: Message, workspace: Workspace) -> None:
    """Show a button that opens the dialog with the actions."""
    if st.button("Share", icon=":material/ios_share:", key=f"share-{message.id}", type="tertiary"):
        _share(message, st.query_params.get(PARAMETER, ""), workspace)


@st.dialog("Share this answer", icon=":material/ios_share:")
def _share(message: Message, chat: str, workspace: Workspace) -> None:
    st.caption("A file with the answer, its question and its quotes:")
    name = plain_line(message.standalone_question or message.content, 60)
    with st.container(horizontal=True, gap="small"):
        for form, title in FORMS.items():
            st.download_button(
                title,
                data=partial(_exported, workspace, chat, form, message.id),
                file_name=file_name(name, form),
                mime=MEDIA_TYPES[form],
                icon=":material/download:",
                on_click="ignore",
                key=f"share-{form}-{message.id}",
            )
    st.caption("A link that opens this chat at the answer, for yourself:")
    copy_buttons({"Copy link": link(st.context.url or "", chat, message.id)}, f"copy-link-{message.id}")


def another_search(message: Message, workspace: Workspace, again: Again) -> None:
    """Show a button for the search modes that an answer was not made with; `again` answers with one."""
    if st.button("Other search", icon=":material/tune:", key=f"other-{message.id}", type="tertiary"):
        _choose_search(message, workspace, again)


@st.dialog("Answer again with another search", icon=":material/tune:")
def _choose_search(message: Message, workspace: Workspace, again: Again) -> None:
    trace = workspace.traces.get(message.id)
    used = None if trace is None else trace.settings.get("retriever")
    mode = f"other-mode-{message.id}"
    trees = services().settings.raptor not in ("auto", "off")
    modes = [
        name for name in get_args(RetrieverName) if name != used and (trees or name not in TREE_RETRIEVERS)
    ]
    with st.form(f"other-form-{message.id}", border=False):
        st.radio(
            "Search mode",
            modes,
            format_func=retriever_name,
            captions=[USES.get(name, "") for name in modes],
            key=mode,
        )
        st.caption("For this answer only. Starts a new branch; earlier messages stay available.")
        answer = flash_errors(lambda: again(st.session_state[mode]))
        if st.form_submit_button("Answer again", type="primary", on_click=answer):
            st.rerun()


def link(page: str, chat: str, answer_id: str) -> str:
    """Return the address of an answer on the chat page.

    >>> link("http://127.0.0.1:8501/?chat=a", "a", "b")
    'http://127.0.0.1:8501/?chat=a&answer=b'
    """
    return f"{page.partition('?')[0]}?{PARAMETER}={chat}&{ANSWER}={answer_id}"


def _exported(workspace: Workspace, chat: str, form: FormName, answer_id: str) -> bytes:
    return workspace.exported(chat, form, answer_id=answer_id).encode()
