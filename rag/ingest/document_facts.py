"""Facts that a document states of itself, each with the words it was read from.

| kind | value |
|---|---|
| title, author | as written |
| form | kind of document by its own heading, such as "10-Q" |
| date | day or month it was written or took effect, ISO: "2023-08-03", "2023-08" |
| period | days it covers, ISO: "2023-04-02/2023-07-01"; or a label of `rag/text/dates.py`: "2023-Q3" |
| language | ISO 639-1 code |
| name | party that it is about or from, as written: "Apple Inc." |
| alias | its word for a name or a thing, which is in `means`: "the Company" for "Apple Inc." |
| term | abbreviation, with its long form in `means`: "GAAP" |
| unit | scale of all its tables: "in millions" |

A date that `means` says is the file's may be that of a conversion; a period that it says is "fiscal" counts
in fiscal years. What a file's name says is kept beside what its text says, without a place. English, Korean
and Japanese are read.

Profile of a document: what it says of itself, ready to be compared with a question or a sentence.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import PurePath

from rag.text.dates import (
    Period,
    find_periods,
    find_quarters,
    last_of_month,
    months_before,
    quarter_of,
    spoken_period,
)
from rag.text.document import LoadedDocument
from rag.text.language import language, words_of
from rag.text.tokenize import tokens
from storage.records import DocumentFact

LONGEST_ABOUT = 160  # characters of the line about a document


@dataclass(frozen=True)
class DocumentProfile:
    """Profile of a document by the facts that it states: for search scopes, prompts and citation checks."""

    id: str
    file_name: str
    facts: Sequence[DocumentFact] = field(default=())

    def values(self, kind: str) -> list[str]:
        """Return the values of the facts of a kind."""
        return [fact.value for fact in self.facts if fact.kind == kind]

    @cached_property
    def names(self) -> dict[str, str]:
        """Return its parties' names by their short forms."""
        return {fact.means or fact.value: fact.value for fact in self.facts if fact.kind == "name"}

    @cached_property
    def title_words(self) -> frozenset[str]:
        """Return the words of its file's name, its titles and its parties' names, without numbers."""
        stem = re.sub(r"[_\W]+", " ", PurePath(self.file_name).stem)
        words = tokens(" ".join([stem, *self.values("title"), *self.names]))
        return frozenset(word for word in words if not word.isdigit() and len(word) > 1)

    @cached_property
    def days(self) -> tuple[date, date] | None:
        """Return the first and the last day it covers, where its text says so."""
        spans = (value.split("/") for value in self.values("period") if "/" in value)
        return next(((date.fromisoformat(a), date.fromisoformat(b)) for a, b in spans), None)

    @cached_property
    def own_labels(self) -> frozenset[str]:
        """Return the labels of its periods in its file's name, which say how its owner calls it."""
        return frozenset(f.value for f in self.facts if f.kind == "period" and f.start is None)

    @cached_property
    def labels(self) -> frozenset[str]:
        """Return the labels of its periods in its text: those written, and the calendar's.

        A document that speaks of its "third quarter of 2023" is not of the calendar's second.
        """
        told = [f for f in self.facts if f.kind == "period" and f.start is not None and "/" not in f.value]
        written = {fact.value for fact in told}
        if self.days is None or any("Q" in fact.value and fact.means != "fiscal" for fact in told):
            return frozenset(written)
        first, last = self.days
        long = (last - first).days
        calendar = {quarter_of(first, last)} if long < 100 else {str(last.year)} if long > 300 else set()
        return frozenset(written | calendar)

    @cached_property
    def has_period(self) -> bool:
        """True where it covers a period."""
        return bool(self.days or self.own_labels or self.labels)

    @cached_property
    def end(self) -> str:
        """Return the last day that it covers, or else the day or month of its date; empty where unknown.

        It is in ISO and compares as text: a month, "2024-03", is before each day of it.
        """
        if self.days is not None:
            return self.days[1].isoformat()
        known = [
            one.last
            for label in (self.own_labels or self.labels)
            for one in find_periods(spoken_period(label))
        ]
        dates = (fact.value for fact in self.facts if fact.kind == "date" and not fact.means)
        return max(known).isoformat() if known else next(dates, "")

    @cached_property
    def end_days(self) -> tuple[date, date] | None:
        """Return the first and the last day that `end` may be: all days of a month.

        >>> DocumentProfile("1", "a.pdf", [DocumentFact("date", "2024-02")]).end_days
        (datetime.date(2024, 2, 1), datetime.date(2024, 2, 29))
        """
        if not self.end:
            return None
        first = date.fromisoformat(self.end if self.end.count("-") == 2 else f"{self.end}-01")
        return first, first if first.isoformat() == self.end else last_of_month(first)

    @cached_property
    def series(self) -> frozenset[str]:
        """Return its parties or, without any, its file's name without dates: "sales" for "Sales 2023.pdf"."""
        if self.names:
            return frozenset(short.casefold() for short in self.names)
        stem = PurePath(self.file_name).stem.replace("_", " ")
        for one in reversed(find_periods(stem)):
            stem = stem[: one.start] + stem[one.end :]
        return frozenset({" ".join(re.findall(r"[^\W_]+", stem.casefold()))})

    @cached_property
    def words(self) -> str:
        """Return its file's name and its titles, case-folded."""
        return " ".join([PurePath(self.file_name).stem, *self.values("title")]).casefold()

    @property
    def unit(self) -> str:
        """Return the unit of all its tables, "in millions"; empty where it states none, or several."""
        return next(iter(self.values("unit")), "")

    @property
    def about(self) -> str:
        """Return a line about the document: parties, form, period or date, and unit of its tables.

        >>> facts = DocumentFact("name", "Apple Inc.", 0, 9), DocumentFact("period", "2023-Q3", 11, 18)
        >>> DocumentProfile("1", "a.pdf", facts).about
        'Apple Inc., Q3 2023'
        """
        labels = sorted(self.own_labels or self.labels)
        when = f"period ended {self.end}" if self.days else spoken_period(labels[0]) if labels else self.end
        parts = [*list(self.names.values())[:2], *self.values("form")[:1], when, self.unit]
        return ", ".join(filter(None, parts))[:LONGEST_ABOUT]


