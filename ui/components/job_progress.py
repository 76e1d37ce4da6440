"""A job of the server on the page: how far it is, a way to stop it, and the page drawn anew at its end."""

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from rag.ingest.library import IngestProgress
from rag.jobs import Job
from rag.workspace import Workspace
from storage.records import DocumentRecord
from ui.components.markdown import label
from ui.components.messages import told

TICK = 0.5  # seconds between looks
E = TypeVar("E")


def follow_job(job: Job[E], said: Callable[[E | None], tuple[float, str]], *, key: str) -> None:
    """Show a job until it ends; the page may leave, and a later one finds it again.

    `said` makes a share from 0 to 1 and a sentence of its latest event, None before the first.
    """
    _strip(job, said, key)


@st.fragment(run_every=TICK)
def _strip(job: Job[Any], said: Callable[[Any], tuple[float, str]], key: str) -> None:
    if job.done:
        st.rerun()
    share, text = said(job.latest)
    st.progress(min(1.0, share), text=text)
    st.button("Stop", icon=":material/stop_circle:", on_click=job.cancel, key=key)
    st.caption("Continues if you leave this page.")


# How far the documents are that are being read, in words and as a share.
INGEST_TICK = 1.0
STATES = {
    "queued": "Waiting",
    "reading": "Reading",
    "searchable_by_words": "Searchable by words",
    "searchable_by_meaning": "Searchable by meaning",
    "ready": "Ready",
    "refused": "Could not be read",
}
_STAGES = {"reading": "reading", "words": "indexing words", "meaning": "indexing meaning"}


def state_name(record: DocumentRecord) -> str:
    """Return a document's state in words."""
    return STATES[record.state]


def share(progress: IngestProgress | None) -> float:
    """Return how much of its stage is done, from 0 to 1."""
    return progress.done / progress.total if progress and progress.total else 0.0


def step_name(progress: IngestProgress) -> str:
    """Return what is being done to a document: "indexing meaning, 40 of 128".

    Reading is counted where the pages are pictures whose text has to be recognised.
    """
    counted = progress.stage == "meaning" or (progress.stage == "reading" and progress.total > 1)
    page = "page " if progress.stage == "reading" else ""
    return _STAGES[progress.stage] + (f", {page}{progress.done} of {progress.total}" if counted else "")


def unfinished(workspace: Workspace) -> list[DocumentRecord]:
    """Return the documents whose ingest runs or waits."""
    return [
        record for record in workspace.library.documents.unfinished() if workspace.ingest.running(record.id)
    ]


def show_ingest(workspace: Workspace) -> None:
    """Show in the sidebar what is being read, while something is."""
    if unfinished(workspace):
        with st.sidebar:
            _ingest_strip(workspace)


@st.fragment(run_every=INGEST_TICK)
@told()
def _ingest_strip(workspace: Workspace) -> None:
    running = unfinished(workspace)
    if not running:
        st.caption("All documents are ready.")
        return
    first = running[0]
    name, progress = label(first.name, 40), workspace.ingest.progress(first.id)
    step = step_name(progress) if progress else "waiting"
    text = f"{name}: {step}" if len(running) == 1 else f"Reading {len(running):,} files: {name}"
    st.progress(share(progress), text=text)
