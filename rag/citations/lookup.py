# ruff: noqa: E501
"""Lookup: reads statements about tables, and calculates what they derive from cells.

A number of a statement is the number of a cell, or of a difference, share or sum of cells. Which one is meant is
decided by labels and periods alone: of all cells, those whose labels the statement names best, and with the
least left over on both sides. Only then is the number compared. So an exchanged row or column is another number.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from math import fsum
from types import MappingProxyType

from rag.citations.arithmetic import is_multiple, multiple
from rag.citations.asked import (
    EACH,
    SHARE,
    SUPERLATIVE,
    YEAR_ON_YEAR,
    AskedNumber,
    Reading,
    Span,
    TableStatement,
    TableText,
    asked_numbers,
    blanked,
    compares_others,
    latest_of,
    place_of,
    rest_of,
    way_of,
)
from rag.citations.fiscal import calendar_quarter, ending_quarters, quarter_of
from rag.citations.logic import is_hedged
from rag.citations.placed_cells import (
    LOSS,
    TOTAL,
    PlacedCell,
    as_written,
    day_of,
    fits_cell,
    in_same_column,
    in_scale,
    is_alone_in_unit,
    is_comparable,
    label_words,
    latest_cells,
    length_of,
    may_be_scaled,
    moved_by,
    row_span,
    series_of,
)
from rag.citations.quantities import (
    MEASURES,
    MONEY,
    Quantity,
    StatedTime,
    agree,
    headed_unit,
    periods,
    quantities,
    same_unit,
    stated_scale,
)
from rag.citations.tables import TableCell, cells
from rag.text.facts import negations
from rag.text.tokenize import content_words

SPARE = 1  # content words of a statement that neither labels nor caption say: "brought in"
LEAST_LABEL = 0.5  # share of a row's label that a statement must name
COSTS = {"word left over": 1.0, "word left over elsewhere": 0.3, "label not named": 0.6, "section not named": 0.3,
         "label named elsewhere": 0.2, "label of another number": 0.8, "label named": -0.1, "currency not stated": 0.7}  # fmt: skip
NOTHING: Mapping[int, Collection[str]] = MappingProxyType({})
LONGEST_WORD = 40  # characters
CLEAR = 0.05  # by which the labels of a cell must fit better than another's
_WORD_BEFORE = re.compile(r"[^\W\d]+[\s-]?\Z")
_FISCAL = re.compile(r"(\bfiscal (?:year )?)((?:19|20)\d\d)\b", re.IGNORECASE)


_LEAST = re.compile(
    r"\b(?:least|lowest|smallest|shortest|fewest|driest|coldest|slowest)\b|작|적|낮|짧|최소|小さ|少な|低|短|最小",
    re.I,
)


class TableLookup:
    """Tables of numbered passages, in which statements are looked up.

    By the passage's number, `about` are the words on its document, unless they are labels here, and `owners`
    the names of whom it is about: a statement may have them beside a cell's labels.
    """

    def __init__(
        self,
        texts: Sequence[TableText],
        about: Mapping[int, Collection[str]] = NOTHING,
        owners: Mapping[int, Collection[str]] = NOTHING,
    ):
        placed = [(one.number, cell) for one in texts for cell in cells(one.text, one.above, one.about)]
        labels = content_words(" ".join({f"{c.row} {c.column} {c.section}" for _, c in placed}))
        own = {
            n: frozenset(about.get(n, ())).difference(labels) | frozenset(owners.get(n, ()))
            for n in (one.number for one in texts)
        }
        self._cells = [PlacedCell(n, cell, own[n]) for n, cell in placed]
        self._labels = " ".join({f"{c.row} | {c.column} | {c.section} |" for _, c in placed})
        self._texts = {one.number: one.text for one in texts}
        self._documents = {one.number: one.document for one in texts}
        self._rows = Counter(word for row in {p.row for p in self._cells} for word in row)
        self._weights = _weights(self._cells)
        self._quarters = {name: self._quarters_of(name) for name in {*self._documents.values()}}

    def __bool__(self) -> bool:
        return bool(self._cells)

    def touches(self, span: Span) -> bool:
        """Return True where some words are of a row of a table."""
        return bool(self.cells(span))

    def cells(self, span: Span) -> list[TableCell]:
        """Return the cells with numbers of the rows that some words are of."""
        return [
            p.cell
            for p in self._cells
            if p.number == span.number and p.cell.row_start < span.end and span.start < p.cell.row_end
        ]

    def _quarters_of(self, document: str) -> dict[tuple[int, int], int]:
        own = [p for p in self._cells if self._documents[p.number] == document]
        texts = [self._texts[number] for number, name in self._documents.items() if name == document]
        return ending_quarters([time for one in own for time in one.cell.periods], texts) if own else {}

    # A statement in words
    def read(self, claim: str, among: Collection[int] | None = None) -> Reading | None:
        """Return the reading of a statement in words; None where it is not about a table."""
        here = [p for p in self._cells if among is None or p.number in among]
        said = TableStatement(_FISCAL.sub(self._to_calendar, claim))
        if not here or negations(claim) or is_hedged(claim):
            return None
        said.numbers = [q for q in said.numbers if not _is_in_label(claim, q, self._labels)]
        said.of_rows = [time for time in said.times if self._is_of_row(said, time, here)]
        said.times = [time for time in said.times if time not in said.of_rows]
        if not said.numbers:
            return self._multiple(said, here) or self._compared(said, here)
        said.numbers = [q for q in said.numbers if not _is_between(q, said.times)] or said.numbers
        columns = {p.beside for p in here if p.beside}
        asked = asked_numbers(said, self._full_rows(said, here), columns)
        return self._all(said, [self._answer(said, one, here, asked) for one in asked]) if asked else None

    def _to_calendar(self, match: re.Match[str]) -> str:
        """Return a fiscal year as the year that the tables call it: fiscal 2023 ends in January."""
        year = int(match[2])
        dated = {p.year for one in self._cells for p in one.cell.periods if p.month}
        told = re.compile(rf"\b(?:quarter|months)\b[^.;]{{0,40}}\bfiscal (?:year )?{year}\b", re.IGNORECASE)
        shifted = year not in dated and year - 1 in dated and any(map(told.search, self._texts.values()))
        return f"{match[1]}{year - 1}" if shifted else match[0]

    def _all(self, said: TableStatement, found: Sequence["_Found | None"]) -> Reading | None:
        """Return the readings of the parts as one: what differs first; None where words are left over."""
        known = [one for one in found if one is not None]
        differs = next((one.reading for one in known if not one.reading.holds), None)
        if differs is not None or not found or len(known) < len(found):
            return differs
        used = [placed for one in known for placed in one.used]
        left = _left_by(said, used)
        if any(not any(_states(self._line(placed), time) for placed in used) for time in said.of_rows):
            return None
        if any(not any(clock in self._line(placed) for placed in used) for clock in said.clocks):
            return None
        if len(left) + len(left & said.names) > SPARE:
            return None
        if EACH.search(said.text) and not any(self._moves_steadily(said, placed) for placed in used):
            return None
        spans = tuple(dict.fromkeys(span for one in known for span in one.reading.spans))
        told = "; ".join(dict.fromkeys(one.reading.calculation for one in known if one.reading.calculation))
        return Reading(True, spans, calculation=told)

    def _full_rows(self, said: TableStatement, here: Sequence[PlacedCell]) -> list[tuple[str, ...]]:
        """Return the row labels that a statement names in full, without those inside longer ones.

        They are in the statement's order; those that it gives by their initials are in the table's.
        """
        rows = dict.fromkeys(p.row for p in here if p.row)
        full = [row for row in rows if len(said.named(row)) == len(row)]
        kept = [a for a in full if not any(set(a) < set(b) for b in full)]
        return sorted(kept, key=lambda row: place_of(row, kept, said))

    def _answer(
        self,
        said: TableStatement,
        asked: AskedNumber,
        here: Sequence[PlacedCell],
        every: Sequence[AskedNumber],
    ) -> "_Found | None":
        if asked.kind == "sum":
            return self._summed(said, asked, here)
        if asked.kind == "share":
            written = self._one(said, asked, here, every)
            if written is not None and _names_all(said, written.used[0].beside):
                return written
            shared = self._shared(said, asked, here, every)
            return shared if written is None or not written.reading.holds else written
        if asked.kind == "ratio":
            return self._as_ratio(said, asked, here, every)
        if asked.kind in ("change", "difference"):
            return self._changed(said, asked, here, every)
        apart = (
            asked.period is not None and said.text[asked.period.start : asked.period.end] not in asked.near
        )
        found = self._one(said, asked, here, every)
        if not apart or (found and found.reading.holds):
            return found
        undated = self._one(said, replace(asked, period=None), here, every, sure=True)
        return undated if undated and undated.reading.holds else found

    # Cells by their labels
    def _best(
        self,
        said: TableStatement,
        asked: AskedNumber,
        found: Sequence[PlacedCell],
        every: Sequence[AskedNumber],
    ) -> list[PlacedCell]:
        """Return the cells in a time whose labels a statement names best."""
        dated = self._at(asked.period, [p for p in found if asked.row in (None, p.row)])
        near = TableStatement(asked.near)
        others = TableStatement(" ".join(one.near for one in every if one.near != asked.near))
        least: dict[tuple[str, ...], float] = {p.row: self._share_named(said, p.row) for p in dated}
        able = [
            p
            for p in dated
            if least[p.row] >= LEAST_LABEL
            or (said.named(p.beside) and (p.row in ((), ("total",)) or is_alone_in_unit(p, dated)))
        ]
        whole = {"".join(p.row) for p in able if len(said.named(p.row)) == len(p.row)}
        able = [p for p in able if not any("".join(p.row) in one and "".join(p.row) != one for one in whole)]
        if not able:
            return []
        by_row, by_column = (
            (near, others) if any(near.named(label) for label in labels) else (said, TableStatement(""))
            for labels in ({p.row for p in able}, {p.beside for p in able})
        )  # "of which 8 is due" is about the row named before
        words = near.rest, said.rest - by_row[1].rest  # what labels another number is not left over
        unit = asked.quantity.unit
        stating = {p.table for p in found if p.cell.quantity.unit == unit or unit not in MONEY}
        costs = [
            self._cost(p, said, (by_row, by_column), words)
            + COSTS["currency not stated"] * (p.table not in stating)
            for p in able
        ]
        return [p for p, cost in zip(able, costs, strict=True) if cost <= min(costs) + CLEAR]

    def _share_named(self, said: TableStatement, row: tuple[str, ...]) -> float:
        telling = [word for word in row if word != "total"] or row
        total = fsum(1 / self._rows[word] for word in telling)
        named = said.named(telling)
        return fsum(1 / self._rows[word] for word in named) / total if total else 0.0

    def _cost(
        self,
        placed: PlacedCell,
        said: TableStatement,
        beside: Sequence[tuple[TableStatement, TableStatement]],
        words: tuple[Collection[str], Collection[str]],
    ) -> float:
        """Return how badly a cell's labels fit: its labels that are not named, and words that it does not say."""
        left, everywhere = placed.lacks(words[0]), placed.lacks(words[1])
        cost = COSTS["word left over"] * len(left) + COSTS["word left over elsewhere"] * len(
            everywhere - left
        )
        weights = self._weights[placed.table]
        labels = (placed.row, "label not named"), (placed.beside, "section not named")
        for (label, missing), (near, others) in zip(labels, beside, strict=True):
            here, anywhere, of_others = near.named(label), said.named(label), others.named(label)
            for word in label:
                if word in here:
                    cost += weights[word] * COSTS["label named"]
                elif word == "total":
                    continue  # what has no part named is the whole
                elif word in of_others:
                    cost += weights[word] * COSTS["label of another number"]
                else:
                    cost += weights[word] * COSTS["label named elsewhere" if word in anywhere else missing]
        return cost

    def _at(self, period: StatedTime | None, found: Sequence[PlacedCell]) -> list[PlacedCell]:
        """Return the cells of a period, those that state it first."""
        if period is None:
            return list(found)
        agreeing = [p for p in found if self._agrees(period, p)]
        stated = [p for p in agreeing if any(one.year or not period.year for one in p.cell.periods)]
        return stated or agreeing

    def _agrees(self, period: StatedTime, placed: PlacedCell) -> bool:
        cell = placed.cell
        told = cell.periods or tuple(periods(cell.around))
        if not told:
            dated = any(p.cell.periods for p in self._cells if p.table == placed.table)
            return not period.year or cell.is_change or not dated
        if any(one.back and not one.year for one in told):
            return not period.year  # "prior year" of a year that is not known
        known = self._quarters[self._documents[placed.number]]

        def quarter(day: StatedTime) -> int:
            return quarter_of(day, known) or (calendar_quarter(day) if day is period else 0)

        fitting = (one for one in told if agree(period, one, quarter))
        return any(not period.year or one.year or not any(other.year for other in told) for one in fitting)

    def _is_of_asked_year(self, said: TableStatement, asked: AskedNumber, placed: PlacedCell) -> bool:
        """Return True unless a statement without a year asks for the prior year's column, or for another."""
        if asked.period is not None or asked.kind != "value" or not self._has_prior_year(placed):
            return True
        is_prior = any(one.back for one in placed.cell.periods)
        if asked.before is not None:
            return not is_prior  # "up from 4 in the prior year"
        asks_prior = any(time.back for time in said.times) and not YEAR_ON_YEAR.search(said.text)
        return is_prior or not asks_prior

    def _has_prior_year(self, placed: PlacedCell) -> bool:
        """Return True where a column of a cell's table is headed "prior year"."""
        return any(one.back for p in self._cells if p.table == placed.table for one in p.cell.periods)

    def _is_of_row(self, said: TableStatement, time: StatedTime, here: Sequence[PlacedCell]) -> bool:
        """Return True for a time that only the text of a named row states: "opened on 2 May 1994"."""
        if not (time.year and time.month) or any(p.cell.periods and self._agrees(time, p) for p in here):
            return False
        return any(
            self._share_named(said, p.row) >= LEAST_LABEL and _states(self._line(p), time) for p in here
        )

    def _line(self, placed: PlacedCell) -> str:
        return self._texts[placed.number][placed.cell.row_start : placed.cell.row_end]

    def _one(
        self,
        said: TableStatement,
        asked: AskedNumber,
        here: Sequence[PlacedCell],
        every: Sequence[AskedNumber],
        sure: bool = False,
    ) -> "_Found | None":
        """Return the reading of a number as the number of a cell; `sure` where it must be the only one."""
        fitting = [
            p
            for p in here
            if is_comparable(asked.quantity, said.text, p.cell)
            and (p.is_value or asked.kind == "change")
            and self._is_of_asked_year(said, asked, p)
        ]
        unit = asked.quantity.unit
        measured = [p for p in fitting if unit in MEASURES and p.cell.quantity.unit]
        measured = measured or [p for p in fitting if unit in MONEY and headed_unit(p.cell.column) == unit]
        tables = {p.table for p in measured}  # of another table nothing is known by this
        able = [*measured, *(p for p in fitting if p.table not in tables)]
        best = self._best(said, asked, able, every)
        if asked.period is None and not (sure and len(best) > 1):
            latest = latest_cells(best)
            earlier = [p for p in best if p not in latest and fits_cell(asked.quantity, p, asked.lead)]
            best = latest if asked.before is not None or not earlier else []
        if not best or (sure and len(best) > 1):
            return None
        held = [p for p in best if fits_cell(asked.quantity, p, asked.lead)]
        if len(held) < len(best) and len({(p.row, p.beside) for p in best}) > 1:
            return None
        if not held:
            differs = (
                not sure
                and len(best) == 1
                and self._is_sure(said, asked, best[0], able)
                and not self._is_calculated(asked.quantity, best[0])
            )
            return (
                _Found(Reading(False, (row_span(best[0]),), said=as_written(best[0].cell)), best)
                if differs
                else None
            )
        if SUPERLATIVE.search(asked.near) and not self._is_extreme(asked.near, held[0], here):
            return None
        return self._with_before(said, asked, held, here)

    def _is_sure(
        self, said: TableStatement, asked: AskedNumber, placed: PlacedCell, able: Sequence[PlacedCell]
    ) -> bool:
        """Return True where a statement names a cell, and no name is left over, so that another number differs.

        `able` are the cells that may be meant by their unit. A row with only a time for a label is named by its time, and its cell by the column.
        """
        label = placed.row or (placed.beside if asked.period is not None and placed.cell.periods else ())
        so_far = TableStatement(said.text[: said.text.find(asked.near) + len(asked.near)])
        named = _names_all(so_far, label)  # a later label is of a later number
        is_total = label == ("total",)  # which names no table: its column, or unit and every word must
        stated = placed.cell.quantity.unit == asked.quantity.unit != "" or said.named(placed.beside)
        return (
            named
            and len(placed.lacks(rest_of(asked.near))) <= SPARE
            and len(placed.lacks(said.rest)) <= (0 if is_total else SPARE)
            and (stated or not is_total)
            and not placed.lacks(said.rest & said.names)
            and not may_be_scaled(asked.quantity, placed.cell)
            and (len(so_far.named(placed.beside)) == len(placed.beside) or not self._has_others(placed, able))
        )

    def _is_calculated(self, quantity: Quantity, placed: PlacedCell) -> bool:
        """Return True where a number is a difference, a rate or a share of the named cell, so no other value."""
        own = placed.cell.quantity
        column = [p for p in self._cells if in_same_column(p, placed)]
        for other in (*series_of(placed, self._cells), *(p for p in column if TOTAL.match(p.cell.row))):
            base = other.cell.quantity
            moved = [own.value - base.value] if same_unit(quantity.unit, own.unit) else []
            rates = [(own.value - base.value) / base.value, own.value / base.value] if base.value else []
            told = [*moved, *(rate * 100 for rate in rates if quantity.unit == "%" != own.unit)]
            if any(quantity.fits(replace(own, value=one, unit=quantity.unit, bound="")) for one in told):
                return True
        return False

    @staticmethod
    def _has_others(placed: PlacedCell, able: Sequence[PlacedCell]) -> bool:
        """Return True where a row has numbers of one time and unit in several columns: by region, by level."""
        cell = placed.cell
        return any(
            p.table == placed.table and p.cell.row_start == cell.row_start and p.is_value
            and p.cell.periods == cell.periods and p.cell.column != cell.column
            and same_unit(p.cell.quantity.unit, cell.quantity.unit)
            for p in able
        )  # fmt: skip

    def _with_before(
        self, said: TableStatement, asked: AskedNumber, held: Sequence[PlacedCell], here: Sequence[PlacedCell]
    ) -> "_Found | None":
        """Return the reading of a number with the one before it, where it is told or a direction is."""
        is_most = asked.before is None and SUPERLATIVE.search(asked.near)  # "the most" is no rise
        way = 0 if is_most else way_of(_without(said.text if asked.before else asked.near, held[0]), None)
        times = multiple(asked.near)
        if asked.before is None and not way and times is None:
            return _Found(Reading(True, (row_span(held[0]),)), [held[0]])
        for now in held:
            before = self._before(now, here, asked.before_period)
            if before is None:
                continue
            moved = moved_by(before.cell, now.cell)
            if asked.before is not None and not fits_cell(
                asked.before, before, said.text[max(0, asked.before.start - 24) : asked.before.start]
            ):
                return _Found(
                    Reading(False, (row_span(before),), said=as_written(before.cell)), [now, before]
                )
            if times is not None and not times.is_of(now.cell.quantity.value, before.cell.quantity.value):
                return None
            if way and moved and (moved > 0) != (way > 0) and not LOSS.search(said.text):
                if compares_others(said.text):
                    return None
                told = f"{as_written(before.cell)} → {as_written(now.cell)}"
                return _Found(Reading(False, (row_span(now),), said=told), [now])
            return _Found(Reading(True, (row_span(now),)), [now, before])
        return None

    def _before(
        self, now: PlacedCell, here: Sequence[PlacedCell], base: StatedTime | None = None
    ) -> PlacedCell | None:
        """Return a row's cell of a base year, the year before, or the only other time.

        Where the times are the labels of the rows, it is the cell of the same column.
        """
        row = series_of(now, here)
        told = now.cell.periods[0] if now.cell.periods else None
        if told is None or not told.year:
            return None
        same = [p for p in row if p.cell.periods and length_of(p.cell.periods[0]) == length_of(told)]
        year = base.year if base and base.year else told.year - 1
        exact = [p for p in same if p.cell.periods[0].year == year]
        earlier = [p for p in same if day_of(p.cell.periods[0]) < day_of(told)]
        return exact[0] if exact else earlier[0] if len(earlier) == 1 and not (base and base.year) else None

    def _moves_steadily(self, said: TableStatement, placed: PlacedCell) -> bool:
        """Return True where the numbers of a row move the stated way from each time to the next."""
        series = [p for p in (placed, *series_of(placed, self._cells)) if p.cell.periods]
        years = [time.year for time in said.times if time.year]
        within = [p for p in series if len(years) < 2 or min(years) <= p.cell.periods[0].year <= max(years)]
        ordered = sorted(within, key=lambda p: day_of(p.cell.periods[0]))
        moves = [moved_by(one.cell, other.cell) for one, other in pairwise(ordered)]
        way = way_of(_without(said.text, placed), None)
        return way != 0 and len(moves) > 1 and all(move * way > 0 for move in moves)

    def _is_extreme(self, near: str, placed: PlacedCell, here: Sequence[PlacedCell]) -> bool:
        """Return True where no row of a column has a greater number, or a smaller one where that is said."""
        cell = placed.cell
        column = [
            p.cell.quantity.value
            for p in here
            if p.table == placed.table and (p.cell.column, p.cell.periods) == (cell.column, cell.periods)
            and not TOTAL.match(p.cell.row)
        ]  # fmt: skip
        return cell.quantity.value == (min(column) if _LEAST.search(near) else max(column))

    # A comparison without a number
    def _multiple(self, said: TableStatement, here: Sequence[PlacedCell]) -> Reading | None:
        """Return the reading of a row that is said to be twice another, or half of it."""
        times = multiple(said.text)
        rows = self._full_rows(said, here)
        if times is None or len(rows) != 2:
            return None
        asked = AskedNumber(times.quantity, said.text, "ratio", latest_of(said.times))
        return self._all(said, [self._as_ratio(said, asked, here, [asked])])

    def _compared(self, said: TableStatement, here: Sequence[PlacedCell]) -> Reading | None:
        """Return the reading of rows that are said to rise or fall, each with a direction in its clause."""
        found: list[_Found | None] = []
        dated = [one for one in said.times if one.year or one.months or one.quarter]
        for clause in _BETWEEN.split(said.text):
            part = TableStatement(clause)
            rows = self._full_rows(part, here)
            if len(rows) != 1:
                return None
            own = [one for one in periods(clause) if one.year or one.months or one.quarter] or dated
            nothing = Quantity(Decimal(0), "", Decimal(1), "", 0, 0)
            asked = AskedNumber(nothing, clause, period=latest_of(own), row=rows[0])
            best = latest_cells(self._best(part, asked, [p for p in here if p.is_value], [asked]))
            if not own or not best or not way_of(_without(clause, best[0]), None):
                return None
            found.append(self._with_before(part, asked, best, here))
        return self._all(said, found)

    # Calculations
    def _changed(
        self,
        said: TableStatement,
        asked: AskedNumber,
        here: Sequence[PlacedCell],
        every: Sequence[AskedNumber],
    ) -> "_Found | None":
        """Return the reading of a number as a change: the one of a column of changes, else calculated."""
        percent = asked.kind == "change"
        way = way_of(_without_rows(said, here), asked.quantity) or (-1 if asked.quantity.value < 0 else 1)
        rows = [row for row in self._full_rows(said, here) if not TOTAL.match(" ".join(row))]
        if len(rows) == 2 and len(said.numbers) == 1:
            return self._between(rows, asked, here, way, percent=percent)
        written = [p for p in here if p.cell.is_change and p.cell.quantity.unit == asked.quantity.unit]
        for placed in self._best(said, asked, written, every):
            value = placed.cell.quantity
            if asked.quantity.fits(value) and (not value.value or (value.value > 0) == (way > 0)):
                return _Found(Reading(True, (row_span(placed),)), [placed])
        values = [p for p in here if p.is_value and (not percent or p.cell.quantity.unit != "%")]
        best = self._best(said, asked, values, every)
        best = best if asked.period is not None else latest_cells(best)
        pairs = [(now, before) for now in best if (before := self._before(now, here, asked.before_period))]
        if not pairs or len({now.row for now, _ in pairs}) > 1:
            return None
        read = [_difference(asked.quantity, *pair, way, percent=percent) for pair in pairs]
        held = [one for one in read if one is not None and one.reading.holds]
        sure = len(pairs) == 1 and self._is_sure(said, asked, pairs[0][0], values)
        return held[0] if held else read[0] if sure else None

    def _between(
        self,
        rows: Sequence[tuple[str, ...]],
        asked: AskedNumber,
        here: Sequence[PlacedCell],
        way: int,
        *,
        percent: bool,
    ) -> "_Found | None":
        """Return the reading of a number as the difference of two rows in one column, where it is that."""
        pairs = self._pairs(rows, asked, [p for p in here if p.is_value])
        read = [_difference(asked.quantity, *pair, way, percent=percent) for pair in pairs]
        return next((one for one in read if one is not None and one.reading.holds), None)

    def _summed(
        self, said: TableStatement, asked: AskedNumber, here: Sequence[PlacedCell]
    ) -> "_Found | None":
        """Return the reading of a number as the sum of the rows that a statement names, in one column."""
        rows = [row for row in self._full_rows(said, here) if not TOTAL.match(" ".join(row))]
        columns: dict[tuple[object, ...], list[PlacedCell]] = {}
        for placed in self._at(asked.period, [p for p in here if p.is_value and p.row in rows]):
            cell = placed.cell
            columns.setdefault((placed.table, cell.column, cell.section, cell.periods), []).append(placed)
        whole = [part for part in columns.values() if len(part) == len(rows) > 1]
        read = [_as_sum(sorted(part, key=lambda p: rows.index(p.row)), asked.quantity) for part in whole]
        held = [one for one in read if one.reading.holds]
        return held[0] if held else read[0] if len(read) == 1 and asked.period else None

    def _shared(
        self,
        said: TableStatement,
        asked: AskedNumber,
        here: Sequence[PlacedCell],
        every: Sequence[AskedNumber],
    ) -> "_Found | None":
        """Return the reading of a number as the share of a row in another, or in the total of its column."""
        values = [p for p in here if p.is_value and p.cell.quantity.unit != "%"]
        end = asked.quantity.end
        part_text = said.text[:end]
        rows = self._full_rows(said, here)
        if len(rows) == 2 and rows[0] != rows[1]:
            parts = self._best(said, replace(asked, row=rows[0]), values, every)
        else:
            parts = self._best(said, replace(asked, near=part_text), values, [])
        wholes = [
            self._whole(said, rows, part, [p for p in values if in_same_column(p, part)]) for part in parts
        ]
        pairs = [(part, whole) for part, whole in zip(parts, wholes, strict=True) if whole is not None]
        named = [pair for pair in pairs if len(rows) == 2 and pair[1].row == rows[1]]
        pairs = named or pairs
        for part, whole in pairs if len({(p.row, p.cell.section) for p, _ in pairs}) == 1 else ():
            if 0 < part.cell.quantity.value <= whole.cell.quantity.value:
                value = part.cell.quantity.value / whole.cell.quantity.value * 100
                told = f"{as_written(part.cell)} / {as_written(whole.cell)} = {value:.1f} %"
                got = replace(asked.quantity, value=value, bound="")
                found = _result(asked.quantity, got, [part, whole], told)
                spare = SPARE if _names_all(said, whole.row) else 0
                sure = found.reading.holds or len(_left_by(said, found.used)) <= spare
                return found if sure else None
        return None

    def _as_ratio(
        self,
        said: TableStatement,
        asked: AskedNumber,
        here: Sequence[PlacedCell],
        every: Sequence[AskedNumber],
    ) -> "_Found | None":
        """Return the reading of "1.5 times" as a cell in another of its row or column, where it is that."""
        rows = self._full_rows(said, here)
        values = [p for p in here if p.is_value]
        if len(rows) == 2:
            found = self._pairs(rows, asked, values)
            fits = [(len(said.named(one.beside)), -len(one.beside)) for one, _ in found]
            pairs = [pair for pair, fit in zip(found, fits, strict=True) if fit == max(fits)]
        else:
            best = self._best(said, asked, values, every)
            best = best if asked.period is not None else latest_cells(best)
            pairs = [(one, other) for one in best if (other := self._before(one, here, asked.before_period))]
        held = [
            pair
            for pair in pairs
            if is_multiple(asked.quantity, *(placed.cell.quantity.value for placed in pair))
        ]
        if len(pairs) != 1 or not held:
            return None
        now, then = (placed.cell for placed in held[0])
        told = f"{as_written(now)} / {as_written(then)} = {now.quantity.value / then.quantity.value:.2f}"
        spans = tuple(dict.fromkeys(map(row_span, held[0])))
        return _Found(Reading(True, spans, calculation=told), held[0])

    def _pairs(
        self, rows: Sequence[tuple[str, ...]], asked: AskedNumber, values: Sequence[PlacedCell]
    ) -> list[tuple[PlacedCell, PlacedCell]]:
        """Return the cells of two rows that stand in one column of a time, by default of the latest."""
        cells = self._at(asked.period, [p for p in values if p.row in rows])
        latest = cells if asked.period is not None else latest_cells(cells)
        pairs = [
            (one, other)
            for one in latest
            for other in latest
            if (one.row, other.row) == tuple(rows) and in_same_column(one, other)
        ]
        return [(one, other) for one, other in pairs if one.beside == other.beside] or pairs

    def _whole(
        self,
        said: TableStatement,
        rows: Sequence[tuple[str, ...]],
        part: PlacedCell,
        column: Sequence[PlacedCell],
    ) -> PlacedCell | None:
        """Return the cell that a share is of: the other row, the row of another section, or the nearest total."""
        other = [p for p in column if len(rows) == 2 and p.row == rows[1]]
        totals = [p for p in column if TOTAL.match(p.cell.row)] if SHARE.search(said.text) else []
        apart = [
            p
            for p in column
            if p.row == part.row and p.cell.section != part.cell.section
            and _names_all(said, label_words(p.cell.section))
        ]  # fmt: skip
        near = sorted(
            totals,
            key=lambda p: (
                p.cell.row_start < part.cell.row_start,
                abs(p.cell.row_start - part.cell.row_start),
            ),
        )
        return next(iter([*other, *apart, *near]), None)

    # A row of a table in the answer
    def read_row(
        self, head: Sequence[str], row: Sequence[str], above: str = "", among: Collection[int] | None = None
    ) -> Reading | None:
        """Return the reading of a row of a table, each cell by its label and header; None where one is not found."""
        here = [p for p in self._cells if among is None or p.number in among]
        shared = periods(f"{above} {row[0]}") if row else []
        dated = [one for text in head[1:] for one in periods(text)[-1:]]
        found: list[_Found | None] = []
        said = TableStatement(" ".join([row[0], *head[1:]])) if row else TableStatement("")
        for header, cell in zip(head[1:], row[1:], strict=False):
            read = quantities(cell)
            if not read:
                found += [] if not cell.strip("-–— ") else [None]
                continue
            told = next(iter(reversed(periods(header) or shared)), None)
            change = told is None and read[0].unit == "%" and bool(dated)
            quantity = _in_unit_of(read[0], cell, f"{row[0]} {' '.join(head)}")
            near = f"{row[0]} {header}"
            asked = AskedNumber(
                quantity, near, "change" if change else "value", latest_of(dated) if change else told
            )
            part = TableStatement(near)
            if len(read) != 1 or is_hedged(near):
                return None
            found.append(
                self._changed(part, asked, here, [asked]) if change else self._one(part, asked, here, [asked])
            )
        return self._all(said, found)


