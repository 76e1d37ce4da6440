"""Keys for programs, on the Settings page: make one, which is shown once, and revoke it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import streamlit as st

from rag.i18n import N_, _, ngettext, translated
from rag.workspace import Workspace
from storage.keys import LONGEST_NAME, SCOPES
from storage.records import KeyRecord, KeyScope
from ui.components.markdown import label
from ui.components.messages import confirm_deletion, show_refusal

ABOUT = N_(
    "Other programs ask your documents with a key: Open WebUI, LangChain, n8n, your own scripts. "
    "A key acts in your name, within your limits."
)
SCOPE_NAMES: Mapping[KeyScope, str] = {
    "read": N_("Search and read"),
    "ask": N_("Ask and check"),
    "write": N_("Change"),
}
LIVES: Mapping[str, int | None] = {"30 days": 30, "1 year": 365, "No expiry": None}
_MADE = "made-key"


def show_keys(here: Workspace) -> None:
    """Show the visitor's keys, and the form for another."""
    st.header(_("Keys for programs"), anchor="keys")
    st.markdown(translated(ABOUT))
    made = st.session_state.pop(_MADE, None)
    if made is not None:
        st.success(_("Copy this key now. It is not shown again."), icon=":material/key:")
        st.code(made, language=None)
    for record in here.keys.list():
        _show_key(record, here)
    with st.popover(_("New key"), icon=":material/add:", key="new-key"):
        _show_form(here)


def facts(record: KeyRecord, now: datetime) -> str:
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
        st.markdown(f"**{label(record.name, 80)}**  \n{facts(record, datetime.now(UTC))}")
        if st.button(_("Revoke"), icon=":material/key_off:", type="tertiary", key=f"revoke-{record.id}"):
            confirm_deletion(
                _("Revoke this key?"),
                _("Programs that use **{name}** can no longer ask.", name=label(record.name, 80)),
                key=f"really-revoke-{record.id}",
                act=lambda: here.keys.revoke(record.id),
            )


def _show_form(here: Workspace) -> None:
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
            st.session_state[_MADE] = secret
            st.rerun()