HEAD = 4000  # characters in which a document introduces itself
BYLINE = 800  # characters in which the authors of a paper stand
CALLED = 40_000  # characters in which it is seen how a company is called for short
USUAL_UNIT = 0.9  # share of the remarks on a unit from which it is the document's
DEFINITIONS = 200_000  # characters in which definitions are looked for
MOST_OF_A_KIND = 40
MADE = "file made"
"""Meaning of a date that is only the file's: of its making, or of its conversion."""
_TEMPLATES = frozenset({"2013-12-23", "2013-01-27"})  # days that libraries copy into each file they make
SPOKEN = 4  # times that a quarter is spoken of at least, to be that of the document
LONGEST = 200  # characters of a value

# Legal forms of companies: the word that ends, or begins, the name of one.
_LEGAL = (
    r"(?:Inc|Incorporated|Corp|Corporation|Co|Company|Ltd|Limited|LLC|L\.L\.C|LLP|LP|PLC|plc|GmbH|AG|SE"
    r"|S\.?A|N\.?V|B\.?V|Pty|K\.K|INC|INCORPORATED|CORP|CORPORATION|COMPANY|LTD|LIMITED)\b\.?"
)
_WORD = r"[A-Z0-9][\w&.'’-]{0,30}"
_LATIN_NAME = (
    rf"(?:{_WORD} (?:(?:{_WORD}|of|and|the|&) ){{0,5}}?|{_WORD}(?: {_WORD}){{0,4}}, )(?:Co\., )?{_LEGAL}"
)
_HANGUL, _KANJI = "[가-힣A-Za-z0-9]{2,20}", "[一-鿿ァ-ヺー々A-Za-z0-9・]{2,20}"
_CJK_LEGAL = r"주식회사|㈜|\(주\)|株式会社|有限会社|合同会社"
_COMPANY = re.compile(
    rf"(?:주식회사|㈜|\(주\))\s?{_HANGUL}|{_HANGUL}\s?(?:주식회사|㈜|\(주\))"
    rf"|(?:株式会社|有限会社|合同会社){_KANJI}|{_KANJI}(?:株式会社|有限会社)|{_LATIN_NAME}"
)
_LEGAL_PARTS = re.compile(rf"(?:,? (?:Co\., )?{_LEGAL})+$|{_CJK_LEGAL}|\.com\b", re.IGNORECASE)

