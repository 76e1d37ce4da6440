# ruff: noqa: E501
"""Document of a grid's row: its text, passages, tables and facts, each read once for all columns.

A value may stand beside a label by the document's layout: lines "label: value" and "label value", rows of
tables, blocks of two lines, captions beneath a value, clauses with a title, and names that a contract
defines: 'X ("the landlord")'.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from itertools import groupby, islice, pairwise
from operator import attrgetter
from typing import Protocol

from langchain_core.retrievers import BaseRetriever

from rag.citations.tables import TableCell, cells, split_row
from rag.grid.cells import Amount, CellQuote
from rag.grid.columns import Column
from rag.grid.values import CURRENCY, amount_of, find_values
from rag.ingest.document_facts import DocumentProfile
from rag.passage import Passage
from rag.text.markdown import read_tables
from rag.text.sentences import sentences
from storage.documents import Documents
from storage.records import DocumentFact

LONGEST_LABEL, LONGEST_VALUE = 80, 400  # characters
_LINE = re.compile(
    r"^[ \t>*_•▪·\-–]*(?:\(?\d{1,2}[.)]\s+)?(?P<label>[^\n:：|#]{1,80}?)"
    r"[*_ \t　]*[:：][*_ \t　]*(?P<value>[^\n|]{1,400}?)[ \t*_]*$",
    re.MULTILINE,
)
_NEXT_LABEL = re.compile(
    r"(?<!\b\w\.)(?<=[.。;；])[ \t　]*(?=[^\W\d_][^\n:：|#.。;；]{0,39}(?::[ \t]|：)[ \t　]*\S)"
)
"""Place between a value and the next label of its line: "Date: 3 May. Due: 9 May."."""
_COLUMNS = re.compile(
    r"^[ \t　]*(?P<label>[^\W\d_][^\n:：|]{0,59}?)(?:[ \t]{2,}|\t|[ \t]?\.{3,}[ \t]?|　+)(?P<value>[^\s|.][^\n|　]{0,120}?)[ \t]*$",
    re.MULTILINE,
)
_CAPTION = re.compile(
    r"^(?P<value>(?:\(\d{2,4}\)[ \t]*)?[^\n(|]{2,120}?)[ \t]*\n{1,2}"
    r"(?P<caption>\((?!\d)[^\n]{3,120}(?:\n(?:\((?!\d)|[a-zA-Z][^\n]{0,80}\))[^\n]{0,100}){0,3})",
    re.MULTILINE,
)
_PART = re.compile(r"\(([^()]*)\)")
_UNDERSCORES = re.compile(r"^[_\-–—=\s]+$")
_BEFORE_DIGITS = re.compile(r"^(?P<words>\D{2,80}?)\s+(?P<digits>\d[\d-]{4,})\s*$")
_CLAUSE = re.compile(
    r"^[ \t*_]*(?:[제第]\s?\d+\s?[조条章](?:の\d+)?\s*[(（【](?P<title>[^()（）【】\n]{1,40})[)）】]"
    r"|\d{1,2}\.[ \t]+(?P<title2>[^\W\d_][^\n.:|]{1,40})\.(?=[ \t]))[ \t　*_]*(?P<body>[^\s|][^\n|]{0,400}(?:\n(?![ \t]*[\d#|제第\n])[^\n|]{1,200}){0,4})",
    re.MULTILINE,
)
_DEFINED = re.compile(
    r"(?P<value>[A-ZÀ-Þ0-9][\w’'.&-]*(?:,?[ \n](?:[A-ZÀ-Þ0-9][\w’'.&-]*|&|of|de)){0,6})"
    r"(?:,[^\n,()\"“]{3,80},?)?\s*\((?:(?:the|hereinafter|collectively|each,? an?)\s+)*[\"“](?:the\s+)?(?P<label>[^\"”\n]{2,40})[\"”][^()]{0,40}\)"
)
_ROLE = re.compile(
    r"(?:(?<=^)|(?<=[\s,、]))(?P<label>[가-힣]{2,8}|[一-鿿々]{2,6})[ \t:：]+(?P<value>[^\s,:：()（）「」][^,:：()（）「」\n]{0,29}?)[ \t]?(?=[(（](?:이하|以下))",
    re.MULTILINE,
)
_NO_BLOCK = re.compile(r"[|:：]|^\s*(?:#|\([^\W\d])|^[-–—_=*\s]+$|\S {2,}\S", re.MULTILINE)
_BLOCK = re.compile(r"(?:^|(?<=\n))(?:[^\n]{1,80}\n){1,3}[^\n]{1,80}(?=\n[ \t]*\n|\n?\Z)")


@dataclass(frozen=True)
class LabelledValue:
    """Value ``text[start:end]`` under a label; the words that show both are ``text[first:last]``.

    It is not `certain` where the layout may mean another thing; a `clause` holds its value somewhere.
    """

    label: str
    start: int
    end: int
    first: int
    last: int
    section: str = ""
    captioned: bool = False
    certain: bool = True
    clause: bool = False


def labelled_values(text: str) -> Iterator[LabelledValue]:
    r"""Yield the labelled values of a text, those of tables last.

    >>> text = "Invoice no.: A-7\nNet    8 EUR\n\n| Due | 3 May 2024 |\n|---|---|\n| Total | 9 EUR |"
    >>> [(one.label, text[one.start : one.end]) for one in labelled_values(text)]
    [('Invoice no.', 'A-7'), ('Net', '8 EUR'), ('Due', '3 May 2024'), ('Total', '9 EUR')]
    """
    for pattern in (_LINE, _COLUMNS):
        for match in pattern.finditer(text):
            if not match["value"].startswith("//"):
                yield from _of_line(text, match)
    yield from _captioned(text)
    yield from _blocks(text)
    yield from _clauses(text)
    for pattern in (_DEFINED, _ROLE):
        yield from (_of_match(match) for match in pattern.finditer(text))
    yield from _of_tables(text)


def _of_line(text: str, match: re.Match[str]) -> Iterator[LabelledValue]:
    """Yield the value of a line, or each of several that stand in it with their labels."""
    parts = list(_NEXT_LABEL.finditer(text, *match.span("value")))
    if not parts:
        yield _of_match(match)
        return
    starts = [match.start("label"), *(one.end() for one in parts)]
    ends = [*(one.start() for one in parts), match.end("value")]
    for start, end in zip(starts, ends, strict=True):
        one = _LINE.match(text[start:end])
        if one is not None:
            last = start + len(text[start : start + one.end("value")].rstrip(".。;；"))
            label = " ".join(one["label"].split())
            yield LabelledValue(label, start + one.start("value"), last, start + one.start("label"), last)


def _of_match(match: re.Match[str]) -> LabelledValue:
    return LabelledValue(
        " ".join(match["label"].split()),
        *match.span("value"),
        min(match.start("label"), match.start("value")),
        max(match.end("label"), match.end("value")),
    )


def _captioned(text: str) -> Iterator[LabelledValue]:
    """Yield the values of a form that stand above their captions in parentheses."""
    for match in _CAPTION.finditer(text):
        if _UNDERSCORES.match(match["value"]):
            continue
        start, end = match.span("value")
        several = _BEFORE_DIGITS.match(match["value"])
        whole = not _PART.match(match["caption"])  # two captions beside each other, wrapped as one
        parts = [] if whole else _PART.findall(match["caption"])
        labels = [" ".join(part.split()) for part in parts] or [match["caption"]]
        spans = [(start, end)] * len(labels)
        if several and len(labels) < 3:
            spans = [(start, start + several.end("words")), (start + several.start("digits"), end)]
        for label, (first, last) in zip(labels, spans, strict=False):
            shown = " ".join(label.replace("(", " ").replace(")", " ").split())
            yield LabelledValue(shown, first, last, match.start(), match.end(), captioned=True)
        if several and len(labels) == 1:
            shown = " ".join(match["caption"].replace("(", " ").replace(")", " ").split())
            yield LabelledValue(shown, *spans[1], match.start(), match.end(), captioned=True)


def _blocks(text: str) -> Iterator[LabelledValue]:
    """Yield the values of short blocks: beneath the first of two lines, above the last, which are labels.

    The last line may be the role of the one who is named above it.
    """
    for match in _BLOCK.finditer(text):
        lines = [
            (match.start() + line.start(), match.start() + line.end())
            for line in re.finditer(r"[^\n]*\S", match[0])
        ]
        for (a, b), (c, d) in pairwise(lines):
            above, below = text[a:b].strip(), text[c:d].strip()
            if _NO_BLOCK.search(f"{above}\n{below}"):
                continue
            if len(lines) == 2 and not above.endswith((".", "。", ",")):
                yield LabelledValue(above, c, d, a, d, certain=len(above) <= 40)
            if (c, d) == lines[-1] and not above.endswith((",", ".", "。", ":")):
                for label in dict.fromkeys((below, *re.split(r",\s*|\s+and\s+|\s*/\s*|・", below))):
                    yield LabelledValue(label, a, b, a, d, captioned=True, certain=len(lines) > 2)


def _clauses(text: str) -> Iterator[LabelledValue]:
    """Yield the words of clauses that have a title: "2. Rent. The tenant pays", "제3조(관리비) 을은"."""
    for match in _CLAUSE.finditer(text):
        title = (match["title"] or match["title2"]).strip()
        yield LabelledValue(title, *match.span("body"), match.start(), match.end(), clause=True)


def _of_tables(text: str) -> Iterator[LabelledValue]:
    for table in read_tables(text):
        lines = text[table.start : table.end].split("\n")
        at, section, wide = table.start, "", len(table.header) > 2
        paired = len(table.header) == 4 and any(re.search(r"\d", one) for one in table.header[1::2])  # a form
        for number, line in enumerate(lines):
            row = split_row(line)
            filled = [(cell, place) for cell, place in row if cell]
            if number != 1 and len(filled) == 1 and len(row) > 1:
                section = filled[0][0]
            elif number != 1 and len(filled) > 1 and not (wide and number == 0 and not paired):
                one_value = not wide or paired  # else its first value is one of several
                pairs = len(filled) % 2 == 0
                yield from _of_row(filled, at, at + len(line), section, pairs=pairs, certain=one_value)
            if number == len(lines) - 1 == 2 and wide:  # one record, with its labels above
                yield from _of_record(table.header, row, at, table.start)
            at += len(line) + 1


def _of_record(
    header: Sequence[str], row: Sequence[tuple[str, int]], at: int, first: int
) -> Iterator[LabelledValue]:
    for label, (value, start) in zip(header, row, strict=False):
        if label and value and len(value) <= LONGEST_VALUE:
            yield LabelledValue(label, at + start, at + start + len(value), first, at + start + len(value))


def _of_row(
    filled: list[tuple[str, int]], at: int, last: int, section: str, *, pairs: bool, certain: bool
) -> Iterator[LabelledValue]:
    """Yield the values of a row: each in an even place has the label before it, else all but the first."""
    places = range(1, len(filled), 2) if pairs else range(1, min(2, len(filled)))
    for place in places:
        label, (value, start) = filled[place - 1][0], filled[place]
        if len(label) <= LONGEST_LABEL and len(value) <= LONGEST_VALUE:
            name, end = label.strip("*_ :："), at + start + len(value)
            yield LabelledValue(name, at + start, end, at, last, section, certain=certain)


SEARCHED = 12
"""Passages that a search within the document returns."""
SHORT = 24
"""Passages of a document that is searched as a whole."""
MOST_TEXT = 1_500_000
"""Characters of a document whose tables and labels are read; what follows is searched only."""
MOST_LABELLED = 5_000
"""Labelled values of a document that are compared with a column."""
MOST_WRAPPED = 3
"""Lines of a title."""
_MARKUP = re.compile(r"[|:：]|^---", re.MULTILINE)
_LONGEST_SENTENCE = 1200  # characters


class RowLibrary(Protocol):
    """Library of one owner whose documents are rows."""

    @property
    def owner(self) -> str:
        """The owner's id."""

    @property
    def documents(self) -> Documents:
        """The documents in the ledger."""

    def profiles(self) -> Mapping[str, DocumentProfile]:
        """Return the profile of every document by its id."""

    def facts_of(self, document_id: str) -> Sequence[DocumentFact]:
        """Return the facts of a document; raises NotFound."""

    def rarity(self, token: str) -> float:
        """Return the inverse document frequency of a token."""

    def retriever(self, name: str, k: int, *, document_ids: Collection[str] | None = None) -> BaseRetriever:
        """Return the retriever of that name over all documents, or some of them."""


