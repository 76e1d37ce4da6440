# ruff: noqa: E501
"""Lookup: reads statements about tables by row and period, and calculates what they derive from cells.

A statement names a row, perhaps a period, and a number. The cell is found by its labels, without looking at
the number; then its number is compared. So an exchanged row or column is another number.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation

from rag.citations.periods import StatedTime, agree, periods
from rag.citations.quantities import Quantity, quantities, stated_scale, undated
from rag.citations.tables import TableCell, cells
from rag.citations.words import content_words
from rag.text.facts import names

SPARE = 1  # content words of a statement that neither labels nor caption say: "brought in"
LEAST_LABEL = 0.6  # share of a row's label that a statement must name where it names no label in full
_UP = r"increas|rise|rising|risen|\brose|grew|grow|gain|higher|\bmore\b|\bup\b|climb|증가|늘|상승|높|많|올랐|増|上昇|高[いくかま]|多[いくか]|伸び"
_DOWN = r"decreas|declin|\bfall|\bfell|drop|shr[aiu]nk|lower|\bless\b|fewer|\bdown\b|reduc|감소|줄|하락|낮|적었|적다|적습|減|下落|低[いくか下]|少な|下回"
UP, DOWN = re.compile(_UP, re.IGNORECASE), re.compile(_DOWN, re.IGNORECASE)
_SUM = re.compile(
    r"\btogether\b|\bcombined\b|\bin total\b|\bsum\b|\bin all\b|합계|합쳐|합하|합친|합산|合計|合わせ|あわせ|总共|合计|共",
    re.I,
)
_SHARE = re.compile(
    r"\bof (?:the |its |all )?(?:total|overall|net|all)|\bshare\b|account\w* for|made up|making up|비중|차지|割合|占め|比率",
    re.I,
)
_BY = re.compile(
    r"(?:\bby|差は|차이는)\s*(?:about|around|roughly|approximately|nearly)?\s*\**\s*$", re.IGNORECASE
)
_THAN = re.compile(
    r"\**\s*(?:\w+\s)?(?:lower|higher|more|less|fewer|above|below)\b|\**\s*(?:[가-힣]{0,3})\s*(?:더\s)?(?:감소|증가|줄|늘|적|많|높|낮)|\**\s*(?:の)?(?:減|増|多|少|下回|上回)",
    re.I,
)
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f0-9&’']+|[가-힣]+|[一-鿿ぁ-ヺー々]+")
_FISCAL_END = re.compile(
    r"fiscal years?\b[^.\n]{0,80}?\b(?:ends?|ended|ending|closes?)\b[^.\n]{0,40}?\b(January|February|March|April|May|June|July|August|September|October|November|December)\b",
    re.I,
)
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_SAME_METRIC = (
    {"revenu", "sale", "turnov"},
    {"매출", "순매출", "매출액", "순매출액"},
    {"売上高", "売上", "純売上高", "収益"},
)
_YEAR_ON_YEAR = re.compile(
    r"year[- ](?:over|on)[- ]year|\b(?:a|one) year (?:earlier|before|ago)|\b(?:prior|previous|last) year"
    r"|전년\s?(?:동기\s?)?(?:대비|보다)|前年(?:同期)?(?:比|より)",
    re.IGNORECASE,
)
_TOTAL = re.compile(r"\s*(?:total|합계|총계|소계|총|전체|合計|総計|計|总计)", re.IGNORECASE)
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
    ]
)


@dataclass(frozen=True)
class Span:
    """Words of a passage: its number from 1, and `text[start:end]`."""

    number: int
    start: int
    end: int


@dataclass(frozen=True)
class Reading:
    """Result for a statement: verified or not, the words, the source's value where it differs."""

    holds: bool
    spans: tuple[Span, ...] = ()
    said: str = ""
    calculation: str = ""


@dataclass(frozen=True)
class _Placed:
    number: int
    cell: TableCell


@dataclass(frozen=True)
class _Asked:
    """Number of a statement with the rows and the period that it is about."""

    quantity: Quantity
    label: "_Label"
    period: StatedTime | None
    sign: int
    only_change: bool = False


@dataclass
class _Label:
    """Row label of the tables, folded, with its cells and its place in a statement."""

    words: tuple[str, ...]
    cells: list[_Placed] = field(default_factory=list)
    at: int = 0


