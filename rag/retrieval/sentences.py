"""The sentences of passages that answer a question best: extractive answers, and excerpts for a small model.

Each sentence is scored by a weighted sum of features. The weights were fitted (a softmax over the sentences
of five BM25 passages) on halves of XQuAD, KorQuAD and JaQuAD and rounded; the rank's was raised to what suits
passages found by words and meaning together.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, takewhile
from math import fsum, inf, log

import numpy as np
from langchain_core.embeddings import Embeddings

from rag.passage import Passage
from rag.retrieval.lead_ins import ends_in_colon, last_led, list_around, points_ahead
from rag.retrieval.question_type import (
    QuestionType,
    asks_amount,
    has_amount,
    has_only_dates,
    without_periods,
)
from rag.retrieval.table_rows import named_amounts, score_rows
from rag.text.dates import with_quarter_words
from rag.text.facts import nouns
from rag.text.labels import label_of
from rag.text.language import language, may_share_words
from rag.text.markdown import cells, read_tables
from rag.text.markers import inert
from rag.text.prompt_parts import count_tokens
from rag.text.sentences import begins_item, sentences
from rag.text.tokenize import Rarity, named_letters, tokens, word_language

# Where a sentence that is too wide may be cut: tables, lists, text without a full stop.
_BREAK = re.compile(r"\n|(?<=[,;:、，；|])|(?<=\s)")


def width(text: str) -> float:
    """Return a text's width in Latin letters; a CJK character counts as 2.5.

    >>> width("ab"), width("한국")
    (2.0, 5.0)
    """
    return len(text) + 1.5 * sum(character > "\u2e80" for character in text)


def clip(text: str, start: int, end: int, weight: Mapping[str, float], widest: int) -> tuple[int, int]:
    """Return the span, or the part of it around its weightiest words where it is wider than `widest`.

    >>> text = "a b c the limit is 450 x y z"
    >>> text[slice(*clip(text, 0, 28, {"limit": 1.0}, 13))]
    'limit is 450'
    """
    if width(text[start:end]) <= widest:
        return start, end
    pieces = list(_pieces(text, start, end, max(1, widest // 2)))
    gains = [sum(weight.get(word, 0.0) for word in tokens(text[a:b])) for a, b in pieces]
    first = last = max(range(len(pieces)), key=gains.__getitem__)
    room = widest - width(text[slice(*pieces[first])])
    while True:
        sides = [at for at in (last + 1, first - 1) if 0 <= at < len(pieces)]
        fitting = [at for at in sides if width(text[slice(*pieces[at])]) <= room]
        if not fitting:
            break
        taken = max(fitting, key=lambda at: (gains[at], -abs(at - (first + last) / 2)))
        room -= width(text[slice(*pieces[taken])])
        first, last = min(first, taken), max(last, taken)
    return _trimmed(text, pieces[first][0], pieces[last][1])


def _pieces(text: str, start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the spans between breaks, none longer than `longest`."""
    breaks = (match.start() for match in _BREAK.finditer(text, start + 1, end))
    for here, there in pairwise(dict.fromkeys([start, *breaks, end])):
        for part in range(here, there, longest):
            yield part, min(part + longest, there)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))