_ONE_ALIAS = re.compile(r"[“\"]([^”\"\n]{1,40})[”\"]")
_ALIASES = re.compile(
    r"\((?:(?:collectively|together|hereinafter|hereafter|herein|referred to as|each|individually|and),? ?)"
    r"{0,4}(?:as )?(?:the |an? )?"
    r"(?P<all>[“\"][^”\"\n]{1,40}[”\"](?:(?:,? (?:or|and)|,) (?:the )?[“\"][^”\"\n]{1,40}[”\"]){0,4})\)"
)
_CJK_ALIASES = re.compile(
    r"\(?(?:이하|以下)[,、]?\s?[“\"‘'「『](?P<alias>[^”\"’'」』\n]{1,40})[”\"’'」』]\s?"
    r"(?:이?라고?\s?(?:한다|함|합니다|칭한다)|と(?:いう|いいます|する|称する)|\)|）)"
)
_ITSELF = words_of("company we us our ours group corporation firm registrant 회사 당사 본사 当社 弊社 当行")
_FORM = re.compile(r"^FORM\s+(\d{1,2}-[A-Z]{1,2}|[SF]-\d{1,2})\s*$", re.MULTILINE | re.IGNORECASE)
_UNIT = re.compile(
    r"\((?:amounts |dollars |all |U\.S\. )*in (?P<unit>thousands|millions|billions)\b[^)\n]{0,80}\)"
    r"|\(?단위\s?[:：]\s?(?P<ko>[^)\n]{1,12})\)?|[(（]?単位\s?[:：]\s?(?P<ja>[^)）\n]{1,12})[)）]?",
    re.IGNORECASE,
)
_ENDED = re.compile(
    r"(?P<what>quarter(?:ly period)?|(?:fiscal )?year|annual period|month|(?:three|six|nine) months"
    r"|half[- ]year) (?:period )?(?:ended|ending)[: ]+$",
    re.IGNORECASE,
)
_MONTHS_OF = {"month": 1, "quarter": 3, "three": 3, "six": 6, "half": 6, "nine": 9}  # of all else twelve
_BETWEEN = re.compile(r"\s?(?:부터|から|to|through|until|-|–|~|〜|～|∼|至)\s?(?:至\s?)?", re.IGNORECASE)
_DATED = re.compile(
    r"(?:^|\b|[*_|(])(?:date[ds]?|date of (?:issue|report)|effective(?: date)?(?: as of)?|issued(?: on)?"
    r"|as of|published(?: on)?|(?:last )?(?:updated|revised|modified)(?: on)?"
    r"|(?:version|rev(?:ision|\.)?) ?[\d.]{1,8}"
    r"|작성일자?|작성 일자|시행일자?|발행일자?|일자|날짜|일시|등록일|게시일|보고일|회의일시?|기준일|제출일"
    r"|개정일자?"
    r"|(?:作成|発行|施行|更新|改定|公開|提出|改訂|改正)(?:年月)?日?|開催日時?|日付|日時)"
    r"[*_|]{0,2}\s?[,:：]?\s?[*_|]{0,2}\s?(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?$",
    re.IGNORECASE,
)
_DATES = re.compile(r"\s?(?:作成|発行|施行|更新|改定|改訂|改正|現在|時点|작성|발행|시행|개정|현재|기준)")
"""Word after the date that it makes the document's: 2024年3月改訂, 2024년 3월 기준."""
_AUTHORED = re.compile(
    r"^[*_|#\s]{0,4}(?:authors?|written by|prepared by|submitted by|created by|from|by"
    r"|(?P<minutes>minutes)|minutes(?: taken)? by|minute[ -]taker|서기|기록자|記録者|書記|議事録作成者"
    r"|작성자|저자|글쓴이|보낸\s?사람|발신|기안자|담당자|著者|作成者|執筆者|差出人|送信者|報告者)"
    r"(?:[*_|]{0,2}\s?[:：]\s?[*_|]{0,2}|(?<=by) )\s?(?P<who>[^\n|<(*]{2,80})",
    re.IGNORECASE | re.MULTILINE,
)
_PERSON = re.compile(
    r"(?:[A-ZÀ-Þ][\w.'’-]* ?){1,2}(?:(?:de|da|van|von|der|del|la|bin|al) )?(?:[A-ZÀ-Þ][\w.'’-]* ?){0,3}"
    r"|[가-힣]{2,4}|[一-鿿々ァ-ヺー]{1,6}[\s　]?[一-鿿々ぁ-ゖァ-ヺー]{1,6}"
)
_NOBODY = words_of(
    "administrator admin user users owner unknown anonymous author microsoft office python-docx root guest "
    "default windows scanner system test none openpyxl adobe acrobat apache poi un-named "
    "사용자 관리자 작성자 ユーザー 管理者"
)
_NO_TITLE = re.compile(
    r"^(?:microsoft (?:word|powerpoint|excel) - .*|untitled.*|document\d*|slide \d+|powerpoint presentation"
    r"|word document|presentation\d*|book\d*|sheet\d*|.*\.(?:docx?|pdf|pptx?|xlsx?|indd|tex|dvi|html?)"
    r"|\(?anonymous\)?|title|제목 ?없음|無題.*)$",
    re.IGNORECASE,
)


