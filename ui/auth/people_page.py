"""People page, for administrators: accounts with their usage, limits and removal."""

from dataclasses import asdict

import streamlit as st

from rag.i18n import N_, _, translated
from rag.quota import NAMES, Limits
from storage.records import PersonRecord
from ui.components.markdown import label
from ui.components.messages import confirm_deletion, flash
from ui.server.services import PageServices, services

SHOWN = 50
TITLES = {
    "documents": N_("Documents"),
    "megabytes": N_("Megabytes of documents"),
    "passages": N_("Passages"),
    "embedding_minutes_a_day": N_("Minutes of embedding per day"),
    "answers_at_once": N_("Simultaneous answers"),
    "tokens_a_day": N_("Tokens per day"),
}


def show() -> None:
    """Show the People page to administrators."""
    server = services()
    st.title(_("People"))
    visitor = server.visitor()
    if visitor is None or not server.knows_people():
        st.info(_("Only administrators can see this page."), icon=":material/lock:")
        return
    st.markdown(
        _(
            "Everyone who has signed in, most recent first, with storage and usage. Contents are "
            "never shown. People you remove can sign in again, to an empty account, unless your "
            "sign-in service stops them."
        )
    )
    found = _search(server.people.list(), st.text_input(_("Search people"), icon=":material/search:"))
    for record in found[:SHOWN]:
        with st.container(border=True, key=f"person-{_key(record)}"):
            _show_person(record, server, is_me=record.id == visitor.id)
    if len(found) > SHOWN:
        st.caption(_("{number} more people: search to find them.", number=len(found) - SHOWN))


def facts(record: PersonRecord) -> str:
    """Return a person's storage and usage on one line."""
    seen = (
        _("never seen") if record.seen is None else _("seen {when}", when=f"{record.seen:%Y-%m-%d %H:%M} UTC")
    )
    return _(
        "{documents} documents, {megabytes} MB · {chats} chats · {answers} answers, {tokens} tokens; "
        "today {answers_today} and {tokens_today} · {seen}",
        documents=f"{record.holds.documents:,}",
        megabytes=f"{record.holds.bytes / 1e6:,.1f}",
        chats=f"{record.conversations:,}",
        answers=f"{record.used.answers:,}",
        tokens=f"{record.used.tokens:,}",
        answers_today=f"{record.today.answers:,}",
        tokens_today=f"{record.today.tokens:,}",
        seen=seen,
    )


def _search(records: list[PersonRecord], search: str) -> list[PersonRecord]:
    words = search.casefold().split()
    return [it for it in records if all(word in f"{it.name} {it.email} {it.id}".casefold() for word in words)]


def _key(record: PersonRecord) -> str:
    return record.id.encode().hex()


def _show_person(record: PersonRecord, server: PageServices, *, is_me: bool) -> None:
    name = label(record.name or record.id, 80)
    st.markdown(_("**{name}** (you)", name=name) if is_me else f"**{name}**")
    st.caption(label(f"{record.email} {record.id}".strip(), 300))
    st.caption(facts(record))
    if record.removing is not None:
        job = server.removals.running(record.id)
        said = (
            _("Being removed with all their data. Finishes at the next start.")
            if job is None
            else _("Being removed with all their data. Continues in the background.")
        )
        st.warning(said, icon=":material/person_remove:")
        return
    with st.container(horizontal=True):
        with st.popover(_("Limits"), icon=":material/speed:", key=f"limits-{_key(record)}"):
            _show_limits(record, server)
        remove = st.button(
            _("Remove"), icon=":material/person_remove:", key=f"remove-{_key(record)}", disabled=is_me
        )
    if remove:
        confirm_deletion(
            _("Remove this person?"),
            _("**{name}** and all their documents, chats and sources will be deleted.", name=name),
            key=f"really-remove-{_key(record)}",
            act=lambda: _remove(record, server),
        )


def _show_limits(record: PersonRecord, server: PageServices) -> None:
    everyones = asdict(Limits.of(server.settings))
    with st.form(f"limits-form-{_key(record)}", border=False):
        given = {
            name: st.number_input(
                translated(TITLES[name]),
                min_value=0,
                value=record.limits.get(name),
                step=1,
                placeholder=_("No limit")
                if everyones[name] is None
                else _("{number} (default)", number=f"{everyones[name]:,}"),
                key=f"limit-{name}-{_key(record)}",
            )
            for name in NAMES
        }
        saved = st.form_submit_button(_("Save"), key=f"save-limits-{_key(record)}")
    if saved:
        server.set_limits(record.id, {name: int(it) for name, it in given.items() if it is not None})
        flash(_("Saved."), ":material/check:")
        st.rerun()


def _remove(record: PersonRecord, server: PageServices) -> None:
    server.remove(record.id)
    flash(_("Removal started."), ":material/person_remove:")
