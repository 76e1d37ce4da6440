"""Deleted chats in the settings: each can be restored for some days, or deleted now."""

from functools import partial

import streamlit as st

from rag.i18n import _, translated, written_day
from rag.workspace import Workspace
from storage.conversations import KEPT
from storage.records import DiscardedRecord
from ui.chat.sidebar import UNTITLED
from ui.components.local_time import local_time
from ui.components.markdown import label
from ui.components.messages import action, confirm_deletion, flash
from ui.components.pagination import paginated

SIZE = 20  # chats on a page of the list


def show_deleted_chats(here: Workspace) -> None:
    """Show the chats that can be restored, deleted last first."""
    with st.expander(_("Deleted chats"), key="deleted-chats"):
        discarded = here.conversations.discarded()
        st.caption(
            _(
                "A deleted chat can be restored for {days} days. Then it is deleted permanently.",
                days=KEPT.days,
            )
            if discarded
            else _("No chat was deleted in the last {days} days.", days=KEPT.days)
        )
        with paginated(len(discarded), SIZE, "deleted-chats-page") as part:
            for chat in discarded[part]:
                _show(chat, here)


def _show(chat: DiscardedRecord, here: Workspace) -> None:
    title = label(chat.title or translated(UNTITLED), 80)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"deleted-{chat.id}"):
        until = written_day(local_time(chat.until).date())
        st.markdown(_("{title}, kept until {day}", title=title, day=until), width="stretch")
        action(_("Restore"), "undo", f"restore-{chat.id}", _restore, chat, here)
        if st.button(_("Delete"), icon=":material/delete:", type="tertiary", key=f"delete-{chat.id}"):
            confirm_deletion(
                _("Delete this chat permanently?"),
                _("“{title}” cannot be restored after that.", title=title),
                key=f"really-delete-{chat.id}",
                act=partial(_delete, chat, here),
            )


def _restore(chat: DiscardedRecord, here: Workspace) -> None:
    here.restore_conversation(chat.id)
    flash(_("The chat was restored."), ":material/undo:")


def _delete(chat: DiscardedRecord, here: Workspace) -> None:
    here.delete_conversation(chat.id)
    flash(_("The chat was deleted permanently."), ":material/delete:")
