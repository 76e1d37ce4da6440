"""Trace panel "How was this answered?": query, retrieval, requests, timing and settings, as stored."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import streamlit as st

from rag.chat.steps import read_plan
from rag.citations.support import place_name
from rag.workspace import Workspace
from storage.answers import SentRecord, Trace
from storage.errors import NotFound
from storage.records import Message, PassageRecord
from ui.chat.citations import PANEL
from ui.chat.page_view import icon_button
from ui.components.labels import retriever_name
from ui.components.markdown import escape_text, label
from ui.components.messages import action

PARAMETER = "how"
TITLE = "How was this answered?"
NONE = "–"

_STEPS = {
    "condense": "to understand the question",
    "plan": "to plan",
    "retrieve": "to search",
    "rerank": "to rerank",
    "first_token": "to the first word",
    "total": "to the end",
}
_PURPOSES = {
    "answer": "Request for the answer",
    "rephrase": "Request to rephrase the follow-up",
    "plan": "Request to plan the steps",
    "step": "Request to complete or reword a step",
    "check": "Request to check statements, and the reply",
    "rerank": "Request to rerank passages",
}
_SETTINGS = {
    "searched_in": "Searched in",
    "narrowed_to": "Documents named by the question",
    "coverage": "Coverage",
    "retriever": "Search",
    "k": "Passages retrieved",
    "mixture": "Weights of words and meaning",
    "embedding_model": "Embedding model",
    "checker": "Citation checker",
    "judge": "Citation judge",
    "reading": "Open statements",
    "history": "Conversation",
    "rephrasing": "Follow-up rephrasing",
    "understood": "Query",
    "steps": "Steps",
    "reworked": "Rework",
    "continued": "The answer",
    "unread": "Passages",
    "reranker": "Reranker",
    "fetch_k": "Passages given to the reranker",
    "reranking": "Reranking",
    "order": "Order in the prompt",
    "model": "Language model",
    "server": "Model server",
    "context_tokens": "Context window, tokens",
}
_NOT_RETRIEVERS = {
    "name": "File name",
    "conversation": "With the conversation",
    "as typed": "As typed",
    "reranker": "Reranker",
    "previous question": "Previous question",
}
_NOT_KEPT = "This answer is from an earlier version of Footnote, which did not store requests or settings."


def button(message: Message) -> None:
    """Show a button that opens the trace of an answer."""
    action(TITLE, "account_tree", f"how-{message.id}", choose, message.id)


def choose(answer_id: str) -> None:
    """Open a trace by putting the answer's id into the address, so that it can be shared."""
    st.query_params[PARAMETER] = answer_id


def show_chosen(workspace: Workspace) -> None:
    """Show the panel if the address names an answer."""
    answer_id = st.query_params.get(PARAMETER)
    if not answer_id:
        return
    try:
        message, trace = workspace.conversations.message(answer_id), workspace.traces.get(answer_id)
    except NotFound:
        st.toast("Answer not found. It may have been deleted.")
        _dismiss()
        return
    _panel(message, trace)


def _dismiss() -> None:
    st.query_params.pop(PARAMETER, None)


def _panel(message: Message, trace: Trace | None) -> None:
    with st.container(key=PANEL, gap="small"):
        with st.container(
            key="source-head", horizontal=True, gap="xsmall", vertical_alignment="center", wrap=False
        ):
            st.markdown(f"**{TITLE}**", width="stretch")
            icon_button("Close", "close", lambda _: _dismiss(), "", shortcut="Esc")
        _show(message, trace)


def _show(message: Message, trace: Trace | None) -> None:
    asked, steps = read_plan(message.standalone_question or "")
    if asked:
        _heading("Search query")
        st.markdown(escape_text(asked))
    if steps:
        _heading("Steps, and their passages")
        st.markdown("\n".join(step_lines(steps, message.passages)))
    _heading("Passages and the searches that found them")
    _passages(message.passages)
    _heading("Sent to the language model")
    _sent(message, trace)
    if message.timings_ms:
        _heading("Timing")
        st.markdown(timing(message.timings_ms))
    if trace is not None and trace.settings:
        _heading("Settings")
        st.markdown("\n".join(settings(trace.settings)))


