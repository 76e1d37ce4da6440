"""Panel that opens any document of the library: its pages or text, and search inside.

It shows what the document says of itself, each fact with the words that it was read from, and what a model
read from its figures, with a button to have that done.
"""

import re
from collections.abc import Iterator, Sequence

import streamlit as st

from rag.i18n import N_, _, ngettext, translated, written_period
from rag.ingest.figure_descriptions import FigureProgress
from rag.ingest.figures import caption_of
from rag.ingest.page_images import WantedPage
from rag.workspace import Workspace
from storage.errors import FootnoteError, NotFound
from storage.records import DocumentFact, DocumentRecord, FigureReading, FigureRecord, FigureSpan, PageSpan
from ui import pages
from ui.chat.citations import PANEL
from ui.chat.evidence_panel import show_image
from ui.components.document_text import form_of, show_text
from ui.components.job_progress import STATES, TICK
from ui.components.markdown import escape_text, label
from ui.components.messages import action, show_refusal
from ui.components.side_panel import DOCUMENT, DOCUMENT_PARAMETERS, PAGE, WORDS, icon_button, open_document
from ui.documents import introduction, selection
from ui.server.services import services

MOST = 8  # facts of a kind that are shown
AROUND = 60  # characters shown on each side of the words of a fact
_KINDS = {
    "title": N_("Title"),
    "author": N_("Author"),
    "form": N_("Form"),
    "date": N_("Date"),
    "period": N_("Period"),
    "language": N_("Language"),
    "name": N_("Parties"),
    "alias": N_("Names it uses"),
    "term": N_("Terms"),
    "unit": N_("Tables"),
}
_LANGUAGES = {
    "en": N_("English"),
    "ko": N_("Korean"),
    "ja": N_("Japanese"),
    "zh": N_("Chinese"),
    "de": N_("German"),
    "fr": N_("French"),
}


def show_facts(record: DocumentRecord, here: Workspace) -> None:
    """Show an expander with the facts of a document; they are read when it is opened."""
    opened = st.expander(
        _("About this document"), type="compact", on_change="rerun", key=f"about-{record.id}"
    )
    if opened.open:
        with opened:
            facts = here.library.facts_of(record.id)
            text = here.library.documents.text(record.id)
            st.markdown("\n".join(lines(facts, text)))


def lines(facts: Sequence[DocumentFact], text: str) -> Iterator[str]:
    """Yield a list in Markdown: each kind with its facts, each with the words it was read from.

    >>> list(lines([DocumentFact("unit", "in millions", 6, 17)], "Sales in millions"))
    ['- **Tables**', '    - in millions, from “Sales in millions”']
    """
    for kind, title in _KINDS.items():
        found = list({fact.value: fact for fact in reversed(facts) if fact.kind == kind}.values())[::-1]
        if found:
            yield f"- **{translated(title)}**"
        yield from (f"    - {_line(fact, text)}" for fact in found[:MOST])
        if len(found) > MOST:
            yield "    " + _("- and {number} more", number=f"{len(found) - MOST:,}")


def _line(fact: DocumentFact, text: str) -> str:
    shown = label(_value(fact), 120)
    if fact.means and fact.kind in ("alias", "term"):
        shown += f": {label(fact.means, 120)}"
    if fact.kind == "period" and fact.means:
        shown += f" ({label(fact.means, 20)})"
    if fact.start is None or fact.end is None:
        return (
            shown
            if fact.kind == "language"
            else _("{value}, from the file’s name or properties", value=shown)
        )
    return _("{value}, from “{quote}”", value=shown, quote=label(_quoted(text, fact.start, fact.end), 200))


def _value(fact: DocumentFact) -> str:
    if fact.kind == "language":
        return translated(_LANGUAGES.get(fact.value, fact.value))
    return written_period(fact.value) if fact.kind in ("date", "period") else fact.value


def _quoted(text: str, start: int, end: int) -> str:
    """Return the words at a place with what stands around them in their line, no word of it cut.

    >>> _quoted("The quick brown fox " * 9 + "ends 2024 here.", 185, 189)
    '… brown fox The quick brown fox The quick brown fox ends 2024 here.'
    """
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    stop = stop if stop >= 0 else len(text)
    first, last = max(begin, start - AROUND), min(stop, end + AROUND)
    before, after = text[first:start], text[end:last]
    if first > begin:
        before = "… " + (before.partition(" ")[2] if " " in before else before)
    if last < stop:
        after = (after.rpartition(" ")[0] if " " in after else after) + " …"
    return " ".join(f"{before}{text[start:end]}{after}".split())


def show_figures(record: DocumentRecord, here: Workspace) -> None:
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


