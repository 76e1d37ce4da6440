"""Summary of whole documents without a model: the best unit of every section, in the order of the text.

A unit is what says something by itself:

| unit | with it |
|---|---|
| a sentence | the next one, where that is its exception ("However, ...", 다만, ただし) |
| a sentence that leads in a list or a table | all of that |
| a list, a table or labelled lines under a heading | all of it; of a long table its last total |

A section is what stands under a heading, or under a line of its own or the number of an article where the
document has no other headings. Units are worth what the words in them are, as in `rag.retrieval.overview`,
more with a figure and at the beginning of their section. Each section gives one unit before one gives two,
and each document before that. Documents of many sections give their most central sentences, with what makes
one unit with each.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from rag.passage import Passage
from rag.retrieval.lead_ins import ends_in_colon, last_led, list_around
from rag.retrieval.overview import (
    BOILERPLATE,
    LEAD,
    back_matter,
    beginning_factor,
    central_sentences,
    ends_well,
    heading_factor,
    is_code_or_link,
    past_marks,
    said_once,
    says_something,
    word_weights,
    worth_of,
)
from rag.retrieval.sentences import Pick, width
from rag.retrieval.table_rows import TOTAL
from rag.text.labels import label_of
from rag.text.markdown import TableBlock, read_tables
from rag.text.markers import inert
from rag.text.sentences import begins_item, sentences
from rag.text.tokenize import tokens

FEWEST, MOST = 6, 12
"""Units of a summary: as many as the documents have sections, within these bounds."""
MANY = 2 * MOST
"""Sections from which a summary tells of the most central of them, not of each in turn."""
SHORT = 840.0
"""Greatest width of a text that is summarised by all that it says."""
WIDEST = 1000.0
"""Greatest width of a list or a table that is quoted whole, in Latin letters."""
HEADING = 60.0
"""Greatest width of a line of its own that is a heading."""
NARROWEST = 25.0
"""Least width of a sentence with a figure."""
FIGURE = 1.5
"""Factor of a unit with a figure: an amount, a date, a period."""
SECTION_LEAD = 1.0
"""What is added to the factor of a section's first unit, divided by the root of each place."""
BLOCK, BLOCK_OF_SEVERAL = 0.8, 0.25
"""Factors of a list or a table, whose words are many: of one document, and of one among several."""
REPEATS = 1 / 3
"""Least share of a unit's words that no unit chosen before it has."""
_EXCEPTION = re.compile(
    r"(?:however|except|unless|provided(?:,? however)?,? that|notwithstanding)\b"
    r"|(?:다만|단)\s*,|(?:ただし|但し)[、,]?",
    re.IGNORECASE,
)
"""Beginning of a sentence that limits the one before it: a closed class in each language."""
_ARTICLE = re.compile(
    r"[ \t*#]*(?:제\s?\d+\s?[조장](?!\w)|第\s?[\d〇一二三四五六七八九十百]+\s?[条章]"
    r"|(?:Article|Section) \d+\b)"
)
_FIGURE = re.compile(r"(?<![제第\d])(?<![제第] )\d")
"""Digits of an amount, a date or a period, but not of "제3자" or 第1項."""
_FENCE = "```"
_MARK = re.compile(r"(?:[①-⑳]|\(\d{1,2}\))\s*")


@dataclass(frozen=True)
class Unit:
    """Span of passage `number`, from 1, that says something by itself.

    `title` are the words of the headings above it. Its worth is that of its words, times its `factor`. One
    that `is_last`, attached to the document or boilerplate, waits until all other sections have given one.
    """

    number: int
    start: int
    end: int
    section: tuple[str, int]
    words: frozenset[str]
    title: frozenset[str]
    factor: float
    is_last: bool


def summarise(passages: Sequence[Passage]) -> list[Pick]:
    """Return the best units of documents; of few sections in the order of the text, of many the best first.

    `passages` are all of the documents, in order.
    """
    pool = units(passages)
    if len({one.section for one in pool}) > MANY:
        return [_with_unit(pick, pool) for pick in central_sentences(passages, MOST)]
    chosen = sorted(_chosen(pool, passages), key=lambda one: (one.number, one.start))
    return [Pick(one.number, one.start, one.end, one.factor, one.start, one.end) for one in chosen]


def _with_unit(pick: Pick, pool: Sequence[Unit]) -> Pick:
    """Return a sentence with the exception or the list that makes one unit with it."""
    unit = next((one for one in pool if one.number == pick.number and one.start == pick.start), None)
    return pick if unit is None else replace(pick, end=max(pick.end, unit.end))


