"""The lab page: which way of searching finds the right passages in one's own documents."""

from collections.abc import Sequence

import streamlit as st

from rag.evaluation.lab import Lab
from rag.evaluation.lab_run import RunProgress
from rag.jobs import Job
from rag.workspace import Workspace
from storage.documents import SEARCHABLE
from storage.errors import FootnoteError
from storage.records import DocumentRecord, QuestionSetRecord
from ui import pages
from ui.components.job_progress import follow_job
from ui.components.labels import GOOD_FOR, NAMES
from ui.components.markdown import label
from ui.lab import results as lab_results
from ui.lab import sets as lab_sets
from ui.lab import sets as lab_ways
from ui.server.services import workspace


def show() -> None:
    """Show the lab page."""
    here = workspace()
    st.title("Lab")
    st.markdown(
        "When to search by words, when by meaning, when by both? Ask every search the same questions about "
        "your own documents, and see which one finds the answers."
    )
    searchable = _searchable(here)
    if not searchable:
        st.markdown("There is nothing to search yet. Add documents first, then come back.")
        st.page_link(pages.DOCUMENTS, label="Add documents", icon=":material/upload:")
        return
    st.header("Questions")
    lab_ways.show_making(here)
    chosen = lab_sets.choose(here)
    if chosen is None:
        st.markdown("There are no questions yet. There are three ways to get some:")
        lab_ways.lab_ways_show(here, searchable, None)
        return
    lab_sets.show(here, chosen)
    with st.expander("Add questions, or begin another set", icon=":material/add:", key="lab-more"):
        lab_ways.lab_ways_show(here, searchable, chosen)
    _show_comparison(here.lab, chosen, searchable)
    lab_results.show(here, chosen)


def _searchable(here: Workspace) -> list[DocumentRecord]:
    return [
        record
        for record in here.library.documents.list()
        if record.state in SEARCHABLE and record.replaces is None
    ]


def _show_comparison(lab: Lab, chosen: QuestionSetRecord, searchable: Sequence[DocumentRecord]) -> None:
    st.header("Searches to compare")
    job = lab.running(chosen.id)
    if job is not None:
        _show_running(job)
        return
    with st.container(key="lab-searches", gap="xsmall"):
        wanted = [
            name
            for name in NAMES
            if st.checkbox(f"**{NAMES[name]}.** {GOOD_FOR[name]}", value=True, key=f"lab-compare-{name}")
        ]
    documents = lab_sets.choose_documents(searchable, "lab-documents")
    if not wanted:
        st.caption("Choose at least one search.")
    ready = bool(wanted) and chosen.questions > 0
    if not st.button("Run", type="primary", icon=":material/play_arrow:", key="lab-run", disabled=not ready):
        return
    try:
        lab.start_run(chosen.id, wanted, document_ids=documents or None)
    except FootnoteError as error:
        st.error(label(str(error), 500), icon=":material/error:")
        return
    lab_results.show_newest(chosen.id)
    st.rerun()


def _show_running(job: Job[RunProgress]) -> None:
    def said(progress: RunProgress | None) -> tuple[float, str]:
        if progress is None:
            return 0.0, "Waiting for another task of the lab to end"
        if not progress.rows:
            return 0.0, "Opening the searches"
        return progress.done / progress.total, f"Asked {progress.done:,} of {progress.total:,} times"

    follow_job(job, said, key="lab-stop-run")