class TableLookup:
    """Tables of numbered passages, in which statements are looked up.

    `own_names` are, by the passage's number, the words by which a statement may name its document.
    """

    def __init__(
        self, texts: Sequence[tuple[int, str, str]], own_names: Mapping[int, Collection[str]] | None = None
    ):
        self._cells = [_Placed(n, cell) for n, text, above in texts for cell in cells(text, above)]
        self._names = {number: frozenset(own) for number, own in (own_names or {}).items()}
        self._labels: dict[tuple[str, ...], _Label] = {}
        for placed in self._cells:
            words = _label_words(placed.cell.row)
            if words:
                self._labels.setdefault(words, _Label(words)).cells.append(placed)
        self._quarters = _quarters(self._cells, [text for _, text, _ in texts]) if self._cells else {}

    def __bool__(self) -> bool:
        return bool(self._cells)

    def touches(self, span: Span) -> bool:
        """Return True where some words are of a row of a table."""
        return any(
            p.number == span.number and p.cell.row_start < span.end and span.start < p.cell.row_end
            for p in self._cells
        )

    # A statement in words
    def read(self, claim: str, among: Collection[int] | None = None) -> Reading | None:
        """Return the reading of a statement in words; None where it is not about a table."""
        asked = self._asked(claim)
        if asked is None:
            return None
        labels, times, numbers = asked
        if not numbers:
            return self._compared(claim, labels, times, among)
        calculated = self._calculated(claim, labels, times, numbers, among)
        if calculated is not None:
            return calculated
        pairs = _paired(claim, labels, times, numbers)
        if len(numbers) == 2 and _turned(claim, numbers):
            return None
        return self._all([self._one(claim, pair, labels, among) for pair in pairs]) if pairs else None

    def _asked(self, claim: str) -> tuple[list[_Label], list[StatedTime], list[Quantity]] | None:
        times = periods(claim)
        numbers = undated(claim, times)
        labels = self._named(claim)
        return (labels, times, numbers) if labels else None

    def _all(self, found: Sequence[Reading | None]) -> Reading | None:
        """Return the readings of the parts as one: what differs first."""
        differs = next((one for one in found if one is not None and not one.holds), None)
        if differs is not None:
            return differs
        if not found or None in found:
            return None
        spans = tuple(dict.fromkeys(span for one in found if one for span in one.spans))
        told = "; ".join(dict.fromkeys(one.calculation for one in found if one and one.calculation))
        return Reading(True, spans, calculation=told)

    def _named(self, claim: str) -> list[_Label]:
        """Return the row labels that a statement names, in its order, without those inside longer ones."""
        folded = claim.casefold()
        words = {word: match for match in _WORD.finditer(folded) for word in [_fold(match[0])]}
        full = [
            label for label in self._labels.values() if all(_stands(w, folded, words) for w in label.words)
        ]
        kept = [a for a in full if not any(set(a.words) < set(b.words) for b in full if b is not a)]
        if not kept:
            kept = self._nearly_named(folded, words)
        placed = [replace(label, at=_place(label, kept, folded, words)) for label in kept]
        return sorted(placed, key=lambda label: label.at)

    def _nearly_named(self, folded: str, words: Collection[str]) -> list[_Label]:
        counts: dict[str, int] = defaultdict(int)
        for label in self._labels.values():
            for word in label.words:
                counts[word] += 1

        def share(label: _Label) -> float:
            total = sum(1 / counts[w] for w in label.words)
            return sum(1 / counts[w] for w in label.words if _stands(w, folded, words)) / total

        ranked = sorted(((share(label), label.words) for label in self._labels.values()), reverse=True)
        if (
            not ranked
            or ranked[0][0] < LEAST_LABEL
            or (len(ranked) > 1 and ranked[1][0] > ranked[0][0] - 0.2)
        ):
            return []
        return [self._labels[ranked[0][1]]]

    def _one(
        self, claim: str, asked: _Asked, labels: Sequence[_Label], among: Collection[int] | None
    ) -> Reading | None:
        found = self._at(asked.label, asked.period, among)
        fitting = [p for p in found if _comparable(asked.quantity, p.cell)]
        if asked.only_change:
            fitting = [p for p in fitting if p.cell.is_change]
        ranked = self._ranked(claim, labels, _in_named_columns(claim, asked.quantity, fitting))
        if not ranked:
            return None
        for placed in ranked:
            if _fits(asked, placed.cell):
                return Reading(True, (_row(placed),))
        if asked.period is None and len(ranked) > 1:
            return None
        return Reading(False, (_row(ranked[0]),), said=_written(ranked[0].cell))

    def _at(self, label: _Label, period: StatedTime | None, among: Collection[int] | None) -> list[_Placed]:
        """Return the cells of a row in a period, those that state the period first."""
        found = [p for p in label.cells if among is None or p.number in among]
        if period is None:
            return found
        agreeing = [p for p in found if self._agrees(period, p.cell)]
        stated = [p for p in agreeing if p.cell.periods]
        return stated or agreeing

    def _agrees(self, period: StatedTime, cell: TableCell) -> bool:
        told = cell.periods or tuple(periods(cell.around))
        if not told:
            return (
                not period.year
                or cell.is_change
                or not any(p.cell.periods for p in self._cells if p.cell.table == cell.table)
            )
        return any(agree(period, one, self._quarter_of) for one in told)

    def _quarter_of(self, period: StatedTime) -> int:
        return self._quarters.get((period.year, period.month), 0)

    def _ranked(self, claim: str, labels: Sequence[_Label], found: Sequence[_Placed]) -> list[_Placed]:
        """Return the cells whose caption and section say the rest of the statement best; none where too little."""
        rest = _rest(claim, labels)
        named = frozenset(content_words(" ".join(name for name in names(claim) if name.isascii())))
        uncovered = [(self._lacks(rest, named, p), p) for p in found]
        least = min((count for count, _ in uncovered), default=SPARE + 1)
        return [p for count, p in uncovered if count == least] if least <= SPARE else []

    def _lacks(self, rest: Collection[str], named: Collection[str], placed: _Placed) -> int:
        """Count the words that neither the cell's labels nor its document's names say; a name counts twice."""
        own = self._names.get(placed.number, ())
        words = _uncovered({word for word in rest if word not in own}, placed.cell)
        return len(words) + len(words.intersection(named))

    # A comparison without a number
    def _compared(
        self, claim: str, labels: Sequence[_Label], times: Sequence[StatedTime], among: Collection[int] | None
    ) -> Reading | None:
        ways = sorted(
            [(m.start(), 1) for m in UP.finditer(claim)] + [(m.start(), -1) for m in DOWN.finditer(claim)]
        )
        dated = [p for p in times if p.year]
        if len(labels) != 1 or not ways or not dated:
            return None
        latest = max(p.year for p in dated)
        ours = [p for p in dated if p.year == latest]
        if len(ways) != len(ours):
            return None
        parts = [self._moved(claim, labels, p, way, among) for p, (_, way) in zip(ours, ways, strict=True)]
        return self._all(parts)

    def _moved(
        self,
        claim: str,
        labels: Sequence[_Label],
        period: StatedTime,
        way: int,
        among: Collection[int] | None,
    ) -> Reading | None:
        pair = self._years(claim, labels, period, among)
        if pair is None:
            return None
        now, before = pair
        moved = now.cell.quantity.value - before.cell.quantity.value
        if moved == 0:
            return None
        told = f"{_written(before.cell)} → {_written(now.cell)}"
        return Reading((moved > 0) == (way > 0), (_row(now),), said="" if (moved > 0) == (way > 0) else told)

    def _years(
        self,
        claim: str,
        labels: Sequence[_Label],
        period: StatedTime,
        among: Collection[int] | None,
        base: StatedTime | None = None,
    ) -> tuple[_Placed, _Placed] | None:
        """Return a row's cells of a period and of the base year, or the year before, from one table."""
        here = [p for p in self._at(labels[0], period, among) if not p.cell.is_change and p.cell.periods]
        for now in self._ranked(claim, labels, here):
            told = now.cell.periods[0]
            year = base.year if base else told.year - 1
            for other in labels[0].cells:
                cell = other.cell
                same = (
                    other.number == now.number
                    and cell.table == now.cell.table
                    and cell.row_start == now.cell.row_start
                )
                if same and any(
                    p.year == year and (p.months, p.quarter) == (told.months, told.quarter)
                    for p in cell.periods
                ):
                    return now, other
        return None

    # Calculations
    def _calculated(
        self,
        claim: str,
        labels: Sequence[_Label],
        times: Sequence[StatedTime],
        numbers: Sequence[Quantity],
        among: Collection[int] | None,
    ) -> Reading | None:
        if len(numbers) != 1:
            return None
        quantity = numbers[0]
        period = _latest(times)
        if _SUM.search(claim) and len(labels) > 1:
            return self._summed(claim, labels, period, quantity, among)
        if quantity.unit == "%" and _SHARE.search(claim) and len(labels) == 1 and _WHOLE.search(claim):
            totals = [label for label in self._labels.values() if _TOTAL.match(label.cells[0].cell.row)]
            labels = [*labels, *totals] if len(totals) == 1 else labels
        if quantity.unit == "%" and _SHARE.search(claim) and len(labels) == 2:
            return self._shared(claim, labels, period, quantity, among)
        if period is None and _YEAR_ON_YEAR.search(claim) and len(labels) == 1:
            period = _latest([p for placed in labels[0].cells for p in placed.cell.periods])
        if len(labels) == 1 and _is_change(claim, quantity) and period is not None:
            return self._changed(claim, labels, period, quantity, among, _earliest(times))
        return None

    def _single(
        self,
        claim: str,
        labels: Sequence[_Label],
        label: _Label,
        period: StatedTime | None,
        among: Collection[int] | None,
    ) -> _Placed | None:
        found = [
            p for p in self._at(label, period, among) if not p.cell.is_change and p.cell.quantity.unit != "%"
        ]
        ranked = self._ranked(claim, labels, found)
        values = {p.cell.quantity.value for p in ranked}
        return ranked[0] if len(values) == 1 else None

    def _summed(
        self,
        claim: str,
        labels: Sequence[_Label],
        period: StatedTime | None,
        quantity: Quantity,
        among: Collection[int] | None,
    ) -> Reading | None:
        labels = [label for label in labels if not _TOTAL.match(label.cells[0].cell.row)]
        parts = [self._single(claim, labels, label, period, among) for label in labels]
        parts = [p for p in parts if p is None or not _TOTAL.match(p.cell.row)]
        known = [p for p in parts if p is not None]
        if len(known) != len(parts) or len(known) < 2:
            return None if period else self._summed_in_a_column(labels, quantity, among)
        return _as_sum(known, quantity)

    def _summed_in_a_column(
        self, labels: Sequence[_Label], quantity: Quantity, among: Collection[int] | None
    ) -> Reading | None:
        """Return the sum of rows in the first column where it is what a claim without a time says."""
        for first in labels[0].cells if len(labels) > 1 else ():
            placed = [first, *(self._above(label, first) for label in labels[1:])]
            known = [p for p in placed if p is not None and not p.cell.is_change]
            if len(known) == len(labels) and (among is None or first.number in among):
                read = _as_sum(known, quantity)
                if read is not None and read.holds:
                    return read
        return None

    def _shared(
        self,
        claim: str,
        labels: Sequence[_Label],
        period: StatedTime | None,
        quantity: Quantity,
        among: Collection[int] | None,
    ) -> Reading | None:
        whole = self._single(claim, labels, labels[1], period, among)
        part = None if whole is None else self._above(labels[0], whole)
        if part is None or whole is None or not whole.cell.quantity.value:
            return None
        value = part.cell.quantity.value / whole.cell.quantity.value * 100
        told = f"{_written(part.cell)} / {_written(whole.cell)} = {value:.1f} %"
        return _result(quantity, replace(quantity, value=value, bound=""), [part, whole], told)

    def _above(self, label: _Label, whole: _Placed) -> _Placed | None:
        """Return the cell of a row in the column of its total, in the nearest such row."""
        total = whole.cell
        found = [
            p
            for p in label.cells
            if p.number == whole.number
            and (p.cell.table, p.cell.column, p.cell.periods) == (total.table, total.column, total.periods)
        ]
        return min(found, key=lambda p: abs(p.cell.row_start - total.row_start), default=None)

    def _changed(
        self,
        claim: str,
        labels: Sequence[_Label],
        period: StatedTime,
        quantity: Quantity,
        among: Collection[int] | None,
        base: StatedTime | None = None,
    ) -> Reading | None:
        pair = self._years(claim, labels, period, among, base)
        if pair is None:
            return None
        now, before = pair
        one, other = now.cell.quantity, before.cell.quantity
        percent = quantity.unit == "%" and one.unit != "%"
        if percent and not other.value:
            return None
        value = (one.value - other.value) / (abs(other.value) if percent else 1) * (100 if percent else 1)
        difference = f"{_written(now.cell)} - {_written(before.cell)}"
        told = (
            f"({difference}) / {_written(before.cell)} = {value:.1f} %"
            if percent
            else f"{difference} = {_plain(value, now.cell)}"
        )
        way = _way(claim, quantity)
        got = replace(quantity if percent else one, value=value, bound="")
        found = _result(quantity, got, [now], told)
        if found is not None and way and value and (value > 0) != (way > 0):
            return Reading(False, found.spans, said=told)
        return found

    # A row of a table in the answer
    def read_row(
        self, head: Sequence[str], row: Sequence[str], above: str = "", among: Collection[int] | None = None
    ) -> Reading | None:
        """Return the reading of a row of a table, each cell by its label and header; None where one is not found."""
        if len(row) < 2:
            return None
        labels = self._named(row[0])
        found: list[Reading | None] = []
        shared = periods(f"{above} {row[0]}")
        dated = [one for text in head[1:] for one in periods(text)[-1:]]
        for header, cell in zip(head[1:], row[1:], strict=False):
            read = quantities(cell)
            if not cell or not read:
                found += [] if not cell.strip("-–— ") else [None]
                continue
            if len(labels) != 1 or len(read) != 1:
                return None
            told = next(iter(reversed(periods(header) or shared)), None)
            found.append(self._cell(f"{row[0]} {header}", head, read[0], cell, labels, told, dated, among))
        return self._all(found)

    def _cell(
        self,
        claim: str,
        head: Sequence[str],
        read: Quantity,
        cell: str,
        labels: Sequence[_Label],
        told: StatedTime | None,
        dated: Sequence[StatedTime],
        among: Collection[int] | None,
    ) -> Reading | None:
        negative = re.match(r"\s*(?:[-−–△▲(\[]|[$€£¥₩]\s?[(-])", cell) is not None
        read = replace(read, value=-abs(read.value) if negative else read.value)
        unit = stated_scale(" ".join([claim, *head]))
        if (
            unit is not None
            and read.unit in ("", "USD", "KRW", "JPY", "EUR", "GBP", "CNY")
            and read.step == 1
        ):
            read = replace(
                read, value=read.value * 10 ** unit[0], step=Decimal(10) ** unit[0], unit=read.unit or unit[1]
            )
        change = told is None and read.unit == "%" and len(dated) > 0
        period = _latest(dated) if change else told
        asked = _Asked(read, labels[0], period, -1 if read.value < 0 else 1)
        if change:
            found = self._one(claim, replace(asked, only_change=True), labels, among)
            return found or self._changed(claim, labels, period, read, among) if period else found
        return self._one(claim, asked, labels, among)