def step_lines(steps: Sequence[str], passages: Sequence[PassageRecord]) -> Iterator[str]:
    """Yield a list item for each step: its words, and the numbers of the passages that it found."""
    for number, step in enumerate(steps, 1):
        name = f"step {number}"
        ranks = {one.number: one.found_by[name]["rank"] for one in passages if name in one.found_by}
        told = ", ".join(map(str, sorted(ranks, key=ranks.__getitem__)))
        yield f"{number}. {label(step, 400)}: {f'passages {told}' if told else 'none found'}"


def _heading(text: str) -> None:
    st.markdown(f"##### {text}", anchors=False)


def _passages(passages: Sequence[PassageRecord]) -> None:
    if not passages:
        st.markdown("None found.")
        return
    st.table(found_by(passages), hide_index=True, alt="Passages, the searches that found them, and scores")
    with st.expander("Passage text", type="compact"):
        for passage in passages:
            st.markdown(f"**{passage.number} · {label(place_name(passage), 90)}**")
            st.markdown(escape_text(passage.text))


def found_by(passages: Sequence[PassageRecord]) -> list[dict[str, str]]:
    """Return a row for each passage: its rank and score in each search, and the score it is ordered by."""
    searches = list(dict.fromkeys(name for passage in passages for name in passage.found_by))
    titles = {name: _title(name) for name in searches}
    return [
        {
            "Passage": f"{passage.number} · {label(place_name(passage), 60)}",
            **{titles[name]: _rank_and_score(passage.found_by.get(name)) for name in searches},
            "Score": f"{passage.score:.3f}",
        }
        for passage in passages
    ]


def _title(name: str) -> str:
    if name.startswith("step "):
        return name.capitalize()
    return _NOT_RETRIEVERS.get(name) or label(retriever_name(name), 40)


def _rank_and_score(found: Mapping[str, Any] | None) -> str:
    return f"rank {found['rank']}, score {found['score']:.3g}" if found else NONE


def _sent(message: Message, trace: Trace | None) -> None:
    if trace is None:
        st.markdown(_NOT_KEPT)
    elif not trace.sent:
        quotes = message.model is None and message.citations
        st.markdown("Nothing. The answer quotes your documents." if quotes else "Nothing.")
    else:
        for number, request in enumerate(trace.sent, start=1):
            _request(number, request)
        if trace.cut:
            st.caption(f"{trace.cut:,} more characters were sent and are not stored.")


def _request(number: int, request: SentRecord) -> None:
    size = sum(len(content) for _, content in request.messages)
    purpose = _PURPOSES.get(request.purpose, label(request.purpose, 60))
    with st.expander(f"{number}\\. {purpose}: {size:,} characters", type="compact"):
        for role, content in request.messages:
            st.caption(label(role, 40))
            st.code(content, language=None, wrap_lines=True)


def timing(laps: Mapping[str, float]) -> str:
    """Return the duration of each step, from the milliseconds at which each ended.

    >>> timing({"retrieve": 52.0, "first_token": 850.0, "total": 2350.0})
    '52 ms to search, 798 ms to the first word, 1.5 s to the end: 2.4 s in all.'
    """
    ended = [laps[step] for step in _STEPS if step in laps]
    steps = [step for step in _STEPS if step in laps]
    spans = zip(steps, [0.0, *ended], ended, strict=False)
    said = ", ".join(f"{_duration(end - start)} {_STEPS[step]}" for step, start, end in spans)
    return f"{said}: {_duration(ended[-1])} in all." if ended else "Not recorded."


def _duration(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{max(ms, 0):.0f} ms"


def settings(kept: Mapping[str, Any]) -> Iterator[str]:
    """Yield a list item for each stored setting; unknown ones keep their own name."""
    for name, value in kept.items():
        shown = retriever_name(str(value)) if name == "retriever" else str(value)
        yield f"- {_SETTINGS.get(name, label(name, 40))}: {label(shown, 200)}"
