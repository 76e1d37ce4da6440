"""Source panel beside the answer: the PDF page, the cited words in context, the next citation.

The quote comes from the stored answer and the document only adds context, so old answers keep their quotes
when a document is deleted. The page of a PDF is shown with the cited words highlighted, other pages beside
it, and larger.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from rag.citations.support import CALCULATED, DIFFERS, heading_of, place_name, statement_text
from rag.i18n import N_, _, enumerated, translated
from rag.ingest.page_images import WantedPage
from rag.ingest.parsers.figures import PdfFigure, cited_figures, figure_image, figures_at, pdf_figure
from rag.raptor.tree import is_leaf_id
from rag.text.markdown import plain_words, read_tables
from rag.text.markers import inert
from rag.text.normalize import clean
from rag.workspace import Workspace
from storage.answers import Standing
from storage.errors import FootnoteError, NotFound, StorageError
from storage.records import Message, PageSpan, PassageRecord
from ui import pages
from ui.chat.citations import PANEL, CitedPassage, marked, resolve, target_of
from ui.chat.sheet_rows import row_cited
from ui.components import side_panel
from ui.components.copy_buttons import copy_buttons
from ui.components.document_text import form_of, running_words, show_text
from ui.components.markdown import escape_text, label, safe_answer
from ui.components.messages import action
from ui.components.side_panel import icon_button, open_panel
from ui.server.services import services
from ui.trees.labels import PATH, TREE, kind_of, path_in_document

if TYPE_CHECKING:
    from rag.ingest.parsers.pdf_highlight import PageImage


MAX_PAGES = 2  # of a PDF that one quote may reach over
DRAWN_AHEAD = 6  # pages of an answer
FROM_MIDDLE = 0.23  # of its width: how far the middle of an enlarged page is from the edge that it is cut at
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

    A mark a third across and half down page 7 makes the key ``source-mark-7-33-50``, in percent. Of a mark
    that is wider than what an enlarged page shows, the beginning is in sight.
    """
    place = ""
    if drawn.boxes:
        left, top, right, bottom = (drawn.current or drawn.boxes)[0]
        across = min((left + right) / 2 / drawn.width, left / drawn.width + FROM_MIDDLE)
        down = (top + bottom) / 2 / drawn.height
        place = f"-{round(100 * across)}-{round(100 * down)}"
    with st.container(key=f"source-mark-{number}{place}"):
        st.image(drawn.png, width="stretch", alt=said)


def _turn(target: str, number: int) -> None:
    st.session_state[_TURNED] = target, number


def _enlarge(large: bool) -> None:
    st.session_state[_LARGE] = large


def _is_office(passage: PassageRecord, workspace: Workspace) -> bool:
    return workspace.library.documents.get(passage.document_id).name.lower().endswith((".docx", ".pptx"))


def _show_figures(evidence: CitedPassage, workspace: Workspace) -> None:
    """Show the pictures whose lines, captions or names are cited; they are in the original file."""
    library, passage = workspace.library, evidence.passage
    text = library.documents.text(passage.document_id)
    original = partial(library.files.path, passage.sha256)
    span = evidence.start, evidence.end
    if is_pdf(passage, workspace):
        spans = library.documents.pages(passage.document_id)
        pages = [(page.number, page.start, page.end) for page in spans]
        for figure in cited_figures(text, pages, *span)[:MAX_FIGURES]:
            _show_figure(figure.caption, partial(_pdf_figure_of, original, *figure))
    elif _is_office(passage, workspace):
        for line, number in figures_at(text, *span)[:MAX_FIGURES]:
            told = line.removeprefix("[Figure: ").removesuffix("]")
            _show_figure(told, partial(_figure_of, original, line, number))


def _show_figure(said: str, read: Callable[[], bytes | None]) -> None:
    try:
        with st.spinner(_("Loading figure…")):
            png = read()
    except FootnoteError as error:
        st.info(
            _("Cannot show this figure. {reason}", reason=escape_text(translated(str(error)))),
            icon=":material/image_not_supported:",
        )
        return
    if png is not None:
        st.image(png, alt=said)
        st.caption(escape_text(said))


def _figure_of(original: Callable[[], Path], line: str, number: int) -> bytes:
    return _read_figure(str(original()), line, number)


def _pdf_figure_of(original: Callable[[], Path], page: int, caption: str) -> bytes | None:
    return _read_pdf_figure(str(original()), page, caption)


