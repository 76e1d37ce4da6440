"""Messages of a conversation: questions and answers with sources, versions and actions; paging."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import streamlit as st

from rag.chat import pipeline
from rag.chat.clipboard import (
    copied_tables,
    footnoted_answer,
    plain_answer,
    plain_html,
    sourced_answer,
    sourced_html,
)
from rag.chat.rework import rework_asked
from rag.chat.steps import MOST_STEPS, plan_text, read_plan
from rag.citations.support import backing, found_nothing, heading_of, open_count, place_name, remarks
from rag.errors import QuestionRefused
from rag.i18n import N_, _, ngettext, translated
from rag.retrieval.degradation import Degraded
from rag.text.normalize import normalize
from rag.workspace import AnswerWith, Workspace
from storage.answers import Standing
from storage.records import Message, PassageRecord
from ui import pages
from ui.chat import answer_actions, evidence_panel, scope, trace_panel
from ui.chat.citations import SIGNS, QuotePart, cited_numbers, in_bold, is_search_result, links, quote_parts
from ui.chat.sheet_rows import rows_cited
from ui.components.copy_buttons import copy_buttons
from ui.components.markdown import Link, escape_text, label, safe_answer
from ui.components.messages import action, dialog, flash_errors
from ui.server.services import services

PAGE = 30  # messages shown at once: hundreds make every click slow
_KEY = "turned-back"
CHAT = "chat"  # query parameter with the id of the open chat


def shown_messages(
    conversation_id: str, read: Callable[[str | None, int], Sequence[Message]]
) -> Sequence[Message]:
    """Return the messages to show, after a button for earlier ones; `read` takes the next id and a limit."""
    starts = _starts(conversation_id)
    messages = read(starts[-1] if starts else None, PAGE + 1)
    shown = messages[-PAGE:]
    if len(messages) > PAGE:
        st.button(_("Earlier messages"), icon=":material/history:", on_click=_turn_back, args=(shown[0].id,))
    return shown


def show_later(conversation_id: str) -> None:
    """Show buttons for later messages, if there are any."""
    starts = _starts(conversation_id)
    if not starts:
        return
    with st.container(horizontal=True, gap="small"):
        st.button(_("Later messages"), icon=":material/expand_more:", on_click=_turn_forward)
        if len(starts) > 1:
            st.button(
                _("Newest messages"), icon=":material/keyboard_double_arrow_down:", on_click=show_newest
            )


def show_found(conversation_id: str, messages: Sequence[Message], words: str) -> None:
    """Turn to the page of messages that has the first one with all of these words."""
    wanted = normalize(words).split()
    hits = (at for at, one in enumerate(messages) if all(word in normalize(one.content) for word in wanted))
    at = next(hits, None)
    if at is not None:
        last = at + PAGE // 2
        starts = [messages[last].id] if last < len(messages) and at < len(messages) - PAGE else []
        st.session_state[_KEY] = (conversation_id, starts)


def show_newest() -> None:
    """Go to the newest messages."""
    st.session_state.pop(_KEY, None)


def shows_newest(conversation_id: str) -> bool:
    """Return True if the newest messages of a conversation are shown."""
    return not _starts(conversation_id)


def _starts(conversation_id: str) -> list[str]:
    """Return the first message of each page that was paged back, in this conversation."""
    if st.session_state.get(_KEY, ("",))[0] != conversation_id:
        st.session_state[_KEY] = (conversation_id, [])
    starts: list[str] = st.session_state[_KEY][1]
    return starts


def _turn_back(first_id: str) -> None:
    st.session_state[_KEY][1].append(first_id)


def _turn_forward() -> None:
    st.session_state[_KEY][1].pop()


def _show_versions(question: Message, workspace: Workspace) -> None:
    if not question.versions:
        return
    at, number = question.versions.index(question.id), len(question.versions)
    ways = ((_("Earlier version"), "chevron_left", at - 1), (_("Later version"), "chevron_right", at + 1))
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption(_("Version {at} of {total}", at=at + 1, total=number), width="content")
        for name, icon, to in ways:
            if 0 <= to < number:
                show = partial(_show_version, question.versions[to], workspace)
                _button(name, f"{icon}-{question.id}", icon, show)


_READ = "last-read"  # key of the last message that was shown after each version of a question


def keep_read(shown: Sequence[Message]) -> None:
    """Remember the last message of a conversation for each question above it, to come back to."""
    read: dict[str, str] = st.session_state.setdefault(_READ, {})
    read.update({message.id: shown[-1].id for message in shown if message.role == "user"})


def _show_version(question_id: str, workspace: Workspace) -> None:
    read: dict[str, str] = st.session_state.get(_READ, {})
    workspace.conversations.show_version(question_id, read.get(question_id))


def show_version_that_goes_on(question: Message, workspace: Workspace) -> None:
    """Show that the questions after a last question are under another version of it, if so."""
    other = workspace.conversations.version_that_goes_on(question.id) if question.versions else None
    if other is None:
        return
    with st.container(
        key=f"goes-on-{question.id}", horizontal=True, gap="small", vertical_alignment="center"
    ):
        st.caption(_("The later questions are under another version of this one."), width="content")
        show = partial(_show_version, other, workspace)
        _button(_("Show them"), f"show-later-{question.id}", "history", show, "secondary")


def _show_query(answer: Message, question: Message | None, workspace: Workspace | None) -> None:
    """Show the searched query if it is not the typed one; with a workspace, buttons to change it."""
    if question is None or not (said := searched_for(answer.standalone_question, question)):
        return
    if read_plan(answer.standalone_question or "")[1]:
        _show_plan(answer, question, workspace)
        return
    with st.container(
        key=f"understood-{answer.id}", horizontal=True, gap="small", vertical_alignment="center"
    ):
        st.caption(said, width="content")
        if workspace is None:
            return
        if st.button(_("Edit search"), key=f"correct-{answer.id}", icon=":material/edit:", type="tertiary"):
            _correct(answer, question, workspace)
        if _was_reworded(answer.standalone_question, question.content):
            search = partial(workspace.otherwise, question.id, question.content, searched=question.content)
            _button(_("Search as typed"), f"as-typed-{answer.id}", "undo", search)


def _show_plan(answer: Message, question: Message, workspace: Workspace | None) -> None:
    """Show the steps of a question and how much each found; with a workspace, buttons to change them."""
    asked, steps = read_plan(answer.standalone_question or "")
    found = [sum(f"step {at}" in one.found_by for one in answer.passages) for at in range(1, len(steps) + 1)]
    with st.container(key=f"plan-{answer.id}", gap="xsmall"):
        if _was_reworded(asked, question.content):
            st.caption(_("Searched for: **{query}**", query=label(asked, 400)))
        st.caption(plan_lines(list(zip(steps, found, strict=True))))
        if workspace is None:
            return
        with st.container(horizontal=True, gap="small"):
            if st.button(_("Edit steps"), key=f"steps-{answer.id}", icon=":material/edit:", type="tertiary"):
                _change_steps(answer, question, workspace)
            text = " ".join(asked.split())
            search = partial(workspace.otherwise, question.id, question.content, searched=text)
            _button(_("Search as one"), f"as-one-{answer.id}", "undo", search)


def plan_lines(steps: Sequence[tuple[str, int | None]]) -> str:
    r"""Return steps as a list in Markdown, each with the number of its passages, where that is known.

    >>> plan_lines([("Apple?", 1), ("Intel?", None)])
    'Searched in 2 steps:\n\n1. Apple? · 1 passage\n2. Intel?'
    """
    lines = (
        f"{number}. {label(step, 400)}"
        + ("" if found is None else " · " + ngettext("{count} passage", "{count} passages", found))
        for number, (step, found) in enumerate(steps, 1)
    )
    return "\n".join([_("Searched in {count} steps:", count=len(steps)) + "\n", *lines])


def _show_narrowing(answer: Message, question: Message | None, workspace: Workspace | None) -> None:
    """Show the documents that the question names, if only those were searched; a button asks without that."""
    if not answer.narrowed_to:
        return
    with st.container(key=f"narrowed-{answer.id}", horizontal=True, gap="small", vertical_alignment="center"):
        if workspace is None or question is None:
            st.caption(scope.narrowed_to(answer.narrowed_to), width="content")
            return
        search = partial(
            workspace.otherwise,
            question.id,
            question.content,
            searched=question.standalone_question,
            widened=True,
        )
        st.caption(_("Only documents of:"), width="content")
        name = label(scope.in_page_words(answer.narrowed_to), 300)
        scope.show_chip(name, f"widen-{answer.id}", partial(_act, search))


def searched_for(standalone: str | None, question: Message) -> str:
    """Return the searched query in Markdown; empty if it is the typed question."""
    if _was_reworded(standalone, question.content):
        return _("Searched for: **{query}**", query=label(standalone or "", 400))
    return _("Searched as typed.") if question.standalone_question is not None else ""


def _was_reworded(standalone: str | None, asked: str) -> bool:
    return bool(standalone) and (standalone or "").split() != asked.split()


def _show_finish_buttons(answer: Message, workspace: Workspace, *, model: bool) -> None:
    with st.container(horizontal=True, gap="small"):
        if model and answer.content and answer.passages:
            go_on = partial(workspace.go_on, answer.id)
            _button(_("Continue"), f"continue-{answer.id}", "play_arrow", go_on, "secondary")
        _button(_("Retry"), f"retry-{answer.id}", "refresh", partial(workspace.retry, answer.id), "secondary")
        if answer.state == "failed":
            _show_other_ways(answer, workspace)


def _button(
    name: str,
    key: str,
    icon: str,
    act: Callable[[], object],
    kind: Literal["secondary", "tertiary"] = "tertiary",
) -> None:
    action(name, icon, key, _act, act, kind=kind, wrap=True)


@dialog(N_("Edit question"), ":material/edit:")
def _edit(question: Message, workspace: Workspace) -> None:
    ask = partial(workspace.otherwise, question.id)
    _form(_("Your question"), question.content, _("Ask"), f"edited-{question.id}", ask)


@dialog(N_("Edit search"), ":material/search:")
def _correct(answer: Message, question: Message, workspace: Workspace) -> None:
    def search(text: str) -> None:
        workspace.otherwise(question.id, question.content, searched=text)

    _form(_("Search for"), answer.standalone_question or "", _("Search"), f"searched-{answer.id}", search)


@dialog(N_("Edit steps"), ":material/search:")
def _change_steps(answer: Message, question: Message, workspace: Workspace) -> None:
    asked, steps = read_plan(answer.standalone_question or "")

    def search(text: str) -> None:
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        if len(lines) > MOST_STEPS:
            raise QuestionRefused(
                N_(
                    "There are {count} steps; {most} is the limit. Remove some.",
                    count=len(lines),
                    most=MOST_STEPS,
                )
            )
        searched = plan_text(asked, lines) if len(lines) > 1 else lines[0]
        workspace.otherwise(question.id, question.content, searched=searched)

    _form(_("Steps, one a line"), "\n".join(steps), _("Search"), f"planned-{answer.id}", search)


def _form(name: str, text: str, submit: str, key: str, act: Callable[[str], object]) -> None:
    with st.form(f"form-{key}", border=False):
        changed = st.text_area(name, text, key=key, max_chars=pipeline.MAX_QUESTION)
        st.caption(_("Your earlier question and its answer stay available."))
        if st.form_submit_button(submit, type="primary") and changed.strip():
            flash_errors(_act)(lambda: act(changed))
            st.rerun()


def _act(act: Callable[[], object]) -> None:
    show_newest()
    act()


QUESTION_AVATAR, ANSWER_AVATAR = ":material/person:", ":material/format_quote:"
_NOTES = {
    "stopped": N_("Stopped."),
    "interrupted": N_("Interrupted: Footnote was shut down while writing this answer."),
    "failed": N_("This answer could not be finished."),
}
_SINCE = {"changed": N_("changed since"), "removed": N_("removed since")}
_UNSEARCHED = {
    "queued": N_("waiting to be read"),
    "reading": N_("still being read"),
    "searchable_by_words": N_("still indexing, searched by words only"),
    "refused": N_("could not be read"),
}


def show_question(message: Message, workspace: Workspace, *, settled: bool) -> None:
    """Show a question; in a settled conversation with versions and an edit button."""
    with st.container(key=f"question-{message.id}"), st.chat_message("user", avatar=QUESTION_AVATAR):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
            st.markdown(escape_text(message.content), width="stretch")
            if settled:
                edit = st.button(_("Edit"), key=f"edit-{message.id}", icon=":material/edit:", type="tertiary")
                if edit:
                    _edit(message, workspace)
        for one in message.attached:
            st.caption(f":material/attach_file: {label(one.name, 80)}")
        if settled:
            _show_versions(message, workspace)


def show_answer(
    message: Message,
    question: Message | None,
    workspace: Workspace,
    standings: Mapping[str, Standing],
    *,
    settled: bool,
    model: bool,
    checking: bool = False,
    searched: str = "",
    unread_told: set[str] | None = None,
    before: Message | None = None,
) -> None:
    """Show a finished answer with its support, sources and actions.

    `standings` are the states of its passages' documents, by id. `settled` is True if no answer of the
    conversation is pending, `model` if a language model is connected, `checking` while it
    reads for open statements. `searched` is the scope, as Markdown. `unread_told` are the names of unreadable
    files that earlier answers of the page list; those that this one lists are added. `before` is the answer
    before it.
    """
    elsewhere = found_nothing(message) and bool(message.searched_in)
    with st.chat_message("assistant", avatar=ANSWER_AVATAR):
        _show_search(message, question, workspace if settled else None, "" if elsewhere else searched)
        if checking:
            _show_checking(message, workspace)
        else:
            _show_backing(message)
        quoted, rows = is_search_result(message), rows_cited(message, workspace)
        if quoted:
            asked = read_plan(message.standalone_question or "")[0] or (question.content if question else "")
            show_quotes(message, asked, standings, rows)
        elif message.content:
            cited = links(message, checking=checking, rows=rows)
            st.markdown(
                safe_answer(
                    message.content, cited, [(at, translated(words)) for at, words in remarks(message)]
                ),
                anchors=False,
            )
        if elsewhere:
            _show_elsewhere(message, question, workspace if settled else None)
        _show_note(message)
        _show_repetition(message, question, before)
        if settled and message.state in _NOTES:
            _show_finish_buttons(message, workspace, model=model)
        show_degraded(Degraded(part.what, part.reason) for part in message.left_out)
        if message.state == "complete" and not message.passages and not workspace.library.documents.list():
            st.page_link(pages.LIBRARY, label=_("Add documents"), icon=":material/upload:")
        _show_copy(message)
        _show_sources(message, standings, quoted=quoted)
        if found_nothing(message):
            _show_unsearched(message, workspace, set() if unread_told is None else unread_told)
        _show_actions(message, workspace, settled=settled)
        answer_actions.show_reasons(message, workspace)


def _show_repetition(answer: Message, question: Message | None, before: Message | None) -> None:
    """Show that an answer says again what was to be made shorter, if it does."""
    if question is None or before is None or not answer.content:
        return
    same = answer.content.split() == before.content.split()
    if same and rework_asked(question.content) == "shorter":
        st.caption(":material/info: " + _("It could not be made shorter: the same words came again."))


def _show_elsewhere(answer: Message, question: Message | None, workspace: Workspace | None) -> None:
    """Show that an answer that found nothing was searched for in a part of the documents only.

    With a workspace a button has the chat search all documents, and asks the question again.
    """
    with st.container(
        key=f"elsewhere-{answer.id}", horizontal=True, gap="small", vertical_alignment="center"
    ):
        said = label(scope.in_page_words(answer.searched_in or ""), 300)
        st.caption(_("Searched only in: {scope}", scope=said), width="content")
        if workspace is None or question is None or question.attached:
            return
        search = partial(_search_everywhere, question, workspace, st.query_params.get(CHAT, ""))
        _button(_("Search all documents"), f"everywhere-{answer.id}", "manage_search", search, "secondary")


def _search_everywhere(question: Message, workspace: Workspace, chat: str) -> None:
    workspace.choices.choose(chat)
    workspace.otherwise(question.id, question.content, searched=question.standalone_question)


def _show_search(
    answer: Message, question: Message | None, workspace: Workspace | None, searched: str
) -> None:
    """Show what was searched for, where, and how much of it was read; with a workspace, buttons for it."""
    _show_query(answer, question, workspace)
    if searched:
        st.caption(searched)
    _show_narrowing(answer, question, workspace)
    if answer.coverage and (answer.reading_offer or len(cited_numbers(answer)) > 1):
        with st.container(
            key=f"coverage-{answer.id}", horizontal=True, gap="small", vertical_alignment="center"
        ):
            st.caption(f":material/menu_book: {label(translated(answer.coverage))}", width="content")
            if workspace is not None and answer.reading_offer and services().llm is not None:
                read = partial(_read_all, answer.id, workspace)
                _button(read_all_label(answer.reading_offer), f"read-all-{answer.id}", "auto_stories", read)


def _read_all(answer_id: str, workspace: Workspace) -> None:
    before = AnswerWith.of(workspace.traces.get(answer_id))
    workspace.answer_again(answer_id, replace(before, read_all=True))


def read_all_label(offer: Mapping[str, int]) -> str:
    """Return the label of the button that reads all of a scope, with its cost.

    >>> read_all_label({"passages": 214, "requests": 12, "tokens": 48_310})
    'Read all 214 passages (12 requests, about 48,310 tokens)'
    """
    return _(
        "Read all {passages} passages ({requests} requests, about {tokens} tokens)",
        **{name: f"{number:,}" for name, number in offer.items()},
    )


def show_quotes(
    message: Message, question: str, standings: Mapping[str, Standing], rows: Mapping[str, str]
) -> None:
    """Show the best quote of an answer without a model, and a card for each other one.

    `rows` are the cited rows of spreadsheets, by target.
    """
    given = {passage.number: passage for passage in message.passages}
    linked = links(message, rows=rows)
    for place, part in enumerate(quote_parts(message)):
        passage = None if part.marker is None else given.get(part.marker)
        cited = [(at - part.start, link) for at, link in linked if part.start <= at < part.end]
        row = rows.get(cited[-1][1].target, "") if cited else ""
        key = f"quote-{message.id}-{place}"
        with st.container(key=key, border=passage is not None and not part.best, gap="xxsmall"):
            if passage is not None and cited and not part.best:
                _show_place(passage, cited[-1][1], key, row, _remarks_on(passage, standings))
            st.markdown(_marked_quote(message, part, cited, question), anchors=False)
            if passage is not None and cited and part.best:
                _show_place(passage, cited[-1][1], key, row, _remarks_on(passage, standings))


def _show_place(passage: PassageRecord, link: Link, key: str, row: str, remarks: Sequence[str]) -> None:
    """Show the document and page of a quote, which open its source, its heading, row, and remarks on it."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.button(
            f"{link.shown or link.number} · {label(translated(place_name(passage)), 60)}",
            key=f"open-{key}",
            icon=":material/description:",
            on_click=evidence_panel.choose,
            args=(link.target,),
            type="tertiary",
            wrap=True,
        )
        heading = heading_of(passage).rpartition(" > ")[2]
        if place := " · ".join(filter(None, [label(heading, 80), row])):
            st.caption(place, width="content")
        _show_badges(remarks)


def _marked_quote(message: Message, part: QuotePart, cited: Sequence[tuple[int, Link]], question: str) -> str:
    """Return a part of an answer as safe Markdown, in a card with the question's words in bold."""
    text = message.content[part.start : part.end]
    if part.marker is None or part.best or "|" in text or "**" in text or not cited:
        return safe_answer(text, cited)
    at, link = cited[-1]
    marked = in_bold(text[:at], question)
    return safe_answer(marked + text[at:], [(len(marked), link)])


def show_degraded(parts: Iterable[Degraded]) -> None:
    """Show a sentence for each part of the search that failed."""
    for part in parts:
        st.caption(f":material/search_off: {label(translated(part.sentence), 600)}")


def _show_backing(message: Message) -> None:
    counted = backing(message)
    if counted is None:
        return
    with st.container(key=f"backing-{message.id}"):
        if counted.backed == 0 and open_count(message):
            said = _("None of this could be confirmed in your documents.")
            if cited_numbers(message):
                said = _("None of this could be confirmed in your documents. Check it against the sources.")
            st.markdown(f":material/help: **{said}**")
            return
        icon = "verified" if counted.backed == counted.total else "rule"
        st.caption(f":material/{icon}: {translated(counted.sentence)}", help=_legend())


def _legend() -> str:
    """Return what the signs beside the numbers of an answer mean."""
    lines = (
        _("{sign} Verified: the source says it.", sign=SIGNS["verified"]),
        _("{sign} Differs: the source says something else.", sign=SIGNS["differs"]),
        _("A number alone: not confirmed. Open it and compare."),
    )
    return "\n".join(f"- {line}" for line in lines)


def _show_checking(message: Message, workspace: Workspace) -> None:
    """Show that statements are being checked; a button stops that."""
    with st.container(
        key=f"checking-{message.id}", horizontal=True, gap="small", vertical_alignment="center"
    ):
        st.caption(f":material/manage_search: {checking_line(open_count(message))}", width="content")
        name, key = _("Stop checking"), f"stop-checking-{message.id}"
        action(name, "stop_circle", key, workspace.stop_checking, message.id)


def checking_line(statements: int) -> str:
    """Return the line above an answer while the model reads for its open statements.

    >>> checking_line(1)
    'Checking 1 statement…'
    """
    return ngettext("Checking {count} statement…", "Checking {count} statements…", statements)


def _show_unsearched(message: Message, workspace: Workspace, told: set[str]) -> None:
    """List the files that were not searched, or only by words; unreadable ones if they were not `told` of."""
    trace = workspace.traces.get(message.id)
    unsearched = () if trace is None else trace.unsearched
    new = [one for one in unsearched if one.state != "refused" or one.name not in told]
    told |= {one.name for one in unsearched if one.state == "refused"}
    if trace is None or not new:
        return
    more = trace.unsearched_count - len(trace.unsearched)
    lines = [f"- {label(one.name, 90)}: {translated(_UNSEARCHED.get(one.state, one.state))}" for one in new]
    rest = [_("- and {number} more", number=f"{more:,}")] if more > 0 else []
    partly = more > 0 or any(one.state == "searchable_by_words" for one in new)
    said = _("Not searched, or only by their words:") if partly else _("Not searched:")
    st.caption("\n".join([said, "", *lines, *rest]))


