"""Trace panel "How was this answered?": query, retrieval, requests, timing and settings, as stored."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import streamlit as st

from rag.chat.steps import read_plan
from rag.citations.support import place_name
from rag.i18n import N_, _, enumerated, ngettext, translated
from rag.workspace import Workspace
from storage.answers import SentRecord, Trace
from storage.errors import NotFound
from storage.records import Message, PassageRecord
from ui.chat.citations import PANEL, passage_numbers
from ui.components.labels import retriever_name
from ui.components.markdown import escape_text, label
from ui.components.messages import action
from ui.components.side_panel import icon_button, open_panel

PARAMETER = "how"
TITLE = N_("How was this answered?")
NONE = "–"

_STEPS = {
    "condense": N_("{time} to understand the question"),
    "plan": N_("{time} to plan"),
    "retrieve": N_("{time} to search"),
    "rerank": N_("{time} to rerank"),
    "first_token": N_("{time} to the first word"),
    "total": N_("{time} to the end"),
    "check": N_("{time} to check statements"),
}
_PURPOSES = {
    "answer": N_("Request for the answer"),
    "rephrase": N_("Request to rephrase the follow-up"),
    "read": N_("Request to read passages"),
    "plan": N_("Request to plan the steps"),
    "step": N_("Request to complete or reword a step"),
    "check": N_("Request to check statements, and the reply"),
    "rerank": N_("Request to rerank passages"),
}
_SETTINGS = {
    "searched_in": N_("Searched in"),
    "narrowed_to": N_("Documents named by the question"),
    "coverage": N_("Coverage"),
    "retriever": N_("Search"),
    "k": N_("Passages per answer, at most"),
    "embedding_model": N_("Embedding model"),
    "judge": N_("Citation judge"),
    "reading": N_("Open statements"),
    "history": N_("Conversation"),
    "rephrasing": N_("Follow-up rephrasing"),
    "understood": N_("Query"),
    "steps": N_("Steps"),
    "reworked": N_("Rework"),
    "continued": N_("The answer"),
    "unread": N_("Passages"),
    "reranker": N_("Reranker"),
    "fetch_k": N_("Passages given to the reranker"),
    "reranking": N_("Reranking"),
    "order": N_("Order in the prompt"),
    "model": N_("Language model"),
    "server": N_("Model server"),
    "chosen_search": N_("Search chosen for this answer"),
    "chosen_model": N_("Model chosen for this answer"),
    "context_tokens": N_("Context window, tokens"),
}
_JUDGES = {"llm": N_("the connected model"), "off": N_("none")}
_INTERNAL = frozenset({"checker", "mixture"})
"""Figures of the checker and of the search: exports as JSON have them."""
_NOT_RETRIEVERS = {
    "name": N_("File name"),
    "conversation": N_("With the conversation"),
    "as typed": N_("As typed"),
    "reranker": N_("Reranker"),
    "previous question": N_("Previous question"),
}
_NOT_KEPT = N_(
    "This answer is from an earlier version of Footnote, which did not store requests or settings."
)


def button(message: Message) -> None:
    """Show a button that opens the trace of an answer."""
    action(translated(TITLE), "account_tree", f"how-{message.id}", choose, message.id)


def choose(answer_id: str) -> None:
    """Open a trace by putting the answer's id into the address, so that it can be shared."""
    open_panel(**{PARAMETER: answer_id})


def show_chosen(workspace: Workspace) -> None:
    """Show the panel if the address names an answer."""
    answer_id = st.query_params.get(PARAMETER)
    if not answer_id:
        return
    try:
        message, trace = workspace.conversations.message(answer_id), workspace.traces.get(answer_id)
    except NotFound:
        st.toast(_("Answer not found. It may have been deleted."))
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
            st.markdown(f"**{translated(TITLE)}**", width="stretch")
            icon_button(_("Close"), "close", lambda _: _dismiss(), "", shortcut="Esc")
        _show(message, trace)


def _show(message: Message, trace: Trace | None) -> None:
    asked, steps = read_plan(message.standalone_question or "")
    if asked:
        _heading(_("Search query"))
        st.markdown(escape_text(asked))
    if steps:
        _heading(_("Steps, and their passages"))
        st.markdown("\n".join(step_lines(steps, message.passages, passage_numbers(message))))
    _heading(_("Passages, and how they were found"))
    _passages(message.passages, passage_numbers(message))
    _heading(_("Sent to the language model"))
    _sent(message, trace)
    if message.timings_ms:
        _heading(_("Timing"))
        st.markdown(timing(message.timings_ms))
    if trace is not None and trace.settings:
        _heading(_("Settings"))
        st.markdown("\n".join(settings(trace.settings)))


def step_lines(
    steps: Sequence[str], passages: Sequence[PassageRecord], numbers: Mapping[int, str]
) -> Iterator[str]:
    """Yield a list item for each step: its words, and the numbers of the passages that it found."""
    for number, step in enumerate(steps, 1):
        name = f"step {number}"
        ranks = {one.number: one.found_by[name]["rank"] for one in passages if name in one.found_by}
        told = ", ".join(numbers[one] for one in sorted(ranks, key=ranks.__getitem__) if one in numbers)
        none = _("found, not quoted") if ranks else _("none found")
        shown = _("passages {numbers}", numbers=told) if told else none
        yield f"{number}. {label(step, 400)}: {shown}"


