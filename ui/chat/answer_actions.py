"""Less common actions of one answer: export, and a link that opens the chat at it."""

from functools import partial

import streamlit as st

from rag.chat.export import MEDIA_TYPES, FormName, file_name
from rag.workspace import Workspace
from storage.records import Message
from ui.chat.sidebar import FORMS, PARAMETER
from ui.components.copy_buttons import copy_buttons
from ui.components.markdown import plain_line

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


def link(page: str, chat: str, answer_id: str) -> str:
    """Return the address of an answer on the chat page.

    >>> link("http://127.0.0.1:8501/?chat=a", "a", "b")
    'http://127.0.0.1:8501/?chat=a&answer=b'
    """
    return f"{page.partition('?')[0]}?{PARAMETER}={chat}&{ANSWER}={answer_id}"


def _exported(workspace: Workspace, chat: str, form: FormName, answer_id: str) -> bytes:
    return workspace.exported(chat, form, answer_id=answer_id).encode()
