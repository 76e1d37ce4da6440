# ruff: noqa: E501
"""Periods: dates, quarters, years and spans of months in a text, by value."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero", "february feb februar février febrero", "march mar märz mars marzo",
            "april apr avril abril", "may mai mayo", "june jun juni juin junio", "july jul juli juillet julio",
            "august aug août agosto", "september sep sept septembre septiembre", "october oct oktober octobre octubre",
            "november nov novembre noviembre", "december dec dezember décembre diciembre",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_ORDINAL = {"first": 1, "second": 2, "third": 3, "fourth": 4, "one": 1, "two": 2, "three": 3, "four": 4, "six": 6,
            "nine": 9, "twelve": 12, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}  # fmt: skip
_ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
_M = "|".join(sorted(_MONTHS, key=len, reverse=True))
_Y = r"(?:1\d|20)\d\d"
_N = "|".join(_ORDINAL)
_PATTERN = re.compile(
    rf"(?P<span>\b(?:(?:first|last|the)\s+)?(?:{_N}|\d{{1,2}})[\s-]+months?\b(?:\s+period)?(?:\s+(?:ended|ending|to|of|through|until))?)"
    r"|(?P<three>\bquarter(?:ly period)?\s+(?:ended|ending)\b)"
    rf"|(?P<quarter>\b(?:(?P<qword>{_N})[\s-]+(?:fiscal\s+|calendar\s+)?quarter|Q(?P<q>[1-4]))(?:\s+(?:of|in))?)"
    rf"|(?P<half>\b(?P<hword>first|second)[\s-]+half(?:\s+of)?|(?<!\d)(?P<hcjk>상반기|하반기|上半期|下半期))"
    rf"|(?P<cq>第?\s?(?P<cqn>[1-4一二三四])\s?(?:분기|四半期|季度))"
    rf"|(?P<ytd>\bYTD\b|\byear[\s-]to[\s-]date\b|누적|累計)"
    rf"|\b(?P<mdy>(?P<mon1>{_M})\b\.?\s*(?P<day1>\d{{1,2}})(?:st|nd|rd|th)?\s*,?\s*(?P<year1>{_Y})\b)"
    rf"|\b(?P<dmy>(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\.?\s+(?:of\s+|de\s+)?(?P<mon2>{_M})\b\.?,?\s*(?:de\s+)?(?P<year2>{_Y})?\b)"
    rf"|\b(?P<md>(?P<mon3>{_M})\b\.?\s*(?P<day3>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))"
    rf"|\b(?P<my>(?P<mon4>{_M})\b\.?,?\s*(?:of\s+|de\s+)?(?P<year4>{_Y})\b)"
    rf"|(?P<iso>\b(?P<year5>{_Y})[-/.](?P<mon5>\d{{1,2}})[-/.](?P<day5>\d{{1,2}})\b)"
    rf"|(?P<cjk>(?P<year6>{_Y})\s?[년年](?:度|도)?(?:\s?\([^)]{{1,12}}\))?\s?(?:(?P<mon6>\d{{1,2}})\s?[월月]\s?(?:(?P<day6>\d{{1,2}})\s?[일日])?)?)"
    rf"|(?P<era>(?P<ename>明治|大正|昭和|平成|令和)(?P<eyear>\d{{1,2}}|元)年(?:(?P<mon7>\d{{1,2}})月(?:(?P<day7>\d{{1,2}})日)?)?)"
    rf"|(?P<year>(?<![\d,.$€£¥₩])(?<!\D-)\b{_Y}\b(?![,.]?\d|\s?%|\s?(?:[만억조万億台種人名個件本冊円か]|[명대개종건권원]\b)))(?P<decade>s\b)?"
    r"|(?P<back>\b(?:a|one) year (?:before|earlier|ago|prior)|\bthe (?:year before|prior[- ]year|previous year)(?:\s+quarter)?"
    r"|\bsame (?:quarter|period)(?: (?:a|the|of the|last|in the) (?:year|previous year|prior year)(?: (?:before|earlier))?)?|전년\s?(?:동기|도?\s?같은 기간)|前年同期|前年|전년)",
    re.IGNORECASE,
)


SECOND_HALF = -6
YEAR_TO_DATE = -1  # months from the year's start that are not counted


@dataclass(frozen=True)
class StatedTime:
    """Point or span of time `text[start:end]`; a field that is not stated is 0.

    `months` is the length of a span, `quarter` its number in the year. `back` counts the years before
    another period of the text.
    """

    year: int = 0
    month: int = 0
    day: int = 0
    months: int = 0
    quarter: int = 0
    back: int = 0
    start: int = 0
    end: int = 0

    def merged(self, other: "StatedTime") -> "StatedTime":
        """Return both as one: "three months ended" and "July 1, 2023"."""
        return StatedTime(
            other.year or self.year,
            other.month or self.month,
            other.day or self.day,
            other.months or self.months,
            other.quarter or self.quarter,
            other.back or self.back,
            min(self.start, other.start),
            max(self.end, other.end),
        )


def agree(one: StatedTime, other: StatedTime, quarter_of: Callable[[StatedTime], int]) -> bool:
    """Return True where nothing that both state differs; `quarter_of` maps a period's end to its quarter."""
    fields = ("year", "month", "day")
    if any(getattr(one, f) and getattr(other, f) and getattr(one, f) != getattr(other, f) for f in fields):
        return False
    if YEAR_TO_DATE in (one.months, other.months):
        return all(p.months not in (0, 3) or (not p.months and not p.quarter) for p in (one, other))
    if one.quarter and other.quarter:
        return one.quarter == other.quarter
    for a, b in ((one, other), (other, one)):
        if a.quarter and (b.months or b.month):
            if b.months not in (0, 3):
                return False
            known = quarter_of(b)
            if known and known != a.quarter:
                return False
    return not (one.months and other.months and one.months != other.months)


