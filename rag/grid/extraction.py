# ruff: noqa: E501
"""Extraction of cells: the value of a column in one document, with the quote that says it.

Rules read what documents say in so many words. Where they are in doubt, and where a column has instructions
of its own, the connected language model is asked, and what it says is checked.

Rules read in this order of trust: what the document says of itself, values under a label, rows of tables in
the wanted period, sentences that name the field, and the sentence that answers the question best.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag.chat.extractive import decide
from rag.errors import Cancelled
from rag.grid.cells import (
    ONLY_SEARCHED,
    Candidate,
    CellResult,
    CellValue,
    Day,
    Items,
    Words,
    choose,
    value_text,
)
from rag.grid.columns import Column
from rag.grid.document import RowDocument, RowLibrary
from rag.grid.model_reading import read_by_model
from rag.grid.named_cells import named_cell_candidates
from rag.grid.stated_values import (
    labelled_candidates,
    loose_candidates,
    section_candidates,
    sentence_candidates,
    typed_candidates,
)
from rag.grid.table_values import list_candidates, row_candidates, table_candidates
from rag.grid.terms import LABELLED, WHOLE, ColumnTerms, general_field, terms_of
from rag.grid.values import (
    LONGEST,
    FoundValue,
    find_values,
    is_article_heading,
    is_cut,
    is_name,
    life_dates,
    shape_of,
    split_items,
    without_former_values,
)
from rag.grid.yes_no import yes_no_candidates
from rag.i18n import N_
from rag.jobs import Cancel, never
from rag.models.protocol import LanguageModel
from rag.passage import Passage
from rag.retrieval.question_type import asks_only_when
from rag.retrieval.sentences import extract
from rag.text.language import language
from rag.text.markdown import plain_words
from rag.text.tokenize import tokens
from storage.records import DocumentFact

_ASKS_REVISION = re.compile(
    r"\b(?:amend|revis|updat)\w*|改[定正訂]|更新日|最終更新|개정|수정일|갱신일", re.IGNORECASE
)
_ENACTED = re.compile(r"制定|作成|施行|제정|작성|시행|\b(?:adopted|written|created)\b", re.IGNORECASE)
_REVISED_BEFORE = re.compile(
    r"(?:\b(?:amended|revised|updated|amendment|revision)(?:\s+(?:on|of|by the [\w ]{3,40} on))?|改[定正訂]日?|更新日?|개정일?|수정일?)[ \t　:：(（]*(?:on\s+)?\Z",
    re.IGNORECASE,
)
_REVISED_AFTER = re.compile(
    r"[ \t　]*(?:に|付け?で?|から|에|자로|자)?[ \t　、]*(?:最終|一部|全部|최종|일부|전부|전면)?[ \t　]*(?:改[定正訂]|更新|개정|수정)(?!予定|案| ?예정)"
)
_AND = re.compile(r"\s*(?:and on|and|,|、|・|및)\s*(?:on\s+)?", re.IGNORECASE)
REVISED = 2.1
"""Score of the date of the latest revision, above what the document says of itself otherwise."""
LAST_CHANGED = 0.8
"""Score of that date where any date of the document is asked for."""
MOST_REVISED = 60_000  # characters
_HEAD = 600  # characters in which a document's own date stands
_LONGEST_REST = 30  # characters beside a date in its line
OPENING_DATE = 1.15
"""Score of a date that an early line begins or ends with, below that of a label."""
_SENTENCE = re.compile(r"[.。!?]\s*\Z|다\s*\Z|[:：]")
_OTHERWISE = re.compile(
    r"期限|有効|締切|満了|から|まで|기한|마감|만료|부터|까지|\b(?:due|until|from|by|expires?|valid|deadline)\b",
    re.IGNORECASE,
)


def own_date_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the dates that a document has of itself, for a column that asks for one."""
    column = terms.column
    if column.kind != "date":
        return
    asks_revision = _ASKS_REVISION.search(f"{column.name} {column.question}")
    if asks_revision or (general_field(column) and terms.vague):
        score = REVISED if asks_revision else LAST_CHANGED
        yield from _revised(document, column, score, sure=asks_revision is not None)
    general = general_field(column)
    if general or _ENACTED.search(column.name):
        yield from _opening(document, terms)
    if general and general.fact == "date":
        yield from _dateline(document, terms)


