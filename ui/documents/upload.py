"""Files that were just dropped: into the library, each with a line on what became of it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from rag.workspace import Workspace
from storage.errors import FootnoteError
from ui.components.markdown import label

# What became of the files that were dropped last, kept until it was seen: a run of the page may end midway.


@dataclass(frozen=True)
class UploadLine:
    """What became of one file; `document_id` is None where it could not be kept."""

    name: str
    said: str
    document_id: str | None


class UploadReport:
    """The lines of one browser session, and which of its uploads were taken; safe for two runs at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._claimed: set[str] = set()
        self._lines: list[UploadLine] = []
        self._writers = 0
        self._place: str | None = None  # where it was shown

    @property
    def growing(self) -> bool:
        """Whether files are being taken now."""
        return self._writers > 0

    @property
    def lines(self) -> tuple[UploadLine, ...]:
        """One for each file, in the order in which they were taken."""
        with self._lock:
            return tuple(self._lines)

    def claim(self, file_ids: Iterable[str]) -> set[str]:
        """Return those that no run has taken yet; they are this run's to take."""
        with self._lock:
            mine = set(file_ids) - self._claimed
            self._claimed |= mine
        return mine

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Take files inside of it: lines that were shown make room for theirs."""
        self.put_away()
        with self._lock:
            self._writers += 1
        try:
            yield
        finally:
            with self._lock:
                self._writers -= 1

    def add(self, line: UploadLine) -> None:
        """Say what became of one more file."""
        with self._lock:
            self._lines.append(line)

    def come_to(self, place: str) -> None:
        """Forget the lines if they were shown at another place than this."""
        with self._lock:
            self._forget_if(self._place not in (None, place))

    def put_away(self) -> None:
        """Forget the lines if they were shown, since something else is done now."""
        with self._lock:
            self._forget_if(self._place is not None)

    def was_shown(self, place: str) -> None:
        """Note where the lines were shown."""
        with self._lock:
            self._place = place

    def close(self) -> None:
        """Forget the lines."""
        with self._lock:
            self._forget_if(True)

    def _forget_if(self, due: bool) -> None:
        if due:
            self._lines.clear()
            self._place = None


REPORT = "upload-report"
LOOK = 0.5  # seconds between looks for files that are being taken
_PIECE = 1 << 20
_SAID = {
    "new": "added",
    "unchanged": "already in your library",
    "replaces": "replaces its older version once it has been read",
}


class _File(Protocol):
    """What an uploader hands out: a file that knows its name."""

    name: str
    file_id: str

    def read(self, size: int, /) -> bytes:
        """Read up to `size` bytes."""


def report() -> UploadReport:
    """Return what is said of the files that were dropped last in this browser session."""
    kept: UploadReport = st.session_state.setdefault(REPORT, UploadReport())
    return kept


def add_files(
    files: Sequence[_File], told: UploadReport, workspace: Workspace, collection_id: str | None = None
) -> list[UploadLine]:
    """Copy those files that no run has taken into the library, and into a collection if one is given.

    All of them, even where the visitor ends the run meanwhile: nothing in here lets Streamlit end it.
    """
    mine = told.claim(file.file_id for file in files)
    lines: list[UploadLine] = []
    if mine:
        with told.writing():
            for file in files:
                if file.file_id in mine:
                    lines.append(_take_one(file, workspace, collection_id))
                    told.add(lines[-1])
                    _release(file)
    return lines


def show_report(place: str) -> None:
    """Say what became of the files that were dropped last, as long as the visitor stays at this place."""
    told = report()
    if told.growing:
        _follow(told)
        return
    told.come_to(place)
    lines = told.lines
    if len(lines) == 1 and lines[0].document_id is not None:
        st.toast(f"{label(lines[0].name, 60)}: {lines[0].said}.", icon=":material/description:")
        told.close()
    elif lines:
        _show_lines(lines, told)
        told.was_shown(place)


@st.fragment(run_every=LOOK)
def _follow(told: UploadReport) -> None:
    """Say how many files have been taken: a run of the page that the visitor has ended is still at it."""
    if not told.growing:
        st.rerun()
    st.caption(f"Adding files: {len(told.lines)} so far.")


def _show_lines(lines: Sequence[UploadLine], told: UploadReport) -> None:
    added = sum(line.document_id is not None for line in lines)
    with st.expander(
        added_files(added, len(lines)),
        icon=":material/description:",
        type="compact",
        expanded=added < len(lines),
    ):
        st.markdown("\n".join(f"- **{label(line.name, 80)}**: {line.said}" for line in lines))
        st.button("Close", key="close-report", type="tertiary", icon=":material/close:", on_click=told.close)


def added_files(added: int, number: int) -> str:
    """Return how many of the dropped files are there now.

    >>> added_files(3, 3), added_files(1, 3), added_files(0, 1)
    ('3 files added', '1 of 3 files added', 'File not added')
    """
    if number == 1 and not added:
        return "File not added"
    return f"{added} files added" if added == number else f"{added} of {number} files added"


def uploader(workspace: Workspace, limit_mb: int, collection_id: str | None = None) -> None:
    """Show an uploader, into a collection if one is given.

    It goes on showing what it said of files that it would not take.
    """
    files = st.file_uploader(
        "Add documents",
        accept_multiple_files=True,
        key="uploader",
        max_upload_size=limit_mb,
        help="PDF, Word, PowerPoint, Excel, CSV, HTML, EPUB, Markdown and plain text.",
    )
    if add_files(files, report(), workspace, collection_id):
        st.rerun()


def _release(file: _File) -> None:
    """Let an upload's memory go, which the page would keep until the visitor leaves."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)


def _take_one(file: _File, workspace: Workspace, collection_id: str | None) -> UploadLine:
    try:
        record, outcome = workspace.add(file.name, _pieces(file), collection_id)
    except FootnoteError as error:
        return UploadLine(file.name, label(str(error), 300), None)
    return UploadLine(file.name, _SAID[outcome], record.id)


def _pieces(file: _File) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece
