"""Amounts that belong to an answer: rows of the measures that a question names, and sentences with figures.

"How do inventory levels relate to the strategy?" is answered by the strategy's text and by the inventories'
row, which says too little to be found by a search. Where documents have tables of figures, they are looked
for in more passages than an answer is made from: in all of the documents that a question names.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from math import log
from operator import itemgetter

from langchain_core.documents import Document

from rag.passage import Passage
from rag.retrieval.question_type import QuestionType, has_amount, without_periods
from rag.retrieval.table_rows import TOTAL, LabelledRow, labelled_rows, score_rows, scores
from rag.text.sentences import sentences
from rag.text.tokenize import tokens

DEPTH = 40
"""Passages found whose figures are compared with a question."""
PROMOTED = 3
"""Passages that are taken for rows that a question asks for at most."""
LEAST = 0.4
"""Least score of such a row."""
NAMED = 2
"""Rows of measures that a question names, at most."""
TOLD = 1
"""Sentences with amounts beside them."""


def named_amounts(question: str, passages: Sequence[Passage]) -> list[tuple[int, int]]:
    """Return the rows of the measures that a question names, then sentences with amounts about what it names.

    Each is the number of a passage, from 1, and a place in it. None where there are no tables of figures.
    """
    found = [(number, row) for number, one in enumerate(passages, 1) for row in labelled_rows(one)]
    if not found:
        return []
    rows = _named_rows(question, _ranked(question, passages, found))
    return [*islice(rows, NAMED), *islice(_amount_sentences(question, passages), TOLD)]


def _named_rows(question: str, ranked: Sequence[tuple[int, LabelledRow]]) -> Iterator[tuple[int, int]]:
    """Yield the best row of each measure that a question names, then the second ones, and so on.

    "How do inventory levels relate to demand?" names one where a row is called "Inventories": its figures are
    part of the answer, however little of the question they speak of. A measure's words stand together, and
    are part of no longer name: "operating income" is not asked for by "income".
    """
    asked = tokens(without_periods(question))
    names = {row.label - TOTAL for _, row in ranked} - {frozenset()}
    spans = {name: span for name in names if (span := _span(name, asked))}
    whole = {
        name
        for name, span in spans.items()
        if not any(name < other and _within(span, longer) for other, longer in spans.items())
    }
    seen: Counter[frozenset[str]] = Counter()
    turns: list[tuple[int, int, int]] = []
    for number, row in ranked:
        if (name := row.label - TOTAL) in whole:
            turns.append((seen[name], number, row.start))
            seen[name] += 1
    return ((number, start) for _, number, start in sorted(turns, key=itemgetter(0)))


def _ranked(
    question: str, passages: Sequence[Passage], found: Sequence[tuple[int, LabelledRow]]
) -> list[tuple[int, LabelledRow]]:
    """Return rows with the best first.

    A question for a figure says which one it is; another one means the figure that stands first in a report.
    """
    if QuestionType(question).is_figure:
        scored = scores(question, [row for _, row in found])
        return [
            found[place] for place in sorted(range(len(found)), key=lambda place: -round(scored[place], 2))
        ]
    documents = list(dict.fromkeys(passage.document_id for passage in passages))

    def place(each: tuple[int, LabelledRow]) -> tuple[int, int]:
        passage = passages[each[0] - 1]
        return documents.index(passage.document_id), passage.start + each[1].start

    return sorted(found, key=place)


def _span(name: frozenset[str], asked: Sequence[str]) -> tuple[int, int] | None:
    """Return the place in a question where the words of a name stand together, with one other at most."""
    for start, word in enumerate(asked):
        for end in (start + len(name), start + len(name) + 1):
            if word in name and name <= frozenset(asked[start:end]):
                return start, end
    return None


def _within(span: tuple[int, int], other: tuple[int, int]) -> bool:
    return other[0] <= span[0] and span[1] <= other[1]


def _amount_sentences(question: str, passages: Sequence[Passage]) -> Iterator[tuple[int, int]]:
    """Yield the sentences with amounts that have two words of a question at least, the best first.

    Words weigh by their rarity among such sentences, and more where two stand together as in the question.
    """
    asked = tokens(without_periods(question))
    found = {
        text: (number, start, tokens(text))
        for number, passage in reversed(list(enumerate(passages, 1)))
        for start, text in _with_amounts(passage)
    }
    held = Counter(word for *_, words in found.values() for word in frozenset(words))
    weight = {word: log(1 + len(found) / (0.5 + held[word])) for word in asked if held[word]}
    pairs = {pair for pair in pairwise(asked) if weight.keys() >= set(pair)}

    def score(words: Sequence[str]) -> float:
        near = {frozenset(pair) for pair in (*pairwise(words), *zip(words, words[2:], strict=False))}
        together = sum(weight[one] + weight[other] for one, other in pairs if {one, other} in near)
        return together + sum(weight[word] for word in weight.keys() & frozenset(words))

    about = [each for each in found.values() if len(weight.keys() & frozenset(each[2])) > 1]
    for number, start, _ in sorted(about, key=lambda each: (-score(each[2]), each[0], each[1])):
        yield number, start


def _with_amounts(passage: Passage) -> Iterator[tuple[int, str]]:
    if has_amount(passage.text):
        for start, end in sentences(passage.text):
            text = passage.text[start:end]
            if not text.startswith("|") and has_amount(text):
                yield start, text


def promote_amounts(
    question: str, documents: Sequence[Document], k: int, others: Iterable[Document] = ()
) -> list[Document]:
    """Return the best `k` documents, with those that hold the figures asked for among them.

    They take the last places, and stand in the order in which they were found. They may be among the
    `others`, which were not found by a search.
    """
    known = {document.id for document in documents}
    documents = [*documents, *(other for other in others if other.id not in known)]
    best = [0.0] * len(documents)
    passages = [Passage.from_document(document) for document in documents]
    for (number, _), score in score_rows(question, passages).items():
        best[number - 1] = max(best[number - 1], score)
    ranked = sorted(range(len(documents)), key=lambda place: -best[place])
    chosen = {place for place in ranked[:PROMOTED] if best[place] >= LEAST}
    chosen |= {number - 1 for number, _ in named_amounts(question, passages)}
    kept = [place for place in range(len(known)) if place not in chosen][: max(0, k - len(chosen))]
    return [documents[place] for place in sorted([*kept, *chosen])][:k]
