"""Keys for programs, on the Settings page: make one, which is shown once, and revoke it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import streamlit as st

from rag.workspace import Workspace
from storage.keys import LONGEST_NAME, SCOPES
from storage.records import KeyRecord, KeyScope
from ui.components.markdown import label
from ui.components.messages import confirm_deletion, show_refusal

ABOUT = (
    "Other programs ask your documents with a key: Open WebUI, LangChain, n8n, your own scripts. "
    "A key acts in your name, within your limits."
)
SCOPE_NAMES: Mapping[KeyScope, str] = {"read": "Search and read", "ask": "Ask and check", "write": "Change"}
LIVES: Mapping[str, int | None] = {"30 days": 30, "1 year": 365, "No expiry": None}
_MADE = "made-key"


def show_keys(here: Workspace) -> None:
    """Show the visitor's keys, and the form for another."""
    st.header("Keys for programs", anchor="keys")
    st.markdown(ABOUT)
    made = st.session_state.pop(_MADE, None)
    if made is not None:
        st.success("Copy this key now. It is not shown again.", icon=":material/key:")
        st.code(made, language=None)
    for record in here.keys.list():
        _show_key(record, here)
    with st.popover("New key", icon=":material/add:", key="new-key"):
        _show_form(here)


def facts(record: KeyRecord, now: datetime) -> str:
    """Return what a key may do and when it was used, on one line."""
    may = ", ".join(SCOPE_NAMES[scope].lower() for scope in SCOPES if scope in record.scopes)
    number = len(record.collections or ())
    limited = "" if record.collections is None else f" in {number} collection{'s' * (number != 1)}"
    used = "never used" if record.used is None else f"used {record.used:%Y-%m-%d %H:%M} UTC"
    ends = ""
    if record.expires is not None:
        ends = f" · {'expired' if record.expires <= now else 'expires'} {record.expires:%Y-%m-%d}"
    return f"May {may}{limited} · {used}{ends}"


def _show_key(record: KeyRecord, here: Workspace) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"key-{record.id}"):
        st.markdown(f"**{label(record.name, 80)}**  \n{facts(record, datetime.now(UTC))}")
        if st.button("Revoke", icon=":material/key_off:", type="tertiary", key=f"revoke-{record.id}"):
            confirm_deletion(
                "Revoke this key?",
                f"Programs that use **{label(record.name, 80)}** can no longer ask.",
                key=f"really-revoke-{record.id}",
                act=lambda: here.keys.revoke(record.id),
            )


def _show_form(here: Workspace) -> None:
    collections = {record.id: record.name for record in here.library.collections.list()}
    with st.form("key-form", border=False):
        name = st.text_input("Name", max_chars=LONGEST_NAME, placeholder="Open WebUI", key="key-name")
        scopes = st.multiselect(
            "Allows", SCOPES, default=["read", "ask"], format_func=SCOPE_NAMES.__getitem__, key="key-scopes"
        )
        inside = st.multiselect(
            "Collections",
            list(collections),
            format_func=lambda id_: label(collections.get(id_, "")),
            placeholder="All documents",
            key="key-collections",
        )
        life = st.selectbox("Expires after", list(LIVES), key="key-life")
        create = st.form_submit_button("Create key", type="primary", key="create-key")
    if create:
        days = LIVES[life]
        expires = None if days is None else datetime.now(UTC) + timedelta(days=days)
        with show_refusal():
            _, secret = here.keys.create(name, scopes, collections=inside or None, expires=expires)
            st.session_state[_MADE] = secret
            st.rerun()
