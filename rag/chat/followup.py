"""Follow-up detection and term carry-over, without a language model.

A follow-up gets the weightiest terms of the conversation in brackets, and the period that the last question
named, so that both the search and the reader see them. A question needs no context where those hardly change
its embedding, or where its embedding is like those of questions that stand alone, unless its words point back
("how much of it").
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast

import numpy as np
from langchain_core.embeddings import Embeddings

from rag.chat.corpus import History
from rag.chat.relative_period import relative_period
from rag.chat.replaced_term import named_alone
from rag.chat.small_talk import is_continuation, phrase_file
from rag.citations.quantities import quantities
from rag.citations.support import declines
from rag.errors import EmbeddingError
from rag.models.embeddings import Floats
from rag.retrieval.question_type import asks_for_overview
from rag.text.dates import find_periods
from rag.text.facts import nouns
from rag.text.language import language
from rag.text.sentences import sentences
from rag.text.tokenize import Rarity, tokens, word_language

SAME_MEANING: Mapping[str, float] = MappingProxyType({"multilingual-e5-small": 0.955})
"""Least cosine of a question with and without carried terms that needs no context, by embedding model.

Fitted on MTRAG govt, where recall@5 is flat from .955 to .98. For other models terms are always carried over.
"""
WEIGHTS = Path(__file__).parent / "phrases" / "follow_up_weights.json"
LEAST_LEANING = 0.3
"""Least probability, by its vector, that a question needs the conversation (benchmarks/stands_alone.py)."""
SURE_LEANING = 0.7
"""Probability from which terms are carried whatever a question finds alone: nine in ten of those that need
them have more, in the half that the weights were fitted on."""
RECENCY_DECAY = 0.5
"""Share of its weight that a term keeps with every later question; an answer counts half of its question."""
FIRST_QUESTION = 0.5  # least weight of a term of the first question, which often names the subject
RARITY_POWER = 0.25
MAX_TERMS = 2  # all turns joined find less than the last turn alone
MAX_MESSAGES = 20  # read beside the first question; older ones weigh less than a thousandth
MAX_CHARS = 1000  # read of a message: an answer names its subject early

_MARKER = re.compile(r"\s?\[\d{1,4}\]")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")  # 371,205: an amount, and no name
_WITH_TERMS = {"ko": ("{} ({})", ", "), "ja": ("{}（{}）", "、"), "zh": ("{}（{}）", "、")}

log = logging.getLogger(__name__)


Need = Literal["none", "unsure", "sure"]
"""Need of a question for the conversation; an unsure one is settled by what it finds alone."""


def context_need(question: str, completed: str, embedder: Embeddings | None = None) -> Need:
    """Return how far a question needs the terms in `completed`: not where its meaning stays as it is."""
    name = getattr(embedder, "name", "")
    limit = SAME_MEANING.get(name)
    if completed == question:
        return "none"
    if embedder is None or limit is None or _points_back(question):
        return "sure"
    try:
        alone, together = (
            np.asarray(embedder.embed_query(text), np.float32) for text in (question, completed)
        )
    except EmbeddingError as error:
        log.warning("Terms were carried into a question without comparing its meaning. %s", error)
        return "sure"
    leaning = _leaning(alone, name) if float(alone @ together) < limit else 0.0
    if leaning < LEAST_LEANING:
        return "none"
    return "unsure" if leaning < SURE_LEANING and not _has("pronouns", question) else "sure"


def _leaning(vector: Floats, model: str) -> float:
    """Return the probability that a question needs the conversation; 1 for a model without weights."""
    weights = _leaning_weights().get(model)
    if weights is None:
        return 1.0
    return float(1 / (1 + np.exp(-np.dot(weights[:-1], vector) - weights[-1])))


@cache
def _leaning_weights() -> Mapping[str, Sequence[float]]:
    """Return the weights of a vector by embedding model; the last one stands alone."""
    return cast("Mapping[str, Sequence[float]]", json.loads(WEIGHTS.read_text("utf-8")))


def _points_back(question: str) -> bool:
    return _has("points_back", question)


def _has(words: str, question: str) -> bool:
    return re.search(phrase_file(language(question))[words], question, re.IGNORECASE) is not None


def with_terms(question: str, history: History, rarity: Rarity | None = None, *, period: bool = False) -> str:
    """Return the question with the weightiest terms of the conversation that it lacks.

    With `period` it also gets the period that is meant, where it names none: that of the last question, or
    the one before or after it.

    >>> with_terms("And where was he born?", [("user", "Who is Albert Einstein?")])
    'And where was he born? (about Albert Einstein)'
    >>> with_terms("And from Services?", [("user", "What were the sales in Q3 2023?")], period=True)
    'And from Services? (about sales, Q3 2023)'
    >>> with_terms("And the year before?", [("user", "What was the rent in 2025?")], period=True)
    'And the year before? (about rent, 2024)'
    """
    stemming = word_language(question)
    asked = frozenset(tokens(question, stemming))
    known = _terms(history, rarity, stemming)
    terms = [term for key, term in known.items() if not set(key) <= asked]
    best = sorted(terms, key=lambda term: (-term.weight, term.place))[:MAX_TERMS]
    said = {term.place: term.word for term in known.values()}
    carried = [*_phrases(best, said), *(_period(question, history) if period else [])]
    if not carried:
        return question
    form, separator = _WITH_TERMS.get(language(question), ("{} (about {})", ", "))
    return form.format(question, separator.join(carried))


def _period(question: str, history: History) -> list[str]:
    """Return the period that a question means, in words: by another one, else that of the last question."""
    if meant := relative_period(question, history):
        return [meant]
    last = next((content for role, content in reversed(history) if role == "user"), "")
    if find_periods(question):
        return []
    return [last[one.start : one.end] for one in find_periods(last)[:1]]


@dataclass
class _Term:
    """Word of the conversation: its last spelling, its place (message, position) and its weight."""

    word: str
    place: tuple[int, int]
    weight: float = 0.0


def _terms(history: History, rarity: Rarity | None, stemming: str) -> dict[tuple[str, ...], _Term]:
    """Return the conversation's terms by their tokens, weighed by recency, role, rarity and repetition."""
    terms: dict[tuple[str, ...], _Term] = {}
    for at, weight in _weights(history):
        role, content = history[at]
        if role == "user" and (is_continuation(content) or asks_for_overview(content)):
            continue  # "tell me more" and "Summarise this document." name no subject
        seen: set[tuple[str, ...]] = {()}
        words = list(nouns(_told(role, content)))
        for position, word in enumerate(words) if role == "user" else _naming(words, stemming):
            key = tuple(tokens(word, stemming))
            if key in seen:
                continue
            seen.add(key)
            term = terms.setdefault(key, _Term(word, (at, position)))
            term.weight += weight
            if role == "user":
                term.word, term.place = word, (at, position)
    if rarity is not None:
        for key, term in terms.items():
            term.weight *= max(0.0, sum(map(rarity, key)) / len(key)) ** RARITY_POWER
    return terms