def _paired(
    claim: str, labels: Sequence[_Label], times: Sequence[StatedTime], numbers: Sequence[Quantity]
) -> list[_Asked]:
    """Return each number with its row and period: one for all, or one each in the order of the words."""
    if len(labels) not in (1, len(numbers)):
        return []
    rows = list(labels) * (len(numbers) if len(labels) == 1 else 1)
    dated = [p for p in times if p.year or p.month or p.quarter or p.months]
    when: list[StatedTime | None]
    if _refers_back(claim, numbers, dated):
        when = [dated[0], replace(dated[0], year=dated[0].year - 1, month=0, day=0)]
    elif len(dated) <= 1:
        when = [dated[0] if dated else None] * len(numbers)
    elif len(dated) == len(numbers):
        when = list(dated)
    elif len(numbers) == 1:
        when = [_latest(dated)]
    else:
        return []
    latest = _latest(dated)
    return [
        _Asked(
            q,
            row,
            latest if q.unit == "%" and _way(claim, q) and len(labels) == 1 else p,
            _way(claim, q),
            _is_change(claim, q),
        )
        for q, row, p in zip(numbers, rows, when, strict=True)
    ]


_COMPARED = re.compile(
    r"\bfrom\b|\bcompared\b|\bagainst\b|\bversus\b|\bvs\b|\bthan\b|에서|보다|から|比べ|대비", re.IGNORECASE
)


