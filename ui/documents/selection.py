"""Documents that are selected in the table, and what is done with them at once."""

from collections.abc import Callable, Collection, Sequence

import streamlit as st

from rag.i18n import N_, N_plural, _, ngettext, translated
from rag.workspace import Workspace
from storage.collections import LONGEST_NAME, LONGEST_TAG, CollectionRecord, Collections
from storage.documents import UNFINISHED
from storage.records import DocumentRecord
from ui import pages
from ui.chat import scope
from ui.components.markdown import label, plain_line
from ui.components.messages import action, dialog, flash, flash_errors
from ui.documents.collections import UNSORTED
from ui.grid.dialogs import choose_rows

SELECTED, _VERSION = "documents-selected", "documents-selected-version"


def chosen() -> set[str]:
    """Return the ids of the selected documents."""
    ids: set[str] = st.session_state.setdefault(SELECTED, set())
    return ids


def version() -> int:
    """Return how often the selection was changed other than in the table, which then takes it over."""
    number: int = st.session_state.get(_VERSION, 0)
    return number


def select_in_table(document_ids: set[str]) -> None:
    """Keep what the table has selected."""
    st.session_state[SELECTED] = document_ids


def select(document_ids: Collection[str] = ()) -> None:
    """Select these documents, and have the table follow."""
    st.session_state[SELECTED] = set(document_ids)
    st.session_state[_VERSION] = version() + 1


def show_bar(records: Sequence[DocumentRecord], listed: Sequence[DocumentRecord], here: Workspace) -> None:
    """Show the number of documents, or of those selected with what can be done with them."""
    with st.container(
        key="documents-selected-bar", horizontal=True, gap="small", vertical_alignment="center"
    ):
        if not records:
            st.caption(totals(listed), width="content")
            if listed:
                ids = [record.id for record in listed]
                name = ngettext("Select the document", "Select all {count}", len(ids))
                action(name, "select_all", "select-all", select, ids)
            return
        st.caption(_("{number} selected", number=f"{len(records):,}"), width="content")
        show_actions(records, here, key="selected", after=select)
        action(_("Clear selection"), "deselect", "select-none", select)


def totals(listed: Sequence[DocumentRecord]) -> str:
    """Return the number of documents, those that could not be read, and their pages where all have some."""
    unread = sum(record.state == "refused" for record in listed)
    paged = all(record.pages or record.state == "refused" for record in listed)
    pages = sum(record.pages or 0 for record in listed) if paged else 0
    number = (
        ngettext(
            "{count} document ({unread} could not be read)",
            "{count} documents ({unread} could not be read)",
            len(listed),
            unread=f"{unread:,}",
        )
        if unread
        else ngettext("{count} document", "{count} documents", len(listed))
    )
    counted = ngettext("{count} page", "{count} pages", pages) if pages else ""
    return " · ".join(filter(None, [number, counted]))


def show_actions(
    records: Sequence[DocumentRecord], here: Workspace, *, key: str, after: Callable[[], object]
) -> None:
    """Show buttons for what can be done with documents; `after` is called once they are deleted."""
    if show_chat(records, key=key):
        after()
        st.switch_page(pages.CHAT)
    if st.button(_("Make a grid"), icon=":material/table_chart:", type="tertiary", key=f"{key}-grid"):
        choose_rows([record.id for record in records])
        st.switch_page(pages.GRID)
    show_filing(records, here, key=key)
    action(_("Delete"), "delete", f"{key}-delete", delete, records, here, after)


def show_chat(records: Sequence[DocumentRecord], *, key: str) -> bool:
    """Show a button that has the next chat search documents; return True where it was pressed.

    Documents without any text are left out; there is no button where none is left.
    """
    records = [record for record in records if record.chunks or record.state in UNFINISHED]
    if not records:
        return False
    name = _("Chat with selection") if len(records) > 1 else _("Chat with document")
    pressed = st.button(name, icon=":material/forum:", type="tertiary", key=f"{key}-chat")
    if pressed:
        scope.choose_next(documents=[record.id for record in records])
    return pressed


def show_filing(records: Sequence[DocumentRecord], here: Workspace, *, key: str) -> None:
    """Show buttons that open a dialog to put documents into a collection, and one to tag them."""
    if st.button(_("Add to collection"), icon=":material/folder:", type="tertiary", key=f"{key}-move"):
        _move_dialog(records, here)
    if st.button(_("Tag"), icon=":material/label:", type="tertiary", key=f"{key}-tag"):
        _tag_dialog(records, here)


