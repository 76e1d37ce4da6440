"""Arithmetic over prose: a statement's number as the sum, difference, ratio or share of numbers of a text.

The operands are chosen by the words around them, without looking at the result; then the result is compared.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from rag.citations.quantities import MONTHS, Quantity, periods, same_unit, undated
from rag.text.tokenize import content_words

Operation = Literal["sum", "difference", "ratio", "share", "growth", "years"]

_SUM = re.compile(
    r"\btogether\b|\bcombined\b|\bin total\b|\b(?:a|the) total of\b|\btotal(?:l?ed|s|l?ing)\b"
    r"|\bsum\b|\bin all\b|(?<![가-힣])합계|합쳐|합하|합친|합산|모두 합|\b총[계합액]?(?=[\s\d은을이])"
    r"|合計|合わせ|あわせ|总共|合计|一共",
    re.IGNORECASE,
)
_SPAN = re.compile(
    r"\b(?:later|earlier|after|before|between|lasted|for)\b|만에|뒤|후|동안|後|間|ぶり", re.IGNORECASE
)
_DIFFERENCE = re.compile(
    r"\b(?:more|\w{3,}er|less)\b[^.;]{0,60}\bthan\b|\b(?:above|below|difference|gap|by)\b|\bexceed"
    r"|더\s|보다|차이|より|差|比",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"\b(?:of|share|account\w*|made up|making up|represent\w*)\b"
    r"|비중|차지|가운데|중|割合|占め|のうち|比率|占",
    re.IGNORECASE,
)
_GREW = re.compile(
    r"\b(?:increas|rise|rising|rose|grew|grow|gain|climb|up\b)|증가|늘|상승|올랐|増|上昇|伸び|上升|增加|增长",
    re.IGNORECASE,
)
_SHRANK = re.compile(
    r"\b(?:decreas|declin|fall|fell|drop|shr[aiu]nk|reduc|down\b|less\b|fewer\b|lower\b)"
    r"|감소|줄|하락|적|낮|減|下落|低|少な|减少|下降",
    re.IGNORECASE,
)
_MULTIPLES: tuple[tuple[re.Pattern[str], Decimal], ...] = (
    (re.compile(r"\b(?:twice|doubl\w+)\b|두 배|2배|倍増|二倍", re.IGNORECASE), Decimal(2)),
    (re.compile(r"\b(?:tripl\w+|threefold)\b|세 배|三倍", re.IGNORECASE), Decimal(3)),
    (re.compile(r"\b(?:half|halv\w+)\b|절반|半分|半数|一半", re.IGNORECASE), Decimal("0.5")),
    (re.compile(r"\b(?:two[- ]thirds)\b|3분의 2|3分の2|三分之二", re.IGNORECASE), Decimal(2) / 3),
    (re.compile(r"\b(?:one|a)[- ]third\b|3분의 1|3分の1|三分之一", re.IGNORECASE), Decimal(1) / 3),
    (re.compile(r"\b(?:one|a)[- ]quarter of\b|4분의 1|4分の1|四分之一", re.IGNORECASE), Decimal("0.25")),
    (re.compile(r"\bthree[- ]quarters\b|4분의 3|4分の3|四分之三", re.IGNORECASE), Decimal("0.75")),
)
_ABOUT = re.compile(
    r"\b(?:about|around|roughly|approximately|nearly|almost|close to)\b|약|거의|가량|約|ほぼ|およそ|大约|近",
    re.IGNORECASE,
)
_OVER = re.compile(r"\b(?:more than|over|well over)\b|이상|넘|超|以上|多", re.IGNORECASE)
_UNDER = re.compile(r"\b(?:less than|under|just under)\b|미만|이하|弱|未満|不到", re.IGNORECASE)
_CLAUSE = re.compile(
    r"[;；。.!?]\s|[、，]|,\s|\b(?:and|while|but|whereas|compared|versus|to|from|with)\b|(?<=[가-힣](?:고|며|서))\s"
)
_NEAR = Decimal("0.05")
"""Share by which a fraction in words ("about half") may differ from its value."""
MOST_OPERANDS = 12
_SPANS = ("yr", "mo", "wk", "d", "h", "min")


@dataclass(frozen=True)
class Derivation:
    """Calculation of a number from two or more numbers of a text, and whether it gives the stated one."""

    holds: bool
    calculation: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Operand:
    quantity: Quantity
    words: frozenset[str]
    written: str
    year: int


@dataclass(frozen=True)
class _Target:
    """Number that a statement gives, or the multiple that a word stands for.

    `way` is 1 for a rise or for more, -1 for a fall or for less; `over_time` where the later one comes first.
    """

    operation: Operation
    quantity: Quantity
    way: int = 0
    over_time: bool = False

    def is_of(self, number: Decimal, base: Decimal) -> bool:
        """Return True where a number is this multiple of another."""
        return is_multiple(self.quantity, number, base)


def is_multiple(stated: Quantity, number: Decimal, base: Decimal) -> bool:
    """Return True where a number is so many times another: 355 is about 1.5 times 238."""
    if not base:
        return False
    value = abs(number / base)
    if stated.bound == "~":
        return abs(stated.value - value) <= stated.step / 2
    return stated.fits(replace(stated, value=value, bound=""))


def may_be_calculated(claim: str) -> bool:
    """Return True where a statement has a number and words of a calculation.

    >>> [may_be_calculated(said) for said in ("Both together employ 70 people.", "It opened in May 1932.")]
    [True, False]
    """
    numbers = undated(claim, periods(claim))
    return multiple(claim) is not None or any(_operation(claim, one) for one in numbers)


def derive(claim: str, text: str) -> Derivation | None:
    """Return how a text's numbers give the one number of a statement that it does not write.

    None where nothing is calculated, or where the words do not tell which numbers are meant.

    >>> derive("The two sites together employ 70 people.", "Ulm employs 40 people. Bonn employs 30 people.")
    Derivation(holds=True, calculation='40 + 30 = 70', spans=((12, 14), (36, 38)))
    """
    target = _target(claim, text)
    if target is None:
        return None
    if target.operation == "years":
        return _years(target.quantity, text)
    unit = target.quantity.unit
    found = [one for one in _operands(text, unit) if _is_operand(target, one.quantity)][:MOST_OPERANDS]
    chosen = _chosen(claim, target, found)
    return _calculated(claim, target, chosen) if chosen else None


def _target(claim: str, text: str) -> _Target | None:
    given = [one.quantity for one in _operands(text)]
    stated = undated(claim, periods(claim))
    open_ = [q for q in stated if not any(q.fits(other) for other in given)]
    if not open_:
        return multiple(claim)
    # "The two sites" counts what is added
    written = [q for q in open_ if any(map(str.isdecimal, claim[q.start : q.end]))]
    if len(written or open_) != 1:
        return None
    quantity = (written or open_)[0]
    operation = _operation(claim, quantity)
    way = _way(claim) or _compares(claim)
    return _Target(operation, quantity, way, bool(_way(claim))) if operation else None


def multiple(claim: str) -> _Target | None:
    """Return the multiple that a word states: "more than doubled", "about a third of"."""
    for pattern, value in _MULTIPLES:
        match = pattern.search(claim)
        if match is not None:
            before = claim[max(0, match.start() - 16) : match.start()]
            bound = ">" if _OVER.search(before) else "<" if _UNDER.search(before) else "~"
            step = value * _NEAR * (4 if _ABOUT.search(before) else 1)
            grown = match[0].lower().endswith(("ed", "ing")) or _way(claim) != 0
            number = Quantity(value, "times", step, bound, match.start(), match.end())
            return _Target("ratio", number, over_time=grown)
    return None


def _operation(claim: str, quantity: Quantity) -> Operation | None:
    if quantity.unit == "times":
        return "ratio"
    if quantity.unit == "%":
        return "growth" if _way(claim) else "share" if _SHARE.search(claim) else None
    if quantity.unit == "yr" and _SPAN.search(claim):
        return "years"
    if _SUM.search(claim) and quantity.unit != "yr":
        return "sum"
    changed = _way(claim) and quantity.unit not in _SPANS
    return "difference" if _DIFFERENCE.search(claim) or changed else None


def _way(claim: str) -> int:
    up, down = _GREW.search(claim), _SHRANK.search(claim)
    return (1 if up else -1) if bool(up) != bool(down) else 0


_MORE = re.compile(r"\b(?:more|\w{3,}er)\b[^.;]{0,60}\bthan\b|많|크|높|길|多|大き|高|長", re.IGNORECASE)
_LESS = re.compile(
    r"\b(?:less|fewer|lower|smaller|shorter|younger)\b[^.;]{0,60}\bthan\b|적|작|낮|짧|少な|小さ|低|短",
    re.IGNORECASE,
)
_BASE = re.compile(r"보다|より|比")


def _compares(claim: str) -> int:
    """Return 1 where the first of two is called more, -1 where it is called less, 0 without a comparison."""
    less, more = _LESS.search(claim), _MORE.search(claim)
    return -1 if less else 1 if more else 0


def _operands(text: str, unit: str = "") -> list[_Operand]:
    """Return the numbers of a text with the content words of their clauses, years as months where asked."""
    numbers = undated(text, periods(text))
    ends = sorted({0, len(text), *(m.end() for m in _CLAUSE.finditer(text))})
    found = [_operand(text, q, ends, numbers) for q in numbers]
    return [_in_months(one) if unit == "mo" and one.quantity.unit == "yr" else one for one in found]


def _in_months(operand: _Operand) -> _Operand:
    quantity = operand.quantity
    return replace(operand, quantity=replace(quantity, value=quantity.value * MONTHS, unit="mo"))


def _operand(text: str, quantity: Quantity, ends: Sequence[int], numbers: Sequence[Quantity]) -> _Operand:
    begin = max(e for e in ends if e <= quantity.start)
    close = min(e for e in ends if e >= quantity.end)
    begin = max([begin, *(q.end for q in numbers if q.end <= quantity.start)])
    close = min([close, *(q.start for q in numbers if q.start >= quantity.end)])
    around = text[begin : quantity.start] + " " + text[quantity.end : close]
    years = [p.year for p in periods(text[begin:close]) if p.year]
    return _Operand(
        quantity,
        frozenset(content_words(around)),
        text[quantity.start : quantity.end].strip(),
        years[-1] if years else 0,
    )


def _is_operand(target: _Target, quantity: Quantity) -> bool:
    if quantity.bound in ("<", ">"):
        return False
    if target.operation in ("sum", "difference"):
        return same_unit(target.quantity.unit, quantity.unit)
    return quantity.unit not in ("%", "times")


def _chosen(claim: str, target: _Target, found: Sequence[_Operand]) -> list[_Operand]:
    """Return the operands that the statement's words name, in its order; none where that is open."""
    if len(found) < 2:
        return []
    if len({one.quantity.unit for one in found} - {""}) > 1:
        return []
    shared = frozenset.intersection(*(one.words for one in found))
    said = content_words(claim)
    named = [(one, [said.index(word) for word in one.words - shared if word in said]) for one in found]
    asked = {p.year for p in periods(claim) if p.year}
    named = [(one, places) for one, places in named if not (asked and one.year and one.year not in asked)]
    told = [(one, places) for one, places in named if places]
    if len(found) == 2 and len(named) == 2:
        told = named  # no other numbers can be meant
    if len(told) < 2 or (len(told) > 2 and target.operation != "sum"):
        return []
    if target.operation == "growth":
        return [one for one, _ in told]
    return [one for one, _ in sorted(told, key=lambda pair: min(pair[1], default=len(said)))]


