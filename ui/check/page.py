"""Page that checks a text: each statement with the words of the documents that it rests on beside it."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import get_args

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from rag.chat.check_export import CHECK_MEDIA_TYPES, SIGNS, CheckForm, export_check
from rag.chat.check_text import (
    MAX_TEXT,
    CheckedStatement,
    CheckedText,
    CheckProgress,
    SourceWords,
    TextCheck,
)
from rag.chat.export import file_name
from rag.errors import Cancelled, QuestionRefused
from rag.i18n import N_, _, in_language, language, ngettext, quoted, translated
from rag.workspace import Workspace
from storage.records import CitationRecord, CitationStatus, PassageRecord
from ui import pages
from ui.chat import citations, evidence_panel
from ui.chat.citations import CitedPassage
from ui.chat.scope import distinct, in_page_words
from ui.components.job_progress import follow_job
from ui.components.markdown import Link, PlainMark, label, plain_line, safe_answer
from ui.components.messages import show_refusal, show_sentence
from ui.components.pagination import paginated
from ui.server.services import services, workspace

PAGE = 15  # blocks of the text shown at once
BESIDE = 40  # statements of one block, such as a long table, shown at once
SHOWN = 300  # characters of a quote beside its statement
MOST_SOURCES = 3  # of a statement that are shown
JOB, RESULT, TEXT, OPENED = "check-job", "check-result", "check-text", "check-opened"
PASTED = "Pasted text.md"
FORMS: dict[CheckForm, str] = {
    "docx": N_("Word, with comments"),
    "html": N_("Web page"),
    "md": "Markdown",
    "json": "JSON",
}


def show() -> None:
    """Show the page."""
    here = workspace()
    citations.listen(_open_target)
    st.title(_("Check a text"))
    _resume(here)
    running: TextCheck | None = st.session_state.get(JOB)
    if running is not None:
        if not running.job.done:
            follow_job(running.job, _progress, key="check-stop")
            return
        _take(running, here)
    if RESULT in st.session_state:
        checked, content = st.session_state[RESULT]
        _show_result(checked, content, here)
    else:
        _show_form(here)


def _resume(here: Workspace) -> None:
    """Go on with the check that a tab which is gone began, or with its result."""
    if JOB not in st.session_state and RESULT not in st.session_state and here.text_check is not None:
        st.session_state[JOB], st.session_state[TEXT] = here.text_check, here.text_check.text


def _progress(event: CheckProgress | CheckedText | None) -> tuple[float, str]:
    if isinstance(event, CheckProgress) and event.total:
        return event.done / event.total, ngettext(
            "Checked {done} of {count} statement",
            "Checked {done} of {count} statements",
            event.total,
            done=f"{event.done:,}",
        )
    return 0.0, _("Reading the text")


def _take(ended: TextCheck, here: Workspace) -> None:
    """Keep the result of a check that has ended, or show why there is none."""
    del st.session_state[JOB]
    if here.text_check is ended and not isinstance(ended.job.latest, CheckedText):
        here.text_check = None
    latest = ended.job.latest
    if isinstance(latest, CheckedText):
        st.session_state[RESULT] = latest, ended.content
    elif isinstance(ended.job.error, Cancelled):
        st.info(_("The check was stopped."), icon=":material/info:")
    else:
        show_sentence(ended.job.error or _("The text could not be checked. Try again."))


def _show_form(here: Workspace) -> None:
    documents = [record for record in here.library.documents.list() if record.replaces is None]
    if not documents:
        st.markdown(_("No documents to check against yet. Add documents first."))
        st.page_link(pages.LIBRARY, label=_("Add documents"), icon=":material/upload:")
        return
    st.markdown(
        _(
            "Check a draft, an e-mail or another model's answer: see which of its statements your "
            "documents support."
        )
    )
    names = distinct({record.id: plain_line(record.name, 80) for record in documents})
    groups = {one.id: plain_line(one.name, 80) for one in here.library.collections.list()}
    with st.form("check-form", border=False):
        text = st.text_area(_("Text"), st.session_state.get(TEXT, ""), height=240, max_chars=MAX_TEXT)
        file = st.file_uploader(_("Or a file"), max_upload_size=services().settings.max_upload_mb)
        chosen = (
            _pick(_("Collections"), groups, "collections", _("None selected")),
            _pick(_("Documents"), names, "documents", _("All documents")),
        )
        if groups:
            st.caption(_("Collections and documents add up."))
        asked = st.form_submit_button(_("Check"), type="primary", icon=":material/fact_check:")
    if asked:
        with show_refusal():
            _start(here, text, file, *chosen)
            st.rerun()


def _pick(title: str, names: Mapping[str, str], kind: str, placeholder: str) -> list[str]:
    if not names:
        return []
    return st.multiselect(
        title,
        list(names),
        format_func=lambda id_: names.get(id_, id_),
        placeholder=placeholder,
        key=f"check-{kind}",
    )


def _start(
    here: Workspace, text: str, file: UploadedFile | None, collections: list[str], documents: list[str]
) -> None:
    if file is None and not text.strip():
        raise QuestionRefused(N_("There is no text to check. Paste one, or choose a file."))
    name, content = (PASTED, text.encode()) if file is None else (file.name, file.getvalue())
    job = here.check_text(name, content, collections=collections, documents=documents)
    st.session_state[TEXT] = text
    st.session_state[JOB] = here.text_check = TextCheck(job, content, text)


def _show_result(checked: CheckedText, content: bytes, here: Workspace) -> None:
    st.header(label(_("Your text") if checked.name == PASTED else checked.name, 80), anchor=False)
    st.markdown(f"**{translated(checked.summary)}**")
    if checked.searched_in:
        st.caption(_("Searched in: {scope}", scope=label(in_page_words(checked.searched_in), 300)))
    for note in checked.notes:
        st.caption(f":material/info: {label(translated(note), 600)}")
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        _show_downloads(checked, content)
        if st.button(_("Check another text"), icon=":material/refresh:", key="check-again"):
            del st.session_state[RESULT]
            here.text_check = None
            _close()
            st.rerun()
    shown = _choose_blocks(checked)
    with st.container(key="checked"), paginated(len(shown), PAGE, "check-page") as part:
        for start, end, stated in shown[part]:
            _show_block(checked, (start, end), stated)
    _show_opened(checked, here)


def _show_downloads(checked: CheckedText, content: bytes) -> None:
    with st.popover(_("Download"), icon=":material/download:", key="check-download"):
        for form in get_args(CheckForm):
            st.download_button(
                translated(FORMS[form]),
                data=partial(_exported, workspace(), checked, form, content, language()),
                file_name=file_name(f"checked {checked.name.rpartition('.')[0]}", form),
                mime=CHECK_MEDIA_TYPES[form],
                on_click="ignore",
                key=f"check-download-{form}",
            )


def _exported(here: Workspace, checked: CheckedText, form: CheckForm, content: bytes, code: str) -> bytes:
    here.note("check_exported", form=form)
    with in_language(code):  # the server asks for it outside of the page
        return export_check(checked, form, content).content


Block = tuple[int, int, list[CheckedStatement]]


def _choose_blocks(checked: CheckedText) -> list[Block]:
    """Return the blocks to show, with their statements: all, or those with statements not verified."""
    every = list(_blocks(checked))
    others = len(checked.statements) - checked.verified
    if not others or not checked.verified:
        return every
    names = {"all": _("Whole text"), "others": _("Not verified ({others})", others=f"{others:,}")}
    wanted = st.segmented_control(
        _("Show"), list(names), format_func=names.__getitem__, default="all", required=True, key="check-show"
    )
    if wanted == "all":
        return every
    return [block for block in every if any(one.status != "verified" for one in block[2])]


def _blocks(checked: CheckedText) -> Iterator[Block]:
    rest = list(reversed(checked.statements))
    for start, end in checked.blocks:
        inside = []
        while rest and rest[-1].start < end:
            inside.append(rest.pop())
        yield start, end, inside


def _show_block(checked: CheckedText, span: tuple[int, int], stated: list[CheckedStatement]) -> None:
    start, end = span
    marks = [(min(one.end, end) - start, _mark(one)) for one in stated]
    left, right = st.columns(2, gap="medium")
    with left:
        shown = safe_answer(checked.text[start:end], notes=marks)
        st.markdown(_with_line_ends(shown) if _is_typed(checked) else shown, anchors=False)
    with right, paginated(len(stated), BESIDE, f"check-beside-{start}") as part:
        for one in stated[part]:
            _show_statement(one)


def _is_typed(checked: CheckedText) -> bool:
    """Return True for a text whose lines end where its author ended them, unlike those of a PDF's page."""
    return checked.name == PASTED or checked.media_type == "text/plain"