@dataclass(frozen=True)
class _Found:
    """Reading with the cells that it used."""

    reading: Reading
    used: Sequence[PlacedCell]


def _names_all(said: TableStatement, label: Sequence[str]) -> bool:
    return len(said.named(label)) == len(label) > 0


def _weights(placed: Sequence[PlacedCell]) -> dict[tuple[int, int], Counter[str] | Mapping[str, float]]:
    """Return by table how much each label's word tells its cells apart: 0 for a word of all."""
    sizes = Counter(p.table for p in placed)
    counts: dict[tuple[int, int], Counter[str]] = {table: Counter() for table in sizes}
    for p in placed:
        counts[p.table].update({*p.row, *p.beside})
    return {
        table: {word: 1 - (n - 1) / sizes[table] for word, n in words.items()}
        for table, words in counts.items()
    }


_BETWEEN = re.compile(
    r",?\s*\b(?:while|whereas|but)\b\s*|;\s*|(?<=[가-힣](?:고|며))\s|(?<=지만)[,\s]|(?<=[し])、"
)


def _without(text: str, placed: PlacedCell) -> str:
    """Return a text without the words of a cell's labels, which may be words of a direction: "More Computing"."""
    return blanked(text, {*placed.row, *placed.beside})


def _without_rows(said: TableStatement, here: Sequence[PlacedCell]) -> str:
    return blanked(said.text, {"more", "up", "net"} & {word for p in here for word in p.row if p.row})


