"""Follow-ups that name another member of a kind: "And for managers?" after a question about attendants.

The new term takes the place of the old one in the earlier question, which is searched no more. The documents
tell which one it is: both stand in one column of a table, in its headers or in one list. A term that they do
not have replaces the nearest one by its vector.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from langchain_core.embeddings import Embeddings

from rag.chat.corpus import History
from rag.chat.relative_period import is_step
from rag.chat.small_talk import phrase_file
from rag.errors import EmbeddingError
from rag.text.dates import find_periods
from rag.text.facts import nouns
from rag.text.language import STOP_WORDS, language
from rag.text.tables import read_tables
from rag.text.tokenize import tokens

TextsAbout = Callable[[str], Sequence[str]]
"""Returns passages of the documents that use some words most."""
MEASURED = ("multilingual-e5-small",)
"""Embedding models by which the nearest term was the right one in the 20 of 22 cases that `MARGIN` left."""
MARGIN = 0.01
"""Least lead of the nearest term's cosine over the next one's."""
MOST_MESSAGES = 10  # newest messages whose own replaced terms are read
MOST_WORDS = 3  # of a term

_BRACKETS = re.compile(r"[(（\[]([^()（）\[\]]*)[)）\]]")
_PARTS = re.compile(r"\s*[・、,，/／|]\s*")
_ITEM = re.compile(r"^[ \t]*[-*•・][ \t]+([^\n:：]{1,40})[:：]", re.MULTILINE)
_PARTICLES = (("은", "는"), ("이", "가"), ("을", "를"), ("과", "와"))
"""Korean particles after a closed and after an open syllable."""

log = logging.getLogger(__name__)


def no_texts(words: str) -> Sequence[str]:  # noqa: ARG001
    """Return no passages: for documents whose words are not known."""
    return ()


def named_alone(question: str) -> str:
    """Return the term that a question names and says no more of; empty for another question.

    >>> [named_alone(one) for one in ("And for managers?", "部長の場合はどうですか。", "부산이면요?", "Why?")]
    ['managers', '部長', '부산', '']
    """
    phrases = phrase_file(language(question))
    found = re.fullmatch(phrases["names_another"], question.strip(), re.IGNORECASE)
    term = found["term"].strip() if found else ""
    words = term.split()
    if not 1 <= len(words) <= MOST_WORDS or find_periods(question) or is_step(question):
        return ""
    outside = STOP_WORDS["en"].union(phrases["question_words"])
    return "" if any(word.casefold() in outside for word in words if len(word) > 1) else term


def with_replaced_term(
    question: str, asked: str, texts: TextsAbout = no_texts, embedder: Embeddings | None = None
) -> str:
    r"""Return the earlier question with the term that a follow-up names in the place of the old one.

    Empty where it names none, or where it is not known which one is meant.

    >>> told = "| Role | Rate |\n|---|---|\n| Attendants | 12 |\n| Managers | 19 |"
    >>> with_replaced_term("And for managers?", "What is the rate for attendants?", lambda words: [told])
    'What is the rate for managers?'
    """
    new = named_alone(question)
    if not new or not asked or new.casefold() in asked.casefold():
        return ""
    found = texts(f"{new} {asked}")
    swaps = [swap for text in found for swap in _swaps(new, asked, text)]
    if swaps:
        return _swapped(asked, *max(swaps, key=lambda swap: swap[0][1] - swap[0][0]))
    known = any(new.casefold() in text.casefold() for text in found)
    old = None if known else _nearest(new, asked, embedder)
    return _swapped(asked, old, new) if old else ""


def with_replaced_terms(
    history: History, texts: TextsAbout = no_texts, embedder: Embeddings | None = None
) -> History:
    """Return the conversation with the questions that were meant in the place of such follow-ups."""
    meant, asked = list(history), ""
    for at in range(max(0, len(history) - MOST_MESSAGES), len(history)):
        role, content = history[at]
        if role == "user":
            asked = with_replaced_term(content, asked, texts, embedder) or content
            meant[at] = (role, asked)
    return meant


_Span = tuple[int, int]


def _swaps(new: str, asked: str, text: str) -> Iterator[tuple[_Span, str]]:
    """Yield the places in a question of terms beside the new one in a column or a list, with the new one."""
    for header, members in _columns(text):
        own = next((one for one in members if _is_same(new, one)), None)
        term = new
        if own is None:
            own = term = next((one for one in members if _is_same(new, f"{header} {one}")), "")
        if own:
            others = (one for one in members if one != own)
            yield from ((span, term) for one in others if (span := _place(one, header, asked)))


def _columns(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the header and the terms of each column, then those of the headers and of lists."""
    for table in read_tables(text):
        for at, header in enumerate(table.header):
            cells = [row.cells[at] for row in table.rows if at < len(row.cells)]
            yield header, [term for cell in cells for term in _terms(_BRACKETS.sub("", cell))]
        yield "", [term for cell in table.header for term in _terms(_BRACKETS.sub("", cell))]
        inner = [part for cell in table.header for part in _BRACKETS.findall(cell)]
        yield "", [term for part in inner for term in _terms(part)]
    yield "", [match[1].strip() for match in _ITEM.finditer(text)]


