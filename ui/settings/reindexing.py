"""Documents being embedded by another model: how far that is, which one answers meanwhile, how to stop it."""

import streamlit as st

from rag.index.staged import ReindexProgress
from rag.workspace import Workspace
from ui.components.faults import tried
from ui.components.job_progress import follow_job
from ui.components.markdown import label, verbatim

_STEPS = {
    "embedding": "Embedding your documents: {done:,} of {total:,} passages",
    "trees": "Embedding the trees over them: {done:,} of {total:,} summaries and passages",
    "verifying": "Looking for passages by their own words: {done:,} of {total:,}",
}


def show_reindexing(workspace: Workspace, chosen: str) -> None:
    """Show what the change to the `chosen` model has come to, or what a change would take."""
    reindex, job = workspace.library.reindexer, workspace.reindexing.job
    answering = label(reindex.answering or "")
    if job is not None:
        st.markdown(f"Until this is done, questions are answered by **{answering}**.")
        follow_job(job, said, key="stop-reindexing")
    elif workspace.reindexing.failed:
        st.error(verbatim(workspace.reindexing.failed), icon=":material/error:")
        st.markdown(f"Questions are answered by **{answering}**.")
        _button(workspace, "Try again")
    elif reindex.begun:
        st.info(
            f"Embedding with {label(chosen)} was stopped. Questions are answered by {answering}.",
            icon=":material/info:",
        )
        _button(workspace, "Go on")
    elif reindex.answering:
        st.caption(
            f"Another embedding model takes about {reindex.needs() / 1e6:,.0f} MB more on the disk until all "
            f"documents are embedded by it. Until then {answering} answers."
        )


def said(step: ReindexProgress | None) -> tuple[float, str]:
    """Return the share that is done, and a sentence.

    >>> said(ReindexProgress("embedding", 500, 2000))
    (0.25, 'Embedding your documents: 500 of 2,000 passages')
    """
    if step is None:
        return 0.0, "Opening the model"
    return step.done / max(1, step.total), _STEPS[step.step].format(done=step.done, total=step.total)


def _button(workspace: Workspace, name: str) -> None:
    st.button(name, icon=":material/refresh:", on_click=tried(workspace.reindexing.start), key="reindex")