@st.cache_data(max_entries=32, show_spinner=False)
def _read_figure(path: str, line: str, number: int) -> bytes:
    return figure_image(Path(path), line, number)


@st.cache_data(max_entries=32, show_spinner=False)
def _read_pdf_figure(path: str, page: int, caption: str) -> bytes | None:
    return pdf_figure(Path(path), PdfFigure(page, caption))


def _show_tree_path(passage: PassageRecord, here: Workspace) -> None:
    if not is_leaf_id(passage.chunk_id):
        return
    with st.expander(_("Path through the summaries"), type="compact", icon=":material/account_tree:"):
        st.caption(_("Only the passage is cited. The summaries above it led to it."))
        above = here.library.forest.path(passage.chunk_id)
        if not above:
            st.markdown(
                _("The summaries have changed since this answer was written. This path no longer exists.")
            )
            return
        for node in reversed(above):
            st.markdown(f"**{kind_of(node)}**")
            with st.container(border=True):
                st.markdown(escape_text(node.text))
        st.markdown(_("**Passage {number}**, shown above.", number=passage.number))
        st.page_link(
            pages.TREES,
            label=_("Show in tree"),
            icon=":material/account_tree:",
            query_params={TREE: passage.document_id, PATH: path_in_document(above, passage.chunk_id)},
        )


CONTEXT = 600  # characters of the document shown on either side of the cited words
LONGEST_TABLE = 6000  # characters above the context that are shown with it where a table begins there
MAX_STATEMENT = 400  # characters
MAX_FIGURES = 3  # that are shown for one quote
PARAMETER = "cite"
_BADGES = {
    "changed": N_(
        "This document has changed since this answer was written. The quote shows the earlier text."
    ),
    "removed": N_("This document was deleted after this answer was written. The quote is kept."),
}
_HEADINGS = {
    "verified": N_("Cited words"),
    "differs": N_("The source differs"),
    "related": N_("Closest words, not confirmed"),
    "unsupported": N_("The statement was not found in this source"),
    "passage": N_("Passage used for the answer"),
}


def choose(target: str) -> None:
    """Open a source by putting its target into the address, so that it can be shared."""
    open_panel(**{PARAMETER: target})


def show_chosen(workspace: Workspace) -> None:
    """Show the panel if the address names a source."""
    target = st.query_params.get(PARAMETER)
    if not target:
        return
    evidence = _find(target, workspace)
    if evidence is None:
        st.toast(_("Source not found. Its answer may have been deleted."))
        _dismiss()
        return
    targets = [target_of(cited) for _, cited in marked(evidence.message)]
    show_panel(evidence, workspace, _dismiss, list(dict.fromkeys(targets)))


def show_panel(
    evidence: CitedPassage, workspace: Workspace, close: Callable[[], None], targets: Sequence[str] = ()
) -> None:
    """Show the panel on a source, one of the `targets` that its answer cites in this order."""
    with st.container(key=PANEL, gap="small"):
        _show_head(evidence, close, targets)
        show_source(evidence, workspace)


def _show_head(evidence: CitedPassage, close: Callable[[], None], targets: Sequence[str]) -> None:
    with st.container(
        key="source-head", horizontal=True, gap="xsmall", vertical_alignment="center", wrap=False
    ):
        st.markdown(f"**{label(evidence.passage.document, 80)}**", width="stretch")
        if len(targets) > 1 and (target := target_of(evidence)) in targets:
            at = targets.index(target)
            icon_button(_("Previous citation"), "arrow_upward", choose, targets[at - 1] if at else None)
            st.caption(_("{at} of {total}", at=at + 1, total=len(targets)), width="content")
            after = targets[at + 1] if at + 1 < len(targets) else None
            icon_button(_("Next citation"), "arrow_downward", choose, after)
        icon_button(_("Close"), "close", lambda _: close(), "", shortcut="Esc")


def _dismiss() -> None:
    st.query_params.pop(PARAMETER, None)


def _find(target: str, workspace: Workspace) -> CitedPassage | None:
    answer_id, _dash, place = target.rpartition("-")
    with suppress(NotFound):
        return resolve(workspace.conversations.message(answer_id), place)
    return None