_HEADING_LINE = re.compile(r"[ \t]{0,3}#{1,6}[ \t]([^\n]*)")
_VALUE = re.compile(r"[:：][^:：]*\d")
_STATEMENT_END = re.compile(r"[.!。！][\s#*]*\Z")
SHORTEST_STATEMENT = 25  # width of a heading that is a sentence
MOST = 6  # sentences of an answer: the best one, and five
NAMED, AMOUNTS = 3, 5
"""Amounts of an answer that its question names, and all of them, at most."""
SAME_PASSAGE, SAME_DOCUMENT = 2.0, 0.5
"""Loss of a sentence for each one of its passage, and for one of its document, that is taken already."""
WEIGHTS = {
    "overlap": 5.5,
    "tail": 1.1,
    "characters": 2.4,
    "passage": 2.6,
    "title": 3.5,
    "before": 2.4,
    "after": 2.8,
    "rank": 4.0,
    "date": 2.0,
    "number": 1.6,
    "counted": 3.5,
    "name": 0.8,
    "place": 1.3,
    "reason": 1.4,
    "definition": 6.0,
    "label": 6.0,
    "amount": 3.0,
    "subject": 6.0,
    "period": 3.0,
    "row": 15.0,
    "elsewhere": -8.0,
}
FIGURE_RANK = 0.5
"""Share of the rank's weight for a question for a figure: tables and text repeat one another."""
TOGETHER = 3.5
"""A neighbour that scores within this of a pick joins it: it often explains a pronoun."""
WIDEST = 600
"""A quote's width in Latin letters; a letter of Korean or Japanese counts as 2.5."""
WIDEST_BLOCK = 1800
"""Width of a quote of a lead-in with the list or the table after it; one that is wider ends early."""
BEHIND = 5.0
"""Largest distance of a pick's score from the best: the third sentence is often about something else."""
LEAST_OF_BEST = 0.55
"""Least share of the best score that a further pick has: text after a row may be about something else."""
COMPARED = 8
"""Sentences that are embedded where no word is shared: about 20 ms each."""
FRAGMENT = 4.0
"""Penalty of a heading or a page number, which names a subject and says nothing about it."""
OTHER_ROW = 10.0
"""Penalty of a table's row with no word of the question, where another row has one."""
FITS = 0.15
"""Least share of a question's weight that some passage must have.

On XQuAD, KorQuAD and JaQuAD this refuses at most .5 % of the questions their passages answer, and 70-90 % of
questions put to passages of another. The rest is marked as doubtful (rag/chat/extractive.py)."""


@dataclass(frozen=True)
class Pick:
    """Span of the text of passage `number`, from 1, with its score as an answer: more is better.

    The sentence that was chosen is `best_start` to `best_end`; a neighbour may have joined it.
    """

    number: int
    start: int
    end: int
    score: float
    best_start: int = 0
    best_end: int = 0


@dataclass(frozen=True)
class _Sentence:
    number: int
    start: int
    end: int
    text: str
    words: frozenset[str]
    above: str  # caption and header of the table that it is a row of
    header: frozenset[str]  # their words
    is_heading: bool
    above_rows: bool  # a caption, a header or a row with nothing but a name: it stands for rows under it
    is_lead_in: bool  # a caption that announces its table

    @property
    def is_row(self) -> bool:
        """True for a row of a table."""
        return self.text.startswith("|")

    @property
    def said(self) -> frozenset[str]:
        """Its words, those of a row with the header that it is read with."""
        return self.words | self.header


def extract(
    question: str,
    passages: Sequence[Passage],
    *,
    embedder: Embeddings | None = None,
    said: str = "",
    rarity: Rarity | None = None,
    others: int = MOST,
    by_meaning: bool = False,
) -> list[Pick]:
    """Return the spans of passages that answer best, best first; none where nothing fits the question.

    At most `others` follow the best one and the amounts that the question names; the `rarity` of its words
    tells which. `embedder` is used only where no sentence shares a word with the question, or `by_meaning`:
    the sentences nearest in meaning, of the nearest passages, are then returned. Those in `said` come last.
    """
    found = (unit for number, passage in enumerate(passages, 1) for unit in _sentences(number, passage))
    units = [unit for unit in found if not unit.above_rows or unit.is_lead_in]
    scorer = _Scorer(question, units, passages)
    by_meaning = by_meaning and embedder is not None
    if not units or not (by_meaning or scorer.fits(passages)):
        return []
    if (by_meaning or scorer.no_shared_words) and embedder is not None:
        if by_meaning:
            units = sorted(units, key=lambda unit: -_cosine(passages[unit.number - 1]))
        units = units[:COMPARED]
        told = _demote_headings(units, _similarities(question, units, embedder), passages)
    else:
        raw = [scorer.score(at, passages) for at in range(len(units))]
        told = _demote_headings(units, raw, passages, fragment=FRAGMENT)
    scores = _demote_repeated(units, told, said)
    best = list(islice(_best(units, passages, scores, scorer.content_words), 1 + others))
    chosen = _with_amounts(
        _amount_first(question, best, units),
        units,
        scores,
        named_amounts(question, passages, rarity),
        frozenset(scorer.weight),
    )
    return list(_picks(chosen, units, passages, scorer))


def _states(heading: str) -> bool:
    """Return True for a heading that states something: a value after a colon, or a sentence.

    >>> [_states(text) for text in ("Decisions", "안건 2.", "Open: 9 to 17", "The rent rises to 420 in May.")]
    [False, False, True, True]
    """
    is_sentence = _STATEMENT_END.search(heading) is not None and width(heading) >= SHORTEST_STATEMENT
    return is_sentence or _VALUE.search(heading) is not None


