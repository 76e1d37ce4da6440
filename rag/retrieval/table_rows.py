"""Rows of tables that a question asks for: found by label, section, caption and header.

A row says in a few words what a page of prose says in many, so a search by words or meaning ranks the table
that holds a figure behind the text that discusses it. Rows are therefore compared with the question one by
one, in more passages than an answer is made from.

Amounts belong to some answers, too: "How do inventory levels relate to the strategy?" is answered by the
strategy's text and by the inventories' row, which says too little to be found by a search. Where documents
have tables of figures, they are looked for in more passages than an answer is made from: in all of the
documents that a question names.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from math import log, sqrt

from langchain_core.documents import Document

from rag.passage import Passage
from rag.retrieval.question_type import has_amount, without_periods
from rag.text.dates import with_quarter_words
from rag.text.markdown import TableBlock, TableRow, read_tables, rows
from rag.text.sentences import sentences
from rag.text.tokenize import Rarity, named_letters, tokens, word_language

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


DEPTH = 40
"""Passages found whose figures are compared with a question."""
ROWS = 3
"""Rows that a question asks for, at most."""
LEAST = 0.2
"""Least score of such a row."""
LEAST_NAMED = 1 / 3
"""Least share of the words of its label that a question has."""
NEAR = 2
"""Of rows of a passage that stand as near as this, the best one is taken."""
SENTENCES = 2
"""Sentences with amounts beside them."""
BESIDE = 0.5
"""Weight of a word of the sentence before, or of the heading, where one of the sentence itself has 1."""
FOUND, DEEP = 0.5, 12
"""Gain of a sentence in the passage found first, and the rank at which half of it is left."""


def named_amounts(
    question: str, passages: Sequence[Passage], rarity: Rarity | None = None
) -> list[tuple[int, int]]:
    """Return the rows that a question asks for and sentences with amounts about what it names, best first.

    Each is the number of a passage, from 1, and a place in it. None where there are no tables of figures.
    Words of sentences weigh by their `rarity`, by default among sentences with amounts.
    """
    found = [(number, row) for number, one in enumerate(passages, 1) for row in labelled_rows(one)]
    if not found:
        return []
    rows = [*islice(_asked_rows(question, found), ROWS)]
    told = [*islice(_amount_sentences(question, passages, rarity), SENTENCES)]
    return [*rows[:1], *told[:1], *rows[1:], *told[1:]]


def _asked_rows(question: str, found: Sequence[tuple[int, LabelledRow]]) -> Iterator[tuple[int, int]]:
    """Yield the rows that a question asks for, the best first, and none beside one that was taken."""
    scored = scores(question, [row for _, row in found])
    asked = frozenset(tokens(question))
    taken: list[tuple[int, int]] = []
    for at in sorted(range(len(found)), key=lambda at: -round(scored[at], 2)):
        number, row = found[at]
        if scored[at] < LEAST:
            return
        if _is_named(row, asked) and not any(
            number == other and abs(at - place) <= NEAR for other, place in taken
        ):
            taken.append((number, at))
            yield number, row.start


def _is_named(row: LabelledRow, asked: frozenset[str]) -> bool:
    """Return True where enough words of a row's label are asked for: one of many is there by chance."""
    label = (row.label - TOTAL) or row.label
    return len(label & asked) >= LEAST_NAMED * len(label)


@dataclass(frozen=True)
class _AmountSentence:
    """Sentence with an amount, with the words beside it: of the sentence before, and of the heading."""

    number: int
    start: int
    text: str
    words: tuple[str, ...]
    beside: frozenset[str]


def _amount_sentences(
    question: str, passages: Sequence[Passage], rarity: Rarity | None
) -> Iterator[tuple[int, int]]:
    """Yield the sentences with amounts that have two words of a question, or beside them, the best first.

    Words weigh by their `rarity`, by default among such sentences, and more where two stand together as in
    the question; all of them more in the passages that were found first.
    """
    asked = tokens(without_periods(question))
    found = {
        each.text: each
        for number, passage in reversed(list(enumerate(passages, 1)))
        for each in _with_amounts(number, passage)
    }.values()
    held = Counter(word for each in found for word in frozenset(each.words))
    weight = {
        word: log(1 + len(found) / (0.5 + held[word])) if rarity is None else rarity(word)
        for word in asked
        if held[word]
    }
    pairs = {pair for pair in pairwise(asked) if weight.keys() >= set(pair)}

    def score(each: _AmountSentence) -> float:
        words = frozenset(each.words)
        near = {
            frozenset(pair)
            for pair in (*pairwise(each.words), *zip(each.words, each.words[2:], strict=False))
        }
        together = sum(weight[one] + weight[other] for one, other in pairs if {one, other} in near)
        own = sum(weight[word] for word in weight.keys() & words)
        beside = sum(weight[word] for word in weight.keys() & (each.beside - words))
        return (own + together + BESIDE * beside) * (1 + FOUND / (1 + each.number / DEEP))

    about = [each for each in found if len(weight.keys() & {*each.words, *each.beside}) > 1]
    for each in sorted(about, key=lambda each: (-score(each), each.number, each.start)):
        yield each.number, each.start


def _with_amounts(number: int, passage: Passage) -> Iterator[_AmountSentence]:
    if not has_amount(passage.text):
        return
    heading = frozenset(tokens(passage.heading.rpartition(" > ")[2]))
    before = ""
    for start, end in sentences(passage.text):
        text = passage.text[start:end]
        if not text.startswith("|") and has_amount(text):
            yield _AmountSentence(
                number, start, text, tuple(tokens(text)), heading | frozenset(tokens(before))
            )
        before = text


def promote_amounts(
    question: str,
    documents: Sequence[Document],
    k: int,
    others: Iterable[Document] = (),
    rarity: Rarity | None = None,
) -> list[Document]:
    """Return the best `k` documents, with those that hold the figures asked for among them.

    They take the last places, half of them at most, and stand in the order in which they were found. They may
    be among the `others`, which were not found by a search.
    """
    known = {document.id for document in documents}
    documents = [*documents, *(other for other in others if other.id not in known)]
    passages = [Passage.from_document(document) for document in documents]
    numbers = dict.fromkeys(number - 1 for number, _ in named_amounts(question, passages, rarity))
    chosen = frozenset(islice(numbers, max(1, k // 2)))
    kept = [place for place in range(len(known)) if place not in chosen][: max(0, k - len(chosen))]
    return [documents[place] for place in sorted([*kept, *chosen])][:k]
