"""A page of a PDF as a picture, the cited words boxed on it."""

from pathlib import Path

import streamlit as st

from rag.ingest.parsers.pdf_pages import PageImage, page_image
from rag.workspace import Workspace
from storage.errors import FootnoteError, NotFound
from storage.records import PageSpan, PassageRecord
from ui.chat.citations import CitedPassage
from ui.components.markdown import verbatim

SCALE = 2.0  # sharp on a dense screen, about 200 kB a page


def is_pdf(passage: PassageRecord, workspace: Workspace) -> bool:
    """Whether a passage comes from a file whose pages can be drawn; its name decides nothing."""
    try:
        with workspace.library.files.path(passage.sha256).open("rb") as file:
            return b"%PDF-" in file.read(1024)
    except (NotFound, OSError):
        return False


def show_page(evidence: CitedPassage, span: PageSpan, workspace: Workspace) -> None:
    """Show the page with the cited words highlighted; where their place is uncertain, say so."""
    library, passage = workspace.library, evidence.passage
    words = (max(evidence.start, span.start) - span.start, min(evidence.end, span.end) - span.start)
    try:
        with st.spinner("Drawing the page…"):
            path = str(library.files.path(passage.sha256))
            text = library.documents.text(passage.document_id)[span.start : span.end]
            drawn = _draw(path, span.number, text, words)
    except FootnoteError as error:
        st.info(f"The page cannot be drawn. {verbatim(str(error))}", icon=":material/image_not_supported:")
        return
    st.image(
        drawn.png,
        width="stretch",
        alt=f"Page {span.number}" + (", the cited words highlighted" if drawn.certain else ""),
    )
    if drawn.certain:
        st.caption(f"Page {span.number}, the cited words highlighted.")
    else:
        st.caption("Where exactly these words stand on the page is not certain, so nothing is highlighted.")


@st.cache_data(max_entries=32, show_spinner=False)
def _draw(path: str, page: int, text: str, words: tuple[int, int]) -> PageImage:
    return page_image(Path(path), page, text, [words], scale=SCALE)
