"""Webhooks on the Settings page: make one, whose secret is shown once, enable and remove it."""

from collections.abc import Mapping

import streamlit as st

from rag.connectors.ssrf import display_url
from rag.workspace import Workspace
from storage.webhooks import EVENTS, WebhookEvent, WebhookRecord
from ui.components.markdown import label
from ui.components.messages import confirm_deletion, flash_errors, show_refusal

ABOUT = (
    "Footnote tells other programs what happened, such as n8n: it sends ids and links, no text of yours. "
    "Each event is signed with a secret, as described by Standard Webhooks."
)
EVENT_NAMES: Mapping[WebhookEvent, str] = {
    "document.ready": "Document ready",
    "document.failed": "Document failed",
    "source.synced": "Source synced",
    "source.failed": "Source failed",
    "answer.stored": "Answer stored",
}
_MADE = "made-webhook"


def show_webhooks(here: Workspace) -> None:
    """Show the visitor's webhooks, and the form for another."""
    st.header("Webhooks", anchor="webhooks")
    st.markdown(ABOUT)
    made = st.session_state.pop(_MADE, None)
    if made is not None:
        st.success("Copy this secret now. It is not shown again.", icon=":material/key:")
        st.code(made, language=None)
    for record in here.webhooks.list():
        _show_webhook(record, here)
    with st.popover("New webhook", icon=":material/add:", key="new-webhook"):
        _show_form(here)


def facts(record: WebhookRecord) -> str:
    """Return what a webhook is told of and how that goes, on one line."""
    events = ", ".join(EVENT_NAMES[event].lower() for event in EVENTS if event in record.events)
    if record.disabled is not None:
        return f"Disabled {record.disabled:%Y-%m-%d %H:%M} UTC: {record.reason}"
    last = "nothing sent yet"
    if record.delivered is not None:
        last = f"last sent {record.delivered:%Y-%m-%d %H:%M} UTC"
    waiting = f" · {record.waiting:,} waiting" if record.waiting else ""
    failed = f" · last failure: {record.reason}" if record.reason else ""
    return f"{events.capitalize()} · {last}{waiting}{failed}"


def _show_webhook(record: WebhookRecord, here: Workspace) -> None:
    name = label(display_url(record.url), 100)
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"webhook-{record.id}"):
        st.markdown(f"**{name}**  \n{label(facts(record), 400)}")
        if record.disabled is not None:
            enable = flash_errors(lambda: here.webhooks.enable(record.id))
            st.button("Enable", icon=":material/refresh:", key=f"enable-{record.id}", on_click=enable)
        if st.button("Remove", icon=":material/delete:", type="tertiary", key=f"remove-{record.id}"):
            confirm_deletion(
                "Remove this webhook?",
                f"**{name}** is no longer told of anything.",
                key=f"really-remove-{record.id}",
                act=lambda: here.webhooks.remove(record.id),
            )


def _show_form(here: Workspace) -> None:
    with st.form("webhook-form", border=False):
        url = st.text_input("Address", placeholder="https://example.org/footnote", key="webhook-url")
        events = st.multiselect(
            "Events", EVENTS, default=list(EVENTS), format_func=EVENT_NAMES.__getitem__, key="webhook-events"
        )
        create = st.form_submit_button("Create webhook", type="primary", key="create-webhook")
    if create:
        with show_refusal():
            _, st.session_state[_MADE] = here.add_webhook(url, events)
            st.rerun()
