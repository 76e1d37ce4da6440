"""Chat input: send a question, show its turn at once, follow the server's job that answers it.

A sent question first draws only its own turn, so that the first word comes soon. The page around it, with
every chat and answer, is drawn a second later, or when nobody else waits for a first word.
"""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

from rag.chat.answer import Condensed, Sources, Token
from rag.chat.map_reduce import BatchRead, Coverage, ReadingPlan
from rag.chat.pipeline import Reworked, validated_question
from rag.chat.scope import NarrowedTo
from rag.chat.steps import Planned
from rag.i18n import _, ngettext, translated
from rag.jobs import Job
from rag.retrieval.degradation import Degraded
from rag.retrieval.rerank.registry import Reranking
from rag.workspace import Workspace
from storage.errors import FootnoteError, NotFound
from storage.records import Message, TurnRecord
from ui.chat import composer, message, scope, sidebar
from ui.components.markdown import label, safe_answer
from ui.components.messages import action, show_errors
from ui.documents.upload import add_files, report
from ui.server.services import services

BOX, TURN = "question", "turn"
TURN_ONLY = 1.0  # seconds in which only the turn is drawn
_REFUSED, _REWORDED, _SENT = "refused-question", "reworded-question", "question-on-its-way"


@dataclass(frozen=True)
class _SentQuestion:
    text: str
    chat: str | None
    searching: scope.Choice
    after: tuple[str, ...] = ()
    alone: bool = True


def show_box(here: Workspace, limit_mb: int) -> None:
    """Show the chat input, which also takes files."""
    st.chat_input(
        _("Ask your documents"),
        key=BOX,
        accept_file="multiple",
        max_upload_size=limit_mb,
        on_submit=_send,
        args=(here,),
    )


def show_refused_question(here: Workspace) -> None:
    """Show why a question was refused, with its text to edit, until another one is sent."""
    refused = st.session_state.get(_REFUSED)
    if refused is None:
        return
    said, sent = refused
    if sent.chat != st.query_params.get(sidebar.PARAMETER):
        del st.session_state[_REFUSED]
        return
    with st.container(border=True, key="refused"):
        st.error(label(translated(said), 500), icon=":material/error:")
        st.session_state.setdefault(_REWORDED, sent.text)  # Streamlit forgets it while it is not drawn
        st.text_area(_("Your question"), key=_REWORDED)
        action(_("Ask again"), "refresh", "ask-again", _send_anew, sent, here, kind="secondary")


def show_turn(
    here: Workspace, alone: Any, around: Any, *, left_out: bool, meanwhile: Callable[[], None]
) -> None:
    """Show the pending turn of the open chat until its answer has ended.

    `alone` and `around` are its places without the page and as a part of it. `left_out` is True if the page
    skipped a pending turn, which may have ended since. `meanwhile` is called again and again until then.
    """
    with alone:
        _alone(here)
    with around:
        followed = _follow(here, meanwhile)
    if followed or left_out:
        st.rerun()


@st.fragment(key=TURN)
def _alone(here: Workspace) -> None:
    """Show a sent turn briefly: Streamlit handles clicks on a fragment's widgets only after it has ended."""
    place = st.empty()  # so that what is drawn here goes as soon as the page is drawn around it
    sent = st.session_state.pop(_SENT, None)
    if sent is None:
        return
    if sent.conversation_id == st.query_params.get(sidebar.PARAMETER):  # else they went elsewhere
        with place.container(), show_errors(), suppress(NotFound):  # deleted in another tab: the page says so
            _show_pending(sent, here)
    st.rerun()


def _show_pending(sent: TurnRecord, here: Workspace) -> None:
    """Show a sent turn, unless its answer has ended: then a run of the whole page has drawn it already."""
    if here.conversations.message(sent.answer_id).state == "pending":
        _show(sent, here, seconds=TURN_ONLY)


def _follow(here: Workspace, meanwhile: Callable[[], None]) -> bool:
    """Show the pending turn of the open chat until its answer has ended; return True if there was one."""
    chat = st.query_params.get(sidebar.PARAMETER)
    pending = here.conversations.pending(chat) if chat else None
    if pending is None:
        return False
    _show(here.conversations.turn(pending), here, meanwhile)
    return True


def _nothing() -> None:
    """Do nothing meanwhile."""


def _show(
    turn: TurnRecord,
    here: Workspace,
    meanwhile: Callable[[], None] = _nothing,
    seconds: float | None = None,
) -> None:
    message.show_question(turn.question, here, settled=False)
    job = here.answering(turn.answer_id)
    if job is not None:
        _follow_answer(turn, job, here, meanwhile, seconds)
        return
    here.settle(turn.answer_id)
    if here.conversations.message(turn.answer_id).state == "pending":
        _follow_ledger(turn, here, meanwhile)


