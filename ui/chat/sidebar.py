"""Chat list in the sidebar, and the header of the open chat with rename, export and delete."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime
from functools import partial
from itertools import groupby
from typing import NoReturn

import streamlit as st

from rag.chat.export import MEDIA_TYPES, FormName, file_name
from rag.i18n import N_, _, in_language, language, short_moment, translated, written_month
from rag.undo import WaitingDeletion
from rag.workspace import Workspace
from storage.errors import NotFound
from storage.records import ConversationRecord
from ui import pages
from ui.chat import scope
from ui.components.copy_buttons import copy_buttons
from ui.components.local_time import local_time
from ui.components.markdown import label
from ui.components.messages import flash_errors, rename_action, show_errors

PARAMETER, FIND = "chat", "find"
SEARCH = "search-chats"
SHOWN = 40
LOOK = 2.0  # seconds between two looks at whether a chat is still being answered
SEEN = 24  # letters of a title that the list has room for
NEW_CHAT = "Ctrl+Shift+O"
UNTITLED = N_("New chat")
_SEARCHED, _DELETED = "searched-chats", "deleted-chat"
_MOST_DRAWN = "chats-drawn"  # places of the list that a run of the page has filled, at most
FORMS: dict[FormName, str] = {"md": "Markdown", "html": N_("Web page"), "json": N_("JSON (for programs)")}


def show_list(workspace: Workspace, current: ConversationRecord | None) -> None:
    """Show the conversations, newest first, filtered by the search box."""
    with st.sidebar:
        if st.button(
            _("New chat"), icon=":material/edit_square:", width="stretch", key="new-chat", shortcut=NEW_CHAT
        ):
            _open(None)
        search = st.text_input(
            _("Search chats"),
            key=SEARCH,
            placeholder=_("Search chats"),
            icon=":material/search:",
            label_visibility="collapsed",
            live="300ms",
        )
        found = workspace.conversations.list(search)
        if search and not found:
            st.caption(_("No matching chats."))
        shown = found[:SHOWN]
        moments = _moments(shown)
        answered = workspace.conversations.being_answered()
        drawn = 0
        with st.container(key="chats", gap=None):
            for period, chats in groupby(shown, key=partial(_period, today=local_time().date())):
                st.caption(period)
                drawn += 1
                for conversation in chats:
                    _row(conversation, current, moments.get(conversation.id, ""))
                    drawn += 1
                    if conversation.id in answered:
                        _mark_answering(conversation.id, workspace)
                        drawn += 1
            _take_away_after(drawn)
        if len(found) > SHOWN:
            st.caption(_("{number} older chats: search to find them.", number=len(found) - SHOWN))


def show_header(workspace: Workspace, conversation: ConversationRecord) -> None:
    """Show the open conversation's title, and rename, export and delete."""
    with st.container(
        key="chat-header", horizontal=True, vertical_alignment="center", gap="small", wrap=False
    ):
        st.markdown(
            f"# {label(conversation.title or translated(UNTITLED), 70)}", anchors=False, width="stretch"
        )
        _show_actions(workspace, conversation)


def _show_actions(workspace: Workspace, conversation: ConversationRecord) -> None:
    with st.container(horizontal=True, width="content", gap="small", wrap=False):
        key, rename = f"title-{conversation.id}", partial(_rename, workspace, conversation.id)
        rename_action(_("Title"), conversation.title, 200, key, rename, at="rename-chat")
        with st.popover(_("Export"), icon=":material/ios_share:", type="tertiary", key="export-chat"):
            for form, name in FORMS.items():
                _show_download(workspace, conversation, form, name)
            st.caption(_("A link that opens this chat. Only you can open it; for others, send a file."))
            address = f"{(st.context.url or '').partition('?')[0]}?{PARAMETER}={conversation.id}"
            copy_buttons({_("Copy link"): address}, f"copy-chat-link-{conversation.id}")
        st.button(
            _("Delete"),
            icon=":material/delete:",
            type="tertiary",
            key="delete-chat",
            on_click=_delete,
            args=(workspace, conversation),
        )


def _show_download(workspace: Workspace, conversation: ConversationRecord, form: FormName, name: str) -> None:
    st.download_button(
        translated(name),
        data=partial(_exported, workspace, conversation.id, form, language()),
        file_name=file_name(conversation.title or translated(UNTITLED), form),
        mime=MEDIA_TYPES[form],
        icon=":material/download:",
        on_click="ignore",
        key=f"export-{form}-{conversation.id}",
        width="stretch",
    )


def _exported(workspace: Workspace, chat: str, form: FormName, code: str) -> bytes:
    """Export a chat in a language: the server asks for it outside of the page."""
    with in_language(code):
        return workspace.exported(chat, form).encode()


def find(chat: str | None, workspace: Workspace) -> ConversationRecord | None:
    """Return the conversation of an id; None if it does not exist."""
    with suppress(NotFound):
        return workspace.conversations.open(chat) if chat else None
    return None


