"""Rows of tables that a question asks for: found by label, section, caption and header.

A row says in a few words what a page of prose says in many, so a search by words or meaning ranks the table
that holds a figure behind the text that discusses it. Rows are therefore compared with the question one by
one, in more passages than an answer is made from.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log, sqrt

from rag.passage import Passage
from rag.text.dates import with_quarter_words
from rag.text.tables import TableBlock, TableRow, read_tables, rows
from rag.text.tokenize import named_letters, tokens, word_language

PART = 0.9
"""Factor of a row under a section that is not asked for: the figure of one region, not of all."""
TOTAL = frozenset(tokens("total overall consolidated", "en")) | frozenset(tokens("합계 총계 전체 合計 総計"))
"""Words of a label that need not be asked for."""
_ABOVE = 400  # characters above a table that may name it
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class LabelledRow:
    """Row ``text[start:end]`` of a passage with figures: the words of its label and of what it stands under.

    `section` are those of the last row above without figures, `above` those of caption, header and headings.
    """

    start: int
    end: int
    label: frozenset[str]
    section: frozenset[str]
    above: frozenset[str]

    @property
    def words(self) -> frozenset[str]:
        """Words of the label and of all that it stands under."""
        return self.label | self.section | self.above


def labelled_rows(passage: Passage) -> list[LabelledRow]:
    """Return the rows of a passage's tables that hold figures, with what they stand under."""
    if "|" not in passage.text:
        return []
    tables = read_tables(passage.text)
    first = tables[0].start if tables else len(passage.text)
    begun = list(rows(passage.text, 0, first))  # of a table that begins before the passage
    code = word_language(passage.text)
    heading = _words(passage.heading, code)
    found = list(_labelled(begun, heading, code))
    for table in tables:
        found += _labelled(table.rows, heading | _words(_naming(passage.text, table), code), code)
    return found


def _words(text: str, code: str | None = None) -> frozenset[str]:
    return frozenset([*tokens(with_quarter_words(text), code), *named_letters(text)])


def _naming(text: str, table: TableBlock) -> str:
    """Return the header of a table and the words of the paragraphs above it."""
    above = text[max(0, table.start - _ABOVE) : table.start]
    return f"{above.rpartition('|')[2]} {' '.join(table.header)}"


def _labelled(found: Sequence[TableRow], above: frozenset[str], code: str) -> Iterator[LabelledRow]:
    section = frozenset[str]()
    for row in found:
        label = _words(f"| {row.cells[0]} |", code)
        if not any(row.cells[1:]):
            section = label
        elif label and any(_DIGIT.search(cell) for cell in row.cells[1:]):
            yield LabelledRow(row.start, row.end, label, section, above)


def scores(question: str, found: Sequence[LabelledRow]) -> list[float]:
    """Return the score of each row, 0 to 1: how well its label and what it stands under fit the question."""
    scorer = _Scorer(_words(question), found)
    return [scorer.score(row) for row in found]


class _Scorer:
    """Scores rows for the words of a question, by their rarity among these rows."""

    def __init__(self, asked: frozenset[str], found: Sequence[LabelledRow]) -> None:
        self._asked = asked
        labels = Counter(word for row in found for word in row.label | row.section)
        self._weight = {
            word: log(1 + len(found) / (0.5 + labels[word]))
            for row in found
            for word in row.label | row.section | (row.above & asked)
        }
        known = [self._weight[word] for word in asked if word in self._weight]
        unknown = len(asked) - len(known)
        self._total = sum(known) + unknown * (sum(known) / len(known) if known else 1.0) / 2

    def score(self, row: LabelledRow) -> float:
        """Return how much of the label is asked for, and how much of the question the row speaks of."""
        asked = self._sum(row.label & self._asked)
        if not asked:
            return 0.0
        under = (row.section - row.label) & self._asked
        above = (row.above & self._asked) - row.label - row.section
        covered = (asked + self._sum(under) + self._sum(above) / 2) / self._total
        part = PART if row.section and not row.section & self._asked else 1.0
        named = self._sum(row.label - (TOTAL - self._asked))
        return part * sqrt(asked / named * min(covered, 1.0))

    def _sum(self, words: frozenset[str]) -> float:
        return sum(self._weight.get(word, 0.0) for word in words)


def score_rows(question: str, passages: Sequence[Passage]) -> dict[tuple[int, int], float]:
    """Return the score of each row with figures, by the number of its passage, from 1, and its start."""
    found = [(number, row) for number, one in enumerate(passages, 1) for row in labelled_rows(one)]
    scored = scores(question, [row for _, row in found])
    return {(number, row.start): score for (number, row), score in zip(found, scored, strict=True)}
