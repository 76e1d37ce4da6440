"""Rating of an answer: helpful or not, and why not."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from rag.i18n import N_, _, translated
from rag.workspace import Workspace
from storage.answers import LONGEST_NOTE
from storage.records import Message, Rating, RatingReason
from ui.components.messages import action, flash_errors

_RATINGS: Mapping[Rating, tuple[str, str, str]] = {
    "up": ("thumb_up", N_("Helpful"), N_("Marked helpful")),
    "down": ("thumb_down", N_("Not helpful"), N_("Marked not helpful")),
}
REASONS: Mapping[RatingReason, str] = {
    "wrong": N_("Wrong"),
    "not_in_documents": N_("Not in my documents"),
    "incomplete": N_("Incomplete"),
    "hard_to_read": N_("Hard to read"),
    "other": N_("Other"),
}


def show_rating(message: Message, workspace: Workspace) -> None:
    """Show the buttons that rate an answer."""
    for rating, (icon, unmarked, marked) in _RATINGS.items():
        chosen = message.rating == rating
        name, key = translated(marked if chosen else unmarked), f"rate-{rating}-{message.id}"
        rate = partial(workspace.conversations.rate, message.id, None if chosen else rating)
        action(name, icon, key, rate, kind="secondary" if chosen else "tertiary", help=name)


def show_reasons(message: Message, workspace: Workspace) -> None:
    """Show the reasons why an answer is not helpful, where it is rated so."""
    if message.rating != "down" or message.state != "complete":
        return
    reason, note = f"reason-{message.id}", f"reason-note-{message.id}"
    explain = flash_errors(partial(_explain, message.id, reason, note, workspace))
    with st.container(key=f"why-{message.id}", gap="small"):
        chosen = st.pills(
            _("What was not helpful?"),
            list(REASONS),
            default=message.rating_reason,
            format_func=lambda reason: translated(REASONS[reason]),
            key=reason,
            on_change=explain,
        )
        if chosen == "other":
            st.text_input(
                _("In your words"),
                message.rating_note or "",
                key=note,
                max_chars=LONGEST_NOTE,
                on_change=explain,
            )


def _explain(answer_id: str, reason: str, note: str, workspace: Workspace) -> None:
    chosen = st.session_state[reason]
    said = str(st.session_state.get(note, "")) if chosen == "other" else ""
    workspace.feedback.explain(answer_id, chosen, said)