def _with_line_ends(markdown: str) -> str:
    r"""Return Markdown that shows its line ends, which are spaces otherwise.

    >>> _with_line_ends("Dear Ann,\nthe rent is £9.\n\nTom")
    'Dear Ann,  \nthe rent is £9.\n\nTom'
    """
    return re.sub(r"(?<=\S)\n(?=\S)", "  \n", markdown)


def _mark(one: CheckedStatement) -> Link | PlainMark:
    sign = SIGNS[one.status]
    if not one.shown:
        return PlainMark(f"[{one.number}\u00a0{sign}]")
    first = one.shown[0]
    hint = f"{translated(one.remark)}: {quoted(plain_line(first.line, 180))} — {translated(first.place)}"
    return Link(one.number, f"check-{one.number}-0-{_kind(one)}", hint, sign=sign)


def _kind(one: CheckedStatement) -> str:
    """Return the status of a statement as part of a name that the style sheet knows."""
    return one.status.replace(" ", "-")


def _show_statement(one: CheckedStatement) -> None:
    with st.container(key=f"sources-check-{one.number}-{_kind(one)}", gap="xxsmall"):
        st.markdown(f"{SIGNS[one.status]} {one.number} · {label(translated(one.remark), 400)}")
        for at, source in enumerate(one.shown[:MOST_SOURCES]):
            st.caption(quoted(label(source.line, SHOWN)))
            st.button(
                f"{one.number} · {label(translated(source.place), 60)}",
                key=f"check-source-{one.number}-{at}",
                on_click=_open,
                args=(one.number, at),
            )