def read_facts(document: LoadedDocument, name: str) -> tuple[DocumentFact, ...]:
    """Return the facts of a document called `name`: at most MOST_OF_A_KIND of each kind, none twice."""
    text = document.text
    parties = [*_names(text)]
    defined = [*_aliases(text, [fact.value for fact in parties])]
    read = (
        *_titles(document),
        *_authors(document),
        *_forms(text),
        *_dates(text),
        *_periods(document, name),
        *_written(document),
        DocumentFact("language", language(text[:HEAD])),
        *parties,
        *defined,
        *_units(text),
    )
    return tuple(_limited(read))


def _limited(facts: Iterable[DocumentFact]) -> Iterator[DocumentFact]:
    known: set[tuple[str, str, str, bool]] = set()
    kinds: Counter[str] = Counter()
    for fact in facts:
        key = fact.kind, fact.value.casefold(), fact.means.casefold(), fact.start is None
        if key not in known and fact.value and kinds[fact.kind] < MOST_OF_A_KIND:
            known.add(key)
            kinds[fact.kind] += 1
            yield fact


def _titles(document: LoadedDocument) -> Iterator[DocumentFact]:
    """Yield the title: of the file's properties where it is one, else the first heading."""
    title = " ".join(document.title.split())[:LONGEST]
    if _is_title(title):
        place = document.text[:HEAD].find(title)
        yield DocumentFact("title", title, *((place, place + len(title)) if place >= 0 else (None, None)))
        return
    first = next((one for one in document.headings if one[0] < HEAD and _is_title(one[2])), None)
    if first is not None:
        start = document.text.find(first[2], first[0])
        if 0 <= start <= first[0] + 20:
            yield DocumentFact("title", first[2][:LONGEST], start, start + len(first[2][:LONGEST]))


