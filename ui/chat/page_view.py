"""Page of a PDF in the source panel: cited words highlighted, other pages, larger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from rag.i18n import _, translated
from rag.ingest.page_images import WantedPage
from rag.workspace import Workspace
from storage.errors import FootnoteError, StorageError
from storage.records import Message, PageSpan, PassageRecord
from ui.chat.citations import CitedPassage, marked, target_of
from ui.components.markdown import escape_text
from ui.server.services import services

if TYPE_CHECKING:
    from rag.ingest.parsers.pdf_highlight import PageImage

MAX_PAGES = 2  # of a PDF that one quote may reach over
DRAWN_AHEAD = 6  # pages of an answer
_TURNED, _LARGE, _AHEAD = "source-turned", "source-large", "pages-ahead"


def is_pdf(passage: PassageRecord, workspace: Workspace) -> bool:
    """Return True if a passage's file is a PDF, judged by its content."""
    try:
        with workspace.library.files.path(passage.sha256).open("rb") as file:
            return b"%PDF-" in file.read(1024)
    except (StorageError, OSError):
        return False


def cited_pages(evidence: CitedPassage, workspace: Workspace) -> list[PageSpan]:
    """Return the pages of the cited words; of a whole passage only the first."""
    pages = workspace.library.documents.pages(evidence.passage.document_id)
    touched = [page for page in pages if page.start < evidence.end and evidence.start < page.end]
    return touched[: MAX_PAGES if evidence.exact else 1]


def page_shown(evidence: CitedPassage, cited: Sequence[PageSpan]) -> int:
    """Return the number of the page that was turned to, else of the first with the cited words."""
    target, turned = st.session_state.get(_TURNED, ("", 0))
    return turned if target == target_of(evidence) else cited[0].number


def show_pages(evidence: CitedPassage, cited: Sequence[PageSpan], workspace: Workspace) -> None:
    """Show the pages with the cited words, or the one that was turned to, and buttons to turn."""
    pages = workspace.library.documents.pages(evidence.passage.document_id)
    numbers = [page.number for page in pages]
    shown = page_shown(evidence, cited)
    number = shown if shown in numbers else cited[0].number
    at = numbers.index(number)
    large = bool(st.session_state.get(_LARGE))
    turn = partial(_turn, target_of(evidence))
    with st.container(key="source-pages", horizontal=True, gap="xsmall", vertical_alignment="center"):
        icon_button(_("Previous page"), "chevron_left", turn, numbers[at - 1] if at else None)
        st.caption(_("Page {number} of {total}", number=number, total=f"{len(numbers):,}"), width="content")
        icon_button(_("Next page"), "chevron_right", turn, numbers[at + 1] if at + 1 < len(numbers) else None)
        if number not in [page.number for page in cited]:
            icon_button(_("Back to page {number}", number=cited[0].number), "undo", turn, cited[0].number)
        if large:
            icon_button(_("Fit page"), "zoom_out", _enlarge, False)
        else:
            icon_button(_("Enlarge page"), "zoom_in", _enlarge, True)
    with st.container(key="source-page-large" if large else "source-page"):
        for page in cited if number == cited[0].number else [pages[at]]:
            _show_page(evidence, page, workspace)


def draw_ahead(message: Message, workspace: Workspace) -> None:
    """Draw the cited pages of an answer before anyone opens them, once in a session."""
    drawn: set[str] = st.session_state.setdefault(_AHEAD, set())
    if message.id not in drawn and message.citations:
        drawn.add(message.id)
        services().page_images.draw_ahead(_expected(message, workspace))


def _expected(message: Message, workspace: Workspace) -> Iterator[WantedPage]:
    seen: set[WantedPage] = set()
    for _at, evidence in marked(message):
        for _place, document_id in workspace.standings.present([evidence.passage]):
            here = replace(evidence, passage=replace(evidence.passage, document_id=document_id))
            if is_pdf(here.passage, workspace):
                seen.update(_wanted(here, span, workspace) for span in cited_pages(here, workspace)[:1])
                yield from seen
        if len(seen) >= DRAWN_AHEAD:
            return


def _wanted(evidence: CitedPassage, span: PageSpan, workspace: Workspace) -> WantedPage:
    library, passage = workspace.library, evidence.passage
    words = (max(evidence.start, span.start) - span.start, min(evidence.end, span.end) - span.start)
    text = library.documents.text(passage.document_id)[span.start : span.end]
    marked_words = (words,) if words[0] < words[1] else ()
    return WantedPage(library.files.path(passage.sha256), span.number, text, marked_words)


def _show_page(evidence: CitedPassage, span: PageSpan, workspace: Workspace) -> None:
    try:
        wanted = _wanted(evidence, span, workspace)
        with st.spinner(_("Loading page…")):
            drawn = services().page_images.draw(wanted)
    except FootnoteError as error:
        st.info(
            _("Cannot show this page. {reason}", reason=escape_text(translated(str(error)))),
            icon=":material/image_not_supported:",
        )
        return
    said = (
        _("Page {number}, cited words highlighted", number=span.number)
        if wanted.spans and drawn.certain
        else _("Page {number}", number=span.number)
    )
    show_image(drawn, said, span.number)
    if wanted.spans and not drawn.certain:
        st.caption(_("The exact place on the page is uncertain, so nothing is highlighted."))


def show_image(drawn: PageImage, said: str, number: int) -> None:
    """Show the image of a page; it is scrolled to its framed mark or its first, whose place its key holds.

    A mark a third across and half down page 7 makes the key ``source-mark-7-33-50``, in percent.
    """
    place = ""
    if drawn.boxes:
        left, top, right, bottom = (drawn.current or drawn.boxes)[0]
        across, down = (left + right) / 2 / drawn.width, (top + bottom) / 2 / drawn.height
        place = f"-{round(100 * across)}-{round(100 * down)}"
    with st.container(key=f"source-mark-{number}{place}"):
        st.image(drawn.png, width="stretch", alt=said)


def icon_button(name: str, icon: str, act: Callable[[Any], None], given: object, **options: Any) -> None:
    """Show a button whose name is only read aloud; it is disabled where there is nothing to give to `act`."""
    st.button(
        name,
        icon=f":material/{icon}:",
        key=f"source-{icon}",
        type="tertiary",
        disabled=given is None,
        help=name,
        on_click=act,
        args=(given,),
        **options,
    )


def _turn(target: str, number: int) -> None:
    st.session_state[_TURNED] = target, number


def _enlarge(large: bool) -> None:
    st.session_state[_LARGE] = large