def _refers_back(claim: str, numbers: Sequence[Quantity], dated: Sequence[StatedTime]) -> bool:
    """Return True for two numbers and one time, the second number being of the year before.

    >>> told = "It earned $5 million in 2022, down from $7 million."
    >>> _refers_back(told, quantities(told)[::2], periods(told))
    True
    """
    if len(numbers) != 2 or len(dated) != 1 or not dated[0].year or numbers[0].unit != numbers[1].unit:
        return False
    between = claim[numbers[0].end : numbers[1].start]
    return bool(_COMPARED.search(between)) and dated[0].start < numbers[1].start


def _turned(claim: str, numbers: Sequence[Quantity]) -> bool:
    """Return True where two numbers move against the word between them: "5, up from 7"."""
    first, second = numbers[0], numbers[1]
    between = claim[first.end : second.start]
    if not _COMPARED.search(between) or first.unit != second.unit:
        return False
    up, down = UP.search(between), DOWN.search(between)
    return (bool(up) and not down and first.value < second.value) or (
        bool(down) and not up and first.value > second.value
    )


def _earliest(times: Sequence[StatedTime]) -> StatedTime | None:
    """Return the other of two years that a change lies between."""
    years = {p.year for p in times if p.year}
    return min((p for p in times if p.year), key=lambda p: p.year) if len(years) == 2 else None