def _send(here: Workspace) -> None:
    """Add the attached files to the library and ask the question in the chat of the address.

    Streamlit may interrupt a run wherever the session state is read, so all of it is read before anything
    is stored.
    """
    asked: Any = st.session_state[BOX]
    told, chosen, chat = report(), scope.next_choice(), st.query_params.get(sidebar.PARAMETER)
    if asked.text.strip():
        st.session_state.pop(_REFUSED, None)
    told.put_away()
    lines = add_files(asked.files, told, here)
    read_first = tuple(line.document_id for line in lines if line.document_id)
    if not asked.text.strip():
        return
    sent = _SentQuestion(asked.text, chat, chosen, read_first, alone=not asked.files)
    if lines and not read_first:
        failed = "; ".join(f"{line.name}: {translated(line.outcome)}" for line in lines)
        _refuse(
            sent,
            _(
                "Not asked yet: the file with it was not added. {files} Attach another, or ask without it.",
                files=failed,
            ),
        )
    else:
        _ask(sent, here)


def ask(question: str, here: Workspace) -> None:
    """Ask a question that was chosen instead of typed, in the chat of the address."""
    _ask(_SentQuestion(question, st.query_params.get(sidebar.PARAMETER), scope.next_choice()), here)


def _refuse(sent: "_SentQuestion", reason: str) -> None:
    st.session_state[_REWORDED] = sent.text
    st.session_state[_REFUSED] = (reason, sent)


def _send_anew(sent: "_SentQuestion", here: Workspace) -> None:
    reworded = replace(sent, text=str(st.session_state[_REWORDED]), searching=scope.next_choice())
    st.session_state.pop(_REFUSED, None)
    _ask(reworded, here)


def _ask(sent: "_SentQuestion", here: Workspace) -> None:
    try:
        question = validated_question(sent.text)
        chat = sidebar.find(sent.chat, here)
        turn = here.ask(
            None if chat is None else chat.id, question, searching=sent.searching, after=sent.after
        )
    except FootnoteError as error:
        _refuse(sent, str(error))
        return
    services().render_priority.start(turn.conversation_id)
    if chat is None:
        scope.forget_next()
    st.query_params[sidebar.PARAMETER] = turn.conversation_id
    if sent.alone and message.shows_newest(turn.conversation_id):
        _show_alone(turn)
    message.show_newest()


def _show_alone(turn: TurnRecord) -> None:
    st.session_state[_SENT] = turn
    try:
        st.rerun(TURN)
    except StreamlitAPIException:
        st.session_state.pop(_SENT)


WAITED = 5.0  # seconds without a word, after which the line above the answer counts them
POLL = 0.03  # seconds between polls of the job, and until a click is noticed
STOPS = 0.5  # seconds in which an answer ends that is stopped, as a rule: then the page is drawn only once
REDRAW = 0.1  # seconds between redraws, each of which sends the whole answer
LEDGER_REDRAW = 0.15  # seconds between two looks for what another process has stored of an answer
REDRAW_YIELDING = 0.5  # seconds between redraws while others wait for their first word
MAX_YIELD = 3.0  # seconds by which drawing the page is delayed while others wait


def _follow_answer(
    turn: TurnRecord,
    job: Job[Any],
    workspace: Workspace,
    meanwhile: Callable[[], None],
    seconds: float | None,
) -> None:
    deadline = None if seconds is None else time.monotonic() + seconds
    with (
        st.container(key=composer.ANSWERING),
        st.chat_message("assistant", avatar=message.ANSWER_AVATAR),
    ):
        places = (st.container(), st.empty(), st.empty(), st.container())
        partial = _PartialAnswer(turn.question, *places, begun=job.asked_at)
        if deadline is None:
            key = f"stop-{turn.answer_id}"
            action(_("Stop"), "stop_circle", key, _stop, turn.answer_id, workspace, kind="secondary")
        _write(job, partial, turn.conversation_id, meanwhile, deadline)


def _follow_ledger(turn: TurnRecord, here: Workspace, meanwhile: Callable[[], None]) -> None:
    """Show an answer that another process writes, as far as it is stored, until it has ended."""
    with (
        st.container(key=composer.ANSWERING),
        st.chat_message("assistant", avatar=message.ANSWER_AVATAR),
    ):
        partial = _PartialAnswer(turn.question, st.container(), st.empty(), st.empty(), st.container())
        action(
            _("Stop"), "stop_circle", f"stop-{turn.answer_id}", _stop, turn.answer_id, here, kind="secondary"
        )
        while (answer := here.conversations.message(turn.answer_id)).state == "pending":
            partial.written = answer.content
            partial.draw()
            meanwhile()
            _rest(LEDGER_REDRAW)
            here.settle(turn.answer_id)


def _stop(answer_id: str, workspace: Workspace) -> None:
    job = workspace.answering(answer_id)
    workspace.stop(answer_id)
    if job is not None:
        job.wait(STOPS)


