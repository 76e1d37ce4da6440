"""Webhooks on the Settings page: make one, whose secret is shown once, enable and remove it."""

from collections.abc import Mapping

import streamlit as st

from rag.connectors.ssrf import display_url
from rag.i18n import N_, _, ngettext, translated
from rag.workspace import Workspace
from storage.events import WebhookEvent
from storage.webhooks import EVENTS, WebhookRecord
from ui.components.markdown import between_marks, label
from ui.components.messages import confirm_deletion, flash_errors, show_refusal

ABOUT = N_(
    "Footnote can notify other programs, such as n8n, of events. It sends ids and links, no text of yours. "
    "Each event is signed with a secret, as described by Standard Webhooks."
)
EVENT_NAMES: Mapping[WebhookEvent, str] = {
    "document.ready": N_("Document ready"),
    "document.failed": N_("Document failed"),
    "source.synced": N_("Source synced"),
    "source.failed": N_("Source failed"),
    "answer.stored": N_("Answer stored"),
}
_MADE = "made-webhook"


def show_webhooks(here: Workspace) -> None:
    """Show the visitor's webhooks, and the form for another."""
    st.header(_("Webhooks"), anchor="webhooks")
    st.markdown(translated(ABOUT))
    made = st.session_state.pop(_MADE, None)
    if made is not None:
        st.success(_("Copy this secret now. It is not shown again."), icon=":material/key:")
        st.code(made, language=None)
    for record in here.webhooks.list():
        _show_webhook(record, here)
    with st.popover(_("New webhook"), icon=":material/add:", key="new-webhook"):
        _show_form(here)


def facts(record: WebhookRecord) -> str:
    """Return what a webhook is told of and how that goes, on one line."""
    reason = translated(record.reason) if record.reason else ""
    if record.disabled is not None:
        return _("Disabled {when}: {reason}", when=f"{record.disabled:%Y-%m-%d %H:%M} UTC", reason=reason)
    told = [", ".join(translated(EVENT_NAMES[event]) for event in EVENTS if event in record.events)]
    if record.delivered is None:
        told.append(_("nothing sent yet"))
    else:
        told.append(_("last sent {when}", when=f"{record.delivered:%Y-%m-%d %H:%M} UTC"))
    if record.waiting:
        told.append(ngettext("{count} event waits", "{count} events wait", record.waiting))
    if reason:
        told.append(_("last failure: {reason}", reason=reason))
    return " · ".join(told)


def _show_webhook(record: WebhookRecord, here: Workspace) -> None:
    name = label(display_url(record.url), 100)
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"webhook-{record.id}"):
        st.markdown(f"**{name}**  \n{label(facts(record), 400)}")
        if record.disabled is not None:
            enable = flash_errors(lambda: here.webhooks.enable(record.id))
            st.button(_("Enable"), icon=":material/refresh:", key=f"enable-{record.id}", on_click=enable)
        if st.button(_("Remove"), icon=":material/delete:", type="tertiary", key=f"remove-{record.id}"):
            confirm_deletion(
                _("Remove this webhook?"),
                _("**{name}** is no longer told of anything.", name=between_marks(name)),
                key=f"really-remove-{record.id}",
                act=lambda: here.webhooks.remove(record.id),
            )


def _show_form(here: Workspace) -> None:
    with st.form("webhook-form", border=False):
        url = st.text_input(_("Address"), placeholder="https://example.org/footnote", key="webhook-url")
        events = st.multiselect(
            _("Events"),
            EVENTS,
            default=list(EVENTS),
            format_func=lambda event: translated(EVENT_NAMES[event]),
            placeholder=_("None selected"),
            key="webhook-events",
        )
        create = st.form_submit_button(_("Create webhook"), type="primary", key="create-webhook")
    if create:
        with show_refusal():
            secret = here.add_webhook(url, events)[1]
            st.session_state[_MADE] = secret
            st.rerun()
