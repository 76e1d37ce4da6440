"""Progress of background jobs and of document ingestion, with a Stop button."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from rag.i18n import N_, _, enumerated, ngettext
from rag.ingest.leased import IngestProgress
from rag.jobs import Job
from rag.workspace import Workspace
from storage.documents import SEARCHABLE
from storage.records import DocumentRecord
from ui.components.markdown import label
from ui.components.messages import show_errors

TICK = 0.5  # seconds between updates of a job
E = TypeVar("E")


@st.fragment(run_every=TICK)
def follow_job(job: Job[E], describe: Callable[[E | None], tuple[float, str]], *, key: str) -> None:
    """Show a job's progress, a share from 0 to 1 and a sentence, until it ends; then run the page again."""
    if job.done:
        st.rerun()
    share, text = describe(job.latest)
    st.progress(min(1.0, share), text=text)
    st.button(_("Stop"), icon=":material/stop_circle:", on_click=job.cancel, key=key)
    st.caption(_("Continues if you leave this page."))


INGEST_TICK = 1.0  # seconds between updates of the ingest progress
STATES = {
    "queued": N_("Waiting"),
    "reading": N_("Reading"),
    "searchable_by_words": N_("Searchable by words"),
    "searchable_by_meaning": N_("Searchable by meaning"),
    "ready": N_("Ready"),
    "refused": N_("Could not be read"),
}


def share(progress: IngestProgress | None) -> float:
    """Return the share of the current stage that is done, from 0 to 1."""
    return progress.done / progress.total if progress and progress.total else 0.0


def step_name(progress: IngestProgress) -> str:
    """Return the ingest step: "indexing meaning, 40 of 128"; pages are counted only where they need OCR."""
    numbers = {"done": f"{progress.done:,}", "total": f"{progress.total:,}"}
    if progress.stage == "meaning":
        return _("indexing meaning, {done} of {total}", **numbers)
    if progress.stage == "words":
        return _("indexing words")
    return _("reading, page {done} of {total}", **numbers) if progress.total > 1 else _("reading")


MOST_NAMED = 3


def unread_line(records: Sequence[DocumentRecord]) -> str:
    """Return as Markdown which documents could not be read; empty without any."""
    unread = [label(record.name, 60) for record in records if record.state == "refused"]
    more = len(unread) - MOST_NAMED
    named = [*unread[:MOST_NAMED], *([_("{number} more", number=f"{more:,}")] if more > 0 else [])]
    if not unread:
        return ""
    return ngettext(
        "{count} document could not be read and is not searched: {names}.",
        "{count} documents could not be read and are not searched: {names}.",
        len(unread),
        names=enumerated(named),
    )


def unfinished(workspace: Workspace) -> list[DocumentRecord]:
    """Return the documents whose ingest is running or queued."""
    running = workspace.ingest.all_running()
    return [record for record in workspace.library.documents.unfinished() if record.id in running]


def show_ingest(workspace: Workspace) -> Callable[[], None]:
    """Show ingest progress in the sidebar while documents are being read.

    Return what draws it anew, once a second at most: a run of the page that lasts, as while an answer is
    written, holds up the fragment that does so otherwise.
    """
    if not unfinished(workspace):
        return lambda: None
    with st.sidebar, st.container(key="ingest"):
        place = st.empty()
    _ingest_strip(workspace, place)
    drawn = time.monotonic()

    @show_errors()
    def draw_anew() -> None:
        nonlocal drawn
        if time.monotonic() - drawn >= INGEST_TICK:
            _draw_ingest(workspace, place)
            drawn = time.monotonic()

    return draw_anew


@st.fragment(run_every=INGEST_TICK)
@show_errors()
def _ingest_strip(workspace: Workspace, place: DeltaGenerator) -> None:
    _draw_ingest(workspace, place)


def _draw_ingest(workspace: Workspace, place: DeltaGenerator) -> None:
    running = unfinished(workspace)
    if not running:
        place.caption(unread_line(workspace.documents()) or _("All documents are ready."))
        return
    unread = [record for record in running if record.state not in SEARCHABLE]
    first = (unread or running)[0]
    name, progress = label(first.name, 40), workspace.ingest.progress(first.id)
    if not unread and len(running) > 1:
        text = ngettext(
            "Searchable, indexing the meaning of {count} file: {name}",
            "Searchable, indexing the meaning of {count} files: {name}",
            len(running),
            name=name,
        )
    elif len(unread or running) == 1:
        text = _("{name}: {reason}", name=name, reason=step_name(progress) if progress else _("waiting"))
    else:
        text = ngettext(
            "Reading {count} file: {name}", "Reading {count} files: {name}", len(unread), name=name
        )
    shares = [share(workspace.ingest.progress(record.id)) for record in unread or running]
    place.progress(sum(shares) / len(shares), text=text)