@dataclass
class _PartialAnswer:
    """Partial answer with its places on the page: query, status, text, failures."""

    question: Message
    query: Any
    status: Any
    text: Any
    failures: Any
    plan: Any = None
    written: str = ""
    found: bool = False
    doing: str = ""
    begun: float = field(default_factory=time.monotonic)
    counted: int = 0

    def take(self, event: object) -> None:
        """Handle an event; tokens are only shown by `draw`."""
        match event:
            case Condensed(standalone):
                if said := message.searched_for(standalone, self.question):
                    self.query.caption(said)
            case Planned() | NarrowedTo() | Coverage():
                self._show_search(event)
            case Reworked() | Reranking() | ReadingPlan(begun=True):
                self.show_status(_doing(event))
            case BatchRead():
                self.doing = ""
                self.status.progress(event.done / event.total, text=_doing(event))
            case Sources(passages):
                self.found = True
                self.show_status(_reading(len(passages), starting=services().model_starts))
            case Token(piece):
                self.written += piece
            case _:
                self._take_failure(event)

    def show_status(self, doing: str) -> None:
        """Show what is done until the first word comes."""
        self.doing = doing
        self.status.caption(doing)

    def count_seconds(self) -> None:
        """Show how long the first word takes, once that is long."""
        seconds = int(time.monotonic() - self.begun)
        if self.doing and not self.written and seconds >= WAITED and seconds != self.counted:
            self.counted = seconds
            self.status.caption(_("{reason} {seconds} s", reason=self.doing, seconds=f"{seconds:,}"))

    def _take_failure(self, event: object) -> None:
        if isinstance(event, Degraded):
            with self.failures:
                message.show_degraded((event,))

    def _show_search(self, event: Planned | NarrowedTo | Coverage) -> None:
        """Show where is searched, and the steps, in one place that changes after each of them."""
        if not isinstance(event, Planned):
            self.query.caption(scope.told(event))
            return
        self.plan = self.plan or self.query.empty()
        self.plan.caption(message.plan_lines([(one.question, one.found) for one in event.steps]))

    def draw(self) -> None:
        """Show the text so far."""
        if self.written:
            self._show_writing()
            self.text.markdown(safe_answer(_with_bound_markers(self.written)), anchors=False)

    def _show_writing(self) -> None:
        """Keep the line above the text, in which a model's answer will have its count of statements."""
        if services().llm is None:
            self.status.empty()
        else:
            self.status.caption(_("Writing…"))


def _with_bound_markers(text: str) -> str:
    r"""Return a text whose markers stay on the line of the word before, as those of a finished answer do.

    >>> _with_bound_markers("Sales fell [1] by 2 % [2].")
    'Sales fell\xa0[1] by 2 %\xa0[2].'
    """
    return re.sub(r" (?=\[\d{1,3}\])", "\u00a0", text)


def _doing(event: Reworked | Reranking | ReadingPlan | BatchRead) -> str:
    match event:
        case Reworked():
            return _("Working on the last answer…")
        case BatchRead(done, total):
            return _("Reading whole documents: {done} of {total} requests", done=done, total=total)
        case Reranking(passages):
            return ngettext("Reranking {count} passage…", "Reranking {count} passages…", passages)
        case ReadingPlan(passages, requests, tokens):
            return _(
                "Reading {passages} passages: {requests} requests, about {tokens} tokens",
                passages=f"{passages:,}",
                requests=f"{requests:,}",
                tokens=f"{tokens:,}",
            )


def _reading(passages: int, *, starting: bool) -> str:
    """Return the status line until the first word comes.

    >>> _reading(1, starting=False), _reading(4, starting=True)
    ('Reading 1 passage…', 'Starting the model, then reading 4 passages…')
    """
    if starting:
        return ngettext(
            "Starting the model, then reading {count} passage…",
            "Starting the model, then reading {count} passages…",
            passages,
        )
    return ngettext("Reading {count} passage…", "Reading {count} passages…", passages)


def _write(
    job: Job[Any],
    partial: _PartialAnswer,
    chat: str,
    meanwhile: Callable[[], None],
    deadline: float | None,
) -> None:
    seen, priority = 0, services().render_priority
    partial.show_status(_("Searching your documents…"))
    while not _passed(deadline, chat):
        meanwhile()
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
        partial.count_seconds()
        if partial.written and not job.done:
            _rest(REDRAW_YIELDING if priority.others_waiting(chat) else REDRAW)
        _notice_clicks()


def _rest(seconds: float) -> None:
    """Wait for some seconds, or until a click."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(POLL, left))
        _notice_clicks()


def _notice_clicks() -> None:
    """Let Streamlit interrupt the script, if something was clicked: it does where the session is read."""
    st.session_state.get("look")


def _passed(deadline: float | None, chat: str) -> bool:
    """Return True after the deadline; while others wait, only after `MAX_YIELD` more seconds."""
    late = 0.0 if deadline is None else time.monotonic() - deadline
    return late > 0 and (late > MAX_YIELD or not services().render_priority.others_waiting(chat))
