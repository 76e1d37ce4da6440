"""Rows of spreadsheets that an answer cites, in words: "Row 12", beside the name of the sheet."""

from pathlib import PurePath

import streamlit as st

from rag.i18n import _, language
from rag.text.markdown import row_numbers
from rag.workspace import Workspace
from storage.errors import NotFound
from storage.records import Message
from ui.chat.citations import CitedPassage, marked, target_of

# Their text keeps a line for each row; an old workbook is read as the .xlsx that it is converted to.
_COUNTED = frozenset({".xlsx", ".xlsm", ".xls", ".ods", ".csv", ".tsv"})
_KEPT = "sheet-rows"


def rows_cited(message: Message, here: Workspace) -> dict[str, str]:
    """Return the rows that an answer's citations name, in words, by target; of spreadsheets only.

    They are kept for the session: an answer's quotes do not change, and the text of a sheet is long.
    """
    cited = [one for _at, one in marked(message) if one.exact and _is_sheet(one)]
    if not cited:
        return {}
    kept: dict[tuple[str, str, str, int, int], str] = st.session_state.setdefault(_KEPT, {})
    for one in cited:
        if (key := _key(one)) not in kept:
            kept[key] = row_cited(one, here)
    return {target_of(one): kept[_key(one)] for one in cited}


def row_cited(evidence: CitedPassage, here: Workspace) -> str:
    """Return the row of the cited words, "Row 12" or "Rows 3 to 5"; empty where the sheet says it no more."""
    if not evidence.exact or not _is_sheet(evidence):
        return ""
    try:
        text = here.library.documents.text(evidence.passage.document_id)
    except NotFound:
        return ""
    if text[evidence.start : evidence.end] != evidence.quote:
        return ""
    rows = row_numbers(text, evidence.start, evidence.end)
    if rows is None:
        return ""
    first, last = rows
    if first == last:
        return _("Row {number}", number=first)
    return _("Rows {first} to {last}", first=first, last=last)


def _is_sheet(evidence: CitedPassage) -> bool:
    return PurePath(evidence.passage.document).suffix.lower() in _COUNTED


def _key(evidence: CitedPassage) -> tuple[str, str, str, int, int]:
    return language(), evidence.passage.document_id, evidence.quote, evidence.start, evidence.end