def go_to(conversation_id: str | None) -> None:
    """Open a conversation, or an empty page for a new one."""
    pages.keep_chat(conversation_id)
    st.query_params.clear()
    if conversation_id is not None:
        st.query_params[PARAMETER] = conversation_id


def _period(conversation: ConversationRecord, today: date) -> str:
    return period(local_time(conversation.updated).date(), today)


def period(day: date, today: date) -> str:
    """Return the heading that a day stands under in a list, newest first.

    >>> today = date(2026, 11, 24)
    >>> [period(date(2026, *day), today) for day in [(11, 24), (11, 23), (11, 18), (11, 1), (3, 5)]]
    ['Today', 'Yesterday', 'Last 7 days', 'November 2026', 'March 2026']
    """
    ago = (today - day).days
    if ago < 7:
        return _("Today") if ago < 1 else _("Yesterday") if ago == 1 else _("Last 7 days")
    return written_month(day)


def told_apart(chats: Sequence[tuple[str, str, datetime]], today: date) -> dict[str, str]:
    """Return a time or day, by id, for each of the chats (id, title, moment) that would look like another.

    >>> at = datetime(2026, 11, 24, 9, 5)
    >>> chats = [("a", "What is it?", at), ("b", "Why?", at), ("c", "What is it?", datetime(2026, 11, 2))]
    >>> told_apart(chats, date(2026, 11, 24))
    {'a': '09:05', 'c': 'Nov 2'}
    """
    alike: dict[str, list[tuple[str, datetime]]] = {}
    for id_, title, moment in chats:
        alike.setdefault(title[:SEEN].casefold(), []).append((id_, moment))
    told: dict[str, str] = {}
    for same in alike.values():
        short = {id_: short_moment(moment, today) for id_, moment in same}
        exact = {id_: short_moment(moment, today, exact=True) for id_, moment in same}
        if len(same) > 1:
            told |= short if len(set(short.values())) == len(same) else exact
    return told


def _moments(found: Sequence[ConversationRecord]) -> dict[str, str]:
    now = local_time()
    return told_apart([(one.id, _title(one), local_time(one.updated)) for one in found], now.date())


def _title(conversation: ConversationRecord) -> str:
    return conversation.title or translated(UNTITLED)


def _row(conversation: ConversationRecord, current: ConversationRecord | None, moment: str) -> None:
    is_open = current is not None and conversation.id == current.id
    title = label(_title(conversation), 44)
    if st.button(
        f"{moment} · {title}" if moment else title,
        key=f"open-{conversation.id}",
        type="secondary" if is_open else "tertiary",
        help=_("Current chat") if is_open else label(_title(conversation), 200) if moment else None,
        width="stretch",
        on_click=_clear_search,
        wrap=False,
    ):
        _open(conversation.id, st.session_state.pop(_SEARCHED, ""))


@st.fragment(run_every=LOOK)
@show_errors()
def _mark_answering(conversation_id: str, workspace: Workspace) -> None:
    """Mark the row above as of a chat that is being answered, until it no longer is."""
    if conversation_id in workspace.conversations.being_answered():
        said = _("Being answered")
        with st.container(key=f"answering-{conversation_id}"):
            st.markdown(f":material/pending: *{said}*")


def _take_away_after(drawn: int) -> None:
    """Empty the places of the list that an earlier run of the page drew, and this one does not.

    Streamlit takes them away when a run ends, and one that follows an answer ends with it.
    """
    most = max(drawn, st.session_state.get(_MOST_DRAWN, 0))
    st.session_state[_MOST_DRAWN] = most
    for _place in range(most - drawn):
        st.empty()


def _open(conversation_id: str | None, search: str = "") -> NoReturn:
    """Open a chat, or an empty page for a new one, which searches all documents."""
    scope.forget_next()
    pages.keep_chat(conversation_id)
    st.session_state[pages.MISSING_CHAT] = None
    chosen = {PARAMETER: conversation_id} if conversation_id else {}
    found = {FIND: search} if search.strip() else {}
    st.switch_page(pages.CHAT, query_params={**chosen, **found} or None)


def _clear_search() -> None:
    st.session_state[_SEARCHED] = st.session_state.get(SEARCH, "")
    st.session_state[SEARCH] = ""


def _rename(workspace: Workspace, conversation_id: str) -> None:
    title = " ".join(str(st.session_state[f"title-{conversation_id}"]).split())
    with suppress(NotFound):  # deleted in another tab: the page says so
        if title:
            workspace.conversations.rename(conversation_id, title)


@flash_errors
def _delete(workspace: Workspace, conversation: ConversationRecord) -> None:
    with suppress(NotFound):  # deleted in another tab
        name = label(conversation.title or translated(UNTITLED), 80)
        workspace.remove_conversation(conversation.id, N_("Chat “{name}”", name=name))
    go_to(None)
    scope.forget_next()
    st.session_state[_DELETED] = conversation.id


def return_to(undone: WaitingDeletion) -> None:
    """Open the chat again that was open when it was deleted."""
    chat = st.session_state.get(_DELETED)
    if chat not in undone.ids:
        return
    if not pages.return_to_chat(chat):
        go_to(chat)