def _open(number: int, at: int) -> None:
    st.session_state[OPENED] = number, at


def _open_target(target: str) -> None:
    """Open what a mark of the text names: "check-3-0-verified"."""
    kind, _, place = target.partition("-")
    number, at, *_rest = [*place.split("-"), ""]
    if kind == "check" and number.isdecimal() and at.isdecimal():
        _open(int(number), int(at))


def _show_opened(checked: CheckedText, here: Workspace) -> None:
    number, at = st.session_state.get(OPENED, (0, 0))
    if 0 < number <= len(checked.statements) and at < len(checked.statements[number - 1].shown):
        one = checked.statements[number - 1]
        evidence_panel.show_panel(as_evidence(checked, one, one.shown[at]), here, _close)


def _close() -> None:
    st.session_state.pop(OPENED, None)


def as_evidence(checked: CheckedText, one: CheckedStatement, source: SourceWords) -> CitedPassage:
    """Return the evidence of a statement; its message is not stored and has no id."""
    passage = source.passage
    status: CitationStatus = "related" if one.status == "not found" else one.status
    cited = PassageRecord(
        number=1,
        chunk_id=passage.id,
        document_id=passage.document_id,
        document=passage.document,
        sha256=passage.sha256,
        page=passage.page,
        heading=passage.heading,
        start=passage.start,
        end=passage.end,
        text=passage.text,
        score=passage.score,
    )
    citation = CitationRecord(
        1, one.start, one.end, status, source.start, source.end, source.quote, note=one.note
    )
    return CitedPassage.outside(checked.text, cited, citation)
