"""Definitions of the terms that a quote answers "who" with.

"The Contractor maintains the lift." does not say who that is. A document defines a term where it puts it
in quotation marks for the first time: `Norvik Lifts GmbH ("the Contractor")`, 「館長」とは, "원장"이란. That
sentence is quoted after the one that uses the term.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from rag.passage import Passage
from rag.retrieval.question_type import asks_who
from rag.retrieval.sentences import Pick
from rag.text.facts import quoted_terms
from rag.text.sentences import sentences

DocumentPassages = Callable[[str], Iterable[Passage]]
"""Returns the passages of a document, in their order."""

MOST = 2
"""Definitions after a quote, at most."""


def with_definitions(
    question: str, passages: Sequence[Passage], picks: Sequence[Pick], passages_of: DocumentPassages
) -> tuple[list[Passage], list[Pick]]:
    """Return passages and picks with the definitions of the terms in the first quote, right after it.

    Only a question that asks who is answered so.
    """
    passages, picks = list(passages), list(picks)
    if not picks or not asks_who(question):
        return passages, picks
    best = picks[0]
    used = passages[best.number - 1]
    sentence = used.text[best.best_start : best.best_end]
    added: list[Pick] = []
    for passage, start, end in defining_sentences(sentence, passages_of(used.document_id)):
        number = next((at for at, one in enumerate(passages, 1) if one.id == passage.id), 0)
        if not number:
            passages.append(passage)
            number = len(passages)
        if not any(_has(pick, number, start, end) for pick in (best, *added)):
            added.append(Pick(number, start, end, best.score, start, end))
        if len(added) == MOST:
            break
    others = [pick for pick in picks[1:] if not any(_has(one, pick.number, *_span(pick)) for one in added)]
    return passages, [best, *added, *others]


def _span(pick: Pick) -> tuple[int, int]:
    return pick.start, pick.end


def _has(pick: Pick, number: int, start: int, end: int) -> bool:
    return pick.number == number and pick.start <= start and end <= pick.end


def defining_sentences(sentence: str, passages: Iterable[Passage]) -> Iterator[tuple[Passage, int, int]]:
    """Yield the sentences that define terms of a sentence, each as a passage and a span of its text.

    >>> text = 'Ann Lee ("the Warden") keeps the keys. The Warden locks the gate.'
    >>> passage = Passage("c", "d", "a.md", "", None, "", 0, len(text), text)
    >>> [text[start:end] for _, start, end in defining_sentences("The Warden locks the gate.", [passage])]
    ['Ann Lee ("the Warden") keeps the keys.']
    """
    known = {term for term, _ in quoted_terms(sentence)}
    for passage in passages:
        for term, at in quoted_terms(passage.text):
            if term not in known and _uses(sentence, term):
                known.add(term)
                spans = sentences(passage.text)
                yield next((passage, start, end) for start, end in spans if start <= at < end)


def _uses(sentence: str, term: str) -> bool:
    """Return True for a sentence with a term: a whole word, or at least two letters of another script."""
    if term[0].isascii():
        return re.search(rf"(?<!\w){re.escape(term)}(?!\w)", sentence) is not None
    return len(term) > 1 and term in sentence
