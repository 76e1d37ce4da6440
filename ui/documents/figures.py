"""Figures of a document in its panel: what a model read from each, and a button to have that done."""

import streamlit as st

from rag.i18n import _, ngettext, translated
from rag.ingest.figure_descriptions import FigureProgress
from rag.ingest.figures import caption_of
from rag.workspace import Workspace
from storage.records import DocumentRecord, FigureReading, FigureRecord, FigureSpan
from ui.components.job_progress import TICK
from ui.components.markdown import escape_text, label
from ui.components.messages import action


def show(record: DocumentRecord, here: Workspace) -> None:
    """Show an expander with the figures of a document, where a model reads them or has read them."""
    described = here.library.figures.of(record.id)
    model = here.describer.model_name
    if record.state != "ready" or not (described or model):
        return
    found = _figures(record.id, str(record.updated), here)
    if not found:
        return
    title = ngettext("{count} figure", "{count} figures", len(found))
    opened = st.expander(title, type="compact", on_change="rerun", key=f"figures-{record.id}")
    if opened.open:
        with opened:
            _show_state(record, here, model, anew=bool(described))
            _show_described(found, described)


@st.cache_data(max_entries=64, show_spinner=False)
def _figures(document_id: str, _updated: str, _here: Workspace) -> list[FigureSpan]:
    return _here.library.figures_of(document_id)


def _show_state(record: DocumentRecord, here: Workspace, model: str | None, *, anew: bool) -> None:
    reading = here.library.figures.reading(record.id)
    if reading is not None and reading.state == "due" and here.ingest.describing() is not None:
        _follow(record.id, here)
        return
    _show_note(reading, here)
    if model is not None:
        name = label(model, 40)
        said = (
            _("Describe again with {model}", model=name) if anew else _("Describe with {model}", model=name)
        )
        action(said, "image_search", "describe-figures", here.ingest.describe, record.id)
        st.caption(_("Sends each picture to the model. Descriptions are found by search, never quoted."))


def _show_note(reading: FigureReading | None, here: Workspace) -> None:
    failure = here.ingest.describing_failed()
    if reading is not None and reading.note:
        st.caption(escape_text(translated(reading.note)))
    elif reading is not None and reading.state == "due" and failure is not None:
        st.warning(escape_text(translated(str(failure))), icon=":material/image_not_supported:")


@st.fragment(run_every=TICK)
def _follow(document_id: str, here: Workspace) -> None:
    """Show the progress of the job until this document's figures are described; then run the page again."""
    reading, job = here.library.figures.reading(document_id), here.ingest.describing()
    if job is None or reading is None or reading.state != "due":
        st.rerun()
    latest = job.latest
    here_now = latest if latest is not None and latest.document_id == document_id else None
    st.progress(_share(here_now), text=_told(here_now))
    st.button(
        _("Stop"), icon=":material/stop_circle:", on_click=here.ingest.stop_describing, key="stop-figures"
    )
    st.caption(_("Continues if you leave this page."))


def _share(progress: FigureProgress | None) -> float:
    return progress.done / progress.total if progress is not None and progress.total else 0.0


def _told(progress: FigureProgress | None) -> str:
    if progress is None:
        return _("waiting")
    return _("Describing figures, {done} of {total}", done=progress.done, total=progress.total)


def _show_described(found: list[FigureSpan], described: list[FigureRecord]) -> None:
    known = {one.key: one for one in described}
    for figure in found:
        st.markdown(f"**{label(caption_of(figure), 200)}**")
        if one := known.get(figure.key):
            st.caption(_("Read from a picture by a model ({model})", model=label(one.model, 40)))
            st.markdown(escape_text(one.text), anchors=False)