PART = 4000  # characters of a document without pages that are shown at once
MOST_HITS = 500
_FIND, _HIT, _LARGE = "document-find", "document-hit", "document-large"

Span = tuple[int, int]


def show_chosen(here: Workspace) -> None:
    """Show the panel if the address names a document."""
    document_id = st.query_params.get(DOCUMENT)
    if not document_id:
        return
    try:
        record = here.library.documents.get(document_id)
    except NotFound:
        st.toast(_("Document not found. It may have been deleted."))
        _close()
        return
    with st.container(key=PANEL, gap="small"), show_refusal():
        _show_head(record)
        _show_actions(record, here)
        _show_contents(record, here)


def _close(_: object = None) -> None:
    for name in DOCUMENT_PARAMETERS:
        st.query_params.pop(name, None)


def _show_head(record: DocumentRecord) -> None:
    with st.container(
        key="source-head", horizontal=True, gap="xsmall", vertical_alignment="center", wrap=False
    ):
        st.markdown(f"**{label(record.name, 80)}**", width="stretch")
        icon_button(_("Close"), "close", _close, "", shortcut="Esc")


def _show_actions(record: DocumentRecord, here: Workspace) -> None:
    with st.container(key="document-actions", horizontal=True, gap="small"):
        summarise = _("Summarise in a new chat")
        if record.chunks and st.button(summarise, icon=":material/summarize:", key="document-summarise"):
            introduction.summarise(record, here)
        if selection.show_chat([record], key="document"):
            st.switch_page(pages.CHAT)
        with st.popover(_("More"), type="tertiary", key="document-more"):
            st.download_button(
                _("Download original"),
                data=lambda: here.original(record.id),
                file_name=record.name,
                icon=":material/download:",
                on_click="ignore",
                key=f"download-{record.id}",
                type="tertiary",
            )
            selection.show_filing([record], here, key="document")
            action(_("Delete"), "delete", "document-delete", selection.delete, [record], here, _close)


def _show_contents(record: DocumentRecord, here: Workspace) -> None:
    if not record.chunks:
        st.markdown(f"{translated(STATES[record.state])}. {escape_text(translated(record.reason or ''))}")
        return
    text = here.library.documents.text(record.id)
    spans = here.library.documents.pages(record.id)
    parts = spans or text_parts(text)
    _show_introduction(record, here)
    hits, hit = _find(record, text)
    if not hits and (words := _words(len(text))) is not None:
        hits = [words]
    number = _number(parts, hits[hit] if hits else None)
    _show_turning(record, parts, number, by_pages=bool(spans))
    span = parts[number - 1]
    if spans and record.name.lower().endswith(".pdf"):
        _show_page(record, span, text, hits, hit, here)
    else:
        _show_text(record, text, span, hits[hit] if hits else None)
    show_figures(record, here)
    show_facts(record, here)


def _show_introduction(record: DocumentRecord, here: Workspace) -> None:
    key = f"introduction-{record.id}"
    opened = st.expander(_("Summary and questions"), type="compact", on_change="rerun", key=key)
    if opened.open:
        with opened:
            introduction.show(record, here)


def _find(record: DocumentRecord, text: str) -> tuple[list[Span], int]:
    """Show the search inside the document; return the places of the words, and which of them is looked at."""
    with st.container(key="document-find-bar", horizontal=True, gap="xsmall", vertical_alignment="center"):
        words = st.text_input(
            _("Search in this document"),
            key=f"{_FIND}-{record.id}",
            placeholder=_("Search in this document"),
            icon=":material/search:",
            label_visibility="collapsed",
            live="300ms",
            on_change=_begin_search,
        )
        hits = find_words(text, words or "")
        asked, at = st.session_state.get(_HIT, ("", 0))
        at = at if asked == words and at < len(hits) else 0
        if words and words.strip():
            _show_hits(words, hits, at)
    return hits, at


def _begin_search() -> None:
    """Go to the first match: the page and the words that the document was opened at are left."""
    for name in (PAGE, WORDS):
        st.query_params.pop(name, None)
    st.session_state.pop(_HIT, None)


def _words(length: int) -> Span | None:
    """Return the span that the address names in a text of this length; None where it names none."""
    start, _dash, end = st.query_params.get(WORDS, "").partition("-")
    if not all(one.isascii() and one.isdigit() and len(one) < 12 for one in (start, end)):
        return None
    return (int(start), int(end)) if int(start) < int(end) <= length else None


def _show_hits(words: str, hits: Sequence[Span], at: int) -> None:
    if not hits:
        st.caption(_("No match"), width="content")
        return
    total = f"{len(hits)}{'+' * (len(hits) == MOST_HITS)}"
    st.caption(_("{at} of {total}", at=at + 1, total=total), width="content")
    icon_button(_("Previous match"), "arrow_upward", _go_to_hit, (words, at - 1) if at else None)
    icon_button(
        _("Next match"), "arrow_downward", _go_to_hit, (words, at + 1) if at + 1 < len(hits) else None
    )