def _chosen(pool: list[Unit], passages: Sequence[Passage]) -> Iterator[Unit]:
    """Yield the best units, of each document and section in turn."""
    is_short = sum(width(passage.text) for passage in passages) <= SHORT
    most = MOST if is_short else min(MOST, max(FEWEST, len({one.section for one in pool})))
    weight = word_weights([one.words for one in pool])
    used = Counter[object]()
    told = set[str]()

    def rank(one: Unit) -> tuple[int, int, int, float]:
        worth = one.factor * worth_of(one.words, weight, told if used[one.section] else (), one.title)
        of_document = used[passages[one.number - 1].document_id]
        return -of_document, -used[one.section] - one.is_last, -used[one.number], worth

    while pool and most:
        best = max(pool, key=rank)
        yield best
        most -= 1
        told |= best.words
        used.update((passages[best.number - 1].document_id, best.section, best.number))
        pool = [
            one
            for one in pool
            if one is not best and (is_short or len(one.words - told) > REPEATS * len(one.words))
        ]


def units(passages: Sequence[Passage]) -> list[Unit]:
    """Return the units of documents in order, each once; one that is repeated waits for all others."""
    every = (unit for reader in _readers(passages) for unit in reader.units())
    return [
        replace(unit, factor=unit.factor * BOILERPLATE, is_last=True) if is_repeated else unit
        for unit, is_repeated in said_once(passages, every)
    ]


def _readers(passages: Sequence[Passage]) -> Iterator["_DocumentUnits"]:
    of: dict[str, list[tuple[int, Passage]]] = {}
    for number, passage in enumerate(passages, 1):
        of.setdefault(passage.document_id, []).append((number, passage))
    is_short = sum(width(passage.text) for passage in passages) <= SHORT
    block = BLOCK if len(of) == 1 else BLOCK_OF_SEVERAL
    yield from (_DocumentUnits(numbered, is_short, block) for numbered in of.values())


class _DocumentUnits:
    """Units of one document, whose sections are counted over its passages."""

    def __init__(self, numbered: Sequence[tuple[int, Passage]], is_short: bool, block: float) -> None:
        self._numbered = numbered
        self._is_short = is_short
        self._block = block
        self._attached_from = back_matter([passage.text for _, passage in numbered])
        self._section = 0
        self._heading = ""
        self._place = Counter[int]()
        self._led = 0
        self._is_part = False, False
        """Whether the passage begins within a table, and whether it ends within one."""

    def units(self) -> Iterator[Unit]:
        """Yield the units; where passages overlap, what both have is read once."""
        above, read = "", 0
        for at, (number, passage) in enumerate(self._numbered):
            if passage.is_from_picture:
                continue
            if passage.heading != above:
                self._begin(passage.heading)
            above = passage.heading
            self._is_part = self._goes_on(at - 1), self._goes_on(at)
            own = min(heading_factor(passage.heading), BOILERPLATE if at >= self._attached_from else 9.0)
            for start, end, is_block in self._spans(passage, read - passage.start):
                yield self._unit(number, passage, start, end, is_block, own)
            read = max(read, passage.end)

    def _goes_on(self, at: int) -> bool:
        """Return True where the table that the passage `at` ends with goes on in the next one."""
        if not 0 <= at < len(self._numbered) - 1:
            return False
        text, following = self._numbered[at][1].text, self._numbered[at + 1][1].text
        return text.rstrip().endswith("|") and following.lstrip().startswith("|")

    def _begin(self, heading: str) -> None:
        self._section += 1
        self._heading = heading

    def _unit(self, number: int, passage: Passage, start: int, end: int, is_block: bool, own: float) -> Unit:
        text = inert(passage.text[start:end])
        self._led += 1
        self._place[self._section] += 1
        place = self._place[self._section]
        factor = own * (1.0 + LEAD / sqrt(self._led))
        factor *= self._block if is_block else beginning_factor(text, opens=place == 1)
        factor *= 1.0 + SECTION_LEAD / sqrt(place)
        factor *= FIGURE if _FIGURE.search(text) else 1.0
        title = frozenset(tokens(f"{passage.document.rpartition('.')[0]} {passage.heading} {self._heading}"))
        section = (passage.document_id, self._section)
        return Unit(number, start, end, section, frozenset(tokens(text)), title, factor, own <= BOILERPLATE)

    def _spans(self, passage: Passage, read: int) -> Iterator[tuple[int, int, bool]]:
        """Yield the spans of a passage's units, and whether each is a list or a table by itself."""
        text = passage.text
        spans = [one for one in sentences(text) if one[0] >= read]
        at, in_code = 0, False
        while at < len(spans):
            start, end = spans[at]
            if text.startswith(_FENCE, start):
                in_code = not in_code
            if in_code or text.startswith((_FENCE, "#"), start):
                self._begin_at(text, start, end)
                at += 1
                continue
            begin = self._past_heading(text, spans, at)
            if begin == end:
                at += 1
                continue
            last = last_of_unit(text, spans, at)
            yield from self._of_block(text, spans[at : last + 1], begin)
            at = last + 1

    def _begin_at(self, text: str, start: int, end: int) -> None:
        if text.startswith("#", start):
            self._begin(text[start:end])

    def _past_heading(self, text: str, spans: Sequence[tuple[int, int]], at: int) -> int:
        """Return where the words of a sentence begin; its end where all of it is a heading."""
        start, end = spans[at]
        if _MARK.match(text, start):
            return past_marks(text, start, end)
        if text[start] == "|" or begins_item(text[start:end]) or label_of(text[start:end]):
            return start
        told = text[start:end]
        alone = "\n" not in told and width(told) <= HEADING and not (ends_well(told) or ends_in_colon(told))
        if at + 1 < len(spans) and alone and "\n" in text[end : spans[at + 1][0]]:
            self._begin(told)
            return end
        begin = past_marks(text, start, end)
        if _ARTICLE.match(told) or "\n" in text[start:begin]:
            self._begin(text[start:begin])
        return begin

    def _of_block(
        self, text: str, spans: Sequence[tuple[int, int]], begin: int
    ) -> Iterator[tuple[int, int, bool]]:
        """Yield the unit of a block that belongs together, or its parts where it is too wide."""
        start, end = begin, spans[-1][1]
        told = inert(text[start:end])
        if text[start] == "|":
            before, after = self._is_part
            is_part = (before and not text[:start].strip()) or (after and not text[end:].strip())
            yield from _of_table(text, start, is_part=is_part)
        elif len(spans) > 1 or label_of(told):
            if is_code_or_link(told.replace("|", "")):
                return
            if width(told) <= WIDEST:
                yield start, end, begins_item(told) or bool(label_of(told))
            else:
                parts = ((past_marks(text, *one), one[1]) for one in spans)
                yield from ((*one, False) for one in parts if self._is_told(inert(text[slice(*one)])))
        elif self._is_told(told):
            yield start, end, False

    def _is_told(self, text: str) -> bool:
        if _FIGURE.search(text):
            return says_something(text, NARROWEST)
        return says_something(text) or (self._is_short and ends_well(text))


