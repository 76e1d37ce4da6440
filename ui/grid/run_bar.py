"""Run of a grid: what it would take, its progress by cell, Run and Stop."""

from collections.abc import Sequence

import streamlit as st

from rag.grid.grids import DocumentRow, Estimate, Grid, estimated
from rag.grid.run import STOPPED, GridProgress
from rag.i18n import _, ngettext, translated
from rag.workspace import Workspace
from ui.components.markdown import label
from ui.components.messages import action
from ui.grid.view import flags
from ui.server.services import services

MINUTE, HOUR = 60, 3600  # seconds


def is_running(here: Workspace, grid: Grid) -> bool:
    """Return True while a grid is read, or waits to be."""
    return grid.running or here.grid_runs.job(grid.id) is not None


def show_run(here: Workspace, grid: Grid, rows: Sequence[DocumentRow], *, running: bool) -> None:
    """Show progress and Stop while the grid is read; else the size of the next run, and Run."""
    with st.container(key="grid-run", gap="xxsmall"):
        with st.container(key="grid-run-state", horizontal=True, gap="small", vertical_alignment="center"):
            if running:
                _show_progress(here, grid, rows)
            else:
                _show_ahead(here, grid, rows)
        for note in _notes(grid, rows, running=running):
            st.caption(note)


def _show_progress(here: Workspace, grid: Grid, rows: Sequence[DocumentRow]) -> None:
    job = here.grid_runs.job(grid.id)
    event = job.latest if job is not None else None
    action(_("Stop"), "stop_circle", "grid-stop", here.grid_runs.stop, grid.id, kind="secondary")
    st.progress(share_of(event), text=progress_words(event, grid, rows))


def share_of(event: GridProgress | None) -> float:
    """Return the share of a run that is done, from 0 to 1."""
    return min(1.0, event.done / event.cells) if event is not None and event.cells else 0.0


def progress_words(event: GridProgress | None, grid: Grid, rows: Sequence[DocumentRow]) -> str:
    """Return how far a run is, and which cell it has read last."""
    if event is None:
        return _("Waiting to start")
    done = _("{done} of {cells} cells", done=f"{event.done:,}", cells=f"{event.cells:,}")
    if event.waiting:
        return _("{done}. The model's server is busy; asking again soon.", done=done)
    names = {row.document.id: row.document.name for row in rows}
    columns = {column.id: column.name for column in grid.columns}
    if event.document_id not in names or event.column_id not in columns:
        return done
    document, column = label(names[event.document_id], 40), label(columns[event.column_id], 40)
    return _("{done}. Read: {document}, {column}", done=done, document=document, column=column)


def _show_ahead(here: Workspace, grid: Grid, rows: Sequence[DocumentRow]) -> None:
    model = services().llm is not None
    readable = [row for row in rows if row.readable]
    due = [cell for row in readable for cell in row.cells if cell.due]
    read = [cell for row in rows for cell in row.cells if cell.found is not None and not cell.outdated]
    said = _ahead(estimated(len(due), read, with_model=model), model=model, read=bool(read))
    if due:
        name = ngettext("Fill {count} cell", "Fill {count} cells", len(due))
        action(name, "play_arrow", "grid-start", here.grid_runs.start, grid.id, kind="primary")
    st.markdown(said, width="stretch")


def _ahead(size: Estimate, *, model: bool, read: bool) -> str:
    """Return the size of the next run in words.

    The time is that of the cells that were read; before any was, there is none.

    >>> _ahead(Estimate(29, 0, 20), model=True, read=True)
    'Few or no requests to the model. Less than a minute.'
    >>> _ahead(Estimate(29, 29, 200), model=True, read=False)
    'About 29 requests to the model.'
    """
    if not size.cells:
        return _("All cells are read.") if read else _("There is nothing to read yet.")
    if not model:
        said = _("No model: values are found by rules.")
    elif not size.requests:
        said = _("Few or no requests to the model.")
    else:
        said = ngettext(
            "About {count} request to the model.", "About {count} requests to the model.", size.requests
        )
    return _("{said} {time}.", said=said, time=duration(size.seconds)) if read else said


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(20), duration(200), duration(4000)
    ('Less than a minute', 'About 4 minutes', 'About 2 hours')
    """
    if seconds < MINUTE:
        return _("Less than a minute")
    if seconds < HOUR:
        return ngettext("About {count} minute", "About {count} minutes", -int(-seconds // MINUTE))
    return ngettext("About {count} hour", "About {count} hours", -int(-seconds // HOUR))


def _notes(grid: Grid, rows: Sequence[DocumentRow], *, running: bool) -> list[str]:
    """Return what should be known of a run: outdated cells, documents without cells, and its early end.

    An end that a person wanted is not told.
    """
    cells = [cell for row in rows for cell in row.cells]
    outdated = sum("outdated" in flags(cell) for cell in cells)
    refused = sum(row.refused for row in rows)
    waiting = sum(not row.readable for row in rows) - refused
    notes = []
    if outdated:
        notes.append(
            ngettext(
                "{count} cell is outdated: its document, column or the model has changed.",
                "{count} cells are outdated: their document, column or the model has changed.",
                outdated,
            )
        )
    if waiting:
        notes.append(
            ngettext(
                "{count} document is still being read into the library.",
                "{count} documents are still being read into the library.",
                waiting,
            )
        )
    if refused:
        notes.append(
            ngettext(
                "{count} document could not be read. The library says why.",
                "{count} documents could not be read. The library says why.",
                refused,
            )
        )
    if grid.note not in ("", str(STOPPED)) and not running:
        notes.append(_("The last run ended early: {reason}", reason=label(translated(grid.note), 300)))
    return notes
