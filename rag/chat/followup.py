"""Follow-up detection and term carry-over, without a language model.

A follow-up gets the weightiest terms of the conversation in brackets, and the period that the last question
named, so that both the search and the reader see them. A question needs no context where those hardly change
its embedding, or where its embedding is like those of questions that stand alone, unless its words point back
("how much of it").

"And the year before?" after a question about 2025 gets that period. "And for managers?" after a question
about attendants names another member of a kind: the new term takes the place of the old one in the earlier
question, which is searched no more. The documents tell which one it is: both stand in one column of a table,
in its headers or in one list. A term that they do not have replaces the nearest one by its vector.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast

import numpy as np
from langchain_core.embeddings import Embeddings

from rag.chat.corpus import History
from rag.chat.small_talk import is_continuation, phrase_file
from rag.citations.quantities import quantities
from rag.citations.support import declines
from rag.errors import EmbeddingError
from rag.models.embeddings import Floats
from rag.retrieval.question_type import asks_for_overview, without_periods
from rag.text.dates import ERA_YEAR, Period, era_year, find_periods, spoken_period, year_of_era
from rag.text.facts import nouns
from rag.text.language import STOP_WORDS, language
from rag.text.markdown import read_tables
from rag.text.sentences import sentences
from rag.text.tokenize import Rarity, tokens, word_language

MOST_CHARS = 80  # of a question that only asks for another period
_YEAR = re.compile(r"(?<!\d)(?:1[1-9]|20)\d\d(?!\d)")
_QUARTERS = {"ko": "{year}년 {quarter}분기", "ja": "{year}年第{quarter}四半期"}


def relative_period(question: str, history: History) -> str:
    """Return the period that a question means by one before or after the last one named; empty without one.

    >>> relative_period("And the year before?", [("user", "What was the rent in 2025?")])
    '2024'
    >>> relative_period("그 전 분기는요?", [("user", "2023년 1분기 매출은?")])
    '2022년 4분기'
    """
    code = language(question)
    step = _step(question, code)
    if step is None:
        return ""
    unit, by = step
    return shifted(_last_named([content for role, content in history if role == "user"]), unit, by, code)


def is_step(question: str) -> bool:
    """Return True for a question that only names a period before or after another one.

    >>> is_step("And the year before?"), is_step("And the deposit?")
    (True, False)
    """
    return _step(question, language(question)) is not None


def shifted(words: str, unit: str, by: int, code: str = "en") -> str:
    """Return the words of a period that lies so many years or quarters on; empty where that is not known.

    >>> shifted("July 1, 2023", "year", -1), shifted("the first quarter of 2023", "quarter", -1)
    ('July 1, 2022', 'Q4 2022')
    >>> shifted("令和7年度", "year", -1, "ja"), shifted("令和元年", "year", -1, "ja")
    ('令和6年度', '平成30年')
    """
    named = find_periods(words)
    if not named:
        return ""
    if unit == "quarter":
        return _quarter_on(named[0], by, code) if named[0].grain == "quarter" else ""
    eras, years = ERA_YEAR.findall(words), _YEAR.findall(words)
    if len(eras) + len(years) != 1:
        return ""
    if eras:
        return ERA_YEAR.sub(lambda year: era_year(year_of_era(year["era"], year["eras"]) + by), words)
    return _YEAR.sub(lambda year: str(int(year[0]) + by), words)


def _quarter_on(period: Period, by: int, code: str) -> str:
    year, quarter = divmod(4 * int(period.label[:4]) + int(period.label[-1]) - 1 + by, 4)
    if form := _QUARTERS.get(code):
        return form.format(year=year, quarter=quarter + 1)
    return spoken_period(f"{year}-Q{quarter + 1}")


def _step(question: str, code: str) -> tuple[str, int] | None:
    """Return the unit of the step from one period to the other, and its direction."""
    phrases = phrase_file(code)["relative_periods"]
    if len(question) > MOST_CHARS or find_periods(question):
        return None
    if re.search(phrases["compared"], question, re.IGNORECASE):
        return None
    for unit in ("quarter", "year"):
        for direction, by in (("before", -1), ("after", 1)):
            if re.search(phrases[f"{unit}_{direction}"], question, re.IGNORECASE):
                return unit, by
    return None


def _last_named(questions: Sequence[str]) -> str:
    """Return the words of the period that the questions came to, steps from one to the next included."""
    words = ""
    for question in questions:
        code = language(question)
        if named := find_periods(question):
            words = question[named[0].start : named[0].end]
        elif words and (step := _step(question, code)):
            words = shifted(words, *step, code)
    return words


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
    if meant := with_replaced_period(question, asked):
        return meant
    new = named_alone(question)
    if not new or not asked or new.casefold() in asked.casefold():
        return ""
    found = texts(f"{new} {asked}")
    swaps = [swap for text in found for swap in _swaps(new, asked, text)]
    if swaps:
        return _swapped(asked, *max(swaps, key=lambda swap: swap[0][1] - swap[0][0]))
    known = any(new.casefold() in text.casefold() for text in found) or _repeats(new, asked)
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


def with_replaced_period(question: str, asked: str) -> str:
    """Return the earlier question, of one period, with the one that a follow-up names and says no more of.

    Where only a year is named, the month or quarter of the earlier question stays.

    >>> with_replaced_period("And in 2024?", "What was the rent in March 2025?")
    'What was the rent in March 2024?'
    >>> with_replaced_period("그럼 작년 같은 달은요?", "2025년 9월 청소비는 얼마인가요?")
    '2024년 9월 청소비는 얼마인가요?'
    >>> with_replaced_period("And the deposit in 2024?", "What was the rent in 2025?")
    ''
    """
    code, old = language(question), find_periods(asked)
    if len(old) != 1:
        return ""
    was = asked[old[0].start : old[0].end]
    if step := _step(question, code):
        now = shifted(was, *step, code)
    else:
        now = _instead(was, _period_alone(question))
    return asked[: old[0].start] + now + asked[old[0].end :] if now else ""


def _period_alone(question: str) -> str:
    """Return the words of the period of a question that names it and nothing else.

    >>> [_period_alone(one) for one in ("And in 2024?", "2024년은요?", "では2024年度は？", "Sales in 2024?")]
    ['2024', '2024년', '2024年度', '']
    """
    phrases = phrase_file(language(question))
    named = re.fullmatch(phrases["names_another"], question.strip(), re.IGNORECASE)
    term = named["term"] if named else question.strip(" ?？.。")
    found = find_periods(term)
    if len(found) != 1:
        return ""
    words = nouns(f"{term[: found[0].start]} {term[found[0].end :]}")
    alone = all(word.casefold() in STOP_WORDS["en"] for word in words)
    return term[found[0].start : found[0].end] if alone else ""


def _instead(was: str, now: str) -> str:
    """Return the words of a period with the year of another that is only a year, else those of the other.

    >>> _instead("March 2025", "2024"), _instead("2025", "March 2024"), _instead("2025", "")
    ('March 2024', 'March 2024', '')
    """
    years = _YEAR.findall(now)
    if len(years) == 1 and len(_YEAR.findall(was)) == 1 and find_periods(now)[0].grain == "year":
        return _YEAR.sub(years[0], was)
    return now


def _repeats(new: str, asked: str) -> bool:
    """Return True for a term of several nouns with one of the earlier question: it says its subject itself.

    >>> [_repeats(new, "견적서 기한은 언제인가요?") for new in ("견적서 합계", "견적서")]
    [True, False]
    """
    own = list(nouns(new))
    return len(own) > 1 and not frozenset(own).isdisjoint(nouns(asked))


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
            yield header, [term for cell in cells for term in _terms_of_cell(_BRACKETS.sub("", cell))]
        yield "", [term for cell in table.header for term in _terms_of_cell(_BRACKETS.sub("", cell))]
        inner = [part for cell in table.header for part in _BRACKETS.findall(cell)]
        yield "", [term for part in inner for term in _terms_of_cell(part)]
    yield "", [match[1].strip() for match in _ITEM.finditer(text)]


def _terms_of_cell(cell: str) -> list[str]:
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
    return _GROUPED.sub(" ", without_periods(told[:MAX_CHARS]))


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
