"""About a document: what it says of itself, each fact with the words that it was read from."""

from collections.abc import Iterator, Sequence

import streamlit as st

from rag.i18n import N_, _, translated, written_period
from rag.workspace import Workspace
from storage.records import DocumentFact, DocumentRecord
from ui.components.markdown import label

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


def show(record: DocumentRecord, here: Workspace) -> None:
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