class RowDocument:
    """Document of one owner, with a search among its own passages."""

    def __init__(self, library: RowLibrary, document_id: str):
        self.id = document_id
        self._library = library
        self.name = library.documents.get(document_id).name
        self.profile = DocumentProfile(document_id, self.name, library.facts_of(document_id))
        self.sentence_at = lru_cache(maxsize=4_096)(self._sentence_at)

    @cached_property
    def passages(self) -> list[Passage]:
        """All passages, in the order of the text."""
        about = self.profile.about
        return [
            Passage(
                chunk.id,
                self.id,
                chunk.document,
                chunk.sha256,
                chunk.page,
                chunk.heading,
                chunk.start,
                chunk.end,
                chunk.text,
                about=about,
            )
            for chunk in self._library.documents.chunks(self.id)
        ]

    @cached_property
    def text(self) -> str:
        """The canonical text."""
        return self._library.documents.text(self.id)

    @cached_property
    def read_text(self) -> str:
        """The part of the text whose tables, labels and terms are looked at."""
        return self.text[:MOST_TEXT]

    @cached_property
    def cells(self) -> tuple[TableCell, ...]:
        """The numbers of its tables."""
        return cells(self.read_text)

    @cached_property
    def figures_by_row(self) -> Mapping[int, Sequence[TableCell]]:
        """The numbers of each row of its tables, by the start of the row."""
        return {start: [*row] for start, row in groupby(self.cells, key=attrgetter("row_start"))}

    @property
    def rows_of_figures(self) -> Collection[int]:
        """Starts of the rows with numbers of its tables."""
        return self.figures_by_row.keys()

    @cached_property
    def labelled(self) -> tuple[LabelledValue, ...]:
        """Its labelled values."""
        return tuple(islice(labelled_values(self.read_text), MOST_LABELLED))

    @cached_property
    def currency(self) -> str:
        """The currency that its tables name most often; empty where they name none."""
        named = [cell.quantity.unit for cell in self.cells if cell.quantity.unit.isupper()]
        return max(sorted(set(named)), key=named.count, default="")

    @property
    def days(self) -> tuple[date, date] | None:
        """The first and the last day that it covers."""
        return self.profile.days

    def facts(self, kind: str) -> Iterator[DocumentFact]:
        """Yield its facts of a kind, those that its text states first."""
        yield from sorted(
            (fact for fact in self.profile.facts if fact.kind == kind), key=lambda fact: fact.start is None
        )

    def rarity(self, token: str) -> float:
        """Return the inverse document frequency of a token in its library."""
        return self._library.rarity(token)

    def search(self, question: str, k: int = SEARCHED) -> list[Passage]:
        """Return the `k` passages that fit a question best by their words; all of a short document."""
        if len(self.passages) <= SHORT:
            return self.passages
        found = self._library.retriever("bm25", k, document_ids=[self.id]).invoke(question)
        by_id = {passage.id: passage for passage in self.passages}
        return [by_id[one.id] for one in found if one.id in by_id]

    def _sentence_at(self, place: int) -> tuple[int, int]:
        """Return the span of the sentence, row or line that a place of the text is in."""
        blank = self.text.rfind("\n\n", max(0, place - _LONGEST_SENTENCE), place)
        begin = blank + 2 if blank >= 0 else max(0, place - _LONGEST_SENTENCE)
        end = self.text.find("\n\n", place, place + _LONGEST_SENTENCE)
        end = end if end >= 0 else min(len(self.text), place + _LONGEST_SENTENCE)
        spans = ((begin + a, begin + b) for a, b in sentences(self.text[begin:end]))
        return next((span for span in spans if span[0] <= place < span[1]), (place, end))

    def holds_one_option(self, column: Column) -> bool:
        """Return True where the text has only one of a column's options."""
        return len({one.value for one in find_values(self.read_text, column)}) == 1

    def line_at(self, place: int) -> tuple[int, int]:
        """Return the span of the line that a place of the text is in."""
        end = self.text.find("\n", place)
        return self.text.rfind("\n", 0, place) + 1, end if end >= 0 else len(self.text)

    def block_at(self, start: int, end: int) -> tuple[int, int]:
        """Return a span widened by the lines below it, up to a blank line, where these are few."""
        blank = self.text.find("\n\n", end)
        more = self.text[end : blank if blank >= 0 else end]
        wrapped = (
            more.strip() and more.startswith("\n") and more.count("\n") < MOST_WRAPPED and "\n#" not in more
        )
        return (start, end + len(more.rstrip())) if wrapped and not _MARKUP.search(more) else (start, end)

    def amount(self, cell: TableCell, column: Column) -> Amount:
        """Return the number of a cell of a table as the value of a column."""
        code = CURRENCY.search(self.text, cell.start, cell.end) if column.kind == "money" else None
        own = code[0] if code else self.currency if column.kind == "money" else ""
        return amount_of(cell.quantity, column.unit or own)

    def passage_at(self, place: int) -> Passage:
        """Return the passage that holds a place of the text."""
        return self._passage_of(place, place + 1)

    def quote(self, start: int, end: int) -> CellQuote:
        """Return `text[start:end]` as a quote of the passage that holds it, or the most of it."""
        best = self._passage_of(start, end)
        return CellQuote(start, end, self.text[start:end], best.page)

    def _passage_of(self, start: int, end: int) -> Passage:
        at = bisect_right(self._starts, start)
        near = self.passages[max(0, at - 3) : at + 2]
        return max(near, key=lambda one: min(one.end, end) - max(one.start, start))

    @cached_property
    def _starts(self) -> list[int]:
        return [passage.start for passage in self.passages]