def _revised(document: RowDocument, column: Column, score: float, *, sure: bool) -> Iterator[Candidate]:
    """Yield the latest date that is called one of a revision."""
    text = document.read_text[:MOST_REVISED]
    found: list[FoundValue] = []
    before: FoundValue | None = None
    for one in find_values(text, column):
        joined = before is not None and found[-1:] == [before] and _AND.fullmatch(text, before.end, one.start)
        if (
            _REVISED_BEFORE.search(text, max(0, one.start - 70), one.start)
            or _REVISED_AFTER.match(text, one.end)
            or joined
        ):
            found.append(one)
        before = one
    days = [(one, one.value.first) for one in found if isinstance(one.value, Day)]
    if days:
        latest = max(days, key=lambda pair: pair[1])[0]
        start, end = document.line_at(latest.start)
        if end - start > LONGEST_LINE:
            start, end = document.sentence_at(latest.start)
        yield Candidate(latest.value, start, max(end, latest.end), score, sure)


LONGEST_LINE = 240  # characters


def _opening(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the date that an early line begins or ends with; sure where no other line has one."""
    head = document.read_text[:_HEAD]
    found = []
    for one in find_values(head, terms.column):
        first, last = document.line_at(one.start)
        before, after = head[first : one.start].strip(" \t　#*_-|"), head[one.end : last].strip(" \t　*_|")
        beside = f"{before} {after}"
        stands = not before or not after.strip("()（）月火水木金土日월화수목금토일 ")
        if (
            isinstance(one.value, Day)
            and one.value.label.count("-") == FULL
            and stands
            and len(beside) <= _LONGEST_REST
            and not (_SENTENCE.search(beside) or _OTHERWISE.search(beside))
        ):
            found.append((one, first, last))
    alone = len({one.value for one, _, _ in found}) == 1
    for one, first, last in found[:1]:
        bare = _ENACTED.search(document.text[first:last]) is None or terms.within(
            document.text[first:last], 1
        )
        score = OPENING_DATE if alone else OPENING_DATE - 0.2
        yield Candidate(one.value, first, last, min(score, LABELLED), sure=alone and bare)


_PLACE = re.compile(r"[A-ZÀ-Þ][\w’'.-]*(?:[ ][\w’'.-]+){0,3},[ \t]*")
_TAIL = 600  # characters at the end of a document in which it is dated and signed
CLOSING_DATE = 1.0
"""Score of the date that a document is signed with, below that of one at its beginning."""


def _dateline(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the date above the signatures: "Lisbon, 12 December 2025.", "2025년 12월 12일".

    It is sure where it is the only one, with a place before it, or written in years, months and days.
    """
    text = document.read_text
    found = []
    for one in find_values(text[-_TAIL:], terms.column):
        at = max(0, len(text) - _TAIL) + one.start
        last = at + one.end - one.start
        line, sentence = document.line_at(at), document.sentence_at(at)
        start, end = max(line[0], sentence[0]), min(line[1], sentence[1])
        before, after = text[start:at].strip(" \t　*_"), text[last:end].strip(" \t　*_.。")
        place = _PLACE.fullmatch(before)
        full = isinstance(one.value, Day) and one.value.label.count("-") == FULL
        if full and not after and (place or not before):
            found.append((one.value, start, max(end, last), place or not text[at:last].isascii()))
    values = {value for value, *_ in found}
    for value, start, end, formal in found[-1:]:
        yield Candidate(value, start, end, CLOSING_DATE, sure=len(values) == 1 and bool(formal))


FULL = 2
"""Hyphens of the label of a day."""


FACT = 2.0
"""Score of what a document says of itself."""
FACT_LIST = 1.05
"""Score of several things that it says of itself: a list under a label may be more complete."""
_AFFILIATION = re.compile(r"(?<=[^\W\d_])[\d,∗*†‡§¶]+\Z")
TITLE = 0.5
"""Score of a title where the document names no company."""
BEST_SENTENCE = 0.3


def find_candidates(document: RowDocument, column: Column) -> list[Candidate]:
    """Return all values that the rules find for a cell."""
    general = general_field(column)
    if general is not None and column.kind == "text" != general.kind:
        typed = replace(column, kind=general.kind)
        found = find_candidates(document, typed)
        return [replace(one, value=_as_written(document, one, typed)) for one in found]
    terms = terms_of(column)
    found = list(_candidates(document, terms))
    if column.kind in ("date", "money", "number", "choice") and not any(one.sure for one in found):
        found += loose_candidates(document, terms)
    found = [one for one in found if not _is_scrap(document, terms, one)]
    found = _days_first(found, column) or list(_fallback(document, terms))
    return [_of_heads(document, terms, one) for one in found or _dated(document, column)]


_LETTERS = re.compile(r"[A-Za-zÀ-ɏ]{2}|[가-힣]{2}")


def _is_scrap(document: RowDocument, terms: ColumnTerms, found: Candidate) -> bool:
    """Return True for a text without words of its own: punctuation, a part of a heading or of a word.

    A term that a longer word begins with leaves the end of that word: 일을 of 납기일을 says nothing of 납기.
    """
    if not isinstance(found.value, Words):
        return False
    told, quote = found.value.text, document.text[found.start : found.end].strip()
    if is_cut(told) or is_article_heading(told) or is_article_heading(quote):
        return True
    before, _value, _after = quote.partition(told)
    within = _LETTERS.fullmatch(before[-1:] + told[:1]) is not None
    return within and any(before.casefold().endswith(term.casefold()) for term in terms.terms)


def _of_heads(document: RowDocument, terms: ColumnTerms, found: Candidate) -> Candidate:
    """Return a candidate that is not sure where neither its words nor the title name what is asked for."""
    titles = " ".join(fact.value for fact in document.facts("title"))
    told = f"{titles} {document.text[found.start : found.end]}"
    return found if terms.names_heads(told) else replace(found, sure=False)


_DATE = Column("date", "Date", kind="date")


def _dated(document: RowDocument, column: Column) -> Iterator[Candidate]:
    """Yield the document's date, else the first it names, for a column that asks only when."""
    if column.kind not in ("text", "date") or column == _DATE or not asks_only_when(column.asked):
        return
    first = next(find_values(document.read_text, _DATE), None)
    found = find_candidates(document, _DATE)
    if first is not None and not found:
        found = [Candidate(first.value, *document.sentence_at(first.start), BEST_SENTENCE)]
    for one in found:
        yield one if column.kind == "date" else replace(one, value=_as_written(document, one, _DATE))


def _as_written(document: RowDocument, found: Candidate, column: Column) -> CellValue:
    """Return a candidate's date or amount in the words of its quote."""
    text = document.text[found.start : found.end]
    written = (text[one.start : one.end] for one in find_values(text, column) if one.value == found.value)
    return Words(next(written, value_text(found.value)))


_DAY_ASKED = re.compile(r"\bdate\b|\bday\b|일\Z|날짜|日", re.IGNORECASE)
LESS_PRECISE = 0.2
"""Loss of score of a month or a year where a day is asked for, and others are days."""


def _days_first(found: list[Candidate], column: Column) -> list[Candidate]:
    """Return candidates with days before months and years, for a column that asks for a day."""
    days = [one for one in found if isinstance(one.value, Day) and one.value.label.count("-") == 2]
    if column.kind != "date" or not days or not _DAY_ASKED.search(f"{column.question} {column.name}"):
        return found
    return [one if one in days else replace(one, score=one.score - LESS_PRECISE, sure=False) for one in found]


def read_by_rules(document: RowDocument, candidates: Sequence[Candidate]) -> CellResult:
    """Return the result that candidates make; every passage was looked at."""
    total = len(document.passages)
    found = choose(candidates)
    if found is None:
        note = str(ONLY_SEARCHED)
        return CellResult("absent", read=total, total=total, note=note, only_searched=True)
    quote = document.quote(found.start, found.end)
    return CellResult("verified" if found.sure else "unconfirmed", found.value, (quote,), total, total)


def _candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    yield from named_cell_candidates(document, terms)
    yield from _facts(document, terms)
    yield from own_date_candidates(document, terms)
    yield from labelled_candidates(document, terms)
    if terms.column.kind in ("money", "number"):
        yield from table_candidates(document, terms)
    if terms.column.kind == "list":
        yield from list_candidates(document, terms)
    yield from section_candidates(document, terms)
    read = yes_no_candidates if terms.column.kind == "yes_no" else sentence_candidates
    yield from read(document, terms)


def _facts(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield what the document says of itself: company, period, title, authors, date."""
    if terms.fact in ("born", "died"):
        yield from _life(document, terms)
        return
    kind = {"period_end": "period", "period_start": "period"}.get(terms.fact, terms.fact)
    facts = [fact for fact in document.facts(kind) if fact.start is not None] if kind else []
    if terms.column.kind == "list":
        yield from _fact_list(terms, facts)
        return
    stated = ((fact, _fact_value(fact.value, terms)) for fact in facts)
    first = next(((fact, value) for fact, value in stated if value is not None), None)
    if first is not None and terms.spoken is not None and _in_sentence(document, first[0]):
        return  # the date of what the sentence tells
    if first is not None:
        yield _stated(document, terms, *first)
    elif terms.fact in ("name", "author"):
        for fact in (one for one in document.facts("title") if one.start is not None):
            if terms.fact == "name" or is_name(fact.value):
                yield Candidate(Words(fact.value), fact.start or 0, fact.end or 0, TITLE)


def _life(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the day of birth or of death that the beginning of the document gives for its subject."""
    found = life_dates(document.read_text)[terms.fact == "died"]
    if found is not None:
        start, end = document.sentence_at(found.start)
        yield Candidate(found.value, start, max(end, found.end), FACT, sure=True)


def _fact_list(terms: ColumnTerms, facts: Sequence[DocumentFact]) -> Iterator[Candidate]:
    told = (item for fact in facts for item in split_items(fact.value))
    values = tuple(dict.fromkeys(_AFFILIATION.sub("", item) for item in told))
    if len(values) > 1 or (values and terms.fact == "author"):
        yield Candidate(Items(values), facts[0].start or 0, facts[-1].end or 0, FACT_LIST, sure=True)


def _stated(document: RowDocument, terms: ColumnTerms, fact: DocumentFact, value: CellValue) -> Candidate:
    """Return the candidate of a fact; a title that is broken into lines is not sure."""
    start, end = fact.start or 0, fact.end or 0
    whole = document.block_at(start, end) if terms.fact == "title" else (start, end)
    if whole != (start, end):
        return Candidate(Words(" ".join(document.text[slice(*whole)].split())), *whole, FACT)
    first, last = document.line_at(start) if terms.column.kind == "date" else (start, end)
    return Candidate(value, first, max(last, end), FACT, sure=True)


def _in_sentence(document: RowDocument, fact: DocumentFact) -> bool:
    """Return True for a fact that a whole sentence states, or a part of it."""
    start, end = document.sentence_at(fact.start or 0)
    return WHOLE.search(document.text[start:end]) is not None


def _fact_value(value: str, terms: ColumnTerms) -> CellValue | None:
    if terms.column.kind != "date":
        return Words(value)
    if terms.fact in ("period_end", "period_start"):
        first, _, last = value.partition("/")
        value = last if terms.fact == "period_end" else first
    day = next(find_values(value, terms.column), None)
    return day.value if day is not None and isinstance(day.value, Day) else None


def _fallback(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield what sentences of found passages hold: with all words of a term, else the best answer."""
    column = terms.column
    found = [*_by_shape(document, column), *typed_candidates(document, terms)]
    if found:
        yield from found
        return
    passages = document.search(f"{column.name} {column.question}")
    if not _same_language(column, passages) or not decide(column.asked, passages, document.rarity).answered:
        return
    for pick in extract(column.asked, passages)[:1]:
        passage = passages[pick.number - 1]
        words = passage.text[pick.best_start : pick.best_end] or passage.text[pick.start : pick.end]
        start = passage.start + (pick.best_start if pick.best_end else pick.start)
        if words.lstrip().startswith("|") and column.kind != "text":
            yield from row_candidates(document, column, start, start + len(words), BEST_SENTENCE)
        elif (value := _value_in(words, column)) is not None:
            yield Candidate(value, start, start + len(words), BEST_SENTENCE)


def _by_shape(document: RowDocument, column: Column) -> Iterator[Candidate]:
    """Yield the only text of the document that has the shape asked for, such as an email address."""
    shape = shape_of(column)
    found = shape.find(document.read_text) if shape is not None and shape.telling else []
    if found and len({match[0] for match in found}) == 1:
        yield Candidate(Words(found[0][0]), *document.line_at(found[0].start()), BEST_SENTENCE)


def _same_language(column: Column, passages: Sequence[Passage]) -> bool:
    return any(language(passage.text) == language(column.asked) for passage in passages)


_RULE = re.compile(r"[_=–—-]{3,}")
_ITEM = re.compile(r"^\s*[-*+•]\s+", re.MULTILINE)
_NUMBERED = frozenset(tokens("no number nr id"))


def without_label(words: str, label: str) -> str:
    r"""Return a text without a drawn line, and without a label before its first word with a digit.

    >>> without_label("Commission File No. 000-22513\n_____", "Commission file number")
    '000-22513'
    """
    told = _RULE.sub(" ", words).split()
    known = {*tokens(label), *_NUMBERED}
    first = next((at for at, word in enumerate(told) if not known.issuperset(tokens(word))), 0)
    labelled = first and any(letter.isdigit() for letter in told[first])
    return " ".join(told[first:] if labelled else told)


def _value_in(words: str, column: Column) -> CellValue | None:
    if column.kind == "text":
        told = _ITEM.sub("", plain_words(words).replace("\t", " · "))
        _lead, colon, named = told.rstrip(". \n").rpartition(": ")
        if colon and general_field(column) and is_name(named):
            return Words(named)  # "The buyer names a contact for deliveries: Ada Brunn."
        return Words(without_label(told, column.name)[:LONGEST])
    found = next(find_values(without_former_values(words, column), column), None)
    return None if found is None else found.value


RULES = 6
"""Version of the rules; results of another one are out of date."""


class CellReader:
    """Reads cells from the documents of one library, by a language model where there is one."""

    def __init__(self, library: RowLibrary, llm: LanguageModel | None):
        self._library, self._llm = library, llm

    @property
    def fingerprint(self) -> str:
        """Model and version of the rules, on which results depend besides document and column."""
        model = self._llm.settings.model if self._llm is not None else ""
        return f"rules {RULES}, {model}" if model else f"rules {RULES}"

    def read(self, document_id: str, column: Column, cancelled: Cancel = never) -> CellResult:
        """Return the result of one cell; raises Cancelled, NotFound, and LLMError where the model fails."""
        return next(result for _, result in self.read_row(document_id, [column], cancelled))

    def read_row(
        self, document_id: str, columns: Sequence[Column], cancelled: Cancel = never
    ) -> Iterator[tuple[Column, CellResult]]:
        """Yield the results of a document's cells in the order of `columns`; errors as of `read`."""
        document = RowDocument(self._library, document_id)
        for column in columns:
            if cancelled():
                raise Cancelled(N_("Reading {name} was stopped.", name=document.name))
            yield column, self._cell(document, column, cancelled)

    def _cell(self, document: RowDocument, column: Column, cancelled: Cancel) -> CellResult:
        """Return the result of a cell; a model is asked where the rules are in doubt, or are not all."""
        candidates = find_candidates(document, column)
        ruled = read_by_rules(document, candidates)
        if self._llm is None or (ruled.state == "verified" and not column.instructions):
            return ruled
        return read_by_model(document, column, self._llm, candidates, ruled, cancelled)
