"""Activity page: one's own entries of the audit log; for administrators, everyone's."""

from collections.abc import Callable, Iterator, Mapping

import streamlit as st

from rag.i18n import N_, _, enumerated, language, translated, written_day
from rag.settings import LOCAL_OWNER
from rag.workspace import Workspace
from storage.audit_log import PAGE, SERVER, AuditEntry
from storage.events import Kind
from storage.records import PersonRecord
from ui.auth.identity import LocalUser
from ui.components.local_time import local_time
from ui.components.markdown import label
from ui.server.services import PageServices, services, workspace

DONE: Mapping[Kind, str] = {
    "signed_in": N_("Signed in"),
    "signed_out": N_("Signed out"),
    "key_created": N_("Created an API key"),
    "key_revoked": N_("Revoked an API key"),
    "webhook_created": N_("Created a webhook"),
    "webhook_removed": N_("Removed a webhook"),
    "webhook_disabled": N_("A webhook was disabled"),
    "document_removed": N_("Deleted a document"),
    "chat_discarded": N_("Deleted a chat"),
    "chat_restored": N_("Restored a chat"),
    "chat_removed": N_("Deleted a chat permanently"),
    "collection_removed": N_("Deleted a collection"),
    "source_removed": N_("Deleted a source"),
    "question_set_removed": N_("Deleted a question set"),
    "grid_removed": N_("Deleted a grid"),
    "grid_exported": N_("Exported a grid"),
    "person_removed": N_("Removed a person"),
    "limits_changed": N_("Changed a person's limits"),
    "settings_changed": N_("Changed settings"),
    "original_downloaded": N_("Downloaded an original file"),
    "chat_exported": N_("Exported a chat"),
    "feedback_exported": N_("Exported test cases"),
    "check_exported": N_("Exported a checked text"),
    "backup_written": N_("Wrote a backup"),
    "backup_failed": N_("A backup failed"),
    "backup_removed": N_("Deleted a backup"),
    "backup_downloaded": N_("Downloaded a backup"),
}
SETTINGS: Mapping[str, str] = {
    "llm_base_url": N_("Address of the model server"),
    "llm_api_key": N_("API key of the model server"),
    "llm_model": N_("Language model"),
    "llm_context_tokens": N_("Context window, tokens"),
    "local_model": N_("Model on this computer"),
    "offer_model": N_("Offer of a model on the start page"),
    "embedding_model": N_("Embedding model"),
    "retriever": N_("Search mode"),
    "k": N_("Passages per answer"),
    "raptor": N_("Document summaries"),
    "describe_figures": N_("Figure descriptions"),
    "score_threshold": N_("Minimum relevance"),
    "mmr_fetch_k": N_("Candidates for diversity"),
    "mmr_lambda_mult": N_("Weight of relevance"),
    "reranker": N_("Reranker"),
    "rerank_model": N_("Reranker model"),
    "rerank_base_url": N_("Reranker address"),
    "rerank_api_key": N_("Reranker API key"),
    "lost_in_the_middle_order": N_("Order in the prompt"),
}
_IDS = frozenset({"document", "chat", "collection", "source", "question_set", "grid", "key", "webhook"})
DETAILS: Mapping[str, str] = {
    "form": N_("File format"),
    "person": N_("Person"),
    "originals": N_("Original files"),
    "lost": N_("Lost"),
    "removed": N_("Removed"),
    "error": N_("Error"),
}
_BEFORE = "activity-before"


def show() -> None:
    """Show the visitor's own activity; everyone's to an administrator who asks, or where nobody signs in."""
    server = services()
    st.title(_("Activity"))
    st.markdown(
        _(
            "Sign-ins, deletions, exports and changes of settings, newest first, without any "
            "content. Entries cannot be changed, and are kept for {audit_days} days.",
            audit_days=f"{server.settings.audit_days:,}",
        )
    )
    everyone = isinstance(server.auth_mode, LocalUser) or (
        server.knows_people() and st.toggle(_("Everyone"), key="activity-everyone", on_change=_to_newest)
    )
    mine = workspace().audit_log.list
    entries = _page(server.audit_trail.list if everyone else mine)
    if not entries:
        st.info(_("Nothing here yet."), icon=":material/history:")
        return
    names = _names(server) if everyone else {}
    called = _called(workspace())
    for entry in entries:
        st.markdown(_line(entry, names if everyone else None))
        st.caption(label(" · ".join([_time(entry), *described(entry, called)]), 400))
    _show_paging(entries)


def described(entry: AuditEntry, called: Mapping[str, str]) -> Iterator[str]:
    """Yield the details of an entry in words, with the names of what is still there, by its id."""
    for name, value in entry.detail.items():
        if name == "names" and isinstance(value, list):
            yield enumerated([translated(SETTINGS.get(one, one.replace("_", " "))) for one in value])
        elif str(value) in called:
            yield called[str(value)]
        elif name in _IDS:
            yield _("ID {id}", id=value)
        else:
            shown = ", ".join(value) if isinstance(value, list) else value
            yield f"{translated(DETAILS.get(name, name.replace('_', ' ')))}: {shown}"


def _called(here: Workspace) -> dict[str, str]:
    """Return the names of one's own documents, chats and grids by their ids; the log itself has none."""
    documents = {one.id: one.name for one in here.documents()}
    grids = {one.id: one.name for one in here.grids.list()}
    return documents | grids | {one.id: one.title for one in here.conversations.list() if one.title}


def _time(entry: AuditEntry) -> str:
    from babel.dates import format_time

    at = local_time(entry.at)
    return f"{written_day(at.date())} {format_time(at, 'HH:mm:ss', locale=language())}"


def who(entry: AuditEntry, names: Mapping[str, str]) -> str:
    """Return who did what an entry says: a name, the server, or that the person was removed."""
    if entry.who is None:
        return _("Removed person {person}", person=entry.person)
    if entry.who in (SERVER, LOCAL_OWNER):
        return _("Server") if entry.who == SERVER else _("This computer")
    return names.get(entry.who) or entry.who


def _line(entry: AuditEntry, names: Mapping[str, str] | None) -> str:
    done = f"**{translated(DONE[entry.kind]) if entry.kind in DONE else _('Something else')}**"
    return done if names is None else f"{done} · {label(who(entry, names), 80)}"


def _names(server: PageServices) -> dict[str, str]:
    people: list[PersonRecord] = server.people.list()
    return {record.id: record.name for record in people if record.name}


def _page(list_entries: Callable[..., list[AuditEntry]]) -> list[AuditEntry]:
    """Return the chosen page of entries."""
    return list_entries(before=st.session_state.get(_BEFORE), limit=PAGE)


def _show_paging(entries: list[AuditEntry]) -> None:
    with st.container(horizontal=True):
        if st.session_state.get(_BEFORE) is not None:
            st.button(_("Newest"), key="activity-newest", on_click=_to_newest)
        if len(entries) == PAGE:
            st.button(_("Older"), key="activity-older", on_click=_to, args=(entries[-1].id,))


def _to_newest() -> None:
    _to(None)


def _to(before: int | None) -> None:
    st.session_state[_BEFORE] = before
