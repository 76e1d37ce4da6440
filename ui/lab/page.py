"""Lab page: compare retrievers on questions about the user's own documents."""

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
from ui.components.labels import RETRIEVERS, USES
from ui.components.markdown import label
from ui.lab import results, sets
from ui.server.services import workspace


def show() -> None:
    """Show the lab page."""
    here = workspace()
    st.title("Lab")
    st.markdown("Compare search modes on your own questions.")
    searchable = _searchable(here)
    if not searchable:
        st.markdown("No documents to search yet. Add documents first.")
        st.page_link(pages.DOCUMENTS, label="Add documents", icon=":material/upload:")
        return
    st.header("Questions")
    sets.show_making(here)
    chosen = sets.choose(here)
    if chosen is None:
        st.markdown("No questions yet. Add some:")
        sets.show_add_questions(here, searchable, None)
        return
    sets.show(here, chosen)
    with st.expander("Add questions, or start another set", icon=":material/add:", key="lab-more"):
        sets.show_add_questions(here, searchable, chosen)
    _show_comparison(here.lab, chosen, searchable)
    results.show(here, chosen)


def _searchable(here: Workspace) -> list[DocumentRecord]:
    return [
        record
        for record in here.library.documents.list()
        if record.state in SEARCHABLE and record.replaces is None
    ]


def _show_comparison(lab: Lab, chosen: QuestionSetRecord, searchable: Sequence[DocumentRecord]) -> None:
    st.header("Search modes to compare")
    job = lab.running(chosen.id)
    if job is not None:
        _show_running(job)
        return
    with st.container(key="lab-searches", gap="xsmall"):
        wanted = [
            name
            for name in RETRIEVERS
            if st.checkbox(f"**{RETRIEVERS[name]}.** {USES[name]}", value=True, key=f"lab-compare-{name}")
        ]
    documents = sets.choose_documents(searchable, "lab-documents")
    if not wanted:
        st.caption("Select at least one search mode.")
    ready = bool(wanted) and chosen.questions > 0
    if not st.button("Run", type="primary", icon=":material/play_arrow:", key="lab-run", disabled=not ready):
        return
    try:
        lab.start_run(chosen.id, wanted, document_ids=documents or None)
    except FootnoteError as error:
        st.error(label(str(error), 500), icon=":material/error:")
        return
    results.show_newest(chosen.id)
    st.rerun()


def _show_running(job: Job[RunProgress]) -> None:
    def describe(progress: RunProgress | None) -> tuple[float, str]:
        if progress is None:
            return 0.0, "Waiting for another task of the Lab to finish"
        if not progress.rows:
            return 0.0, "Opening the indexes"
        return progress.done / progress.total, f"Asked {progress.done:,} of {progress.total:,}"

    follow_job(job, describe, key="lab-stop-run")