def _latest(times: Sequence[StatedTime]) -> StatedTime | None:
    dated = [p for p in times if p.year or p.quarter or p.months or p.month]
    return max(dated, key=lambda p: (p.year, -p.start)) if dated else None


def _way(claim: str, quantity: Quantity) -> int:
    """Return 1 or -1 for a rise or fall beside a number; 0 without one."""
    near = (
        claim[max(0, quantity.start - 40) : quantity.start] + "\0" + claim[quantity.end : quantity.end + 24]
    )
    up, down = UP.search(near), DOWN.search(near)
    return (1 if up else -1) if bool(up) != bool(down) else 0


def _is_change(claim: str, quantity: Quantity) -> bool:
    """Return True for a number that says by how much something differs: "by $1 million", "2% lower"."""
    if quantity.unit == "%" and _way(claim, quantity) and not _SHARE.search(claim):
        return True
    return bool(
        _THAN.match(claim, quantity.end) or (_BY.search(claim, 0, quantity.start) and _way(claim, quantity))
    )


_CLAUSE = re.compile(r"[,;、，；]|\band\b|\bwhile\b|(?<=[가-힣](?:고|며))\s")


def _in_named_columns(claim: str, quantity: Quantity, found: Sequence[_Placed]) -> Sequence[_Placed]:
    """Return the cells in columns whose words stand beside a number; none where columns differ unnamed.

    Columns that are periods were chosen before.
    """
    bare = [p for p in found if not p.cell.periods and not p.cell.is_change]
    if len({p.cell.column for p in bare}) < 2:
        return found
    ends = [0, *(m.end() for m in _CLAUSE.finditer(claim)), len(claim)]
    near = claim[max(e for e in ends if e <= quantity.start) : min(e for e in ends if e >= quantity.end)]
    for said in (near, claim):
        words = {_fold(match[0]) for match in _WORD.finditer(said.casefold())}
        named = [(len(words & set(_label_words(p.cell.column))), p) for p in bare]
        most = max(count for count, _ in named)
        if most:
            return [p for count, p in named if count == most]
    return []


