# ruff: noqa: E501
"""Values of cells under labels and headings that name the field."""

import re
from collections.abc import Iterator

from rag.grid.candidates import Candidate
from rag.grid.cells import CellValue, Items, Words, YesNo
from rag.grid.columns import Column
from rag.grid.document import RowDocument
from rag.grid.former_values import without_former_values
from rag.grid.named_sentences import BULLET, BULLETS, HONORIFIC, LABELLED, WHOLE
from rag.grid.shapes import shape_of
from rag.grid.terms import LEAST_LABEL, SURE_LABEL, ColumnTerms
from rag.grid.values import LONGEST, find_values, in_unit, split_items

CAPTIONED = 0.85
"""Score of a caption that has a term among other words: two captions beside each other read as one."""
_YES = re.compile(r"^(?:yes|y|true|예|네|있음|유|해당|はい|有|あり|可)\b", re.IGNORECASE)
_NO = re.compile(
    r"^(?:no|n|none|false|not applicable|아니[오요]|없음|무|해당 없음|いいえ|無|なし|不可)\b", re.IGNORECASE
)


def labelled_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the values that stand under a label which names the field.

    One is sure where the label is the field's name, and its words state no other value of the kind.
    """
    column = terms.column
    for one in document.labelled:
        if column.kind != "text" and one.first in document.rows_of_figures:
            continue  # read with the scale and period of their table
        score = max(terms.label_score(one.label), terms.label_score(one.label, one.section))
        shape = shape_of(column)
        telling = one.captioned and shape is not None and shape.telling and terms.within(one.label, 1)
        if telling or (one.captioned and score < SURE_LABEL and terms.within(one.label)):
            score = CAPTIONED
        last = _continued(document.text, one.end) if column.kind == "list" and not one.section else one.end
        words_here = document.text[one.start : last]
        fits = bool(shape.find(words_here)) if shape else any(map(str.isalpha, words_here))
        if score < LEAST_LABEL or (column.kind == "text" and one.captioned and not fits):
            continue
        values = list(_labelled_values(words_here, column, clause=one.clause))
        certain = (score >= SURE_LABEL or telling) and one.certain and len(set(values)) == 1
        trust = LABELLED if one.certain else UNCERTAIN
        for value in values:
            sure = certain and not (one.captioned and not one.certain)
            yield Candidate(value, one.first, max(last, one.last), trust * score, sure)


_GOES_ON = re.compile(r"(?:(?<=[,;·、，・&])|(?<=\band))[ \t]*\n(?=[^\s|#])|[ \t]*\n(?=[ \t]*[,;·、，・])")


def _continued(text: str, end: int) -> int:
    """Return the end of a list that goes on in the next lines: one ends, or the next begins, with its separator."""
    while _GOES_ON.match(text, end):
        following = text.find("\n", end + 1)
        end = following if following >= 0 else len(text)
    return end


UNCERTAIN = 0.9
"""Score of a value under a label where the layout may mean another thing."""
SHORT_CLAUSE = 60  # characters of the words of a clause that are its value


def _labelled_values(words: str, column: Column, *, clause: bool) -> Iterator[CellValue]:
    """Yield the values of a kind that the words under a label state."""
    match column.kind:
        case "text":
            yield from _labelled_texts(words, column, clause=clause)
        case "list":
            if not clause or len(words) <= SHORT_CLAUSE:
                yield Items(split_items(words))
        case "yes_no":
            if _YES.match(words) or _NO.match(words):
                yield YesNo(_YES.match(words) is not None)
        case _:
            present = without_former_values(words, column)
            yield from (one.value for one in in_unit(list(find_values(present, column))))


def _labelled_texts(words: str, column: Column, *, clause: bool) -> Iterator[Words]:
    """Yield the texts of the shape that is asked for; the words themselves where none is."""
    shape = shape_of(column)
    found = shape.find(words) if shape else []
    text = " ".join(HONORIFIC.sub("", words[:LONGEST].strip(" *_")).split())
    if shape is not None and (found or shape.telling):
        yield from (Words(match[0]) for match in found[:2])
    elif shape is not None and len(text.split()) > 1:
        return  # words, where a number is asked for
    elif not clause or (len(text) <= SHORT_CLAUSE and not WHOLE.search(text)):
        yield Words(text)


_HEADING = re.compile(
    r"^#{1,6}[ \t]+(?:\d[\d.]*[.)]?[ \t]+|(?:第|제)\s?\d+\s?[조条章]\s*)?(?P<title>[^\n]{1,120})$",
    re.MULTILINE,
)
_TEXT_BELOW = re.compile(r"\s*(?=[^#\s|])")
SECTION = 0.9
"""Score of the first words beneath a heading that is the field's name."""


def section_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the values beneath a heading that is the field's name: items, first words, or the only one of its kind."""
    text, kind = document.read_text, terms.column.kind
    for heading in _HEADING.finditer(text):
        if terms.label_score(heading["title"].strip("#* ")) < SURE_LABEL:
            continue
        end = text.find("\n#", heading.end())
        body = text[heading.end() : min(end if end >= 0 else len(text), heading.end() + LONGEST_SECTION)]
        if kind == "list" and (bullets := BULLETS.match(body)):
            items = tuple(match["item"].strip() for match in BULLET.finditer(bullets[0]))
            yield Candidate(Items(items), heading.start(), heading.end() + bullets.end(), LABELLED, sure=True)
        elif kind == "list" and (line := _ENUMERATED_LINE.fullmatch(body)):
            yield Candidate(
                Items(split_items(line["items"])),
                heading.start(),
                heading.end() + line.end("items"),
                LABELLED,
                sure=True,
            )
        elif kind == "text" and (first := _TEXT_BELOW.match(text, heading.end())):
            start, last = document.sentence_at(first.end())
            yield Candidate(Words(" ".join(text[start:last].split())[:LONGEST]), start, last, SECTION)
        elif kind in ("date", "money", "number", "choice"):
            present = without_former_values(body, terms.column)
            found = in_unit(list(find_values(present, terms.column)))
            for one in found[:1]:
                start, last = document.sentence_at(heading.end() + one.start)
                yield Candidate(one.value, start, last, SECTION - 0.1 * (len(found) > 1))


LONGEST_SECTION = 600  # characters beneath a heading in which its value is looked for
_ENUMERATED_LINE = re.compile(r"\s*(?P<items>[^\n.。]{2,160}[,、，;][^\n.。]{1,160})\s*", re.DOTALL)
