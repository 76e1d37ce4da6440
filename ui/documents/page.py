"""Library page: documents with upload, filters, table and bulk actions, and the sources that bring them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePath

import streamlit as st

from rag.i18n import N_, _, enumerated, ngettext, translated, written_day
from rag.ingest.parsers import is_final
from rag.undo import WaitingDeletion
from rag.workspace import Workspace
from storage.documents import UNFINISHED
from storage.records import DocumentRecord
from ui.chat import citations
from ui.components import side_panel
from ui.components.job_progress import INGEST_TICK, STATES, share, step_name
from ui.components.markdown import plain_line
from ui.components.messages import flash_errors, show_errors
from ui.components.pagination import paginated
from ui.documents import collections, panel, selection
from ui.documents.table import Order, ShownRow, show_table
from ui.documents.upload import show_report, uploader
from ui.server.services import services, workspace
from ui.sources import page as sources

PAGE = 50
LOOK = 5.0  # seconds between updates while documents wait for a retry
ORDER, _OPENED = "documents-order", "documents-opened"
_TONES = {"ready": "good", "refused": "bad"}
VIEW, DOCUMENTS, SOURCES = "view", str(N_("Documents")), str(N_("Sources"))


def show() -> None:
    """Show the library page."""
    here = workspace()
    citations.listen(side_panel.open_document)
    # Streamlit would write the translated label into the address.
    st.session_state[VIEW] = SOURCES if st.query_params.get(VIEW) == SOURCES else DOCUMENTS
    with st.container(key="library"):
        st.title(_("Library"))
        view = st.segmented_control(
            _("Show"),
            [DOCUMENTS, SOURCES],
            format_func=translated,
            required=True,
            label_visibility="collapsed",
            key=VIEW,
            on_change=_keep_view,
        )
        if view == SOURCES:
            sources.show()
        else:
            _show_documents()
    panel.show_chosen(here)


def _keep_view() -> None:
    """Write the chosen view into the address, in every language by the same name."""
    if st.session_state[VIEW] == SOURCES:
        st.query_params[VIEW] = SOURCES
    else:
        st.query_params.pop(VIEW, None)


def _show_documents() -> None:
    """Show the documents: upload, filters and table."""
    here = workspace()
    with st.container(key="documents-add", horizontal=True, vertical_alignment="bottom", gap="small"):
        files, target = st.container(key="documents-files"), st.container(key="documents-target")
    with target:
        into = collections.choose_target(here)
    with files:
        uploader(here, services().settings.max_upload_mb, into)
    show_report("documents", here, listed=True)
    records = here.documents()
    if not records:
        st.markdown(_("No documents yet. Drop files above; you can ask within seconds."))
        return
    collections.choose_shown(here, records, selection.chosen, selection.select)
    collections.show_progress(here)
    busy = bool(here.ingest.all_running())
    waits = any(record.state in UNFINISHED for record in records)
    tick = INGEST_TICK if busy else LOOK if waits else None
    st.fragment(_rows, run_every=tick)(here, here.deletions.latest, busy=busy)


@show_errors()
def _rows(here: Workspace, deletion: WaitingDeletion | None, *, busy: bool) -> None:
    """Show one page of the table; when ingest has ended, run the page again without polling."""
    if st.session_state.pop(_OPENED, False) or here.deletions.latest != deletion:
        st.rerun()  # the panel and the bar to undo are outside of this fragment
    records, tags = here.documents(), here.tags.of_documents()
    listed = collections.filtered(records, tags)
    chosen = selection.chosen()
    shown = [record for record in records if record.id in chosen]
    selection.show_bar(shown, listed, here)
    if not listed:
        collections.show_nothing_found(here)
        return
    names = {one.id: one.name for one in here.library.collections.list()}
    order: Order = st.session_state.setdefault(ORDER, Order())
    ordered = sorted_records(listed, order, names, tags)
    with paginated(len(ordered), PAGE, "documents-page") as part:
        show_table(
            rows(ordered[part], names, tags, here),
            order,
            chosen,
            version=selection.version(),
            on_select=selection.select_in_table,
            on_order=_order_by,
            on_open=_open,
            on_retry=_retrying(here),
            on_delete=_deleting(records, here),
        )
    if busy and not here.ingest.all_running():
        st.rerun()


def rows(
    records: Sequence[DocumentRecord],
    collections: Mapping[str, str],
    tags: Mapping[str, Sequence[str]],
    here: Workspace,
) -> list[ShownRow]:
    """Return the rows of a table of documents."""
    origins = here.syncing.items.origins([record.id for record in records])
    running = here.ingest.all_running()
    return [
        ShownRow(
            id=record.id,
            name=plain_line(record.name, 120),
            kind=kind_of(record.name),
            added=written_day(record.created),
            pages=f"{record.pages:,}" if record.pages else "",
            collection=plain_line(collections.get(record.collection_id or "", ""), 60),
            tags=tuple(plain_line(tag, 40) for tag in tags.get(record.id, ())),
            status=_status(record, here),
            tone=_TONES.get(record.state, "busy" if record.id in running else "calm"),
            note=_note(record),
            origin=origin(origins.get(record.id, ())),
            retry=record.state in (*UNFINISHED, "refused") and record.id not in running and not final(record),
            final=final(record),
        )
        for record in records
    ]


def final(record: DocumentRecord) -> bool:
    """Return True for a document that was refused for what the file is: to read it again cannot help."""
    return record.state == "refused" and is_final(record.reason or "")


def kind_of(name: str) -> str:
    """Return the type of a file by its name, for people: "PDF"; "File" where it has none.

    >>> kind_of("a.pdf"), kind_of("README")
    ('PDF', 'File')
    """
    return PurePath(name).suffix[1:8].upper() or _("File")


def sorted_records(
    records: Sequence[DocumentRecord],
    order: Order,
    collections: Mapping[str, str],
    tags: Mapping[str, Sequence[str]],
) -> list[DocumentRecord]:
    """Return documents in the order of a column; those that are alike by name."""
    keys: dict[str, Callable[[DocumentRecord], object]] = {
        "name": lambda record: record.name.casefold(),
        "kind": lambda record: kind_of(record.name),
        "added": lambda record: record.created,
        "pages": lambda record: record.pages or 0,
        "collection": lambda record: collections.get(record.collection_id or "", "").casefold(),
        "tags": lambda record: [tag.casefold() for tag in tags.get(record.id, ())],
        "status": lambda record: str(STATES[record.state]),
    }
    by_name = sorted(records, key=lambda record: record.name.casefold())
    key: Callable[[DocumentRecord], object] = keys.get(order.column, keys["added"])
    return sorted(by_name, key=key, reverse=order.descending)  # type: ignore[arg-type]


def origin(sources: Sequence[str]) -> str:
    """Return the names of a document's sources.

    >>> origin(["Our wiki", "보고서"]), origin(["a", "b", "c"]), origin([])
    ('From Our wiki and 보고서', 'From a, b, and 1 more source', '')
    """
    named, more = [plain_line(name, 40) for name in sources[:2]], len(sources) - 2
    if more > 0:
        named.append(ngettext("{count} more source", "{count} more sources", more))
    return _("From {names}", names=enumerated(named)) if named else ""


def _status(record: DocumentRecord, here: Workspace) -> str:
    progress = here.ingest.progress(record.id)
    if progress is None:
        return translated(STATES[record.state])
    part = f" ({share(progress):.0%})" if share(progress) else ""
    return step_name(progress).capitalize() + part


def _note(record: DocumentRecord) -> str:
    replacing = _("Reading a new version.") if record.replaces and record.state != "refused" else ""
    return " ".join(filter(None, (translated(record.reason or ""), translated(record.note or ""), replacing)))


def _order_by(column: str) -> None:
    order: Order = st.session_state.get(ORDER, Order())
    st.session_state[ORDER] = order.by(column)


def _open(document_id: str) -> None:
    side_panel.open_document(document_id)
    st.session_state[_OPENED] = True


def _deleting(records: Sequence[DocumentRecord], here: Workspace) -> Callable[[str], None]:
    def delete(document_id: str) -> None:
        chosen = [record for record in records if record.id == document_id]
        selection.delete(chosen, here, partial(selection.select, selection.chosen() - {document_id}))

    return flash_errors(delete)


def _retrying(here: Workspace) -> Callable[[str], None]:
    return flash_errors(here.read_again)
