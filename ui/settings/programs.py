"""Keys and webhooks for programs, on the Settings page.

A key is made, shown once, and revoked; a webhook is made, its secret shown once, enabled and removed.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import streamlit as st

from rag.connectors.ssrf import display_url
from rag.i18n import N_, _, ngettext, translated
from rag.workspace import Workspace
from storage.events import WebhookEvent
from storage.keys import LONGEST_NAME, SCOPES
from storage.records import KeyRecord, KeyScope
from storage.webhooks import EVENTS, WebhookRecord
from ui.components.markdown import between_marks, label
from ui.components.messages import confirm_deletion, flash_errors, show_refusal

ABOUT_KEYS = N_(
    "Other programs ask your documents with a key: Open WebUI, LangChain, n8n, your own scripts. "
    "A key acts in your name, within your limits."
)
SCOPE_NAMES: Mapping[KeyScope, str] = {
    "read": N_("Search and read"),
    "ask": N_("Ask and check"),
    "write": N_("Change"),
}
LIVES: Mapping[str, int | None] = {"30 days": 30, "1 year": 365, "No expiry": None}
_MADE_KEY = "made-key"


def show_keys(here: Workspace) -> None:
    """Show the visitor's keys, and the form for another."""
    st.header(_("Keys for programs"), anchor="keys")
    st.markdown(translated(ABOUT_KEYS))
    made = st.session_state.pop(_MADE_KEY, None)
    if made is not None:
        st.success(_("Copy this key now. It is not shown again."), icon=":material/key:")
        st.code(made, language=None)
    for record in here.keys.list():
        _show_key(record, here)
    with st.popover(_("New key"), icon=":material/add:", key="new-key"):
        _show_key_form(here)


def key_facts(record: KeyRecord, now: datetime) -> str:
    """Return what a key may do and when it was used, on one line."""
    may = ", ".join(translated(SCOPE_NAMES[scope]).lower() for scope in SCOPES if scope in record.scopes)
    inside = record.collections
    allowed = (
        _("May {actions}", actions=may)
        if inside is None
        else ngettext(
            "May {actions} in {count} collection",
            "May {actions} in {count} collections",
            len(inside),
            actions=may,
        )
    )
    used = (
        _("never used") if record.used is None else _("used {when}", when=f"{record.used:%Y-%m-%d %H:%M} UTC")
    )
    facts = [allowed, used]
    if record.expires is not None:
        day = f"{record.expires:%Y-%m-%d}"
        facts.append(_("expired {day}", day=day) if record.expires <= now else _("expires {day}", day=day))
    return " · ".join(facts)


def _show_key(record: KeyRecord, here: Workspace) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"key-{record.id}"):
        st.markdown(f"**{label(record.name, 80)}**  \n{key_facts(record, datetime.now(UTC))}")
        if st.button(_("Revoke"), icon=":material/key_off:", type="tertiary", key=f"revoke-{record.id}"):
            confirm_deletion(
                _("Revoke this key?"),
                _("Programs that use **{name}** can no longer ask.", name=label(record.name, 80)),
                key=f"really-revoke-{record.id}",
                act=lambda: here.keys.revoke(record.id),
            )


def _show_key_form(here: Workspace) -> None:
    collections = {record.id: record.name for record in here.library.collections.list()}
    with st.form("key-form", border=False):
        name = st.text_input(_("Name"), max_chars=LONGEST_NAME, placeholder="Open WebUI", key="key-name")
        scopes = st.multiselect(
            _("Allows"),
            SCOPES,
            default=["read", "ask"],
            format_func=lambda scope: translated(SCOPE_NAMES[scope]),
            placeholder=_("None selected"),
            key="key-scopes",
        )
        inside = st.multiselect(
            _("Collections"),
            list(collections),
            format_func=lambda id_: label(collections.get(id_, "")),
            placeholder=_("All documents"),
            key="key-collections",
        )
        life = st.selectbox(_("Expires after"), list(LIVES), format_func=translated, key="key-life")
        create = st.form_submit_button(_("Create key"), type="primary", key="create-key")
    if create:
        days = LIVES[life]
        expires = None if days is None else datetime.now(UTC) + timedelta(days=days)
        with show_refusal():
            _record, secret = here.keys.create(name, scopes, collections=inside or None, expires=expires)
            st.session_state[_MADE_KEY] = secret
            st.rerun()


ABOUT_WEBHOOKS = N_(
    "Footnote can notify other programs, such as n8n, of events. It sends ids and links, never your text. "
    "Each event is signed with a secret, as described by Standard Webhooks."
)
EVENT_NAMES: Mapping[WebhookEvent, str] = {
    "document.ready": N_("Document ready"),
    "document.failed": N_("Document failed"),
    "source.synced": N_("Source synced"),
    "source.failed": N_("Source failed"),
    "answer.stored": N_("Answer stored"),
}
_MADE_WEBHOOK = "made-webhook"


def show_webhooks(here: Workspace) -> None:
    """Show the visitor's webhooks, and the form for another."""
    st.header(_("Webhooks"), anchor="webhooks")
    st.markdown(translated(ABOUT_WEBHOOKS))
    made = st.session_state.pop(_MADE_WEBHOOK, None)
    if made is not None:
        st.success(_("Copy this secret now. It is not shown again."), icon=":material/key:")
        st.code(made, language=None)
    for record in here.webhooks.list():
        _show_webhook(record, here)
    with st.popover(_("New webhook"), icon=":material/add:", key="new-webhook"):
        _show_webhook_form(here)


def webhook_facts(record: WebhookRecord) -> str:
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
        st.markdown(f"**{name}**  \n{label(webhook_facts(record), 400)}")
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


def _show_webhook_form(here: Workspace) -> None:
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
            st.session_state[_MADE_WEBHOOK] = secret
            st.rerun()