def _calculated(claim: str, target: _Target, chosen: Sequence[_Operand]) -> Derivation | None:
    if target.operation == "sum":
        value = sum((one.quantity.value for one in chosen), Decimal(0))
        return _compared(target, value, " + ".join(one.written for one in chosen), chosen)
    if target.operation == "difference":
        more, less = sorted(chosen, key=lambda one: one.quantity.value, reverse=True)
        value = more.quantity.value - less.quantity.value
        told = f"{more.written} - {less.written}"
        return _compared(target, value, told, chosen) if _order_holds(claim, target, chosen) else None
    return _grown(target, chosen) if target.operation == "growth" else _divided(target, chosen)


def _grown(target: _Target, chosen: Sequence[_Operand]) -> Derivation | None:
    old, new = _old_and_new(chosen)
    base, moved = old.quantity.value, new.quantity.value - old.quantity.value
    if not base or (moved > 0) != (target.way > 0):
        return None
    told = f"({new.written} - {old.written}) / {old.written}"
    return _compared(target, abs(moved) / abs(base) * 100, told, chosen)


def _divided(target: _Target, chosen: Sequence[_Operand]) -> Derivation | None:
    part, whole = reversed(_old_and_new(chosen)) if target.over_time else chosen
    if not part.quantity.value or not whole.quantity.value:
        return None
    value, told = part.quantity.value / whole.quantity.value, f"{part.written} / {whole.written}"
    if target.operation == "share":
        return _compared(target, value * 100, told, chosen)
    return _compared(target, value, told, chosen) if (value > 1) == (target.quantity.value > 1) else None