def periods(text: str) -> list[StatedTime]:
    """Return the periods of a text in order, neighbouring parts of one joined.

    >>> [(p.months, p.year, p.month, p.day) for p in periods("three months ended July 1, 2023")]
    [(3, 2023, 7, 1)]
    >>> [(p.months, p.month) for p in periods("the quarter ended July 1, 2023")]
    [(3, 7)]
    >>> [(p.year, p.quarter) for p in periods("2023년 3분기, Q2 2022")]
    [(2023, 3), (2022, 2)]
    """
    return list(_periods(text))


@lru_cache(maxsize=1_024)
def _periods(text: str) -> tuple[StatedTime, ...]:
    joined: list[StatedTime] = []
    for period in period_parts(text):
        last = joined[-1] if joined else None
        if last is not None and _continues(text, last, period):
            joined[-1] = last.merged(period)
        else:
            joined.append(period)
    return tuple(_completed(joined, at) for at in range(len(joined)))


_GAP = re.compile(
    r"[\s,()·]*(?:(?:of|in|the|period|ended|ending|to|fiscal|year|회계연도|의|の|度|년도|during)[\s,]*){0,4}\Z",
    re.I,
)


def _continues(text: str, last: StatedTime, period: StatedTime) -> bool:
    clash = any(
        getattr(last, f) and getattr(period, f) for f in ("year", "month", "day", "months", "quarter")
    )
    same = last.year == period.year and not period.quarter and not period.months and last.year
    if period.back or last.back or (clash and not same):
        return False
    return bool(_GAP.match(text[last.end : period.start]))


def _completed(found: list[StatedTime], at: int) -> StatedTime:
    """Return a period with what it leaves to the one before it: "1 July and 3 August 2023"."""
    period = found[at]
    if period.back:
        base = next((p for p in reversed(found[:at]) if p.year), None) or next((p for p in found[at + 1 :] if p.year), None)  # fmt: skip
        if base is not None:
            return replace(base, year=base.year - 1, day=0, month=0, start=period.start, end=period.end)
    if (period.quarter or period.months) and not period.year:
        near = [p for p in (*reversed(found[:at]), *found[at + 1 :]) if p.year]
        if near:
            return replace(period, year=near[0].year)
    return period


def period_parts(text: str) -> Iterator[StatedTime]:
    """Yield dates, years, quarters and lengths as they are written, not joined."""
    for match in _PATTERN.finditer(text):
        period = _read(match)
        if period is not None:
            yield replace(period, start=match.start(), end=match.end())


def _read(match: re.Match[str]) -> StatedTime | None:
    if match["era"]:
        return _era(match)
    for number in "123456":
        year, month, day = (_group(match, f"{name}{number}") for name in ("year", "mon", "day"))
        if month or year:
            return StatedTime(_int(year), _MONTHS.get(month.lower(), 0) or _int(month), _int(day))
    if match["year"]:
        return None if match["decade"] else StatedTime(_int(match["year"]))
    return StatedTime(back=1) if match["back"] else _span(match)


def _span(match: re.Match[str]) -> StatedTime | None:
    if match["span"]:
        found = re.search(rf"({_N}|\d{{1,2}})[\s-]+month", match["span"], re.IGNORECASE)
        return StatedTime(months=_ORDINAL.get(found[1].lower(), 0) or _int(found[1])) if found else None
    if match["three"]:
        return StatedTime(months=3)
    if match["quarter"]:
        return StatedTime(quarter=_int(match["q"] or "") or _ORDINAL.get((match["qword"] or "").lower(), 0))
    if match["cq"]:
        return StatedTime(quarter=_int(match["cqn"]) or " 一二三四".index(match["cqn"]))
    if match["half"]:
        first = (match["hword"] or match["hcjk"]).lower() in ("first", "상반기", "上半期")
        return StatedTime(months=6) if first else StatedTime(months=SECOND_HALF)
    return StatedTime(months=YEAR_TO_DATE)


def _group(match: re.Match[str], name: str) -> str:
    return match.groupdict().get(name) or ""


def _era(match: re.Match[str]) -> StatedTime:
    year = 1 if match["eyear"] == "元" else _int(match["eyear"])
    return StatedTime(_ERAS[match["ename"]] + year, _int(match["mon7"] or ""), _int(match["day7"] or ""))


def _int(digits: str) -> int:
    return int(digits) if digits.isdecimal() else 0
