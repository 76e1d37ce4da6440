"""Files that were just dropped: into the library, each with a line on what became of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import streamlit as st

from storage.errors import FootnoteError
from ui.markdown import label
from ui.workspace import Workspace

REPORT = "upload-report"
_PIECE = 1 << 20
_SAID = {
    "new": "added",
    "unchanged": "here already, word for word",
    "replaces": "takes the place of its older version as soon as it has been read",
}


class _File(Protocol):
    """What an uploader hands out: a file that knows its name."""

    name: str

    def read(self, size: int, /) -> bytes:
        """Read up to `size` bytes."""


@dataclass(frozen=True)
class Line:
    """What became of one file; `document_id` is None where it could not be kept."""

    name: str
    said: str
    document_id: str | None


def take(files: Iterable[_File], workspace: Workspace) -> list[Line]:
    """Copy files into the library, each on its own; the next `show_report` tells what became of them."""
    lines = [_take_one(file, workspace) for file in files]
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
    with st.expander(f"{counted} in your library now", icon=":material/description:", type="compact"):
        st.markdown("\n".join(f"- **{label(line.name, 80)}**: {line.said}" for line in lines))


def uploader(workspace: Workspace, limit_mb: int) -> None:
    """Show an uploader that empties itself once its files are in the library."""
    files = st.file_uploader(
        "Add documents",
        accept_multiple_files=True,
        key=f"uploader-{st.session_state.setdefault('uploads', 0)}",
        max_upload_size=limit_mb,
        help="PDF, Word, PowerPoint, Excel, CSV, HTML, EPUB, Markdown and plain text.",
    )
    if files:
        take(files, workspace)
        st.session_state["uploads"] += 1  # another key is another, empty uploader: its files leave memory
        st.rerun()


def _take_one(file: _File, workspace: Workspace) -> Line:
    try:
        record, outcome = workspace.add(file.name, _pieces(file))
    except FootnoteError as error:
        return Line(file.name, label(str(error), 300), None)
    return Line(file.name, _SAID[outcome], record.id)


def _pieces(file: _File) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece
