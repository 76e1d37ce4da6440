"""An answer while it is being written: the page follows a job of the server and may leave at any time."""

import time
from dataclasses import dataclass
from typing import Any

import streamlit as st

from rag.chat.answer import Condensed, Sources, Token
from rag.chat.scope import SearchedIn
from rag.jobs import Job
from rag.retrieval.degradation import Degraded
from rag.retrieval.rerank.registry import Reranking
from rag.workspace import Workspace
from storage.records import Message, TurnRecord
from ui.chat.message import ANSWER_AVATAR, show_left_out, understood_as
from ui.chat.scope import searched_in
from ui.components.markdown import safe_answer
from ui.server.services import services

WAIT = 0.1  # seconds between looks at the job: how soon a click is noticed
PACE = 0.1  # seconds between drawings: each sends the whole answer, and eyes follow no faster
GIVING_WAY = 0.5  # seconds between them while others wait for their first word
LONGER = 3.0  # seconds more than asked that an answer is followed alone while others wait for theirs


def follow(turn: TurnRecord, job: Job[Any], workspace: Workspace, seconds: float | None = None) -> None:
    """Show the answer of a turn grow until its job ends, or for some seconds.

    With `seconds` it shows no way to stop it yet.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    with st.chat_message("assistant", avatar=ANSWER_AVATAR):
        growing = _Growing(turn.question, st.container(), st.empty(), st.container())
        if deadline is None:
            _show_stop(turn.answer_id, workspace)
        _write(job, growing, turn.conversation_id, deadline)


def _show_stop(answer_id: str, workspace: Workspace) -> None:
    st.button(
        "Stop",
        key=f"stop-{answer_id}",
        icon=":material/stop_circle:",
        on_click=workspace.stop,
        args=(answer_id,),
    )


@dataclass
class _Growing:
    """The answer to a question as far as it has come, in its three places on the page."""

    question: Message
    understood: Any
    text: Any
    missing: Any
    written: str = ""
    found: bool = False

    def take(self, event: object) -> None:
        """Show what an event tells; pieces of the answer wait for `draw`."""
        match event:
            case Condensed(standalone):
                if said := understood_as(standalone, self.question):
                    self.understood.caption(said)
            case SearchedIn(said):
                self.understood.caption(searched_in(said))
            case Degraded():
                with self.missing:
                    show_left_out((event,))
            case Reranking(count):
                self.text.caption(f"Putting {count} passages in order…")
            case Sources(passages):
                self.found = True
                self.text.caption(_reading(len(passages), starting=services().model_starts))
            case Token(piece):
                self.written += piece

    def draw(self) -> None:
        """Show what is written."""
        if self.written:
            self.text.markdown(safe_answer(self.written), anchors=False)


def _reading(count: int, *, starting: bool) -> str:
    """Return what is said until the first word comes.

    >>> _reading(1, starting=False), _reading(4, starting=True)
    ('Reading 1 passage…', 'Starting the model, then reading 4 passages…')
    """
    read = f"eading {count} passage{'s' * (count != 1)}…"
    return f"Starting the model, then r{read}" if starting else f"R{read}"


def _write(job: Job[Any], growing: _Growing, chat: str, deadline: float | None) -> None:
    seen, first_words = 0, services().first_words
    growing.text.caption("Looking through your documents…")
    while not _passed(deadline, chat):
        fresh = job.since(seen, wait=WAIT)
        seen += len(fresh)
        for event in fresh:
            growing.take(event)
        if growing.found or job.done:
            first_words.come(chat)
        if fresh:
            growing.draw()
        elif job.done:
            return
        if growing.written and not job.done:
            time.sleep(GIVING_WAY if first_words.awaited_beside(chat) else PACE)
        st.session_state.get("look")  # lets a click through: the script is only interrupted when it looks up


def _passed(deadline: float | None, chat: str) -> bool:
    """Whether it is time to draw the page around; not while others wait, but for a while."""
    late = 0.0 if deadline is None else time.monotonic() - deadline
    return late > 0 and (late > LONGER or not services().first_words.awaited_beside(chat))