def _told(role: str, content: str) -> str:
    """Return the words of a message that may name a subject: not the form of "And for managers?"."""
    if role == "user":
        told = named_alone(content) or content
    else:
        told = " ".join(stated_sentences(content[:MAX_CHARS]))
    return _GROUPED.sub(" ", _without_periods(told[:MAX_CHARS]))


def _naming(words: Sequence[str], stemming: str) -> Iterator[tuple[int, str]]:
    """Yield the words that name something, with their places: an amount and its unit do not.

    >>> list(_naming("clause 4".split(), "en")), list(_naming("profit was 4 million".split(), "en"))
    ([(0, 'clause'), (1, '4')], [(0, 'profit'), (1, 'was')])
    """
    amount, named = "", False
    for place, word in enumerate(words):
        told = f"{amount} {word}".strip()
        is_number = not any(map(str.isalpha, word)) or _is_amount(word)
        if amount and _is_amount(told):
            amount = told
        elif is_number and not named:
            amount = word
        else:
            amount, named = "", bool(tokens(word, stemming)) and not is_number
            yield place, word


def _is_amount(text: str) -> bool:
    return any((one.start, one.end) == (0, len(text)) for one in quantities(text))


def stated_sentences(answer: str) -> Iterator[str]:
    """Yield the sentences of an answer that state something, without their markers.

    >>> list(stated_sentences("I found no clear answer. Dogs may come [1]. Cats, too [2]."))
    ['Dogs may come.', 'Cats, too.']
    """
    text = _MARKER.sub("", answer)
    for start, end in sentences(text):
        if not text[:end].endswith((":", "：")) and not declines(text[start:end]):
            yield text[start:end]


def _without_periods(text: str) -> str:
    """Return a text without dates and periods, of which a month alone would be carried."""
    for one in reversed(find_periods(text)):
        text = f"{text[: one.start]} {text[one.end :]}"
    return text


def _weights(history: History) -> Iterator[tuple[int, float]]:
    """Yield the index and weight of the first question and of the newest messages, oldest first."""
    first = next((at for at, (role, _) in enumerate(history) if role == "user"), -1)
    newest = range(max(0, len(history) - MAX_MESSAGES), len(history))
    for at in sorted({first, *newest} - {-1}):
        later = sum(role == "user" for role, _ in history[at + 1 : at + 1 + MAX_MESSAGES])
        weight = RECENCY_DECAY ** (later + (history[at][0] != "user"))
        yield at, max(weight, FIRST_QUESTION) if at == first else weight


def _phrases(terms: Sequence[_Term], said: Mapping[tuple[int, int], str]) -> list[str]:
    """Return the terms in the order of the conversation, neighbours joined: guinea, pigs -> guinea pigs.

    So are two with one term between them, in the words `said` at each place: total, sales -> total net sales.
    """
    ordered = sorted(terms, key=lambda term: term.place)
    phrases = [term.word for term in ordered[:1]]
    for one, other in pairwise(ordered):
        message, at = one.place
        between = said.get((message, at + 1))
        if other.place == (message, at + 1):
            phrases[-1] += f" {other.word}"
        elif other.place == (message, at + 2) and between is not None:
            phrases[-1] += f" {between} {other.word}"
        else:
            phrases.append(other.word)
    return phrases