def delete(records: Sequence[DocumentRecord], here: Workspace, after: Callable[[], object]) -> None:
    """Delete documents, which can be undone, and call `after`."""
    one = len(records) == 1
    said = (
        plain_line(records[0].name, 60)
        if one
        else str(N_plural("{count} document", "{count} documents", len(records)))
    )
    here.remove_documents([record.id for record in records], said)
    after()


@dialog(N_("Add to collection"), ":material/folder:")
def _move_dialog(records: Sequence[DocumentRecord], here: Workspace) -> None:
    key = records[0].id
    st.markdown(_named(records))
    names = {
        "": translated(UNSORTED),
        **{one.id: plain_line(one.name, LONGEST_NAME) for one in here.library.collections.list()},
    }
    with st.form(f"move-form-{key}", border=False):
        with st.container(key="move-options"):
            st.radio(
                _("Collection"),
                list(names),
                index=None,
                format_func=lambda id_: label(names[str(id_)], LONGEST_NAME),
                key=f"move-to-{key}",
            )
        st.text_input(
            _("New collection"), key=f"move-new-{key}", max_chars=LONGEST_NAME, placeholder=_("Name")
        )
        st.caption(
            _(
                "If you choose a collection with its own passage length, these documents are read again, "
                "which takes a while."
            )
        )
        if st.form_submit_button(
            _("Add"),
            type="primary",
            icon=":material/folder:",
            key=f"move-now-{key}",
            on_click=_move,
            args=(records, key, here),
        ):
            st.rerun()


@flash_errors
def _move(records: Sequence[DocumentRecord], key: str, here: Workspace) -> None:
    new = " ".join(str(st.session_state[f"move-new-{key}"]).split())
    chosen = st.session_state[f"move-to-{key}"]
    if not new and chosen is None:
        flash(_("Nothing changed: no collection was chosen."), ":material/folder:")
        return
    to = _target(new or str(chosen), here.library.collections)
    moved = here.library.collections.put([record.id for record in records], to.id if to else None)
    here.ingest.split_if_due()
    select()
    name = label(to.name if to else translated(UNSORTED), 60)
    flash(
        ngettext(
            "{count} document is now in {name}.", "{count} documents are now in {name}.", moved, name=name
        ),
        ":material/folder:",
    )


def _target(where: str, collections: Collections) -> CollectionRecord | None:
    if not where:
        return None
    known = {one.id: one for one in collections.list()}
    return known.get(where) or collections.named(where) or collections.create(where)


@dialog(N_("Tags"), ":material/label:")
def _tag_dialog(records: Sequence[DocumentRecord], here: Workspace) -> None:
    key = records[0].id
    st.markdown(_named(records))
    tagged = here.tags.of_documents()
    shared = set.intersection(*({*tagged.get(record.id, ())} for record in records))
    names = [plain_line(tag.name, LONGEST_TAG) for tag in here.tags.list()]
    with st.form(f"tags-form-{key}", border=False):
        if names:
            with st.container(key="tag-options"):
                st.pills(
                    _("Tags") if len(records) == 1 else _("Tags of all of them"),
                    names,
                    selection_mode="multi",
                    default=sorted(shared & set(names)),
                    format_func=lambda name: label(name, LONGEST_TAG),
                    key=f"tags-{key}",
                )
        st.text_input(_("New tag"), key=f"tags-new-{key}", max_chars=LONGEST_TAG, placeholder=_("Contract"))
        st.caption(
            _(
                "A tag is any word you choose, such as a year or a customer. A chat can search the documents "
                "with a tag."
            )
        )
        if st.form_submit_button(
            _("Save"), type="primary", key=f"tags-now-{key}", on_click=_tag, args=(records, shared, here)
        ):
            st.rerun()


@flash_errors
def _tag(records: Sequence[DocumentRecord], shared: set[str], here: Workspace) -> None:
    key = records[0].id
    chosen = [*st.session_state.get(f"tags-{key}", ()), st.session_state[f"tags-new-{key}"]]
    wanted = {" ".join(str(name).split()) for name in chosen} - {""}
    ids = [record.id for record in records]
    for name in sorted(wanted - shared):
        here.tags.add(ids, name)
    for name in sorted(shared - wanted):
        here.tags.remove(ids, name)
    flash(_("Saved."), ":material/check:")


def _named(records: Sequence[DocumentRecord]) -> str:
    if len(records) == 1:
        return f"**{label(records[0].name, 90)}**"
    return ngettext("**{count} document**", "**{count} documents**", len(records))