def _demote_headings(
    units: Sequence[_Sentence], scores: Sequence[float], passages: Sequence[Passage], fragment: float = 0.0
) -> Sequence[float]:
    """Return the scores, minus infinity for headings that state nothing while there is anything else.

    The first sentence below a heading gets its score, where that is better than its own: what is said of a
    subject often does not name it again. It does not lose the penalty of a `fragment` that the heading has.
    The title of a document is about all of it.
    """
    if all(unit.is_heading for unit in units):
        return scores
    told: list[float] = []
    above, number = -inf, 0
    for unit, score in zip(units, scores, strict=True):
        above = above if unit.number == number else -inf
        named = score + (fragment if _is_fragment(unit.text) else 0.0)
        told.append(-inf if unit.is_heading else max(score, above))
        is_title = passages[unit.number - 1].start + unit.start == 0
        above, number = max(above, named) if unit.is_heading and not is_title else -inf, unit.number
    return told


def _demote_repeated(units: Sequence[_Sentence], scores: Sequence[float], said: str) -> Sequence[float]:
    """Return the scores, minus infinity for sentences that were said before while others are left."""
    said = inert(said)
    fresh = [inert(unit.text) not in said for unit in units] if said else []
    if not any(fresh):
        return scores
    return [score if new else -inf for score, new in zip(scores, fresh, strict=False)]


def sentence_words(passage: Passage) -> list[frozenset[str]]:
    """Return the words of each sentence of a passage; a row of a table has those of its header."""
    return [unit.said for unit in _sentences(1, passage) if not unit.above_rows]


def score_sentences(question: str, passages: Sequence[Passage]) -> list[Pick]:
    """Return the passages' sentences in their order, each with its score."""
    units = [unit for number, passage in enumerate(passages, 1) for unit in _sentences(number, passage)]
    scorer = _Scorer(question, units, passages)
    return [
        Pick(unit.number, unit.start, unit.end, scorer.score(at, passages)) for at, unit in enumerate(units)
    ]


def _similarities(question: str, units: Sequence[_Sentence], embedder: Embeddings) -> list[float]:
    asked = np.asarray(embedder.embed_query(question))
    vectors = np.asarray(embedder.embed_documents([unit.text for unit in units]))
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(asked)
    return [float(cosine) for cosine in vectors @ asked / np.where(lengths > 0, lengths, 1.0)]


def _cosine(passage: Passage) -> float:
    found = passage.found_by.get("similarity")
    return 0.0 if found is None else found.score


def _sentences(number: int, passage: Passage) -> Iterator[_Sentence]:
    tables, code = read_tables(passage.text), word_language(passage.text)
    for start, end in sentences(passage.text):
        text = passage.text[start:end]
        table = next((one for one in tables if one.caption <= start < one.end and one.rows), None)
        if not (words := _words(text, code)):
            continue
        row = cells(text) if text.startswith("|") else ()
        is_section = bool(row) and not any(row[1:])
        above_rows = is_section or (table is not None and end <= table.rows[0].start)
        is_lead_in = above_rows and not row and points_ahead(text)
        above = f"{passage.text[table.caption : table.start]} {' '.join(table.header)}" if table else ""
        if row and not table:  # the passage begins within it
            above = passage.heading.rpartition(" > ")[2]
        above = "" if above_rows else above
        header = _words(above, code)
        heading = _HEADING_LINE.match(passage.text, passage.text.rfind("\n", 0, start) + 1)
        is_heading = heading is not None and not _states(heading[1])
        yield _Sentence(number, start, end, text, words, above, header, is_heading, above_rows, is_lead_in)


def _words(text: str, code: str) -> frozenset[str]:
    """Return the words of a part of a passage in its language: a short row does not show its own."""
    return frozenset([*tokens(with_quarter_words(text), code), *named_letters(text)])


_Chosen = tuple[_Sentence, _Sentence, _Sentence, float]
"""Sentence of an answer, the first and the last of those around it, and its score."""


