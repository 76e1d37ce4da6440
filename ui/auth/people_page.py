"""People page, for administrators: accounts with their usage, limits and removal."""

from dataclasses import asdict

import streamlit as st

from rag.quota import NAMES, Limits
from storage.records import PersonRecord
from ui.components.markdown import label
from ui.components.messages import confirm_deletion, flash
from ui.server.services import PageServices, services

SHOWN = 50
TITLES = {
    "documents": "Documents",
    "megabytes": "Megabytes of documents",
    "answers_at_once": "Simultaneous answers",
    "tokens_a_day": "Tokens per day",
}


def show() -> None:
    """Show the People page to administrators."""
    server = services()
    st.title("People")
    visitor = server.visitor()
    if visitor is None or not server.knows_people():
        st.info("Only administrators can see this page.", icon=":material/lock:")
        return
    st.markdown(
        "Everyone who has signed in, most recent first, with storage and usage. Contents are never shown. "
        "People you remove can sign in again, to an empty account, unless your sign-in service stops them."
    )
    found = _search(server.people.list(), st.text_input("Search people", icon=":material/search:"))
    for record in found[:SHOWN]:
        with st.container(border=True, key=f"person-{_key(record)}"):
            _show_person(record, server, is_me=record.id == visitor.id)
    if len(found) > SHOWN:
        st.caption(f"{len(found) - SHOWN} more people: search to find them.")


def facts(record: PersonRecord) -> str:
    """Return a person's storage and usage on one line."""
    seen = "never seen" if record.seen is None else f"seen {record.seen:%Y-%m-%d %H:%M} UTC"
    return (
        f"{record.holds.documents:,} documents, {record.holds.bytes / 1e6:,.1f} MB · "
        f"{record.conversations:,} chats · {record.used.answers:,} answers, {record.used.tokens:,} tokens; "
        f"today {record.today.answers:,} and {record.today.tokens:,} · {seen}"
    )


def _search(records: list[PersonRecord], search: str) -> list[PersonRecord]:
    words = search.casefold().split()
    return [it for it in records if all(word in f"{it.name} {it.email} {it.id}".casefold() for word in words)]


def _key(record: PersonRecord) -> str:
    return record.id.encode().hex()


def _show_person(record: PersonRecord, server: PageServices, *, is_me: bool) -> None:
    name = label(record.name or record.id, 80)
    st.markdown(f"**{name}**" + (" (you)" if is_me else ""))
    st.caption(label(f"{record.email} {record.id}".strip(), 300))
    st.caption(facts(record))
    if record.removing is not None:
        job = server.removals.running(record.id)
        done = "Finishes at the next start." if job is None else "Continues in the background."
        st.warning(f"Being removed with all their data. {done}", icon=":material/person_remove:")
        return
    with st.container(horizontal=True):
        with st.popover("Limits", icon=":material/speed:", key=f"limits-{_key(record)}"):
            _show_limits(record, server)
        remove = st.button(
            "Remove", icon=":material/person_remove:", key=f"remove-{_key(record)}", disabled=is_me
        )
    if remove:
        confirm_deletion(
            "Remove this person?",
            f"**{name}** and all their documents, chats and sources will be deleted.",
            key=f"really-remove-{_key(record)}",
            act=lambda: _remove(record, server),
        )


def _show_limits(record: PersonRecord, server: PageServices) -> None:
    everyones = asdict(Limits.of(server.settings))
    with st.form(f"limits-form-{_key(record)}", border=False):
        given = {
            name: st.number_input(
                TITLES[name],
                min_value=0,
                value=record.limits.get(name),
                step=1,
                placeholder="No limit" if everyones[name] is None else f"{everyones[name]:,} (default)",
                key=f"limit-{name}-{_key(record)}",
            )
            for name in NAMES
        }
        saved = st.form_submit_button("Save", key=f"save-limits-{_key(record)}")
    if saved:
        server.set_limits(record.id, {name: int(it) for name, it in given.items() if it is not None})
        flash("Saved.", ":material/check:")
        st.rerun()


def _remove(record: PersonRecord, server: PageServices) -> None:
    server.remove(record.id)
    flash("Removal started.", ":material/person_remove:")
