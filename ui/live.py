"""An answer while it is being written: the page follows a job of the server and may leave at any time."""

from typing import Any

import streamlit as st

from rag.answer import Condensed, Sources, Token
from rag.jobs import Job
from storage.records import Message
from ui.markdown import label, safe_answer
from ui.messages import ANSWER_AVATAR, show_understood
from ui.workspace import Workspace

WAIT = 0.1  # seconds between looks at the job: how soon a click is noticed


def follow(message: Message, asked: str, job: Job[Any], workspace: Workspace) -> None:
    """Show the answer grow until its job ends, then run the page again to show it as it was stored."""
    with st.chat_message("assistant", avatar=ANSWER_AVATAR):
        understood, text = st.empty(), st.empty()
        st.button(
            "Stop",
            key=f"stop-{message.id}",
            icon=":material/stop_circle:",
            on_click=workspace.stop,
            args=(message.id,),
        )
        _write(job, asked, understood, text)
    st.rerun()


def _write(job: Job[Any], asked: str, understood: Any, text: Any) -> None:
    seen, written = 0, ""
    text.caption("Looking through your documents…")
    while True:
        fresh = job.since(seen, wait=WAIT)
        seen += len(fresh)
        for event in fresh:
            match event:
                case Condensed(question):
                    with understood:
                        show_understood(question, asked)
                case Sources(passages):
                    text.caption(_found(len(passages)))
                case Token(piece):
                    written += piece
        if written and fresh:
            text.markdown(safe_answer(written), anchors=False)
        if job.done and not fresh:
            return
        st.session_state.get("look")  # lets a click through: the script is only interrupted when it looks up


def _found(count: int) -> str:
    return label(f"Reading {count} passage{'s' * (count != 1)}…")
