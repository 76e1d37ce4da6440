# ruff: noqa: E501
"""Statements about tables: their numbers, each with its kind, time and clause, and the words that name cells."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Literal

from rag.citations.quantities import Quantity, StatedTime, periods, quantities, undated
from rag.text.facts import names
from rag.text.tokenize import content_words


@dataclass(frozen=True)
class Span:
    """Words of a passage: its number from 1, and `text[start:end]`."""

    number: int
    start: int
    end: int


@dataclass(frozen=True)
class TableText:
    """Text of a numbered passage, the heading above it, the line on its document, and the document's name."""

    number: int
    text: str
    above: str = ""
    about: str = ""
    document: str = ""


@dataclass(frozen=True)
class Reading:
    """Result for a statement: verified or not, the words, the source's value where it differs."""

    holds: bool
    spans: tuple[Span, ...] = ()
    said: str = ""
    calculation: str = ""


_UP = r"increas|rise|rising|risen|\brose|grew|grow|\bgain|higher|\bmore\b|\bup\b|climb|exceed|surpass|증가|늘|상승|높|많|올랐|増|上昇|高[いくかま]|多[いくか]|伸び"
_DOWN = r"decreas|declin|\bfall|\bfell|drop|shr[aiu]nk|lower|\bless\b|fewer|\bdown\b|reduc|감소|줄|하락|낮|적었|적다|적습|減|下落|低[いくか下]|少な|下回"
UP, DOWN = re.compile(_UP, re.IGNORECASE), re.compile(_DOWN, re.IGNORECASE)
_WAYS = re.compile(rf"(?:{_UP}|{_DOWN})(?:[a-z]*|[가-힣]*)", re.IGNORECASE)
_SUM = re.compile(
    r"\btogether\b|\bcombined\b|\bin total\b|\bsum\b|\bin all\b|\badd(?:s|ed)? up\b|합계|총계|총액|합쳐|합하|합친|합산|合計|総計|総額|合わせ|あわせ|总共|总计|合计|共",
    re.I,
)
TOTALS = frozenset(["total", "합계", "총계", "총액", "合計", "総計", "総額", "計", "合计", "总计"])
"""Labels of the row or column that sums up the others."""
_TOGETHER = re.compile(r"\btogether\b|\bcombined\b|\bthe sum of\b|합쳐|합하|합친|合わせ", re.IGNORECASE)
"""Words that ask for a sum even where only one row is known."""
SHARE = re.compile(
    r"\bof (?:the |its |all )?(?:total|overall|net|all)|(?<!per )\bshare\b|account\w* for|%\s+of\b|contribut\w*|made up|making up|비중|차지|割合|占め|比率",
    re.I,
)
_BY = re.compile(
    r"(?:\bby|\b(?:increased|rose|grew|gained|climbed|decreased|declined|fell|dropped|up|down)|差は|차이는)\s*(?:about|around|roughly|approximately|nearly)?\s*(?:\b[A-Z]{3}\s)?\**\s*$",
    re.IGNORECASE,
)
_THAN = re.compile(
    r"\**\s*(?:\w+\s)?(?:lower|higher|more|less|fewer|above|below)\b|\**(?!\s*[가-힣%]?(?:으로|로|까지))\s*(?:[가-힣]{0,3})\s*(?:더\s)?(?:감소|증가|줄|늘|적|많|높|낮)|\**\s*(?:の)?(?:減|増|多|少|下回|上回)",
    re.I,
)
WORD = re.compile(r"(?<!\d)\d{1,2}[月월]|[A-Za-z\u00c0-\u024f0-9&’']+|[가-힣]+|[一-鿿ぁ-ヺー々]+")
YEAR_ON_YEAR = re.compile(
    r"year[- ](?:over|on)[- ]year|\b(?:a|one) year (?:earlier|before|ago)|\b(?:prior|previous|last) year"
    r"|전년\s?(?:동기\s?)?(?:대비|보다)|前年(?:同期)?(?:比|より)",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"\b(?:total|all|overall)\b|전체|전부|全体|総|总", re.IGNORECASE)
