"""Answer stream: the page follows the server's job and may be left at any time."""

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
from ui.chat.message import ANSWER_AVATAR, searched_for, show_degraded
from ui.chat.scope import searched_in
from ui.components.markdown import safe_answer
from ui.server.services import services

POLL = 0.1  # seconds between polls of the job, and until a click is noticed
REDRAW = 0.1  # seconds between redraws, each of which sends the whole answer
REDRAW_YIELDING = 0.5  # seconds between redraws while others wait for their first word
MAX_YIELD = 3.0  # seconds by which drawing the page is delayed while others wait


def follow_answer(
    turn: TurnRecord, job: Job[Any], workspace: Workspace, seconds: float | None = None
) -> None:
    """Show the answer of a turn until its job ends, or for `seconds`, then without a Stop button."""
    deadline = None if seconds is None else time.monotonic() + seconds
    with st.chat_message("assistant", avatar=ANSWER_AVATAR):
        partial = _PartialAnswer(turn.question, st.container(), st.empty(), st.container())
        if deadline is None:
            _show_stop(turn.answer_id, workspace)
        _write(job, partial, turn.conversation_id, deadline)


def _show_stop(answer_id: str, workspace: Workspace) -> None:
    st.button(
        "Stop",
        key=f"stop-{answer_id}",
        icon=":material/stop_circle:",
        on_click=workspace.stop,
        args=(answer_id,),
    )


@dataclass
class _PartialAnswer:
    """Partial answer with its three places on the page: query, text, failures."""

    question: Message
    query: Any
    text: Any
    failures: Any
    written: str = ""
    found: bool = False

    def take(self, event: object) -> None:
        """Handle an event; tokens are only shown by `draw`."""
        match event:
            case Condensed(standalone):
                if said := searched_for(standalone, self.question):
                    self.query.caption(said)
            case SearchedIn(said):
                self.query.caption(searched_in(said))
            case Degraded():
                with self.failures:
                    show_degraded((event,))
            case Reranking(count):
                self.text.caption(f"Reranking {count} passages…")
            case Sources(passages):
                self.found = True
                self.text.caption(_reading(len(passages), starting=services().model_starts))
            case Token(piece):
                self.written += piece

    def draw(self) -> None:
        """Show the text so far."""
        if self.written:
            self.text.markdown(safe_answer(self.written), anchors=False)


def _reading(count: int, *, starting: bool) -> str:
    """Return the status line until the first word comes.

    >>> _reading(1, starting=False), _reading(4, starting=True)
    ('Reading 1 passage…', 'Starting the model, then reading 4 passages…')
    """
    read = f"eading {count} passage{'s' * (count != 1)}…"
    return f"Starting the model, then r{read}" if starting else f"R{read}"


def _write(job: Job[Any], partial: _PartialAnswer, chat: str, deadline: float | None) -> None:
    seen, priority = 0, services().render_priority
    partial.text.caption("Searching your documents…")
    while not _passed(deadline, chat):
        fresh = job.since(seen, wait=POLL)
        seen += len(fresh)
        for event in fresh:
            partial.take(event)
        if partial.found or job.done:
            priority.finish(chat)
        if fresh:
            partial.draw()
        elif job.done:
            return
        if partial.written and not job.done:
            time.sleep(REDRAW_YIELDING if priority.others_waiting(chat) else REDRAW)
        st.session_state.get("look")  # lets Streamlit interrupt the script on a click


def _passed(deadline: float | None, chat: str) -> bool:
    """Return True after the deadline; while others wait, only after `MAX_YIELD` more seconds."""
    late = 0.0 if deadline is None else time.monotonic() - deadline
    return late > 0 and (late > MAX_YIELD or not services().render_priority.others_waiting(chat))
