"""Corpus of a pipeline, and the documents of it that a question names.

A question may name the documents of "Apple", of "Q3 2023", "the latest 10-Q", "by Kim". A document is left
out only where what it says of itself differs from what the question names, and another one agrees. One that
says nothing of the kind is searched. A period chooses among the documents of a series only: those of a party,
or those whose names differ in a date.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from langchain_core.documents import Document

from rag.chat.small_talk import CorpusStatus
from rag.ingest.document_facts import DocumentProfile
from rag.passage import Passage
from rag.text.dates import Period, find_periods, spoken_period
from rag.text.language import STOP_WORDS
from rag.text.tokenize import Rarity, tokens
from storage.records import Unsearched

MOST_NAMED = 4  # reasons of a kind that are given by name

_NEWEST = (
    r"(?:latest|newest|most\s+recent(?:ly\s+\w+)?|last"
    r"|최근|최신|가장\s?최근(?:의)?|지난|直近の?|最新の?|一番新しい)"
)
_REPORTS = (
    r"(?:10-?[QK]|20-?F|quarter(?:ly)?|annual|filing|report|statement|results|earnings"
    r"|분기|보고서|실적|四半期|報告書|決算)"
)
_PAPERS = (
    "minutes|meeting|memo(?:randum)?|letter|e-?mail|mail|invoice|newsletter|contract|agreement|notes|policy"
    "|version|release|회의록|메모|편지|이메일|메일|청구서|송장|계약서|공지|議事録|メモ|手紙|メール|請求書|契約書|お知らせ"
)
_LATEST_REPORT = re.compile(rf"{_NEWEST}\s?(?:\w+\s){{0,2}}?{_REPORTS}", re.IGNORECASE)
_LATEST_PAPER = re.compile(rf"{_NEWEST}\s?(?:\w+\s){{0,2}}?(?P<paper>{_PAPERS})", re.IGNORECASE)
_SEVERAL = re.compile(
    r"\b(?:previous|prior|earlier|past|preceding|different|several|all|each|every|reported)\s(?:\w+\s)?"
    r"(?:quarters|years|periods|reports|filings|10-Qs|10-Ks|months)\b|\bover\s(?:time|the\s(?:years|quarters|periods))"
    r"|\b(?:to|than|with|from)\s(?:the\s|its\s)?(?:previous|prior|past|earlier)\s(?:ones|quarters|years|periods)"
    r"|\bacross\s(?:\w+\s)?(?:quarters|years|periods|reports|filings)\b|추이|변화 추세|推移",
    re.IGNORECASE,
)
_ABOUT_QUARTERS = re.compile(r"quarter|10-?Q|분기|四半期", re.IGNORECASE)
_ABOUT_YEARS = re.compile(r"annual|10-?K|\byear\b|사업보고서|연간|年次|通期", re.IGNORECASE)
_WRITTEN_BY = (
    r"(?:\b(?:by|from)\s{who}|{who}(?:['’]s)?\s(?:wrote|written|said|says|write|emailed|sent|report(?:ed)?|memo|notes|paper|email)"
    r"|(?:did|does|has)\s{who}\s(?:write|say|send|report|propose|suggest)"
    r"|{who}\s?(?:씨|님|さん|氏)?(?:이|가|의|が|の)?\s?(?:쓴|작성|보낸|작성한|저술|書い|作成|執筆|送っ|著))"
)


_NAMED = "\ue000"  # stands for words that name documents
_NAMING = re.compile(
    r"(?:\b(?:as\s(?:\w+\s)?)?(?:in|from|of|for|by|at|on|per)\s+)?(?:\b(?:the|its|their|this)\s+)?"
    rf"{_NAMED}+(?:['’]s?(?!\w))?(?:[\s,]*{_NAMED}+)*(?:\s+(?:quarterly\s+|annual\s+)?(?:reports?|filings?)\b)?,?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class QuestionScope:
    """Documents that a question is about, and why: "Apple Inc. · Q3 2023"; `left_out` counts the others."""

    document_ids: frozenset[str]
    said: str
    left_out: int


def read_scope(question: str, documents: Sequence[DocumentProfile]) -> QuestionScope | None:
    """Return the documents that a question names by party, form, author, time or as the latest; None for all.

    >>> from storage.records import DocumentFact
    >>> one = DocumentProfile("1", "a.pdf", [DocumentFact("name", "Apple Inc.", 0, 10, "Apple")])
    >>> other = DocumentProfile("2", "b.pdf", [DocumentFact("name", "Intel Corp.", 0, 11, "Intel")])
    >>> read_scope("What did Apple earn?", [one, other])
    QuestionScope(document_ids=frozenset({'1'}), said='Apple Inc.', left_out=1)
    """
    left, reasons = list(documents), list[str]()
    for read in (_by_party, _by_form, _by_author, _by_time):
        kept, reason = read(question, left)
        if 0 < len(kept) < len(left):
            left = kept
            reasons.append(reason)
    if not reasons:
        return None
    ids = frozenset(document.id for document in left)
    return QuestionScope(ids, " · ".join(reasons), len(documents) - len(ids))


def subject(question: str, documents: Sequence[DocumentProfile]) -> str:
    """Return a question without the words that name all of these documents, which are searched.

    In one filing of Apple's, "Apple", "Q3 2023" and "the latest 10-Q" say nothing about where the answer is.

    >>> from storage.records import DocumentFact
    >>> facts = DocumentFact("name", "Apple Inc.", 0, 10, "Apple"), DocumentFact("period", "2023-Q3", 11, 18)
    >>> one = DocumentProfile("1", "a.pdf", facts)
    >>> subject("What was Apple's gross margin in Q3 2023, as stated in the latest 10-Q report?", [one])
    'What was gross margin?'
    """
    naming = {at for start, end in _naming(question, documents) for at in range(start, end)}
    marked = "".join(_NAMED if at in naming else letter for at, letter in enumerate(question))
    left = re.sub(r"\s+(?=[?.,])", "", " ".join(_NAMING.sub(" ", marked).split()))
    return left if tokens(left) else question


def _naming(question: str, documents: Sequence[DocumentProfile]) -> Iterator[tuple[int, int]]:
    """Yield the spans of a question that name each of some documents: parties, forms, periods, the latest.

    Days stay: they stand above the columns of tables.
    """
    if not documents:
        return
    for word in set.intersection(*(_called(one) for one in documents)):
        pattern = rf"(?<![\w-]){re.escape(word)}(?![^\W가-힣ぁ-ヿ一-鿿])"
        yield from (found.span() for found in re.finditer(pattern, question, re.IGNORECASE))
    for period in find_periods(question):
        if period.grain != "day" and len(_of_period(period, documents)) == len(documents):
            yield period.start, period.end
    if all(one.has_period for one in documents) and not _SEVERAL.search(question):
        yield from (found.span() for found in _LATEST_REPORT.finditer(question))


def _called(document: DocumentProfile) -> set[str]:
    """Return what a document is called by: its form and its party, where it has only one."""
    parties = set(document.names.values())
    return {*document.values("form"), *(parties | set(document.names) if len(parties) == 1 else ())}


Narrowing = tuple[list[DocumentProfile], str]


def _agreeing(
    documents: Sequence[DocumentProfile],
    known: Callable[[DocumentProfile], object],
    agrees: Callable[[DocumentProfile], bool],
) -> list[DocumentProfile]:
    """Return the documents that agree and those that say nothing; all of them where none agrees."""
    if not any(agrees(document) for document in documents):
        return list(documents)
    return [document for document in documents if agrees(document) or not known(document)]


def _by_party(question: str, documents: Sequence[DocumentProfile]) -> Narrowing:
    asked = {short for one in documents for short in one.names if _mentions(question, short)}
    kept = _agreeing(documents, lambda one: one.names, lambda one: not asked.isdisjoint(one.names))
    named = {short.casefold(): one.names[short] for one in kept for short in one.names if short in asked}
    return kept, _joined(named.values())


def _mentions(question: str, name: str) -> bool:
    """Return True where a question has a name, not as a part of another one: "Mars", not "Bruno Mars".

    In a question with capitals the name has one, and the word before it has none; in one without, the word
    before it says nothing: "what was intel's".
    """
    if len(name) < 2 or name.casefold() not in question.casefold():
        return False
    if not name[0].isascii():
        return True
    found = re.search(rf"(?<!\w){re.escape(name)}(?![^\W가-힣ぁ-ヿ一-鿿])", question, re.IGNORECASE)
    if found is None:
        return False
    before = question[: found.start()].split()
    if len(before) < 2 or before[-1].casefold() in STOP_WORDS["en"]:
        part = len(before) == 1 and before[0].casefold() not in STOP_WORDS["en"] and not question[0].isupper()
    else:
        part = before[-1][0].isupper() or not any(map(str.isupper, question[1:]))
    return not part and (found[0][0].isupper() or not any(map(str.isupper, question[1:])))


def _by_form(question: str, documents: Sequence[DocumentProfile]) -> Narrowing:
    forms = {form for one in documents for form in one.values("form")}
    asked = {form for form in forms if re.search(rf"(?<![\w-]){re.escape(form)}(?![\w-])", question, re.I)}
    kept = _agreeing(
        documents, lambda one: one.values("form"), lambda one: not asked.isdisjoint(one.values("form"))
    )
    return kept, _joined(sorted(asked))


def _by_author(question: str, documents: Sequence[DocumentProfile]) -> Narrowing:
    authors = {author for one in documents for author in one.values("author")}
    asked = {author for author in authors if _wrote(question, author)}
    asked = asked or {author for author in authors if any(_wrote(question, word) for word in _calls(author))}
    kept = _agreeing(
        documents, lambda one: one.values("author"), lambda one: not asked.isdisjoint(one.values("author"))
    )
    return kept, f"by {_joined(sorted(asked))}"


def _calls(author: str) -> Iterator[str]:
    """Yield what a person is called for short: the first and the last word of a Latin name."""
    words = author.split()
    if author.isascii() and len(words) > 1:
        yield from (word for word in (words[0], words[-1]) if len(word) > 2)


def _wrote(question: str, who: str) -> bool:
    if who not in question:
        return False
    pattern = _WRITTEN_BY.replace("{who}", rf"(?<!\w){re.escape(who)}")
    return re.search(pattern, question) is not None


def _by_time(question: str, documents: Sequence[DocumentProfile]) -> Narrowing:
    kept, reason = _by_period(question, documents)
    return (kept, reason) if reason else _by_latest(question, documents)


def _by_period(question: str, documents: Sequence[DocumentProfile]) -> Narrowing:
    """Keep the documents of the periods of a question, where each of them has one."""
    wanted, said = set[str](), list[str]()
    for period in find_periods(question):
        found = _of_period(period, documents)
        if not found and period.grain != "day":
            return list(documents), ""
        wanted |= found
        said += [spoken_period(period.label)] * bool(found)
    series = {name for one in documents if one.id in wanted for name in one.series}
    others = {one.id for one in documents if one.has_period and not series.isdisjoint(one.series)} - wanted
    return [one for one in documents if one.id not in others], _joined(said)


def _of_period(period: Period, documents: Iterable[DocumentProfile]) -> set[str]:
    """Return the documents that are called by a period, or that cover it where their names tell none."""
    return {
        one.id
        for one in documents
        if _covers(one.own_labels, period)
        or (
            (not one.own_labels or period.grain == "day")
            and (_covers(one.labels, period) or _is_within(one.days, period))
        )
    }


def _covers(labels: Collection[str], period: Period) -> bool:
    if period.grain == "year":
        return any(label[:4] == period.label for label in labels)
    return period.label in labels


def _is_within(days: tuple[date, date] | None, period: Period) -> bool:
    """Return True where the days end on the day of a period, or in its year or month."""
    if days is None or period.grain in ("quarter", "half"):
        return False
    return period.first <= days[1] <= period.last


def _by_latest(question: str, documents: Sequence[DocumentProfile]) -> Narrowing:
    """Keep the latest of the reports of each party, or of the papers that a question speaks of."""
    if _SEVERAL.search(question):
        return list(documents), ""
    if _LATEST_REPORT.search(question) and (reports := [one for one in documents if one.has_period]):
        return _latest(documents, _as_long(question, reports))
    if paper := _LATEST_PAPER.search(question):
        word = paper["paper"].casefold()
        return _latest(documents, [one for one in documents if word in one.words and one.end])
    return list(documents), ""


def _as_long(question: str, reports: Sequence[DocumentProfile]) -> Sequence[DocumentProfile]:
    """Return the reports of quarters or of years where a question speaks of one of them."""
    for about, least, most in ((_ABOUT_QUARTERS, 60, 120), (_ABOUT_YEARS, 300, 400)):
        if about.search(question):
            fit = [one for one in reports if one.days and least <= (one.days[1] - one.days[0]).days <= most]
            return fit or reports
    return reports


def _latest(documents: Sequence[DocumentProfile], dated: Sequence[DocumentProfile]) -> Narrowing:
    """Keep the latest of each series among some documents; other documents stay."""
    newest: dict[frozenset[str], str] = {}
    for one in dated:
        newest[one.series] = max(newest.get(one.series, ""), one.end)
    ids = {one.id for one in dated}
    kept = [one for one in documents if one.id not in ids or one.end == newest[one.series]]
    return kept, f"latest ({_joined(sorted(set(newest.values())))})" if newest else ""


def _joined(names: Iterable[str]) -> str:
    listed = list(dict.fromkeys(names))
    more = len(listed) - MOST_NAMED
    return ", ".join(listed[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def spans_apart(question: str, documents: Sequence[DocumentProfile]) -> list[list[tuple[int, int]]]:
    """Return the spans of a question that name different documents, by kind: parties, and periods.

    A kind is given where at least two of its spans name documents, each others than the first.

    >>> from storage.records import DocumentFact
    >>> names = (("1", "Apple"), ("2", "Intel"))
    >>> both = [DocumentProfile(n, f"{n}.pdf", [DocumentFact("name", name, 0, 5)]) for n, name in names]
    >>> spans_apart("Compare Apple's and Intel's sales.", both)
    [[(8, 15), (20, 27)]]
    """
    parties: dict[frozenset[str], tuple[int, int]] = {}
    shorts = {short for one in documents for short in one.names if _mentions(question, short)}
    for short in sorted(shorts, key=len):  # of several names of a party, the longest
        found = re.search(rf"(?<!\w){re.escape(short)}(?:['’]s?(?!\w))?", question, re.IGNORECASE)
        if found is not None:
            parties[frozenset(one.id for one in documents if short in one.names)] = found.span()
    periods: dict[frozenset[str], tuple[int, int]] = {}
    for period in find_periods(question):
        if ids := frozenset(_of_period(period, documents)):
            periods.setdefault(ids, (period.start, period.end))
    return [sorted(set(spans.values())) for spans in (parties, periods) if len(spans) > 1]


History = Sequence[tuple[str, str]]
"""Messages before a question as (role, content), oldest first."""


@dataclass(frozen=True)
class Corpus:
    """Documents that a pipeline searches: of a plain LangChain retriever, at most the rarity is known.

    `rarity` is the inverse document frequency of a token; None where there are no word statistics.
    """

    rarity: Rarity | None = None

    def status(self) -> CorpusStatus:
        """Return the present status of the corpus."""
        return "searchable"

    def names(self) -> Sequence[str]:
        """Return the names of the documents, where the retriever lists them."""
        return ()

    def unsearched(self) -> Sequence[Unsearched]:
        """Return the files that are not searched, and those that only word search finds."""
        return ()

    def named_by(self, question: str) -> QuestionScope | None:  # noqa: ARG002
        """Return the documents that a question names, where it names some of them."""
        return None

    def subject(self, question: str, document_ids: Collection[str] | None) -> str:  # noqa: ARG002
        """Return a question without the words that only name the documents searched; None: all in scope."""
        return question

    def known_profiles(self) -> Mapping[str, DocumentProfile]:
        """Return what documents say of themselves, by their ids: parties, aliases, terms, period, unit."""
        return {}

    def documents_in_scope(self) -> Sequence[DocumentProfile]:
        """Return the documents that are searched, with what they say of themselves; none if unknown."""
        return ()

    def chunks(self, document_ids: frozenset[str] | None = None) -> Iterator[Document]:  # noqa: ARG002
        """Yield all chunks of the documents in scope, or of some of them, in order; none if unknown."""
        yield from ()

    def all_passages(self, document_ids: frozenset[str] | None = None) -> Iterator[Passage]:
        """Yield these chunks as passages."""
        return map(Passage.from_document, self.chunks(document_ids))

    def texts_about(self, words: str) -> Sequence[str]:  # noqa: ARG002
        """Return passages in scope that use some words most; none where the words are not indexed here."""
        return ()

    def has_trees(self, document_ids: frozenset[str]) -> bool:  # noqa: ARG002
        """Return True where each of these documents has a summary tree."""
        return False

    def instructions(self, document_ids: frozenset[str]) -> Sequence[tuple[str, str]]:  # noqa: ARG002
        """Return the name and the instructions of each collection of these documents that has some."""
        return ()

    def still_valid(self, passages: Sequence[Passage]) -> Sequence[Passage]:
        """Keep earlier passages that are unchanged and in scope."""
        return passages