def _states(text: str, time: StatedTime) -> bool:
    return any((p.year, p.month, p.day) == (time.year, time.month, time.day) for p in periods(text))


def _is_between(quantity: Quantity, times: Sequence[StatedTime]) -> bool:
    """Return True for the years between two that a statement names: "in the 3 years from 2022 to 2025"."""
    years = {time.year for time in times if time.year}
    return len(years) == 2 and quantity.unit == "yr" and quantity.value == max(years) - min(years)


def _is_in_label(claim: str, quantity: Quantity, labels: str) -> bool:
    """Return True for a number that is part of a name: "Office 365 Suite", "Eco 50"."""
    told = claim[quantity.start : quantity.end + 2]
    if len(told.strip()) > quantity.end - quantity.start and told in labels:
        return True
    before = _WORD_BEFORE.search(claim[max(0, quantity.start - LONGEST_WORD) : quantity.start])
    if before is None or not content_words(before[0]):
        return False
    name = re.escape(f"{before[0]}{claim[quantity.start : quantity.end].strip()}")
    return re.search(rf"(?<!\w){name}(?![\w.,%])", labels, re.IGNORECASE) is not None


def _in_unit_of(read: Quantity, cell: str, head: str) -> Quantity:
    """Return the number of an answer's cell in the scale that its table states."""
    negative = re.match(r"\s*(?:[-−–△▲(\[]|[$€£¥₩]\s?[(-])", cell) is not None
    read = replace(read, value=-abs(read.value) if negative else read.value)
    unit = stated_scale(head)
    if unit is None or (read.unit and read.unit not in MONEY) or read.step != 1:
        return read
    power = Decimal(10) ** unit[0]
    return replace(read, value=read.value * power, step=power, unit=read.unit or unit[1])