def _comparable(quantity: Quantity, cell: TableCell) -> bool:
    if quantity.unit == "%" or cell.quantity.unit == "%":
        return quantity.unit == cell.quantity.unit
    return not (quantity.unit and cell.quantity.unit) or quantity.unit == cell.quantity.unit


def _fits(asked: _Asked, cell: TableCell) -> bool:
    quantity = asked.quantity
    if cell.is_change:
        sign = asked.sign or (-1 if quantity.value < 0 else 1)
        if (cell.quantity.value < 0) != (sign < 0) and cell.quantity.value:
            return False
    elif quantity.value < 0 < cell.quantity.value:
        return False
    as_written = not quantity.unit and quantity.step == 1 and abs(quantity.value) == abs(cell.written.value)
    return as_written or quantity.fits(cell.quantity)


def _as_sum(known: Sequence[_Placed], quantity: Quantity) -> Reading | None:
    """Compare a stated quantity with the sum of cells."""
    value = sum((p.cell.quantity.value for p in known), Decimal(0))
    told = " + ".join(_written(p.cell) for p in known) + f" = {_plain(value, known[0].cell)}"
    return _result(quantity, replace(known[0].cell.quantity, value=value), known, told)


def _result(quantity: Quantity, got: Quantity, used: Sequence[_Placed], told: str) -> Reading | None:
    spans = tuple(dict.fromkeys(map(_row, used)))
    if quantity.fits(got):
        return Reading(True, spans, calculation=told)
    return Reading(False, spans, said=told)


def _row(placed: _Placed) -> Span:
    return Span(placed.number, placed.cell.row_start, placed.cell.row_end)


def _written(cell: TableCell) -> str:
    value = cell.written
    text = f"{value.value:,f}"
    return f"{text} %" if value.unit == "%" else text


def _plain(value: Decimal, cell: TableCell) -> str:
    """Return a calculated value in the scale of a table."""
    written, scaled = cell.written.value, cell.quantity.value
    try:
        factor = scaled / written if written else Decimal(1)
        return f"{(value / factor).normalize():,f}"
    except InvalidOperation:
        return f"{value:,f}"


# Words
def _fold(word: str) -> str:
    word = re.sub(r"[’']s?$", "", word.casefold())
    return (
        word[:-1]
        if word.isascii() and len(word) > 3 and word.endswith("s") and not word.endswith("ss")
        else word
    )


def _label_words(row: str) -> tuple[str, ...]:
    """Return the words of a row's label, without periods and what is in brackets."""
    bare = re.sub(r"\([^)]*\)|\*+", " ", row)
    for period in reversed(periods(bare)):
        bare = bare[: period.start] + " " + bare[period.end :]
    words = [_fold(match[0]) for match in _WORD.finditer(bare)]
    return tuple(dict.fromkeys(w for w in words if w not in ("and", "of", "the", "a", "및", "to", "as")))


def _stands(word: str, folded: str, words: Collection[str]) -> bool:
    if word.isascii():
        return word in words
    at = folded.find(word)
    return at >= 0 and not (at > 0 and "가" <= word[0] <= "힣" and "가" <= folded[at - 1] <= "힣")


def _place(
    label: _Label, all_labels: Sequence[_Label], folded: str, words: "dict[str, re.Match[str]]"
) -> int:
    """Return the place of a label's word that no other label has."""
    others = {w for other in all_labels if other is not label for w in other.words}
    own = [w for w in label.words if w not in others] or list(label.words)
    return min(words[w].start() if w in words else folded.find(w) for w in own)


def _rest(claim: str, labels: Sequence[_Label]) -> frozenset[str]:
    """Return the content words of a statement besides labels, numbers and periods."""
    spans = [(p.start, p.end) for p in periods(claim)] + [(q.start, q.end) for q in quantities(claim)]
    bare = claim
    for start, end in sorted(spans, reverse=True):
        bare = bare[:start] + " " * (end - start) + bare[end:]
    for cue in (DOWN, UP, _SHARE, _SUM, _WHOLE):
        bare = cue.sub(" ", bare)
    named = {word for label in labels for word in label.words}
    return frozenset(
        w for w in content_words(bare) if _fold(w) not in named and w not in _TINY and w not in named
    )


def _uncovered(rest: Collection[str], cell: TableCell) -> set[str]:
    told = content_words(f"{cell.row} {cell.column} {cell.section} {cell.around}")
    given = set(told)
    for same in _SAME_METRIC:
        if same & given:
            given |= same
    return {
        w
        for w in rest
        if w not in given and not any(w in g or g in w for g in given if not w.isascii() and len(g) > 1)
    }


def _quarters(placed: Sequence[_Placed], texts: Sequence[str]) -> dict[tuple[int, int], int]:
    """Return the quarter in which a month of a year ends a period, as the tables and texts show it."""
    found: dict[tuple[int, int], int] = {}
    told = [p for one in placed for p in one.cell.periods if p.month]
    for period in told:
        if period.months in (6, 9, 12):
            found[period.year, period.month] = period.months // 3
    ends = [_MONTHS.index(m[1].lower()) + 1 for text in texts for m in _FISCAL_END.finditer(text)]
    for period in told:
        if (period.year, period.month) not in found:
            month = (period.month - 2) % 12 + 1 if period.day and period.day < 8 else period.month
            last = ends[0] if ends else 12
            quarter = ((month - last - 1) % 12) // 3 + 1
            if ends or not _mentions(texts, period.year, quarter):
                found[period.year, period.month] = quarter if ends else 0
    return found


def _mentions(texts: Sequence[str], year: int, quarter: int) -> bool:
    return any(p.quarter == quarter and p.year == year for text in texts for p in periods(text))