def _terms(cell: str) -> list[str]:
    """Return the terms of a cell: "部長・課長" has two."""
    return [term for term in _PARTS.split(cell.strip()) if term]


def _is_same(one: str, other: str) -> bool:
    words = tokens(one)
    return one.casefold() == other.casefold() or (len(words) == len(one.split()) and words == tokens(other))


def _place(term: str, header: str, asked: str) -> _Span | None:
    """Return where a question has a term; a letter or a number only after the header of its column."""
    if len(term) < 2 or not any(map(str.isalpha, term)):
        found = re.search(rf"(?i:\b{re.escape(header)}\s){re.escape(term)}\b", asked) if header else None
        return (found.end() - len(term), found.end()) if found else None
    if not term.isascii():
        start = asked.find(term)
        return (start, start + len(term)) if start >= 0 else None
    count = len(term.split())
    words = list(re.finditer(r"[\w’'-]+", asked))
    runs = ((one.start(), last.end()) for one, last in zip(words, words[count - 1 :], strict=False))
    return next((run for run in runs if _is_same(term, asked[slice(*run)])), None)


def _nearest(new: str, asked: str, embedder: Embeddings | None) -> _Span | None:
    """Return the place of the noun of a question that is nearest to a new noun; None where two are."""
    asking = phrase_file(language(asked))["question_words"]
    olds = [noun for noun in dict.fromkeys(nouns(asked)) if tokens(noun) and noun not in asking]
    is_noun = " ".join(nouns(new)) == new
    if embedder is None or getattr(embedder, "name", "") not in MEASURED or not olds or not is_noun:
        return None
    try:
        vector, *others = (np.asarray(one, np.float32) for one in embedder.embed_documents([new, *olds]))
    except EmbeddingError as error:
        log.warning("A follow-up was completed without comparing its terms. %s", error)
        return None
    ranked = sorted(
        ((float(vector @ other), old) for other, old in zip(others, olds, strict=True)), reverse=True
    )
    if len(ranked) > 1 and ranked[0][0] - ranked[1][0] < MARGIN:
        return None
    start = asked.find(ranked[0][1])
    return (start, start + len(ranked[0][1])) if start >= 0 else None


def _swapped(asked: str, old: _Span, new: str) -> str:
    """Return a question with a term replaced; a Korean particle after it takes the form of the new one.

    >>> _swapped("서울은 얼마인가요?", (0, 2), "제주")
    '제주는 얼마인가요?'
    """
    after = asked[old[1] :]
    for pair in _PARTICLES if "가" <= new[-1] <= "힣" else ():
        if re.match(rf"(?:{'|'.join(pair)})(?![가-힣])", after):
            closed = (ord(new[-1]) - ord("가")) % 28 > 0
            after = pair[0 if closed else 1] + after[1:]
    return asked[: old[0]] + new + after