def _difference(
    quantity: Quantity, now: PlacedCell, before: PlacedCell, way: int, *, percent: bool
) -> "_Found | None":
    """Compare a stated change with the difference of two cells, or with the rate of it."""
    one, other = now.cell.quantity, before.cell.quantity
    if percent and not other.value:
        return None
    value = (one.value - other.value) / (abs(other.value) if percent else 1) * (100 if percent else 1)
    told = f"{as_written(now.cell)} - {as_written(before.cell)}"
    told = (
        f"({told}) / {as_written(before.cell)} = {value:.1f} %"
        if percent
        else f"{told} = {in_scale(value, now.cell)}"
    )
    found = _result(
        quantity, replace(quantity if percent else one, value=value, bound=""), [now, before], told
    )
    if value and (value > 0) != (way > 0):
        return _Found(Reading(False, found.reading.spans, said=told), found.used)
    return found


def _as_sum(known: Sequence[PlacedCell], quantity: Quantity) -> "_Found":
    """Compare a stated quantity with the sum of cells."""
    value = sum((p.cell.quantity.value for p in known), Decimal(0))
    told = " + ".join(as_written(p.cell) for p in known) + f" = {in_scale(value, known[0].cell)}"
    return _result(quantity, replace(known[0].cell.quantity, value=value), known, told)


def _result(quantity: Quantity, got: Quantity, used: Sequence[PlacedCell], told: str) -> "_Found":
    spans = tuple(dict.fromkeys(map(row_span, used)))
    if quantity.fits(got):
        return _Found(Reading(True, spans, calculation=told), used)
    return _Found(Reading(False, spans, said=told), used)


# Words


def _left_by(said: TableStatement, used: Iterable[PlacedCell]) -> set[str]:
    """Return the content words that none of some cells says, not even in full for initials."""
    left = set(said.rest)
    for placed in used:
        left = placed.lacks(left)
        spelled = [one for one in said.initials if one in "".join(word[0] for word in placed.row)]
        left.difference_update(content_words(" ".join(spelled)))
    return left