_TINY = frozenset(
    [
        "total",
        "net",
        "the",
        "of",
        "and",
        "a",
        "an",
        "for",
        "in",
        "by",
        "to",
        "it",
        "its",
        "this",
        "which",
        "their",
        "at",
        "on",
        "was",
        "were",
        "is",
        "are",
        "per",
        "within",
        "due",
    ]
)
SUPERLATIVE = re.compile(
    r"\b(?:most|least|(?:larg|great|high|low|small|long|short|big|few|wett|dri|warm|cold|hott|old|fast|slow)(?:i)?est)\b|가장|제일|최대|최소|最も|最大|最小|一番",
    re.IGNORECASE,
)
EACH = re.compile(
    r"\b(?:in )?(?:each|every) (?:of (?:the|these|those) (?:\w+ )?)?(?:year|quarter|month)s?\b|\byear after year\b"
    r"|매년|해마다|매월|매달|매\s?분기|毎年|年々|毎月|毎四半期",
    re.IGNORECASE,
)
"""Words by which a rise or fall is one from each time to the next."""
_SAME = (frozenset({"revenue", "sale", "turnover"}), frozenset({"income", "profit"}))
"""Words that name the same figure."""
_LOST = frozenset({"loss", "losse"})
_EARNED = frozenset({"income", "profit", "earning"})
"""What a loss is one of: its row is named "Operating income (loss)", and its number has a sign."""
_CLOCK = re.compile(r"(?<!\d)\d{1,2}(?::\d{2}|\s?시\s?\d{1,2}분|時\d{1,2}分)(?!\d)")
Kind = Literal["value", "change", "difference", "share", "sum", "ratio"]
_FROM = re.compile(r"\bfrom\b[^.;\d]{0,40}\Z", re.IGNORECASE)
_TO = re.compile(
    r"\b(?:to|from|at)\s+(?:an?\s)?(?:about|around|roughly|approximately|nearly)?\s*\Z", re.IGNORECASE
)
_BACK = re.compile(r"earlier|before|ago|prior|previous|last|same|전년|동기|前年", re.IGNORECASE)
_FOR = re.compile(
    r"\A\s*\S*\s*(?:for|in the|at)\s+(?!(?:the\s+)?(?:same|prior|previous|third|second|first|fourth|year|quarter)\b|\d|Q\d|fiscal|a year)",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"\bfrom\b|\bcompared\b|\bagainst\b|\bversus\b|\bvs\b|\bthan\b|에서|보다|から|比べ|대비", re.IGNORECASE
)
_COMPARED_WITH = re.compile(
    r"\b(?:compared|against|versus|vs|than)\b|\bafter\s*\Z|\bfrom\b(?:\s+(?!was\b|were\b|is\b|came\b|reached\b)\S+){0,6}\s*\Z|에서|보다|から|比べ|대비",
    re.IGNORECASE,
)
_BASE = re.compile(
    r"(?:\b(?:compared (?:with|to)|than(?: in)?|versus|vs\.?|against)\s+(?:that (?:of|in)\s+)?(?:the\s+)?)\Z",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;、，；]\s*(?:and|but)?\s|、|\b(?:and|while|but|whereas|though|although)\b|\b(?:compared|against|versus)\b|(?<=[가-힣](?:고|며))\s",
    re.I,
)
_NO_WAY = re.compile(
    r"\b(?:(?:add(?:s|ed|ing)?|ma(?:de|kes?|king)|t(?:akes?|aken|aking|ook)) up|fall(?:s|ing)? due|up to)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class AskedNumber:
    """Number of a statement: its kind and time, and the clause that it stands in."""

    quantity: Quantity
    near: str
    kind: Kind = "value"
    period: StatedTime | None = None
    row: tuple[str, ...] | None = None  # where the order of the words decides
    before: Quantity | None = None  # what it was before: "up from 7"
    before_period: StatedTime | None = None
    lead: str = ""  # the words before the number


class TableStatement:
    """Statement in words with what it names."""

    def __init__(self, text: str):
        self.text = text
        self.folded = text.casefold()
        self.words = {fold(match[0]) for match in WORD.finditer(self.folded)}
        self.words |= {"total"} if _SUM.search(text) else set()
        for same in _SAME:
            self.words |= same if self.words & same else set()
        self.words |= _EARNED if self.words & _LOST else set()
        self.initials = {word.casefold() for word in re.findall(r"\b[A-Z]{2,6}\b", text)}
        self.times = periods(text)
        self.of_rows: list[StatedTime] = []  # times that rows state, and no column
        self.numbers = _in_one_scale(text, [_as_meant(text, q) for q in undated(text, self.times)])
        clocks = list(_CLOCK.finditer(text))
        self.clocks = [clock[0] for clock in clocks]  # hours of the day, which are text of a row
        self.numbers = [
            q
            for q in self.numbers
            if not any(q.start < m.end() and m.start() < q.end for m in clocks)
            and not (q.value in range(1, 13) and text.startswith(("月", "월"), q.end))  # names a month
        ]
        self.names = frozenset(content_words(" ".join(name for name in names(text) if name.isascii())))

    def named(self, label: Sequence[str]) -> frozenset[str]:
        """Return the words of a label that stand in the statement, also as initials: EPS."""
        found = {word for word in label if _stands(word, self.folded, self.words)}
        for initials in self.initials:
            starts = "".join(word[0] for word in label)
            if len(initials) > 1 and (at := starts.find(initials)) >= 0:
                found.update(label[at : at + len(initials)])
        return frozenset(found)

    @cached_property
    def rest(self) -> frozenset[str]:
        """Content words besides numbers, periods and words of direction and calculation."""
        return rest_of(self.text)


def asked_numbers(
    said: TableStatement, rows: Sequence[tuple[str, ...]], columns: Collection[tuple[str, ...]] = ()
) -> list[AskedNumber]:
    """Return the numbers of a statement, each with kind, time and clause; none where times are not told apart."""
    numbers = said.numbers
    bounds = _clauses(said)
    text = blanked(said.text, {word for row in rows for word in row})
    kinds = [_kind(text, q, rows, alone=len(numbers) == 1) for q in numbers]
    ends = _base(said, kinds, (*rows, *columns))
    plain = [q for n, q in enumerate(numbers) if n != ends]
    compared = [kinds[numbers.index(q)] in ("change", "difference", "ratio") for q in plain]
    when = _when(said, plain, ends, all(compared))
    if when is None:
        return []
    in_order = _rows_in_order(said, plain, rows)
    found = []
    for n, (q, period) in enumerate(zip(plain, when, strict=True)):
        near = next(said.text[a:b] for a, b in bounds if a <= q.start < b)
        row = in_order[n] if in_order else None
        before = numbers[ends] if ends is not None and q is plain[0] else None
        changed = compared[n]
        base = _earliest(said.times) if before is not None or changed else None
        if changed and period is not None and period.year and _BASE.search(said.text, 0, period.start):
            base, period = period, replace(period, year=period.year + 1)
        found.append(
            AskedNumber(
                q,
                near,
                kinds[numbers.index(q)],
                period,
                row,
                before,
                base,
                said.text[max(0, q.start - 24) : q.start],
            )
        )
    return found


def _clauses(said: TableStatement) -> list[tuple[int, int]]:
    """Return the spans of clauses, each with at most one number where words tell them apart."""
    ends = [0]
    for match in _CLAUSE.finditer(said.text):
        if any(p.start < match.end() and match.start() < p.end for p in said.times):
            continue
        inside = [q for q in said.numbers if ends[-1] <= q.start < match.start()]
        if inside and any(q.start >= match.end() for q in said.numbers):
            ends.append(match.end())
    return list(zip(ends, [*ends[1:], len(said.text) + 1], strict=True))


def _kind(text: str, quantity: Quantity, rows: Sequence[tuple[str, ...]], *, alone: bool) -> Kind:
    if alone and (_TOGETHER.search(text) or (_SUM.search(text) and len(rows) > 1)):
        return "sum"
    if quantity.unit == "%" and SHARE.search(text):
        return "share"
    if quantity.unit == "times":
        return "ratio"
    if not _is_change(text, quantity) or _TO.search(text, 0, quantity.start):
        return "value"
    return "change" if quantity.unit == "%" else "difference"


def _base(said: TableStatement, kinds: Sequence[Kind], labels: Sequence[tuple[str, ...]]) -> int | None:
    """Return the index of the number that another one is compared with: 7 of "5, up from 7".

    One under a label of its own is none: 7 of "income of 9 against costs of 7".
    """
    values = [n for n, kind in enumerate(kinds) if kind in ("value", "share")]
    if (
        len(values) != 2
        or kinds[values[0]] != kinds[values[1]]
        or said.numbers[values[0]].unit != said.numbers[values[1]].unit
    ):
        return None
    first, second = (said.numbers[n] for n in values)
    between, before = said.text[first.end : second.start], said.text[max(0, first.start - 48) : first.start]
    risen = _FROM.search(before) and re.search(r"\bto\b", between, re.IGNORECASE)
    if risen or re.match(r"\s*\S{0,3}?\s?(?:에서|から)", between):
        return values[0]
    if _BACK.search(between) and re.match(r"\s*\S{0,2}?\s?(?:에서|보다|から|より)", said.text[second.end :]):
        return values[1]
    if not _COMPARED_WITH.search(between) or _FOR.search(said.text[second.end :]):
        return None
    one, other = TableStatement(said.text[: first.start]), TableStatement(between)
    own = any(len(other.named(label)) == len(label) > len(one.named(label)) for label in labels)
    return None if own else values[1]


def _when(
    said: TableStatement, numbers: Sequence[Quantity], ends: int | None, compared: bool
) -> list[StatedTime | None] | None:
    """Return the time of each number: the only one, one each in order, or the one in its clause.

    The only one is not theirs where it follows the number at `ends`, with which another is compared. Where
    all are `compared`, two times are those that they lie between.
    """
    told = [p for p in said.times if p.year or p.month or p.quarter or p.months]
    back = [
        p
        for p in told
        if _BACK.search(said.text[p.start : p.end]) and not re.search(r"\d", said.text[p.start : p.end])
    ]
    dated = [p for p in told if p not in back]
    if len({(p.year, p.month, p.day, p.months, p.quarter) for p in dated}) <= 1:
        of_base = ends is not None and dated and said.numbers[ends].end <= dated[0].start
        return [dated[0] if dated and not of_base else None] * len(numbers)
    if (ends is not None or back) and len(numbers) >= 1:
        return [latest_of(dated)] * len(numbers)
    if len(dated) == len(numbers) and not (compared and len(dated) == 2):
        return list(dated)
    if len(numbers) == 1 or compared or way_of(said.text, None):
        return [latest_of(dated)] * len(numbers)
    return None


def _rows_in_order(
    said: TableStatement, numbers: Sequence[Quantity], rows: Sequence[tuple[str, ...]]
) -> Sequence[tuple[str, ...]]:
    """Return the rows where they are all named before or after a list of as many numbers."""
    if len(rows) != len(numbers) or len(rows) < 2:
        return ()
    places = [place_of(row, rows, said) for row in rows]
    apart = max(places) < numbers[0].start or min(places) > numbers[-1].end
    return rows if apart else ()


_AFTER_WORD = re.compile(r"[^\W\d_]\s?\(\Z")


_CENTS = re.compile(r"\s?(?:cents?|pence)\b", re.IGNORECASE)


def _as_meant(text: str, quantity: Quantity) -> Quantity:
    """Return a number that prose puts in brackets after a word as no loss, and cents as a part of their whole."""
    if not quantity.unit and _CENTS.match(text, quantity.end):
        return replace(quantity, value=quantity.value / 100, step=quantity.step / 100)
    bare = not quantity.unit and quantity.value < 0 and _AFTER_WORD.search(text, 0, quantity.start)
    return replace(quantity, value=-quantity.value) if bare else quantity


def _in_one_scale(text: str, numbers: Sequence[Quantity]) -> list[Quantity]:
    """Return the numbers with the scale of the next one: 61.2 of "from 61.2 to 48.9 million"."""
    found = list(numbers)
    for n, (one, other) in enumerate(pairwise(numbers)):
        joint = re.fullmatch(r"\s*(?:to|and|or|–|-|에서|から)\s*[$€£¥₩]?", text[one.end : other.start])
        digits = re.search(r"\d[\d,.]*", text[other.start : other.end])
        factor = (
            other.value / Decimal(digits[0].replace(",", "").rstrip("."))
            if digits and other.value
            else Decimal(1)
        )
        if joint and factor > 1 and one.value < 10_000 and one.step <= 1 and one.unit in ("", other.unit):
            found[n] = replace(one, value=one.value * factor, step=one.step * factor, unit=other.unit)
    return found


def _earliest(times: Sequence[StatedTime]) -> StatedTime | None:
    """Return the other of two years that a change lies between."""
    years = {p.year for p in times if p.year}
    return min((p for p in times if p.year), key=lambda p: p.year) if len(years) == 2 else None


def latest_of(times: Sequence[StatedTime]) -> StatedTime | None:
    """Return the latest of some times that name a date or a period."""
    dated = [p for p in times if p.year or p.quarter or p.months or p.month]
    return max(dated, key=lambda p: (p.year, -p.start)) if dated else None


def way_of(claim: str, quantity: Quantity | None) -> int:
    """Return 1 or -1 for a rise or fall beside a number, or anywhere; 0 without one."""
    near = claim
    if quantity is not None:
        before = claim[max(0, quantity.start - 40) : quantity.start]
        near = before + "\0" + claim[quantity.end : quantity.end + 24]
    up, down = UP.search(near), DOWN.search(near)
    return (1 if up else -1) if bool(up) != bool(down) else 0


_THAN_WHAT = re.compile(
    r"\bthan\b(?P<en>[^.;]{0,48})|(?P<ko>[^.,;]{0,16})보다|(?P<ja>[^。、；]{0,16})より", re.IGNORECASE
)


def compares_others(text: str) -> bool:
    """Return True where a text compares with something that is no time: "more than Mac", not "than in 2022".

    >>> [compares_others(said) for said in ("It rose more than Mac.", "It sold more than a year earlier.")]
    [True, False]
    """
    told = [next(filter(None, match.groups()), "") for match in _THAN_WHAT.finditer(text)]
    return any(not (periods(what) or quantities(what) or _BACK.search(what)) for what in told)


def _is_change(claim: str, quantity: Quantity) -> bool:
    """Return True for a number that says by how much something differs: "by $1 million", "2% lower"."""
    is_other = SHARE.search(claim) or SUPERLATIVE.search(claim)
    if quantity.unit == "%" and way_of(claim, quantity) and not is_other:
        return True
    return bool(
        _THAN.match(claim, quantity.end) or (_BY.search(claim, 0, quantity.start) and way_of(claim, quantity))
    )


def blanked(text: str, words: Collection[str]) -> str:
    """Return a text with some words, and phrases that only seem to tell a direction, made blank."""
    text = _NO_WAY.sub(lambda m: " " * len(m[0]), text)
    return WORD.sub(lambda m: " " * len(m[0]) if m[0].isascii() and fold(m[0]) in words else m[0], text)


# Words
def fold(word: str) -> str:
    """Return a word in lower case, without the s of a plural or genitive."""
    word = re.sub(r"[’']s?$", "", word.casefold())
    return (
        word[:-1]
        if word.isascii() and len(word) > 3 and word.endswith("s") and not word.endswith("ss")
        else word
    )


def _stands(word: str, folded: str, words: Collection[str]) -> bool:
    if word.isascii():
        return word in words
    at = folded.find(word)
    return at >= 0 and not (at > 0 and "가" <= word[0] <= "힣" and "가" <= folded[at - 1] <= "힣")


def place_of(row: Sequence[str], rows: Sequence[Sequence[str]], said: TableStatement) -> int:
    """Return the place of a label's word that no other label has."""
    others = {word for other in rows if other is not row for word in other}
    own = [word for word in row if word not in others] or list(row)
    places = {fold(match[0]): match.start() for match in reversed(list(WORD.finditer(said.folded)))}
    return min(places.get(word, said.folded.find(word)) for word in own)


def rest_of(text: str) -> frozenset[str]:
    """Return the content words of a text besides numbers, periods and words of direction and calculation."""
    spans = [(p.start, p.end) for p in periods(text)] + [(q.start, q.end) for q in quantities(text)]
    bare = text
    for start, end in sorted(spans, reverse=True):
        bare = bare[:start] + " " * (end - start) + bare[end:]
    for cue in (_SUM, SHARE, _WAYS, _WHOLE, SUPERLATIVE, EACH, _COMPARED, YEAR_ON_YEAR):
        bare = cue.sub(" ", bare)
    return frozenset(w for w in content_words(bare) if w not in _TINY)