def _old_and_new(chosen: Sequence[_Operand]) -> tuple[_Operand, _Operand]:
    first, second = chosen[0], chosen[1]
    return (second, first) if first.year > second.year > 0 else (first, second)


def _order_holds(claim: str, target: _Target, chosen: Sequence[_Operand]) -> bool:
    """Return True where the one that the statement calls more is more."""
    if not target.way:
        return True
    if target.over_time:
        old, new = _old_and_new(chosen)
    else:
        new, old = chosen[0], chosen[1]
        base = _BASE.search(claim)
        said = content_words(claim[: base.start()]) if base else []
        if said and said[-1] in new.words - old.words:
            new, old = old, new
    return (new.quantity.value > old.quantity.value) == (target.way > 0)


def _compared(target: _Target, value: Decimal, formula: str, used: Sequence[_Operand]) -> Derivation:
    stated = target.quantity
    got = replace(stated, value=value, bound="")
    holds = stated.fits(got) if stated.bound != "~" else abs(stated.value - value) <= stated.step / 2
    spans = tuple((one.quantity.start, one.quantity.end) for one in used)
    return Derivation(holds, f"{formula} = {_plain(value)}", spans)


def _plain(value: Decimal) -> str:
    """Return a value with at most one decimal.

    >>> _plain(Decimal("14.8333333")), _plain(Decimal("70"))
    ('14.8', '70')
    """
    rounded = (
        value.quantize(Decimal(1)) if value == value.to_integral_value() else value.quantize(Decimal("0.1"))
    )
    return f"{rounded:,f}"


def _years(stated: Quantity, text: str) -> Derivation | None:
    """Return the years between the only two years of a text."""
    told = list(_distinct_years(text))
    if len(told) != 2:
        return None
    (one, a), (other, b) = told
    value = Decimal(abs(other - one))
    late, early = max(one, other), min(one, other)
    return Derivation(
        stated.fits(replace(stated, value=value, bound="")), f"{late} - {early} = {value}", (a, b)
    )


def _distinct_years(text: str) -> Iterator[tuple[int, tuple[int, int]]]:
    seen: set[int] = set()
    for period in periods(text):
        if period.year and period.year not in seen:
            seen.add(period.year)
            yield period.year, (period.start, period.end)
