"""How the documents of a collection are split into passages: its sizes, and how far a change of them is."""

from collections.abc import Callable
from dataclasses import asdict

import streamlit as st

from rag.ingest.resplitting import Resplit
from rag.text.chunking import Splitting
from rag.workspace import Workspace
from storage.collections import CollectionRecord
from ui.components import messages as notices
from ui.components.faults import tried
from ui.components.ingesting import share, step_name
from ui.components.job_progress import follow_job
from ui.components.markdown import label

SMALLEST, LARGEST = 100, 8000  # letters of a passage
_LETTERS = "In letters of Latin script; one of Hangul, Kana or Han counts 2.7."


def show(here: Workspace, chosen: CollectionRecord) -> None:
    """Show the sizes of a collection's passages and the way to change them."""
    now = Splitting(**chosen.splitting) if chosen.splitting else Splitting()
    with (
        st.popover(
            "Passages", icon=":material/format_line_spacing:", type="tertiary", key="collection-passages"
        ),
        st.form(f"splitting-{chosen.id}", border=False),
    ):
        size = st.number_input("Longest passage", SMALLEST, LARGEST, now.size, 50, help=_LETTERS)
        overlap = st.number_input(
            "Overlap",
            0,
            LARGEST,
            now.overlap,
            10,
            help="What a passage repeats of the one before it, at most.",
        )
        minimum = st.number_input(
            "Shortest section",
            0,
            LARGEST,
            now.minimum,
            50,
            help="Shorter ones are joined with their neighbours.",
        )
        st.caption(_consequence(chosen.documents))
        with st.container(horizontal=True, gap="small"):
            change = st.form_submit_button("Change", type="primary")
            usual = st.form_submit_button("As usual", disabled=chosen.splitting is None)
    if change or usual:
        _change(
            here, chosen, Splitting if usual else lambda: Splitting(int(size), int(overlap), int(minimum))
        )
        st.rerun()


def show_progress(here: Workspace) -> None:
    """Show how far the documents are that are split anew; where that was stopped, the way to go on."""
    job = here.ingest.splitting()
    if job is not None:
        follow_job(job, said, key="stop-splitting")
        return
    due = len(here.library.collections.due())
    if due:
        with st.container(horizontal=True, gap="small", vertical_alignment="center", key="splitting-due"):
            st.caption(
                f"{due:,} document{'s are' if due != 1 else ' is'} still split in the earlier way.",
                width="content",
            )
            st.button(
                "Split anew", key="split-anew", type="tertiary", on_click=tried(here.ingest.split_if_due)
            )


def said(step: Resplit | None) -> tuple[float, str]:
    """Return how far a splitting is, as a share and in words."""
    if step is None:
        return 0.0, "Splitting documents anew"
    where = f"{step.done + 1:,} of {step.total:,}"
    part = (step.done + share(step.step)) / max(1, step.total)
    return part, f"Splitting anew, {where}: {label(step.document, 60)}, {step_name(step.step)}"


def _consequence(documents: int) -> str:
    if not documents:
        return "It holds for what is added from now on."
    what = "Its document is" if documents == 1 else f"Its {documents:,} documents are"
    return (
        f"{what} then read and embedded anew, one after another. Each is searched as it was until its new "
        "passages are ready, and answers keep their quotes."
    )


@tried
def _change(here: Workspace, chosen: CollectionRecord, wanted: Callable[[], Splitting]) -> None:
    splitting = wanted()
    kept = None if splitting == Splitting() else asdict(splitting)
    here.library.collections.set_splitting(chosen.id, kept)
    here.ingest.split_if_due()
    notices.leave("Saved.", ":material/check:")