def _show_note(message: Message) -> None:
    if message.state not in _NOTES:
        return
    if message.state == "stopped" and not message.error:  # who stopped it is not warned of it
        st.caption(f":material/stop_circle: {translated(_NOTES[message.state])}")
        return
    reason = escape_text(translated(message.error)) if message.error else ""
    st.warning(f"{translated(_NOTES[message.state])} {reason}".strip(), icon=":material/info:")


def _show_sources(message: Message, standings: Mapping[str, Standing], *, quoted: bool) -> None:
    """Show buttons for the cited passages, and those only read; quotes have buttons of their own."""
    if message.model is None and found_nothing(message) and not message.citations:
        return
    numbers = cited_numbers(message)
    by_number = {passage.number: passage for passage in message.passages}
    others = [passage for passage in message.passages if passage.number not in numbers]
    with st.container(key=f"sources-{message.id}", gap="small"):
        if numbers and not quoted:
            with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                st.caption(_("Sources:"), width="content")
                for number in numbers:
                    _source(message, by_number[number], standings)
        if others:
            _show_others(message, others, standings, quoted=quoted)


def _show_others(
    message: Message, others: Sequence[PassageRecord], standings: Mapping[str, Standing], *, quoted: bool
) -> None:
    """Show the passages that were read and not cited; draws nothing while collapsed, as a chat has many.

    Beside quotes, which are counted, they have no number.
    """
    nothing, number = found_nothing(message) and not message.citations, len(others)
    if nothing:
        title = ngettext(
            "Closest to the question: {count} passage", "Closest to the question: {count} passages", number
        )
    elif number < len(message.passages):
        title = ngettext("Also read: {count} more passage", "Also read: {count} more passages", number)
    else:
        title = ngettext("Read: {count} passage", "Read: {count} passages", number)
    key = f"others-{message.id}"
    opened = st.expander(title, type="compact", expanded=nothing, on_change="rerun", key=key)
    if opened.open:
        with opened, st.container(horizontal=True, gap="small", vertical_alignment="center"):
            for passage in others:
                _source(message, passage, standings, numbered=not quoted)