def _is_title(title: str) -> bool:
    letters = sum(character.isalpha() for character in title)
    return letters >= 2 and 2 * letters >= len(title.replace(" ", "")) and not _NO_TITLE.match(title)


def _authors(document: LoadedDocument) -> Iterator[DocumentFact]:
    """Yield the people that the head calls authors, then that of the file's properties.

    "Minutes: Board Meeting" is a title: who took minutes is named again, as present or with a task.
    """
    head = document.text[: HEAD // 2]
    for match in _AUTHORED.finditer(head):
        start = match.start("who")
        for part in re.finditer(r"[^,;，、&]+?(?=\s*(?:[,;，、&]| and |$))", match["who"]):
            who = part[0].strip(" \"'“”.")
            if is_person(who) and not (match["minutes"] and document.text.count(who) == 1):
                at = head.index(who, start + part.start())
                yield DocumentFact("author", who, at, at + len(who))
    yield from _byline(head)
    if is_person(document.author):
        yield DocumentFact("author", " ".join(document.author.split()))


def _byline(head: str) -> Iterator[DocumentFact]:
    """Yield the people of an early line that has nothing but three names or more: the authors of a paper."""
    offset = 0
    for line in head[:BYLINE].split("\n"):
        parts = [*re.finditer(r"[^,;，、&]+?(?=\s*(?:[,;，、&]| and |$))", line)]
        names = [(part.start(), part[0]) for part in parts if part[0].strip()]
        people = [(at + len(name) - len(name.lstrip()), name.strip(" *\t")) for at, name in names]
        people = [(at, name.removeprefix("and ")) for at, name in people]
        if len(people) > 2 and all(len(name.split()) > 1 and is_person(name) for _, name in people):
            for _, name in people:
                start = head.index(name, offset)
                yield DocumentFact("author", name, start, start + len(name))
            return
        offset += len(line) + 1


def is_person(name: str) -> bool:
    """Return True for what reads as a person's name, not as a program's or an account's.

    >>> [is_person(name) for name in ("Ann Kim", "김철수", "Administrator", "python-docx", "kim42")]
    [True, True, False, False, False]
    """
    words = name.casefold().split()
    return bool(words) and not _NOBODY & {*words} and _PERSON.fullmatch(name) is not None


def _forms(text: str) -> Iterator[DocumentFact]:
    for match in _FORM.finditer(text[:HEAD]):
        yield DocumentFact("form", match[1].upper(), *match.span(1))


def _dates(text: str) -> Iterator[DocumentFact]:
    """Yield the date that is called so, else the one that stands alone in an early line.

    A day goes before a month that is said in the same way, and before the month that it lies in. A month
    stands alone where its line has no other word, and no line names another month so.
    """
    head = text[: HEAD // 2]
    found = [one for one in find_periods(head) if one.grain in ("day", "month")]
    days = [one for one in found if one.grain == "day"]
    months = [one for one in found if one.grain == "month" and head[one.end : one.end + 1] != "期"]
    called = [one for one in [*days, *months] if _is_called_date(head, one)]
    alone = [one for one in days if _stands_alone(head, one)] or _only_month(head, months)
    for chosen in (called or alone)[:1]:
        within = (one for one in days if _stands_alone(head, one) and one.label.startswith(chosen.label))
        said = next(within, chosen) if chosen.grain == "month" else chosen
        yield DocumentFact("date", said.label, said.start, said.end)


def _is_called_date(text: str, period: Period) -> bool:
    before = _DATED.search(text[max(0, period.start - 40) : period.start])
    return bool(before or (period.grain == "month" and _DATES.match(text, period.end)))


def _only_month(text: str, months: Sequence[Period]) -> Sequence[Period]:
    """Return the month that has a line of its own, as on a title page; nothing where several have one."""
    alone = [one for one in months if not any(map(str.isalnum, _rest_of_line(text, one)))]
    return alone if len({one.label for one in alone}) == 1 else []


def _stands_alone(text: str, period: Period) -> bool:
    return len(_rest_of_line(text, period)) <= 12


def _rest_of_line(text: str, period: Period) -> str:
    """Return the line that a period stands in, without it."""
    start, end = text.rfind("\n", 0, period.start) + 1, text.find("\n", period.end)
    return text[start : period.start] + text[period.end : end if end >= 0 else len(text)]


def _written(document: LoadedDocument) -> Iterator[DocumentFact]:
    if document.written and document.written not in _TEMPLATES:
        yield DocumentFact("date", document.written, means=MADE)


def _periods(document: LoadedDocument, name: str) -> Iterator[DocumentFact]:
    """Yield the periods that the head covers, then those of the file's name."""
    text, head = document.text, document.text[:HEAD]
    found, last = find_periods(head), None
    for place, one in enumerate(found):
        ended = _ENDED.search(head[max(0, one.start - 60) : one.start])
        if one.grain == "day" and ended:
            words = ended["what"].casefold()
            months = next((n for word, n in _MONTHS_OF.items() if words.startswith(word)), 12)
            since = months_before(one.last, months)
            start, last = one.start - len(ended[0]), one.last
            yield DocumentFact("period", f"{since}/{one.label}", start, one.end)
            break
        after = found[place + 1] if place + 1 < len(found) else None
        if after and _spans(one, after, head):
            yield DocumentFact("period", f"{one.label}/{after.label}", one.start, after.end)
            break
    yield from _titled_periods(document, found)
    yield from _spoken_quarter(text, last)
    for one in find_periods(PurePath(name).stem.replace("_", " ")):
        yield DocumentFact("date" if one.grain == "day" else "period", one.label)


def _spans(one: Period, other: Period, text: str) -> bool:
    """Return True for two days with nothing but "to" between them."""
    days = one.grain == other.grain == "day" and one.last < other.last
    return days and _BETWEEN.fullmatch(text, one.end, other.start) is not None


def _titled_periods(document: LoadedDocument, found: Sequence[Period]) -> Iterator[DocumentFact]:
    """Yield the quarter, half, month or year in the first headings."""
    spans = [(at, at + len(title) + 8) for at, _, title in document.headings if at < HEAD // 4]
    for one in found:
        is_law = document.text[: one.start].lower().endswith("act of ")
        titled = any(start <= one.start and one.end <= end for start, end in spans)
        if one.grain != "day" and titled and not is_law:
            yield DocumentFact("period", one.label, one.start, one.end)


def _spoken_quarter(text: str, last: date | None) -> Iterator[DocumentFact]:
    """Yield the quarter that a text speaks of far more often than of any other: its own, ending on `last`."""
    years = range(1900, 2100) if last is None else (last.year, last.year + 1)  # fiscal years begin earlier
    spoken = [one for one in find_quarters(text[:DEFINITIONS]) if one.first.year in years]
    counted = Counter(one.label for one in spoken).most_common(2)
    if not counted or counted[0][1] < SPOKEN or (counted[1:] and counted[0][1] < 1.5 * counted[1][1]):
        return
    first = next(one for one in spoken if one.label == counted[0][0])
    fiscal = any(one.fiscal for one in spoken if one.label == first.label)
    yield DocumentFact("period", first.label, first.start, first.end, "fiscal" if fiscal else "")


def _names(text: str) -> Iterator[DocumentFact]:
    """Yield the companies that stand alone in a line of the head, and are spoken of again."""
    offset = 0
    for line in text[:HEAD].split("\n"):
        bare = line.strip(" *#_|")
        match = _COMPANY.fullmatch(bare)
        if match and text.casefold().count(short_name(bare).casefold()) >= 3:
            start = offset + line.index(bare)
            yield DocumentFact("name", bare, start, start + len(bare), short_name(bare, text[:CALLED]))
        offset += len(line) + 1


def short_name(name: str, text: str = "") -> str:
    """Return a company's name without its legal form, or its first word where a text calls it so.

    >>> short_name("Apple Inc."), short_name("AMAZON.COM, INC."), short_name("株式会社日立")
    ('Apple', 'AMAZON', '日立')
    """
    short = _LEGAL_PARTS.sub("", name).strip(" ,.　") or name
    first, _, rest = short.partition(" ")
    if rest and len(first) > 3:
        alone = len(re.findall(rf"\b{re.escape(first)}\b(?! {re.escape(rest[:3])})", text))
        if alone >= 3 and not re.search(rf"\b{re.escape(first.lower())}\b", text):
            return first
    return short


def _aliases(text: str, parties: Sequence[str]) -> Iterator[DocumentFact]:
    """Yield the words that a document defines: abbreviations, and aliases of companies.

    A company that gives itself a name is yielded as a name too; without `parties`, also one defined in the
    head: those of a contract.
    """
    searched = text[:DEFINITIONS]
    for match in _ALIASES.finditer(searched):
        before = searched[max(0, match.start() - 120) : match.start()].rstrip()
        for one in _ONE_ALIAS.finditer(match["all"]):
            yield from _defined(one[1], before, match.start("all") + one.start(1), parties, text)
    for match in _CJK_ALIASES.finditer(searched):
        before = searched[max(0, match.start() - 60) : match.start()].rstrip(" (（")
        yield from _defined(match["alias"], before, match.start("alias"), parties, text)


def _defined(
    alias: str, before: str, start: int, parties: Sequence[str], text: str
) -> Iterator[DocumentFact]:
    """Yield what the words `before` define an alias at `start` as."""
    place = start, start + len(alias)
    if long_form := _long_form(alias, before):
        yield DocumentFact("term", alias, *place, " ".join(long_form.split()))
        return
    company = _company_at_end(before, parties)
    if not company:
        return
    yield DocumentFact("alias", alias, *place, company)
    if alias.casefold() in _ITSELF or (start < HEAD and not parties):
        at = text.rfind(company, 0, start)
        if at >= 0:
            yield DocumentFact("name", company, at, at + len(company), short_name(company, text[:CALLED]))


def _company_at_end(before: str, parties: Sequence[str]) -> str:
    """Return the company that some words end with, as a party is called where it is one."""
    found = [match for match in _COMPANY.finditer(before) if len(before) - match.end() <= 60]
    if not found:
        return ""
    rest = before[found[-1].end() :]
    if len(rest) > 2 and "subsidiar" not in rest and "affiliate" not in rest:
        return ""
    own = (party for party in parties if found[-1][0].casefold().endswith(" " + party.casefold()))
    return next(own, found[-1][0])


def _long_form(short: str, before: str) -> str:
    """Return the words before an abbreviation whose initials it is made of.

    >>> _long_form("GAAP", "in accordance with generally accepted accounting principles")
    'generally accepted accounting principles'
    """
    letters = [letter for letter in short.casefold() if letter.isalpha()]
    if not 2 <= len(letters) <= 8 or not short.isascii() or not any(c.isupper() for c in short[1:]):
        return ""
    words = list(re.finditer(r"[A-Za-z][\w’']*", before))
    at = len(words)
    for letter in reversed(letters):
        at = next((i for i in range(at - 1, max(-1, at - 4), -1) if words[i][0][0].casefold() == letter), -1)
        if at < 0:
            return ""
    return before[words[at].start() :]


def _units(text: str) -> Iterator[DocumentFact]:
    """Yield the unit of the tables where nearly all that name one name the same."""
    found = [(_unit(match), match) for match in _UNIT.finditer(text[:DEFINITIONS])]
    if found:
        usual, times = Counter(unit for unit, _ in found).most_common(1)[0]
        if times >= USUAL_UNIT * len(found):
            yield DocumentFact("unit", usual, *next(match.span() for unit, match in found if unit == usual))


def _unit(match: re.Match[str]) -> str:
    return f"in {match['unit'].lower()}" if match["unit"] else (match["ko"] or match["ja"]).strip()