def _amount_first(question: str, chosen: Sequence[_Chosen], units: Sequence[_Sentence]) -> Sequence[_Chosen]:
    """Return the best sentences; an amount that is asked for, beside the first one, is quoted with it.

    "The path was painted on 26 September. It cost 900." names what was asked about in one sentence, and the
    amount in the next.
    """
    if not chosen or not asks_amount(question):
        return chosen
    best, first, last, score = chosen[0]
    said = [unit for unit in units if unit.number == best.number and first.start <= unit.start <= last.start]
    if any(unit.is_row or not has_only_dates(unit.text) for unit in said):
        return chosen
    at = units.index(last) + 1
    after = units[at] if at < len(units) else None
    if (
        after is None
        or after.number != best.number
        or after.is_row
        or after.is_heading
        or not has_amount(after.text)
    ):
        return chosen
    if width(best.text) + width(after.text) > WIDEST:
        return chosen
    return [(after, best, after, score), *(each for each in chosen[1:] if each[0] != after)]


def _with_amounts(
    best: Iterable[_Chosen],
    units: Sequence[_Sentence],
    scores: Sequence[float],
    named: Iterable[tuple[int, int]],
    asked: frozenset[str],
) -> list[_Chosen]:
    """Return the best sentences, with amounts that belong to the answer after the first one."""
    chosen = list(best)
    places = {(unit.number, unit.start): at for at, unit in enumerate(units)}
    added = _amounts(chosen[:1], units, scores, [places[place] for place in named if place in places], asked)
    rest = [each for each in chosen[1:] if not any(each[0].words <= units[at].words for at in added)]
    return [*chosen[:1], *((units[at], units[at], units[at], scores[at]) for at in added), *rest][:MOST]


def _picks(
    chosen: Sequence[_Chosen], units: Sequence[_Sentence], passages: Sequence[Passage], scorer: "_Scorer"
) -> Iterator[Pick]:
    """Yield the quotes of the chosen sentences; one that leads in is quoted with what it announces.

    An item of a list that was chosen before is one quote with it. A row needs no lead-in: it has its header.
    """
    quoted: list[tuple[_Chosen, range, bool]] = []
    for one in chosen:
        run, led = _with_led(one, units, passages[one[0].number - 1].text, scorer.content_words)
        same = next((at for at, (_, other, _) in enumerate(quoted) if _overlap(run, other)), None)
        if same is None:
            quoted.append((one, run, led))
        elif not quoted[same][0][0].is_row:
            first, other, was_led = quoted[same]
            both = range(min(run.start, other.start), max(run.stop, other.stop))
            quoted[same] = first, both, led or was_led
    for (best, _first, _last, score), run, led in quoted:
        text, start = passages[best.number - 1].text, units[run[0]].start
        last = _last_fitting(text, units, run) if led else run[-1]
        widest = WIDEST_BLOCK if led else WIDEST
        span = clip(text, start, units[last].end, scorer.weight, widest)
        yield Pick(best.number, *span, score, best.start, best.end)


