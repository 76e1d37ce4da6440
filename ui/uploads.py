"""Files that were just dropped: into the library, each with a line on what became of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from storage.errors import FootnoteError
from ui.markdown import label
from ui.workspace import Workspace

REPORT = "upload-report"
TAKEN = "uploads-taken"
_PIECE = 1 << 20
_SAID = {
    "new": "added",
    "unchanged": "here already, word for word",
    "replaces": "takes the place of its older version as soon as it has been read",
}


class _File(Protocol):
    """What an uploader hands out: a file that knows its name."""

    name: str
    file_id: str

    def read(self, size: int, /) -> bytes:
        """Read up to `size` bytes."""


@dataclass(frozen=True)
class Line:
    """What became of one file; `document_id` is None where it could not be kept."""

    name: str
    said: str
    document_id: str | None


def take(files: Iterable[_File], workspace: Workspace, collection_id: str | None = None) -> list[Line]:
    """Copy files into the library, each on its own, and into a collection if one is given.

    The next `show_report` tells what became of them.
    """
    lines = []
    for file in files:
        lines.append(_take_one(file, workspace, collection_id))
        _release(file)
    if lines:
        st.session_state[REPORT] = lines
    return lines


def show_report() -> None:
    """Say once what became of the files that were dropped last."""
    lines: list[Line] = st.session_state.pop(REPORT, [])
    if not lines:
        return
    if len(lines) == 1:
        st.toast(f"{label(lines[0].name, 60)}: {lines[0].said}.", icon=":material/description:")
        return
    added = sum(line.document_id is not None for line in lines)
    counted = f"{added} files are" if added == len(lines) else f"{added} of {len(lines)} files are"
    said = f"{counted} in your library now"
    with st.expander(said, icon=":material/description:", type="compact", expanded=added < len(lines)):
        st.markdown("\n".join(f"- **{label(line.name, 80)}**: {line.said}" for line in lines))


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
    taken: set[str] = st.session_state.setdefault(TAKEN, set())
    fresh = [file for file in files if file.file_id not in taken]
    if fresh:
        taken.update(file.file_id for file in fresh)
        take(fresh, workspace, collection_id)
        st.rerun()


def _release(file: _File) -> None:
    """Let an upload's memory go, which the page would keep until the visitor leaves."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)


def _take_one(file: _File, workspace: Workspace, collection_id: str | None) -> Line:
    try:
        record, outcome = workspace.add(file.name, _pieces(file), collection_id)
    except FootnoteError as error:
        return Line(file.name, label(str(error), 300), None)
    return Line(file.name, _SAID[outcome], record.id)


def _pieces(file: _File) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece
