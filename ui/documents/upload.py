"""File uploads: add dropped files to the library and report the outcome of each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Literal

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from rag.i18n import N_, _, ngettext, translated
from rag.ingest.parsers import unpack
from rag.workspace import Workspace
from storage.documents import SEARCHABLE, UNFINISHED
from storage.errors import FootnoteError
from storage.records import DocumentRecord
from ui.components.job_progress import STATES, step_name
from ui.components.markdown import label
from ui.components.messages import action, show_errors


@dataclass(frozen=True)
class UploadLine:
    """Outcome of one uploaded file; `document_id` is None if it was refused."""

    name: str
    outcome: str
    document_id: str | None


class UploadReport:
    """Outcomes of a session's uploads, kept until shown, as a page run may end early; thread-safe."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._claimed: set[str] = set()
        self._writers = 0
        self.lines: tuple[UploadLine, ...] = ()  # one for each file, in order
        self.place: str | None = None  # where the lines were shown

    @property
    def growing(self) -> bool:
        """Return True while files are being added."""
        return self._writers > 0

    def claim(self, file_ids: Iterable[str]) -> set[str]:
        """Return the ids that no other page run has claimed, and claim them."""
        with self._lock:
            mine = set(file_ids) - self._claimed
            self._claimed |= mine
        return mine

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Mark files as being added; lines that were shown are cleared."""
        self.put_away()
        with self._lock:
            self._writers += 1
        try:
            yield
        finally:
            with self._lock:
                self._writers -= 1

    def add(self, line: UploadLine) -> None:
        """Add the outcome of a file."""
        with self._lock:
            self.lines += (line,)

    def put_away(self, place: str | None = None) -> None:
        """Clear the lines if they were shown, unless at this place."""
        with self._lock:
            if self.place not in (None, place):
                self.close()

    def close(self) -> None:
        """Clear the lines."""
        with self._lock:
            self.lines, self.place = (), None


REPORT = "upload-report"
LOOK = 0.5  # seconds between updates while files are added
_PIECE = 1 << 20
_ICONS = {"ready": "check", "busy": "progress_activity", "refused": "error"}
_OUTCOMES = {
    "new": N_("added"),
    "unchanged": N_("already in your library"),
    "replaces": N_("replaces its older version once it has been read"),
}


def report() -> UploadReport:
    """Return the upload report of this browser session."""
    kept: UploadReport = st.session_state.setdefault(REPORT, UploadReport())
    return kept


def add_files(
    files: Sequence[UploadedFile],
    outcomes: UploadReport,
    workspace: Workspace,
    collection_id: str | None = None,
) -> list[UploadLine]:
    """Add the files that no other page run has claimed to the library, and to a collection if given.

    Nothing in here lets Streamlit interrupt the run, so all files are added even if the visitor goes on.
    """
    mine = outcomes.claim(file.file_id for file in files)
    lines: list[UploadLine] = []
    if mine:
        with outcomes.writing():
            for file in files:
                if file.file_id in mine:
                    for line in _take(file, workspace, collection_id):
                        lines.append(line)
                        outcomes.add(line)
                    _release(file)
    return lines


def show_report(place: str, here: Workspace, *, listed: bool = False) -> None:
    """Show what became of each file of the last uploads, as long as the visitor stays at `place`.

    Where documents are `listed` beside it, only the files that became none are named.
    """
    outcomes = report()
    if outcomes.growing:
        _follow(outcomes)
        return
    outcomes.put_away(place)
    lines = outcomes.lines
    told = list(lines)
    if listed or len(lines) == 1:
        told = [
            line for line in lines if line.document_id is None or (not listed and _is_tried_again(line, here))
        ]
    if told:
        outcomes.place = place
        live = not _have_ended(told, here)
        st.fragment(_show_lines, run_every=LOOK if live else None)(told, outcomes, here, live=live)
    elif lines:
        st.toast(_added(lines), icon=":material/description:")
        outcomes.close()


def _is_tried_again(line: UploadLine, here: Workspace) -> bool:
    """Return True for a file that failed before and is not searchable now; the newest introduces itself."""
    newest = next(iter(here.documents()), None)
    records = _records([line], here).values()
    return any(record != newest and record.state not in SEARCHABLE for record in records)


def _added(lines: Sequence[UploadLine]) -> str:
    """Return how many files were added, and what became of each other one."""
    others = [line for line in lines if len(lines) == 1 or line.outcome != _OUTCOMES["new"]]
    said = [
        _("{name}: {reason}.", name=label(line.name, 60), reason=translated(line.outcome)) for line in others
    ]
    added = len(lines) - len(others)
    return "  \n".join([ngettext("{count} file added", "{count} files added", added)] * bool(added) + said)


@st.fragment(run_every=LOOK)
def _follow(outcomes: UploadReport) -> None:
    """Show the number of files added so far by a page run that the visitor interrupted."""
    if not outcomes.growing:
        st.rerun()
    st.caption(_("Adding files: {number} so far.", number=len(outcomes.lines)))


@show_errors()
def _show_lines(lines: Sequence[UploadLine], outcomes: UploadReport, here: Workspace, *, live: bool) -> None:
    """Show each file with its state, which changes until it was read.

    Where documents introduce themselves only those that are not read yet are listed.
    """
    if live and _have_ended(lines, here):
        st.rerun()  # without polling
    if not outcomes.lines:
        st.rerun()  # closed: the page has the lines no more
    records = _records(lines, here)
    states = [line_state(line, records, here) for line in lines]
    shown = [pair for pair in zip(lines, states, strict=True) if outcomes.place or pair[1][0] != "ready"]
    if not shown:
        st.toast(_added(lines), icon=":material/description:")
        outcomes.close()
        return
    with st.container(border=True, key="upload-report", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{_count(states)}**", width="stretch")
            action(_("Close"), "close", "close-report", outcomes.close)
        with st.container(key="upload-lines"):
            st.markdown(
                "\n".join(
                    f"- :material/{_ICONS[tone]}: {_named(line.name, said)}" for line, (tone, said) in shown
                )
            )


def _named(name: str, said: str) -> str:
    """Return what is said of a file with its name, unless the sentence begins with it."""
    return label(said, 300) if said.startswith(name) else f"{label(name, 80)} · {label(said, 300)}"


def _records(lines: Sequence[UploadLine], here: Workspace) -> dict[str, DocumentRecord]:
    ids = {line.document_id for line in lines}
    return {record.id: record for record in here.documents() if record.id in ids}


def _have_ended(lines: Sequence[UploadLine], here: Workspace) -> bool:
    return not any(record.state in UNFINISHED for record in _records(lines, here).values())


def line_state(
    line: UploadLine, records: Mapping[str, DocumentRecord], here: Workspace
) -> tuple[Literal["ready", "busy", "refused"], str]:
    """Return the state of an uploaded file, and what is said of it."""
    record = records.get(line.document_id or "")
    if line.document_id is None:
        return "refused", translated(line.outcome)
    if record is None:  # deleted since, or an older version that is still answering
        return "ready", translated(line.outcome)
    if record.state == "refused":
        return "refused", translated(record.reason or "") or _("Could not be read")
    if record.state not in SEARCHABLE:
        progress = here.ingest.progress(record.id)
        return "busy", step_name(progress).capitalize() if progress else translated(STATES[record.state])
    return "ready", translated(STATES[record.state])


def _count(states: Sequence[tuple[str, str]]) -> str:
    """Return the number of files that are ready, and of those that could not be read, in words.

    >>> _count([("ready", ""), ("busy", ""), ("refused", "")])
    '1 of 3 files ready, 1 could not be read'
    >>> _count([("refused", "")])
    'File not added'
    """
    tones, number = [tone for tone, _said in states], len(states)
    ready, refused = tones.count("ready"), tones.count("refused")
    if number == 1 and refused:
        return _("File not added")
    said = ngettext("{ready} of {count} file ready", "{ready} of {count} files ready", number, ready=ready)
    if not refused:
        return said
    return ngettext(
        "{said}, {count} could not be read", "{said}, {count} could not be read", refused, said=said
    )


def uploader(workspace: Workspace, limit_mb: int, collection_id: str | None = None) -> None:
    """Show the file uploader and add its files, to a collection if given."""
    files = st.file_uploader(
        _("Add documents"),
        accept_multiple_files=True,
        key="uploader",
        max_upload_size=limit_mb,
        help=_(
            "PDF, Word, PowerPoint, Excel, Hangul, OpenDocument, RTF, CSV, HTML, EPUB, e-mail, Markdown, "
            "plain text, and ZIP archives of them."
        ),
    )
    if add_files(files, report(), workspace, collection_id):
        st.rerun()


def _release(file: UploadedFile) -> None:
    """Release an upload's memory, which Streamlit keeps until the session ends."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)


def _take(file: UploadedFile, workspace: Workspace, collection_id: str | None) -> Iterator[UploadLine]:
    """Add a file, or each document of a ZIP archive; yield what became of it."""
    try:
        archive = unpack(file.name, _pieces(file))
    except FootnoteError as error:
        yield UploadLine(file.name, str(error), None)
        return
    if archive is None:
        yield _take_one(file.name, _pieces(file), workspace, collection_id)
        return
    for name, content in archive.attached:
        yield _take_one(name, [content], workspace, collection_id)
    if archive.note:
        yield UploadLine(file.name, archive.note, None)


def _pieces(file: UploadedFile) -> Iterator[bytes]:
    file.seek(0)
    return iter(partial(file.read, _PIECE), b"")


def _take_one(
    name: str, content: Iterable[bytes], workspace: Workspace, collection_id: str | None
) -> UploadLine:
    try:
        record, outcome = workspace.add(name, content, collection_id)
    except FootnoteError as error:
        return UploadLine(name, str(error), None)
    return UploadLine(name, _OUTCOMES[outcome], record.id)
