"""About a document: what it says of itself, each fact with the words that it was read from."""

from collections.abc import Iterator, Sequence

import streamlit as st

from rag.text.dates import spoken_period
from rag.workspace import Workspace
from storage.records import DocumentFact, DocumentRecord
from ui.components.markdown import label

MOST = 8  # facts of a kind that are shown
AROUND = 60  # characters shown on each side of the words of a fact
_KINDS = {
    "title": "Title",
    "author": "Author",
    "form": "Form",
    "date": "Date",
    "period": "Period",
    "language": "Language",
    "name": "Parties",
    "alias": "Names it uses",
    "term": "Terms",
    "unit": "Tables",
}
_LANGUAGES = {
    "en": "English",
    "ko": "Korean",
    "ja": "Japanese",
    "zh": "Chinese",
    "de": "German",
    "fr": "French",
}


def show(record: DocumentRecord, here: Workspace) -> None:
    """Show an expander with the facts of a document; they are read when it is opened."""
    opened = st.expander("About this document", type="compact", on_change="rerun", key=f"about-{record.id}")
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
            yield f"- **{title}**"
        yield from (f"    - {_line(fact, text)}" for fact in found[:MOST])
        if len(found) > MOST:
            yield f"    - and {len(found) - MOST:,} more"


def _line(fact: DocumentFact, text: str) -> str:
    value = _LANGUAGES.get(fact.value, fact.value) if fact.kind == "language" else spoken_period(fact.value)
    shown = label(value, 120)
    if fact.means and fact.kind in ("alias", "term"):
        shown += f": {label(fact.means, 120)}"
    if fact.kind == "period" and fact.means:
        shown += f" ({label(fact.means, 20)})"
    if fact.start is None or fact.end is None:
        return shown if fact.kind == "language" else f"{shown}, from the file’s name or properties"
    return f"{shown}, from “{label(_quoted(text, fact.start, fact.end), 200)}”"


def _quoted(text: str, start: int, end: int) -> str:
    """Return the words at a place with what stands around them in their line."""
    first = max(text.rfind("\n", 0, start) + 1, start - AROUND)
    stop = text.find("\n", end)
    last = min(stop if stop >= 0 else len(text), end + AROUND)
    return " ".join(text[first:last].split())