def show_source(evidence: CitedPassage, workspace: Workspace) -> None:
    """Show a source inside a panel: its page, and the cited words in context."""
    passage = evidence.passage
    found = workspace.standings.of([passage])[passage.document_id]
    for _place, document_id in workspace.standings.present([passage]):  # it may have been added again
        passage = replace(passage, document_id=document_id)
        evidence = replace(evidence, passage=passage)
    spans = cited_pages(evidence, workspace) if found == "here" else []
    page = page_shown(evidence, spans) if spans else None
    row = row_cited(evidence, workspace) if found == "here" else ""
    where = _where(page, spans, passage, row)
    with st.container(key="source-where", horizontal=True, gap="small", vertical_alignment="center"):
        if where:
            st.caption(where, width="stretch")
        if found == "here":
            opened = partial(_open_document, passage.document_id, page, (evidence.start, evidence.end))
            action(_("Open document"), "menu_book", "open-document", opened)
            _show_address(passage, workspace)
    if found in _BADGES:
        st.warning(translated(_BADGES[found]), icon=":material/history:")
    _show_statement(evidence)
    if spans and is_pdf(passage, workspace):
        show_pages(evidence, spans, workspace)
    if not passage.is_from_picture:
        _show_words(evidence, workspace, found, spans, row)
    if found == "here":
        _show_figures(evidence, workspace)
    _show_description(passage)
    _show_tree_path(passage, workspace)
    _show_feedback(evidence, workspace)


def _show_address(passage: PassageRecord, workspace: Workspace) -> None:
    address = workspace.library.documents.get(passage.document_id).url or ""
    if address.startswith(("https://", "http://")):
        host = label(urlsplit(address).netloc, 60)
        st.link_button(
            _("Open at {host}", host=host), address, icon=":material/open_in_new:", type="tertiary"
        )


def _open_document(document_id: str, page: int | None, words: tuple[int, int]) -> None:
    _dismiss()
    side_panel.open_document(document_id, page, words)


def _where(page: int | None, spans: Sequence[PageSpan], passage: PassageRecord, row: str) -> str:
    """Return the pages, heading and row of the cited words, or the page that was turned to."""
    if page is not None and page not in [span.number for span in spans]:
        return _("Page {number}", number=page)
    heading = label(heading_of(passage), 200)
    if row and heading:
        heading = _("Sheet {name}", name=heading)
    return " · ".join(filter(None, [_page_numbers(spans, passage), heading, row]))


def _page_numbers(spans: Sequence[PageSpan], passage: PassageRecord) -> str:
    numbers = [span.number for span in spans] or [page for page in [passage.page] if page is not None]
    if len(numbers) == 1:
        return _("Page {number}", number=numbers[0])
    return _("Pages {numbers}", numbers=enumerated([str(number) for number in numbers])) if numbers else ""


def _show_statement(evidence: CitedPassage) -> None:
    """Show what the answer says here, and what differs or was calculated; a quote says only the quote."""
    quoted = bool(evidence.message.id) and evidence.message.model is None
    if evidence.citation is None or quoted:
        return
    statement = " ".join(inert(statement_text(evidence.message, evidence.citation)).split())
    if statement:  # the value of a cell stands above its words
        st.caption(_("Statement: {statement}", statement=safe_answer(statement[:MAX_STATEMENT])))
    if evidence.citation.note:
        said = DIFFERS if evidence.citation.status == "differs" else CALCULATED
        st.markdown(f"**{translated(said)}:** {label(translated(evidence.citation.note), 400)}")


def _show_description(passage: PassageRecord) -> None:
    """Show what a model read from a picture, if it did, as words that are no quote."""
    if not passage.is_from_picture:
        return
    st.markdown("**" + _("Read from a picture by a model") + "**")
    st.markdown(escape_text(passage.text), anchors=False)
    st.caption(
        _("This is no quote of the document, so nothing is verified by it. Compare it with the picture.")
    )


def _show_words(
    evidence: CitedPassage, workspace: Workspace, found: Standing, pages: Sequence[PageSpan], row: str
) -> None:
    """Show the cited words, marked in their context."""
    before, after = _neighbours(evidence, workspace, found, pages)
    text, start = before + evidence.quote + after, len(before)
    shown = show_text(text, form_of(evidence.passage.document), start, start + len(evidence.quote))
    st.markdown(f"**{translated(_HEADINGS[evidence.citation.status if evidence.citation else 'passage'])}**")
    with st.container(key=f"source-words-{target_of(evidence)}"):  # the browser brings them into sight
        st.markdown(shown, anchors=False)
    copy_buttons({_("Copy quote"): _quote_with_place(evidence, pages, row)}, "copy-quote")


def _quote_with_place(evidence: CitedPassage, pages: Sequence[PageSpan], row: str) -> str:
    """Return the cited words as running words, with their document, page and row."""
    form = form_of(evidence.passage.document)
    words = plain_words(running_words(evidence.quote, form), marks=form == "markdown").strip()
    cited_on = pages[0].number if pages else evidence.passage.page
    place = translated(place_name(replace(evidence.passage, page=cited_on)))
    if row:
        place = ", ".join(filter(None, [place, heading_of(evidence.passage), row]))
    gap = "\n" if "\n" in words else " "
    return f"{words}{gap}— {' '.join(clean(place).split())}"


def _show_feedback(evidence: CitedPassage, workspace: Workspace) -> None:
    if evidence.citation is None or not evidence.message.id:  # not of a stored answer
        return
    answer_id, position = evidence.message.id, evidence.message.citations.index(evidence.citation)
    wrong = workspace.conversations.message(answer_id).citations[position].feedback == "wrong"
    action(
        _("Marked as wrong source") if wrong else _("Wrong source"),
        "flag",
        f"wrong-{answer_id}-{position}",
        partial(workspace.feedback.mark, answer_id, position, None if wrong else "wrong"),
        kind="secondary" if wrong else "tertiary",
        help=_("Remove the mark") if wrong else _("Saves your feedback on this citation, for evaluation"),
    )


def _neighbours(
    evidence: CitedPassage, workspace: Workspace, found: Standing, pages: Sequence[PageSpan]
) -> tuple[str, str]:
    passage, start, end = evidence.passage, evidence.start, evidence.end
    if found == "here":
        text = workspace.library.documents.text(passage.document_id)
        if text[start:end] == evidence.quote:
            first, last = (pages[0].start, max(pages[-1].end, end)) if pages else (0, len(text))
            head, tail = _whole_tables(text, max(first, start - CONTEXT), min(last, end + CONTEXT))
            head = max(first, head)  # a line at the end of the page before is no caption
            if header := _header_far_above(text, head, first):
                row = text.find("\n", head, start) if "\n" in text[head:start] else text.rfind("\n", 0, head)
                row_end = text.find("\n", tail, last)
                return f"…\n\n{header}\n{text[row + 1 : start]}", text[end : last if row_end < 0 else row_end]
            if head > first and text[head - 1] == "\n":  # a table would be none without its first word
                return f"…\n\n{text[head:start]}", _cut_tail(text[end:tail], tail < last)
            return _cut_head(text[head:start], head > first), _cut_tail(text[end:tail], tail < last)
    local = slice(start - passage.start, end - passage.start)
    if passage.text[local] == evidence.quote:
        return passage.text[: local.start], passage.text[local.stop :]
    return "", ""


def _whole_tables(text: str, head: int, tail: int) -> tuple[int, int]:
    """Return a context that begins with the table which it would cut, and ends with one of its rows."""
    far = max(0, head - LONGEST_TABLE)
    for table in read_tables(text[far : tail + CONTEXT]):
        if far + table.start <= head < far + table.end:
            head = far + table.caption
        if far + table.start < tail < far + table.end:
            row_end = text.find("\n", tail, far + table.end)
            tail = far + table.end if row_end < 0 else row_end
    return head, tail


def _header_far_above(text: str, head: int, first: int) -> str:
    """Return the first row and the rule of the table whose rows are cut at a place; empty for other text."""
    above = text.rfind("\n\n", first, head)
    top = above + 2 if above >= 0 else first
    table = next(iter(read_tables(text[top : text.find("\n", head)])), None)
    if table is None or table.start or not table.rows or top + table.rows[0].start >= head:
        return ""
    return text[top : top + table.rows[0].start].rstrip("\n")


def _cut_head(text: str, cut: bool) -> str:
    r"""Begin at a word where the text was cut: "rd and\nmore" -> "… and\nmore"."""
    space = re.search(r"\s", text[:40])
    return f"…{text[space.start() :]}" if cut and space else f"…{text}" if cut else text


def _cut_tail(text: str, cut: bool) -> str:
    rest, space, tail = text.rpartition(" ")
    return f"{rest} …" if cut and space and len(tail) < 40 else f"{text}…" if cut else text
