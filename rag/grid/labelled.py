"""Labelled values of a document: lines "label: value", rows of tables, and captions beneath a value."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.citations.tables import split_row
from rag.text.tables import read_tables

LONGEST_LABEL, LONGEST_VALUE = 80, 400  # characters
_LINE = re.compile(
    r"^[ \t>*_#•▪·\-–]*(?:\(?\d{1,2}[.)]\s+)?(?P<label>[^\n:：|]{1,80}?)"
    r"[*_ \t　]*[:：][*_ \t　]*(?P<value>[^\n|]{1,400}?)[ \t*_]*$",
    re.MULTILINE,
)
_CAPTION = re.compile(
    r"^(?P<value>(?:\(\d{2,4}\)[ \t]*)?[^\n(|]{2,120}?)[ \t]*\n{1,2}"
    r"(?P<caption>\([^\n]{3,120}(?:\n(?:\(|[a-zA-Z][^\n]{0,80}\))[^\n]{0,100}){0,3})",
    re.MULTILINE,
)
_PART = re.compile(r"\([^()]*\)")
_UNDERSCORES = re.compile(r"^[_\-–—=\s]+$")
_BEFORE_DIGITS = re.compile(r"^(?P<words>\D{2,80}?)\s+\d[\d-]{4,}\s*$")


@dataclass(frozen=True)
class LabelledValue:
    """Value ``text[start:end]`` under a label; the words that show both are ``text[first:last]``."""

    label: str
    start: int
    end: int
    first: int
    last: int
    section: str = ""
    captioned: bool = False


def labelled_values(text: str) -> Iterator[LabelledValue]:
    r"""Yield the labelled values of a text, those of tables last.

    >>> text = "Invoice no.: A-7\n\n| Due | 3 May 2024 |\n|---|---|\n| Total | 9 EUR |"
    >>> [(one.label, text[one.start : one.end]) for one in labelled_values(text)]
    [('Invoice no.', 'A-7'), ('Due', '3 May 2024'), ('Total', '9 EUR')]
    """
    for match in _LINE.finditer(text):
        if not match["value"].startswith("//"):
            yield LabelledValue(
                match["label"].strip(), *match.span("value"), match.start("label"), match.end("value")
            )
    yield from _captioned(text)
    yield from _of_tables(text)


def _captioned(text: str) -> Iterator[LabelledValue]:
    """Yield the values of a form that stand above their captions in parentheses."""
    for match in _CAPTION.finditer(text):
        if _UNDERSCORES.match(match["value"]):
            continue
        start, end = match.span("value")
        several = _BEFORE_DIGITS.match(match["value"])
        if several:
            end = start + several.end("words")
        parts = _PART.match(match["caption"])
        label = (parts[0] if parts else match["caption"]).replace("(", " ").replace(")", " ")
        yield LabelledValue(" ".join(label.split()), start, end, match.start(), match.end(), captioned=True)


def _of_tables(text: str) -> Iterator[LabelledValue]:
    for table in read_tables(text):
        lines = text[table.start : table.end].split("\n")
        at, section, wide = table.start, "", len(table.header) > 2
        for number, line in enumerate(lines):
            row = split_row(line)
            filled = [(cell, place) for cell, place in row if cell]
            if number != 1 and len(filled) == 1 and len(row) > 1:
                section = filled[0][0]
            elif number != 1 and len(filled) > 1 and not (wide and number == 0):
                yield from _of_row(filled, at, at + len(line), section, pairs=len(filled) % 2 == 0)
            at += len(line) + 1


def _of_row(
    filled: list[tuple[str, int]], at: int, last: int, section: str, *, pairs: bool
) -> Iterator[LabelledValue]:
    """Yield the values of a row: each in an even place has the label before it, else all but the first."""
    places = range(1, len(filled), 2) if pairs else range(1, min(2, len(filled)))
    for place in places:
        label, (value, start) = filled[place - 1][0], filled[place]
        if len(label) <= LONGEST_LABEL and len(value) <= LONGEST_VALUE:
            yield LabelledValue(label.strip("*_ :："), at + start, at + start + len(value), at, last, section)
