# ruff: noqa: E501 - patterns
"""Labelled values of a document: a value that its layout sets beside a label.

Lines "label: value" and "label    value", rows of tables, blocks of two lines, captions beneath a value,
clauses with a title, and names that a contract defines: 'X ("the landlord")'.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag.citations.tables import split_row
from rag.text.markdown import read_tables

LONGEST_LABEL, LONGEST_VALUE = 80, 400  # characters
_LINE = re.compile(
    r"^[ \t>*_•▪·\-–]*(?:\(?\d{1,2}[.)]\s+)?(?P<label>[^\n:：|#]{1,80}?)"
    r"[*_ \t　]*[:：][*_ \t　]*(?P<value>[^\n|]{1,400}?)[ \t*_]*$",
    re.MULTILINE,
)
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
                yield _of_match(match)
    yield from _captioned(text)
    yield from _blocks(text)
    yield from _clauses(text)
    for pattern in (_DEFINED, _ROLE):
        yield from (_of_match(match) for match in pattern.finditer(text))
    yield from _of_tables(text)


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
                yield from _of_row(filled, at, at + len(line), section, pairs=len(filled) % 2 == 0)
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
    filled: list[tuple[str, int]], at: int, last: int, section: str, *, pairs: bool
) -> Iterator[LabelledValue]:
    """Yield the values of a row: each in an even place has the label before it, else all but the first."""
    places = range(1, len(filled), 2) if pairs else range(1, min(2, len(filled)))
    for place in places:
        label, (value, start) = filled[place - 1][0], filled[place]
        if len(label) <= LONGEST_LABEL and len(value) <= LONGEST_VALUE:
            yield LabelledValue(label.strip("*_ :："), at + start, at + start + len(value), at, last, section)