def _show_copy(message: Message) -> None:
    """Show buttons that copy an answer with its sources or without, and its tables."""
    if not message.content or not message.passages or (message.model is None and found_nothing(message)):
        return
    tables = copied_tables(message)
    named = {
        _("Copy table") if len(tables) == 1 else _("Copy table {n}", n=n): table
        for n, table in enumerate(tables, 1)
    }
    copy, with_sources = _("Copy"), _("Copy with sources")
    words = {copy: plain_answer(message), with_sources: sourced_answer(message)}
    markdown = {_("Copy as Markdown"): footnoted_answer(message)}
    texts = words | markdown | {name: table.words for name, table in named.items()}
    html = {copy: plain_html(message), with_sources: sourced_html(message)}
    html |= {name: table.html for name, table in named.items()}
    copy_buttons(texts, f"copy-{message.id}", html)


def _show_actions(message: Message, workspace: Workspace, *, settled: bool) -> None:
    with st.container(key=f"rating-{message.id}", horizontal=True, gap="small", vertical_alignment="center"):
        if message.model:
            st.caption(_("Written by {model}", model=label(message.model)), width="content")
        if message.timings_ms or message.passages:
            trace_panel.button(message)
        if message.state != "complete" or not message.passages:
            return
        answer_actions.show_rating(message, workspace)
        answer_actions.button(message, workspace)
        if settled:
            again = partial(workspace.answer_again, message.id)
            _button(_("Answer again"), f"again-{message.id}", "refresh", again)
            _show_other_ways(message, workspace)