def _go_to_hit(hit: tuple[str, int]) -> None:
    st.session_state[_HIT] = hit
    st.query_params.pop(PAGE, None)


def find_words(text: str, words: str) -> list[Span]:
    r"""Return the places of words in a text, in any case and over line ends; none of no words.

    >>> find_words("Net  sales. NET\nSALES", " net sales ")
    [(0, 10), (12, 21)]
    """
    pattern = r"\s+".join(map(re.escape, words.split()))
    if not pattern:
        return []
    found: list[Span] = []
    for match in re.finditer(pattern, text, re.IGNORECASE):
        found.append(match.span())
        if len(found) == MOST_HITS:
            break
    return found


def text_parts(text: str, size: int = PART) -> list[PageSpan]:
    r"""Cut a text without pages into numbered parts of about `size` characters, between lines.

    >>> [(part.start, part.end) for part in text_parts("ab\ncd\nef", 4)]
    [(0, 3), (3, 6), (6, 8)]
    """
    parts: list[PageSpan] = []
    start = 0
    while start < len(text) or not parts:
        end = len(text)
        if end - start > size:
            line = text.rfind("\n", start + 1, start + size)
            end = line + 1 if line > start else start + size
        parts.append(PageSpan(len(parts) + 1, start, end))
        start = end
    return parts


def _number(parts: Sequence[PageSpan], hit: Span | None) -> int:
    """Return the number of the part to show: the chosen one, else that of the match, else the first."""
    asked = st.query_params.get(PAGE, "")
    if asked.isascii() and asked.isdigit() and 1 <= int(asked) <= len(parts):
        return int(asked)
    if hit is None:
        return 1
    return next((at for at, part in enumerate(parts, 1) if hit[0] < part.end), len(parts))


def _show_turning(record: DocumentRecord, parts: Sequence[PageSpan], number: int, *, by_pages: bool) -> None:
    if len(parts) < 2:
        return

    words = _words(parts[-1].end)

    def turn(to: int) -> None:
        open_document(record.id, to, words)

    with st.container(key="source-pages", horizontal=True, gap="xsmall", vertical_alignment="center"):
        before, after = number - 1 if number > 1 else None, number + 1 if number < len(parts) else None
        at = {"number": f"{number:,}", "total": f"{len(parts):,}"}
        previous = _("Previous page") if by_pages else _("Previous part")
        icon_button(previous, "chevron_left", turn, before)
        said = _("Page {number} of {total}", **at) if by_pages else _("Part {number} of {total}", **at)
        st.caption(said, width="content")
        icon_button(_("Next page") if by_pages else _("Next part"), "chevron_right", turn, after)
        if by_pages:
            large = bool(st.session_state.get(_LARGE))
            name, icon = (_("Fit page"), "zoom_out") if large else (_("Enlarge page"), "zoom_in")
            icon_button(name, icon, _enlarge, not large)


def _enlarge(large: bool) -> None:
    st.session_state[_LARGE] = large


def _show_page(
    record: DocumentRecord, span: PageSpan, text: str, hits: Sequence[Span], hit: int, here: Workspace
) -> None:
    there = [at for at, (start, end) in enumerate(hits) if start < span.end and span.start < end]
    inside = [(max(hits[at][0] - span.start, 0), min(hits[at][1], span.end) - span.start) for at in there]
    current = there.index(hit) if hit in there and len(hits) > 1 else None
    words = text[span.start : span.end]
    try:
        with st.spinner(_("Loading page…")):
            page = WantedPage(
                here.library.files.path(record.sha256), span.number, words, tuple(inside), current
            )
            drawn = services().page_images.draw(page)
    except FootnoteError as error:
        st.info(
            _("Cannot show this page. {reason}", reason=escape_text(translated(str(error)))),
            icon=":material/image_not_supported:",
        )
        _show_text(record, text, span, None)
        return
    with st.container(key="source-page-large" if st.session_state.get(_LARGE) else "source-page"):
        said = (
            _("Page {number}, matches highlighted", number=span.number)
            if inside and drawn.certain
            else _("Page {number}", number=span.number)
        )
        show_image(drawn, said, span.number)


def _show_text(record: DocumentRecord, text: str, span: PageSpan, hit: Span | None) -> None:
    start, end = hit or (span.start, span.start)
    shown = show_text(text[span.start : span.end], form_of(record.name), start - span.start, end - span.start)
    with st.container(key=f"document-text-{record.id}-{start}"):
        st.markdown(shown, anchors=False)