def last_of_unit(text: str, spans: Sequence[tuple[int, int]], at: int) -> int:
    r"""Return which of a passage's sentences is the last of the unit that begins with the one `at`.

    >>> text = "Fees are paid in May.\n\nHowever, in 2024 they are paid in June.\n\nNo more."
    >>> last_of_unit(text, [(0, 21), (23, 62), (64, 72)], 0)
    1
    """
    start, end = spans[at]
    if text[start] == "|" or (begins_item(text[start:end]) and not _MARK.match(text, start)):
        return list_around(text, spans, at)[-1]
    if label_of(text[start:end]):
        while at + 1 < len(spans) and label_of(text[slice(*spans[at + 1])]):
            at += 1
        return at
    last = last_led(text, spans, at, lambda _: False)
    while last + 1 < len(spans) and _is_exception(text, spans[last + 1]):
        last = last_led(text, spans, last + 1, lambda _: False)
    return last


def _is_exception(text: str, span: tuple[int, int]) -> bool:
    return _EXCEPTION.match(text, past_marks(text, *span)) is not None


def _of_table(text: str, start: int, *, is_part: bool) -> Iterator[tuple[int, int, bool]]:
    """Yield the rows of a table, or the last total of a long one and of a part of one."""
    table = next((one for one in read_tables(text) if one.start <= start < one.end), None)
    if table is None or not table.rows:
        return
    if width(text[table.start : table.end]) <= WIDEST and not is_part:
        yield table.rows[0].start, table.rows[-1].end, True
    elif total := _total(table):
        yield total[0], total[1], True


def _total(table: TableBlock) -> tuple[int, int] | None:
    """Return the span of the last row that is labelled as a total."""
    found = [(row.start, row.end) for row in table.rows if any(_is_total(cell) for cell in row.cells)]
    return found[-1] if found else None


def _is_total(cell: str) -> bool:
    said = frozenset(tokens(cell))
    return bool(said) and said <= TOTAL