def _heading(text: str) -> None:
    st.markdown(f"##### {text}", anchors=False)


def _passages(passages: Sequence[PassageRecord], numbers: Mapping[int, str]) -> None:
    if not passages:
        st.markdown(_("None found."))
        return
    st.table(found_by(passages, numbers), hide_index=True, alt=_("Passages, how they were found, and scores"))
    with st.expander(_("Passage text"), type="compact"):
        for passage in passages:
            st.markdown(f"**{_named(passage, numbers, 90)}**")
            if passage.is_from_picture:
                st.caption(_("Read from a picture by a model"))
            st.markdown(escape_text(passage.text))


def _named(passage: PassageRecord, numbers: Mapping[int, str], most: int) -> str:
    """Return the numbers of a passage as the answer shows them, and its place."""
    return " · ".join(
        filter(None, (numbers.get(passage.number), label(translated(place_name(passage)), most)))
    )


def found_by(passages: Sequence[PassageRecord], numbers: Mapping[int, str]) -> list[dict[str, str]]:
    """Return a row for each passage, the best first: its rank and score in each search, and its score.

    `numbers` are those by which the answer shows the passages.
    """
    searches = list(dict.fromkeys(name for passage in passages for name in passage.found_by))
    titles = {name: _title(name) for name in searches}
    return [
        {
            _("Passage"): _named(passage, numbers, 60),
            **{titles[name]: _rank_and_score(passage.found_by.get(name)) for name in searches},
            _("Score"): f"{passage.score:.3f}",
        }
        for passage in sorted(passages, key=lambda one: -one.score)
    ]


def _title(name: str) -> str:
    if name.startswith("step "):
        return _("Step {number}", number=name.removeprefix("step "))
    return translated(_NOT_RETRIEVERS[name]) if name in _NOT_RETRIEVERS else label(retriever_name(name), 40)


def _rank_and_score(found: Mapping[str, Any] | None) -> str:
    if not found:
        return NONE
    return _("rank {rank}, score {score}", rank=found["rank"], score=f"{found['score']:.3g}")


def _sent(message: Message, trace: Trace | None) -> None:
    if trace is None:
        st.markdown(translated(_NOT_KEPT))
    elif not trace.sent:
        quotes = message.model is None and message.citations
        st.markdown(_("Nothing. The answer quotes your documents.") if quotes else _("Nothing."))
    else:
        for number, request in enumerate(trace.sent, start=1):
            _request(number, request)
        if trace.cut:
            st.caption(_("{cut} more characters were sent and are not stored.", cut=f"{trace.cut:,}"))


def _request(number: int, request: SentRecord) -> None:
    size = sum(len(content) for _, content in request.messages)
    purpose = translated(_PURPOSES.get(request.purpose) or label(request.purpose, 60))
    with st.expander(
        ngettext(
            "{number}\\. {purpose}: {count} character",
            "{number}\\. {purpose}: {count} characters",
            size,
            number=number,
            purpose=purpose,
        ),
        type="compact",
    ):
        for role, content in request.messages:
            st.caption(label(role, 40))
            st.code(content, language=None, wrap_lines=True)


def timing(laps: Mapping[str, float]) -> str:
    """Return the duration of each step that took time, from the milliseconds at which each ended.

    >>> timing({"retrieve": 52.0, "first_token": 850.0, "total": 2350.0})
    '52 ms to search, 798 ms to the first word, and 1.5 s to the end: 2.4 s in all.'
    >>> timing({"retrieve": 52.0, "total": 52.0})
    '52 ms to search: 52 ms in all.'
    >>> timing({"retrieve": 52.0, "total": 52.0, "check": 3052.0})
    '52 ms to search and 3.0 s to check statements: 3.1 s in all.'
    >>> timing({"total": 0.3})
    '0 ms to the end: 0 ms in all.'
    """
    ended = [laps[step] for step in _STEPS if step in laps]
    steps = [step for step in _STEPS if step in laps]
    spans = zip(steps, [0.0, *ended], ended, strict=False)
    took = [(step, end - start) for step, start, end in spans]
    told = [one for one in took if one[1] >= 0.5] or took[-1:]
    said = [_(_STEPS[step], time=_duration(ms)) for step, ms in told]
    return (
        _("{steps}: {time} in all.", steps=enumerated(said), time=_duration(ended[-1]))
        if ended
        else _("Not recorded.")
    )


def _duration(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{max(ms, 0):.0f} ms"


def settings(kept: Mapping[str, Any]) -> Iterator[str]:
    """Yield a list item for each stored setting that means something to a reader.

    Unknown ones keep their own name.
    """
    for name, value in kept.items():
        if name in _INTERNAL:
            continue
        lines = " ".join(label(translated(line), 200) for line in _value(name, str(value)).splitlines())
        yield f"- {translated(_SETTINGS.get(name) or label(name, 40))}: {lines}"


def _value(name: str, value: str) -> str:
    if name in ("retriever", "chosen_search"):
        return retriever_name(value)
    return _JUDGES.get(value, value) if name == "judge" else value