def _overlap(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop


def _with_led(
    chosen: _Chosen, units: Sequence[_Sentence], text: str, asked: frozenset[str]
) -> tuple[range, bool]:
    """Return the run of a chosen sentence with what it leads in, and whether there is something.

    A row that no word of the question picks out is quoted with its whole table where a lead-in announces it,
    an item with its whole list where the heading above has all the words of the question.
    """
    best, first, last, _score = chosen
    own = [at for at, unit in enumerate(units) if unit.number == best.number]
    spans = [(units[at].start, units[at].end) for at in own]
    run = range(own.index(units.index(first)), own.index(units.index(last)) + 1)
    stop = max(last_led(text, spans, at, _is_label) for at in run)
    if best.is_row and asked.isdisjoint(best.words):
        begun = next((at for at in range(run.start - 1, -1, -1) if not units[own[at]].is_row), None)
        if begun is not None and last_led(text, spans, begun, _is_label) >= run[-1] > begun:
            run, stop = range(begun, run.stop), last_led(text, spans, begun, _is_label)
    if asked and begins_item(best.text):
        items = list_around(text, spans, own.index(units.index(best)))
        above = units[own[items.start - 1]] if items.start else None
        if above is not None and above.is_heading and asked <= above.words:
            return range(own[items[0]], own[items[-1]] + 1), True
    led = stop > run[-1] or run.start < own.index(units.index(first))
    return range(own[run.start], own[stop] + 1), led


def _is_label(text: str) -> bool:
    return _is_fragment(text) and not label_of(text)


def _last_fitting(text: str, units: Sequence[_Sentence], run: range) -> int:
    """Return the last sentence of a run that a wide quote has room for; the first one at least."""
    start = units[run[0]].start
    fitting = takewhile(lambda at: width(text[start : units[at].end]) <= WIDEST_BLOCK, run)
    return max(fitting, default=run[0])


def _amounts(
    first: Sequence[_Chosen],
    units: Sequence[_Sentence],
    scores: Sequence[float],
    named: Iterable[int],
    asked: frozenset[str],
) -> list[int]:
    """Return the places of the amounts that a question names, then of the best of other passages.

    None where it names none; the others have a word that is `asked` for. What was said in the `first`
    sentence, or before, is left out.
    """
    said = [unit.words for each in first for unit in each[:3]]
    added: list[int] = []

    def add(found: Iterable[int], most: int) -> None:
        for at in found:
            if len(added) < most and scores[at] > -inf and not any(units[at].words <= one for one in said):
                added.append(at)
                said.append(units[at].words)

    add(named, NAMED)
    if added:
        quoted = {each[0].number for each in first} | {units[at].number for at in added}
        best: dict[int, int] = {}
        for at in sorted(range(len(units)), key=lambda at: -scores[at]):
            if asked & units[at].said and (units[at].is_row or has_amount(units[at].text)):
                best.setdefault(units[at].number, at)
        add((at for number, at in best.items() if number not in quoted), AMOUNTS)
    return added


def _best(
    units: Sequence[_Sentence],
    passages: Sequence[Passage],
    scores: Sequence[float],
    asked: frozenset[str],
) -> Iterator[_Chosen]:
    """Yield the best sentences as (sentence, first, last, score), each with a neighbour near it.

    One that stands in the document, or the passage, of earlier ones is taken later. `asked` are the words of
    the question that a neighbour before it has one of.
    """
    nearest = {
        is_row: max((s for u, s in zip(units, scores, strict=True) if u.is_row is is_row), default=-inf)
        for is_row in (True, False)
    }
    nearest[True] = max(nearest.values())  # text may follow a row as the best text, not a row as the best row
    least = LEAST_OF_BEST * nearest[True] if nearest[True] > 0 else -inf
    left = {at for at, unit in enumerate(units) if scores[at] >= max(least, nearest[unit.is_row] - BEHIND)}
    taken: list[_Sentence] = []
    picked = 0
    while left and picked < MOST:
        at = max(left, key=lambda at: (scores[at] - _repetition(units[at], taken, passages), -at))
        left.discard(at)
        if any(units[at].words <= one.words for one in taken):
            continue
        beside = [
            near for near in (at - 1, at + 1) if near in left and _joins(units, scores, at, near, asked)
        ]
        run = sorted([at, max(beside, key=scores.__getitem__)] if beside else [at])
        left -= set(run)
        taken += [units[place] for place in run]
        picked += 1
        yield units[at], units[run[0]], units[run[-1]], scores[at]


def _repetition(unit: _Sentence, taken: Sequence[_Sentence], passages: Sequence[Passage]) -> float:
    """Return how much a sentence loses for those of its passage and its document that are taken."""
    documents = {passages[one.number - 1].document_id for one in taken}
    same_passage = sum(one.number == unit.number for one in taken)
    same_document = passages[unit.number - 1].document_id in documents
    return SAME_PASSAGE * same_passage + SAME_DOCUMENT * same_document


def _joins(
    units: Sequence[_Sentence], scores: Sequence[float], at: int, near: int, asked: frozenset[str]
) -> bool:
    one, other = units[at], units[near]
    if one.is_row or other.is_row:  # rows explain nothing of each other
        return False
    if near < at and asked.isdisjoint(other.words):
        return False
    short = width(one.text) + width(other.text) <= WIDEST
    return one.number == other.number and short and scores[near] >= scores[at] - TOGETHER


_KANA = re.compile(r"[\u3041-\u3096ー]+\Z")
_PART_KANA = re.compile(r"[\u3041-\u3096]")
_LETTERS = re.compile(r"[一-鿿ァ-ヺ가-힣]")


def substance(token: str) -> float:
    """Return how much a token means, 0 to 1: pairs of Hiragana are mostly grammar.

    >>> substance("され"), substance("高い"), substance("東京")
    (0.15, 0.5, 1.0)
    """
    if _KANA.match(token):
        return 0.15
    return 0.5 if _PART_KANA.search(token) else 1.0


GRAMMAR_WEIGHT = 0.3
"""Factor of the weight of Korean and Japanese pairs of letters that are in no noun of a question."""
_UNSPACED = re.compile("[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


def grammar(question: str, asking: Collection[str] = ()) -> frozenset[str]:
    """Return the pairs of letters of a Korean or Japanese question that are in none of its nouns.

    Nouns that are `asking` ("얼마") count as none.

    >>> sorted(grammar("보증금은 얼마인가요?", ["얼마"]))
    ['가요', '금은', '마인', '얼마', '인가']
    """
    if language(question) not in ("ko", "ja"):
        return frozenset()
    named = frozenset(tokens(" ".join(noun for noun in nouns(question) if noun not in asking)))
    return frozenset(word for word in tokens(question) if word not in named and _UNSPACED.search(word))


class _Scorer:
    def __init__(self, question: str, units: Sequence[_Sentence], passages: Sequence[Passage]):
        self._units = units
        self._question = question
        self._asked = QuestionType(question)
        named = without_periods(question) if self._asked.is_figure else question
        asked = [*tokens(with_quarter_words(named)), *named_letters(named)]
        seen = Counter(word for unit in units for word in unit.said)
        self.weight: dict[str, float] = {
            word: substance(word) * log(1 + len(units) / (0.5 + seen[word])) for word in frozenset(asked)
        }
        outside = grammar(question)
        self.content_words = frozenset(self.weight) - outside
        self._content = {
            word: weight * (GRAMMAR_WEIGHT if word in outside else 1.0)
            for word, weight in self.weight.items()
        }
        self._held = frozenset(word for word in asked if seen[word])
        half = len(asked) // 2
        self._tail = self._held & (frozenset(asked[half:]) - frozenset(asked[:half]))
        letters = frozenset(_LETTERS.findall(question))
        used = Counter(letter for unit in units for letter in letters & frozenset(unit.text))
        self._letters: dict[str, float] = {
            letter: log(1 + len(units) / (0.5 + used[letter])) for letter in letters
        }
        self._around: dict[int, frozenset[str]] = {}
        for unit in units:
            self._around[unit.number] = self._around.get(unit.number, frozenset()) | unit.said
        shares = self._document_share(passages)
        self._row_scores = {
            (number, start): score * shares[passages[number - 1].document_id]
            for (number, start), score in score_rows(question, passages).items()
            if not self._asked.is_reason
        }
        self._named = {unit.number for unit in units if unit.header and self._holds(unit.words)}

    def _document_share(self, passages: Sequence[Passage]) -> dict[str, float]:
        """Return how much of the question each document's passages hold, of what the best one holds, squared.

        Where one document speaks of a repair and its costs, the costs that another one totals are not meant.
        """
        words: dict[str, frozenset[str]] = {}
        for number, passage in enumerate(passages, 1):
            own = self._around.get(number, frozenset()) | _title(passage)
            words[passage.document_id] = words.get(passage.document_id, frozenset()) | own
        held = {document: self._holds(own) for document, own in words.items()}
        most = max(held.values(), default=0.0) or 1.0
        return {document: (share / most) ** 2 for document, share in held.items()}

    @property
    def no_shared_words(self) -> bool:
        """True where no sentence has any of the question's words."""
        return not self._held

    def fits(self, passages: Sequence[Passage]) -> bool:
        """Return whether some passage has enough of the question's words, or is in another language."""
        return any(
            _share(self._content, frozenset(self._content), words | _title(passages[number - 1])) >= FITS
            or not may_share_words(self._question, passages[number - 1].text)
            for number, words in self._around.items()
        )

    def score(self, at: int, passages: Sequence[Passage]) -> float:
        """Return the score of sentence `at`; higher is better, without a unit."""
        unit = self._units[at]
        signs = {
            "overlap": self._holds(unit.said),
            "tail": _share(self.weight, self._tail, unit.said),
            "characters": _share(self._letters, frozenset(self._letters), frozenset(unit.text)),
            "passage": self._holds(self._around[unit.number]),
            "title": self._holds(_title(passages[unit.number - 1]) - unit.said),
            "before": self._holds(self._beside(at, -1) - unit.said),
            "after": self._holds(self._beside(at, 1) - unit.said),
            "rank": 1 / unit.number,
            "row": self._row_scores.get((unit.number, unit.start), 0.0),
            "label": 0.0 if unit.is_heading else self._holds(frozenset(tokens(label_of(unit.text)))),
            "period": 0.0 if unit.is_row else self._asked.period_share(unit.text),
            **self._asked.cues(unit.text),
        }
        if self._asked.is_figure:
            signs["subject"] *= self._asked.covered(signs["period"])
            signs["rank"] *= FIGURE_RANK
            measured = not self._asked.measures or bool(self._asked.measures & unit.said)
            signs["elsewhere"] = float(unit.is_row and not measured)
        fragment = FRAGMENT if _is_fragment(unit.text) and not label_of(unit.text) else 0.0
        if self._is_cut_off(at):
            fragment = FRAGMENT
        other = unit.header and unit.number in self._named and not self._holds(unit.words)
        return fsum(WEIGHTS[name] * sign for name, sign in signs.items()) - (OTHER_ROW if other else fragment)

    def _is_cut_off(self, at: int) -> bool:
        """Return True for a lead-in at the end of its passage, where what it announces is missing."""
        is_last = at + 1 == len(self._units) or self._units[at + 1].number != self._units[at].number
        return is_last and ends_in_colon(self._units[at].text)

    def _holds(self, words: frozenset[str]) -> float:
        return _share(self.weight, self._held, words)

    def _beside(self, at: int, step: int) -> frozenset[str]:
        """Return the words of the sentence beside one; a label alone leads to what follows it only."""
        near = at + step
        if not 0 <= near < len(self._units) or self._units[near].number != self._units[at].number:
            return frozenset()
        unit = self._units[near]
        is_next_label = step > 0 and not unit.is_heading and not unit.is_row and _is_label(unit.text)
        return frozenset() if is_next_label else unit.words


def _share(weight: Mapping[str, float], wanted: frozenset[str], given: Collection[str]) -> float:
    """Return the given part of the wanted words, by weight: 0 to 1."""
    total = fsum(weight[word] for word in wanted)
    return fsum(weight[word] for word in wanted if word in given) / total if total else 0.0


_TITLE_CASE = re.compile(r"\W*(?:©\s?|\([a-z0-9]\)\s?)?(?:[A-Z0-9][\w.’'&-]*[\s.,:;]*){1,5}")


def _is_fragment(text: str) -> bool:
    """Return whether a text is too short for a statement and does not end like one.

    >>> [_is_fragment(text) for text in ("Exchange Risk", "Apple Inc.", "It rose.", "2023년에 올랐다")]
    [True, True, False, False]
    """
    text = inert(text)
    if _TITLE_CASE.fullmatch(text):
        return True
    return width(text) < 40 and not re.search(
        r"(?:[.!?。！？…:：][\"'”’」』)\]]*|[다요죠음됨함까た])\Z", text.strip()
    )


def _title(passage: Passage) -> frozenset[str]:
    name = passage.document.rsplit(".", 1)[0].replace("_", " ")
    return frozenset(tokens(with_quarter_words(f"{name} {passage.heading}")))


PASSAGES = 4
PROMPT_TOKENS = 260
"""Tokens of all passages in a prompt; they hold nine in ten answers (docs/benchmarks/local-model.md)."""
_ROWS = 8  # of a table that an excerpt may take to come to one that answers
EXCERPT_TOKENS = 75
"""Tokens of each passage that is read by itself; a short passage leaves its rest to the next."""


def best_excerpts(
    question: str, passages: Sequence[Passage], tokens: int = PROMPT_TOKENS
) -> list[Passage | None]:
    """Return an excerpt of each passage, or None, together about `tokens`.

    The sentence that answers best is taken first, then the best that is a passage's first or next to its
    excerpt. The heading path of one that begins within a table ends with its header, as that of a chunk does.

    >>> lease = "The roof is new. The lease ends in May. It may be renewed. It rains."
    >>> passage = Passage("c", "d", "lease.md", "", None, "", 10, 10 + len(lease), lease)
    >>> [(found.text, found.start) for found in best_excerpts("When does the lease end?", [passage], 12)]
    [('The roof is new. The lease ends in May.', 10)]
    """
    shown = _growing_excerpts(question, passages)
    _grow(shown, tokens)
    return [one.excerpt() for one in shown]


def excerpts(question: str, passages: Sequence[Passage], tokens: int = EXCERPT_TOKENS) -> list[Passage]:
    """Return an excerpt of about `tokens` of each passage: the sentences around the one that answers best."""
    found, spare = [], 0
    for passage, one in zip(passages, _growing_excerpts(question, passages), strict=True):
        room = tokens + spare
        _grow([one], room)
        excerpt = one.excerpt() if count_tokens(passage.text) > room else None
        found.append(excerpt or passage)
        spare = max(0, room - count_tokens(found[-1].text))
    return found


def _growing_excerpts(question: str, passages: Sequence[Passage]) -> "list[_GrowingExcerpt]":
    units = [unit for number, passage in enumerate(passages, 1) for unit in _sentences(number, passage)]
    stated = [unit for unit in units if not unit.above_rows]
    scorer = _Scorer(question, stated, passages)
    raw = [scorer.score(at, passages) for at in range(len(stated))]
    scores = dict(zip(stated, _demote_headings(stated, raw, passages), strict=True))
    return [
        _GrowingExcerpt(passage, {unit: scores.get(unit, -inf) for unit in units if unit.number == number})
        for number, passage in enumerate(passages, 1)
    ]


def _grow(shown: "Sequence[_GrowingExcerpt]", tokens: int) -> None:
    """Add the best sentences while there is room; the first one is added however long it is."""
    left = tokens
    while candidates := [one for one in shown if one.next is not None]:
        best = max(candidates, key=lambda one: one.score)
        if best.cost > left and left < tokens:
            best.close()
            continue
        left -= best.cost
        best.take()
        if sum(one.begun for one in shown) == PASSAGES:
            for one in shown:
                if not one.begun:
                    one.close()


class _GrowingExcerpt:
    """Excerpt of neighbouring sentences, which grows by the better of its two neighbours."""

    def __init__(self, passage: Passage, scores: "Mapping[_Sentence, float]"):
        self._passage = passage
        self._units, self._scores = list(scores), list(scores.values())
        self._tables = read_tables(passage.text)
        self._run: range = range(0)
        self.score, first = max(((score, -at) for at, score in enumerate(self._scores)), default=(-inf, 0))
        self.next = -first if scores else None

    @property
    def begun(self) -> bool:
        """True where the excerpt has a sentence."""
        return len(self._run) > 0

    @property
    def cost(self) -> int:
        """Tokens that the next sentence adds."""
        return self._tokens(self._grown()) - self._tokens(self._run)

    def take(self) -> None:
        """Add the next sentence."""
        self._run = self._grown()
        beside = ((self._run.stop, 1), (self._run.start - 1, -1))
        reached = [(self._reached(at, step), at) for at, step in beside if 0 <= at < len(self._units)]
        self.score, self.next = max(reached, key=lambda one: one[0], default=(-inf, None))

    def close(self) -> None:
        """Stop growing."""
        self.next = None

    def excerpt(self) -> Passage | None:
        """Return the excerpt as a passage with its own place in the document; None where it is empty."""
        run = self._run
        while run and self._units[run[-1]].above_rows:  # a header says nothing without a row
            run = run[:-1]
        if not run:
            return None
        start, end = self._span(run)
        path = (self._passage.heading, *self._labels(start))
        heading, at = " > ".join(part for part in path if part), self._passage.start
        text = self._passage.text[start:end]
        return replace(self._passage, heading=heading, text=text, start=at + start, end=at + end)

    def _reached(self, at: int, step: int) -> float:
        """Return the score of a neighbour, or of the best row that some short rows of its table lead to."""
        ahead = islice(zip(self._units[at::step], self._scores[at::step], strict=True), _ROWS)
        rows = takewhile(lambda one: one[0].is_row or one[0].above_rows, ahead)
        return max((score for _, score in rows), default=self._scores[at])

    @property
    def _next(self) -> int:
        assert self.next is not None  # noqa: S101 - callers check `next` first
        return self.next

    def _grown(self) -> range:
        run = self._run or range(self._next, self._next)
        return range(min(run.start, self._next), max(run.stop, self._next + 1))

    def _tokens(self, run: range) -> int:
        start, end = self._span(run)
        above = self._labels(start) if run else ()
        return count_tokens("\n".join((*above, self._passage.text[start:end])))

    def _labels(self, start: int) -> tuple[str, ...]:
        """Return caption and header of the table that an excerpt begins within; a column may have no name."""
        table = next((one for one in self._tables if one.start < start < one.end), None)
        if table is None:
            return ()
        caption = " ".join(self._passage.text[table.caption : table.start].split())
        return (*([caption] if caption else []), " | ".join(table.header))

    def _span(self, run: range) -> tuple[int, int]:
        return (self._units[run[0]].start, self._units[run[-1]].end) if run else (0, 0)