def _show_other_ways(message: Message, workspace: Workspace) -> None:
    """Show buttons that answer again with another search or model."""

    def again(made_with: AnswerWith) -> None:
        _act(partial(workspace.answer_again, message.id, made_with))

    answer_actions.another_search(message, workspace, again)
    answer_actions.another_model(message, workspace, again)


def _source(
    message: Message, passage: PassageRecord, standings: Mapping[str, Standing], *, numbered: bool = True
) -> None:
    remarks = _remarks_on(passage, standings)
    if not remarks:
        _source_button(message, passage, numbered=numbered)
        return
    with st.container(horizontal=True, width="content", gap="xxsmall", vertical_alignment="center"):
        _source_button(message, passage, numbered=numbered)
        _show_badges(remarks)


def _remarks_on(passage: PassageRecord, standings: Mapping[str, Standing]) -> list[str]:
    """Return where a passage comes from, if from an earlier question, and what became of its document."""
    standing = standings.get(passage.document_id, "here")
    carried = [_("from your previous question")] if pipeline.PREVIOUS_QUESTION in passage.found_by else []
    carried += [_("Read from a picture by a model")] if passage.is_from_picture else []
    return carried + ([translated(_SINCE[standing])] if standing in _SINCE else [])


def _show_badges(remarks: Sequence[str]) -> None:
    for remark in remarks:
        st.badge(remark, color="gray")


def _source_button(message: Message, passage: PassageRecord, *, numbered: bool) -> None:
    place = label(translated(place_name(passage)), 60)
    st.button(
        f"{passage.number} · {place}" if numbered else place,
        key=f"source-{message.id}-{passage.number}",
        help=label(heading_of(passage), 200) or None,
        on_click=evidence_panel.choose,
        args=(f"{message.id}-p{passage.number}",),
        type="secondary",
        wrap=True,
    )
