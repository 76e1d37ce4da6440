"""Profile of a document: what it says of itself, ready to be compared with a question or a sentence."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import PurePath

from rag.text.dates import find_periods, quarter_of, spoken_period
from rag.text.tokenize import tokens
from storage.records import DocumentFact

LONGEST_ABOUT = 160  # characters of the line about a document


@dataclass(frozen=True)
class DocumentProfile:
    """Profile of a document by the facts that it states: for search scopes, prompts and citation checks."""

    id: str
    file_name: str
    facts: Sequence[DocumentFact] = field(default=())

    def values(self, kind: str) -> list[str]:
        """Return the values of the facts of a kind."""
        return [fact.value for fact in self.facts if fact.kind == kind]

    @cached_property
    def names(self) -> dict[str, str]:
        """Return its parties' names by their short forms."""
        return {fact.means or fact.value: fact.value for fact in self.facts if fact.kind == "name"}

    @cached_property
    def title_words(self) -> frozenset[str]:
        """Return the words of its file's name, its titles and its parties' names, without numbers."""
        stem = re.sub(r"[_\W]+", " ", PurePath(self.file_name).stem)
        words = tokens(" ".join([stem, *self.values("title"), *self.names]))
        return frozenset(word for word in words if not word.isdigit() and len(word) > 1)

    @cached_property
    def days(self) -> tuple[date, date] | None:
        """Return the first and the last day it covers, where its text says so."""
        spans = (value.split("/") for value in self.values("period") if "/" in value)
        return next(((date.fromisoformat(a), date.fromisoformat(b)) for a, b in spans), None)

    @cached_property
    def own_labels(self) -> frozenset[str]:
        """Return the labels of its periods in its file's name, which say how its owner calls it."""
        return frozenset(f.value for f in self.facts if f.kind == "period" and f.start is None)

    @cached_property
    def labels(self) -> frozenset[str]:
        """Return the labels of its periods in its text: those written, and the calendar's.

        A document that speaks of its "third quarter of 2023" is not of the calendar's second.
        """
        told = [f for f in self.facts if f.kind == "period" and f.start is not None and "/" not in f.value]
        written = {fact.value for fact in told}
        if self.days is None or any("Q" in fact.value and fact.means != "fiscal" for fact in told):
            return frozenset(written)
        first, last = self.days
        long = (last - first).days
        calendar = {quarter_of(first, last)} if long < 100 else {str(last.year)} if long > 300 else set()
        return frozenset(written | calendar)

    @cached_property
    def has_period(self) -> bool:
        """True where it covers a period."""
        return bool(self.days or self.own_labels or self.labels)

    @cached_property
    def end(self) -> str:
        """Return the last day that it covers, or else was written on, ISO; empty where it is unknown."""
        if self.days is not None:
            return self.days[1].isoformat()
        known = [
            one.last
            for label in (self.own_labels or self.labels)
            for one in find_periods(spoken_period(label))
        ]
        dates = (fact.value for fact in self.facts if fact.kind == "date" and not fact.means)
        return max(known).isoformat() if known else next(dates, "")

    @cached_property
    def series(self) -> frozenset[str]:
        """Return its parties or, without any, its file's name without dates: "sales" for "Sales 2023.pdf"."""
        if self.names:
            return frozenset(short.casefold() for short in self.names)
        stem = PurePath(self.file_name).stem.replace("_", " ")
        for one in reversed(find_periods(stem)):
            stem = stem[: one.start] + stem[one.end :]
        return frozenset({" ".join(re.findall(r"[^\W_]+", stem.casefold()))})

    @cached_property
    def words(self) -> str:
        """Return its file's name and its titles, case-folded."""
        return " ".join([PurePath(self.file_name).stem, *self.values("title")]).casefold()

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Return the words it defines, with what they stand for: {"Company": "Apple Inc."}."""
        return {fact.value: fact.means for fact in self.facts if fact.kind in ("alias", "term")}

    @property
    def unit(self) -> str:
        """Return the unit of all its tables, "in millions"; empty where it states none, or several."""
        return next(iter(self.values("unit")), "")

    @property
    def about(self) -> str:
        """Return a line about the document: parties, form, period or date, and unit of its tables.

        >>> facts = DocumentFact("name", "Apple Inc.", 0, 9), DocumentFact("period", "2023-Q3", 11, 18)
        >>> DocumentProfile("1", "a.pdf", facts).about
        'Apple Inc., Q3 2023'
        """
        labels = sorted(self.own_labels or self.labels)
        when = f"period ended {self.end}" if self.days else spoken_period(labels[0]) if labels else self.end
        parts = [*list(self.names.values())[:2], *self.values("form")[:1], when, self.unit]
        return ", ".join(filter(None, parts))[:LONGEST_ABOUT]
