# ruff: noqa: E501
"""Quantities and periods of a text, by value.

A quantity is a number with unit, scale and the precision it is written with: in English, Korean, Japanese and
Chinese; in other languages numbers, percentages and currencies. A period is a date, quarter, year or span of
months.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from rag.citations.rates import is_of_rate

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


def states(given: StatedTime, asked: StatedTime) -> bool:
    """Return True where a period says all that another says."""
    fields = ("year", "month", "day", "months", "quarter")
    return all(getattr(asked, f) in (0, getattr(given, f)) for f in fields)


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
    same = same and not any(getattr(last, f) and getattr(period, f) for f in ("month", "day"))
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


SCALES = {
    "hundred": 2, "thousand": 3, "thousands": 3, "million": 6, "millions": 6, "mn": 6, "m": 6, "billion": 9,
    "billions": 9, "bn": 9, "b": 9, "trillion": 12, "millionen": 6, "mio": 6, "milliarden": 9, "mrd": 9,
    "millones": 6, "milliards": 9,
    "십": 1, "백": 2, "천": 3, "만": 4, "억": 8, "조": 12, "百": 2, "千": 3, "万": 4, "萬": 4, "億": 8, "亿": 8,
    "兆": 12,
}  # fmt: skip
CURRENCIES = (
    "USD|EUR|GBP|JPY|KRW|CNY|CHF|SGD|AUD|CAD|HKD|INR|NOK|SEK|DKK|NZD|PLN|CZK|HUF|BRL|MXN|ZAR|THB|TWD|VND|IDR"
)
"""Codes of ISO 4217, as a pattern, without TRY, which is a word."""
_UNITS = {
    **{code.lower(): code for code in CURRENCIES.split("|")},
    "$": "USD", "us$": "USD", "usd": "USD", "dollar": "USD", "dollars": "USD", "달러": "USD", "ドル": "USD",
    "米ドル": "USD", "美元": "USD", "€": "EUR", "eur": "EUR", "euro": "EUR", "euros": "EUR", "유로": "EUR",
    "ユーロ": "EUR", "£": "GBP", "gbp": "GBP", "pounds": "GBP", "¥": "JPY", "yen": "JPY", "엔": "JPY", "円": "JPY",
    "₩": "KRW", "krw": "KRW", "won": "KRW", "원": "KRW", "ウォン": "KRW", "元": "CNY", "위안": "CNY",
    "%": "%", "percent": "%", "per cent": "%", "퍼센트": "%", "プロ": "%", "パーセント": "%", "割": "tenths",
    "percentage points": "%", "percentage point": "%", "%p": "%", "ポイント": "%", "배": "times", "倍": "times",
    "times": "times", "kg": "kg", "kilogram": "kg", "kilograms": "kg", "킬로그램": "kg", "キログラム": "kg",
    "km": "km", "kilometre": "km", "kilometres": "km", "kilometer": "km", "kilometers": "km", "킬로미터": "km",
    "キロメートル": "km", "公里": "km", "m": "m", "metres": "m", "meters": "m", "미터": "m", "メートル": "m",
    "day": "d", "days": "d", "일": "d", "日": "d", "week": "wk", "weeks": "wk", "주": "wk", "週間": "wk",
    "month": "mo", "months": "mo", "개월": "mo", "か月": "mo", "ヶ月": "mo", "year": "yr", "years": "yr", "년": "yr", "年": "yr", "hour": "h",
    "hours": "h", "second": "s", "seconds": "s", "초": "s", "秒": "s", "tonne": "t", "tonnes": "t", "톤": "t", "トン": "t", "시간": "h", "時間": "h", "minute": "min", "minutes": "min", "min": "min", "mins": "min", "분": "min", "分": "min", "h": "h", "hr": "h", "hrs": "h", "mph": "mph",
    "平方公里": "km2", "l": "l", "litre": "l", "litres": "l", "liter": "l", "liters": "l", "리터": "l", "リットル": "l",
    "ml": "ml", "millilitre": "ml", "millilitres": "ml", "milliliter": "ml", "milliliters": "ml", "밀리리터": "ml", "ミリリットル": "ml", "gram": "g", "grams": "g",
    "그램": "g", "グラム": "g", "cm": "cm", "centimetre": "cm", "centimetres": "cm", "centimeter": "cm", "centimeters": "cm", "센티미터": "cm", "センチメートル": "cm",
    "mm": "mm", "millimetre": "mm", "millimetres": "mm", "millimeter": "mm", "millimeters": "mm", "밀리미터": "mm", "ミリメートル": "mm", "°c": "°C", "℃": "°C",
    "°f": "°F", "kwh": "kWh", "kilowatt-hours": "kWh", "kilowatt hours": "kWh", "degrees celsius": "°C",
    "degrees fahrenheit": "°F",
}  # fmt: skip
_SMALLER = {
    ("wk", "d"): 7, ("yr", "mo"): 12, ("d", "h"): 24, ("h", "min"): 60, ("min", "s"): 60, ("t", "kg"): 1000,
    ("kg", "g"): 1000, ("km", "m"): 1000, ("m", "cm"): 100, ("cm", "mm"): 10, ("l", "ml"): 1000,
}  # fmt: skip
"""How many of a smaller unit a larger one has."""
MONEY = frozenset(CURRENCIES.split("|"))
MEASURES = frozenset({"l", "ml", "g", "cm", "mm", "°C", "°F", "kWh"})
_UNSAID = MONEY | MEASURES
_IN_BRACKETS = re.compile(r"[(（\[]\s?(?:in\s)?([^()（）\[\]]{1,20}?)\s?[)）\]]\s*\Z", re.IGNORECASE)
_WORDS = {word: value for value, word in enumerate(
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
)}  # fmt: skip
_TENS = {word: 10 * value for value, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)}  # fmt: skip
_KOREAN = {
    "한": 1,
    "두": 2,
    "세": 3,
    "네": 4,
    "다섯": 5,
    "여섯": 6,
    "일곱": 7,
    "여덟": 8,
    "아홉": 9,
    "열": 10,
}
_KANJI = {letter: value for value, letter in enumerate("一二三四五六七八九十", 1)}
_KANJI["两"] = 2
_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_LATIN_SCALE = (
    r"hundred|thousands?|millions?|millionen|mio|mrd|mn|billions?|bn|trillion|milliarden|millones|milliards"
)
LARGE = 4
"""Power of ten from which a Korean, Japanese or Chinese scale counts all that is before it: 만, 億."""
_CJK = "십백천만억조百千万萬億亿兆"
_UNIT = "|".join(
    sorted((re.escape(unit) for unit in _UNITS if unit[-1] not in "$£¥₩"), key=len, reverse=True)
)
_NUMBER = re.compile(
    rf"(?P<open>(?<![\w)])\(|(?<![\w\d)])[-−△▲])?\s?(?P<before>US\$|[$€£¥₩]|\b(?-i:{CURRENCIES})(?=\s?\d))?\s?(?P<open2>\()?"
    rf"(?:(?P<digits>(?<![\w.])(?:{_DIGITS})|(?<=[^\x00-\x7f])(?:{_DIGITS}))"
    rf"(?P<cjk>(?:\s?[{_CJK}]+(?:\s?(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?=\s?[{_CJK}]))?)*(?:(?<=[만万萬])\s?(?:\d,\d{{3}}|\d{{4}})(?![\d년年]))?)"
    rf"|\b(?P<word>(?:{'|'.join(_TENS)})(?:\s?-\s?(?:{'|'.join(_WORDS)}))?|(?:{'|'.join(list(_WORDS)[2:])}))\b"
    rf"|(?<![가-힣])(?P<korean>{'|'.join(_KOREAN)})(?=\s(?:명|개|가지|번|곳|대|사람|차례|분의|팀|배))"
    rf"|(?P<kanji>[{''.join(_KANJI)}])(?=(?:人|名|つ|個|回|度|台|社|種|本|か所|年間|つの|两|个|座|条|倍|割)))"
    rf"(?:\s(?P<scale>{_LATIN_SCALE})\b|(?<=\d)(?P<short>[MmBb]n?)\b(?!\w))?(?P<close>\))?"
    rf"(?:(?:\sor (?P<or>more|over|less|fewer|under))?\s?-?\s?(?P<after>{_UNIT})(?![A-Za-z]|(?<=[A-Za-z])[23](?!\d)))?(?P<close2>\))?",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:about|around|roughly|approximately|nearly|almost|some|close to|circa|rund|etwa|environ|alrededor de|약|대략|거의|約|およそ|ほぼ|大约|约)\s*$",
    re.IGNORECASE,
)
_ABOUT_AFTER = re.compile(r"\s?(?:가량|정도|쯤|程度|ほど|前後|左右)")
_ABOVE = re.compile(
    r"(?:more than|over|above|at least|exceed\w*|upwards? of|greater than|no less than)\s*$", re.I
)
_BELOW = re.compile(
    r"(?:(?:less|fewer) than|under|below|at most|(?<!add )(?<!adds )(?<!added )up to|no (?:more|longer|later|higher|greater) than"
    r"|(?:not|never|n[’']t) exceed(?:ing)?)(?:\s+an?\s+(?:total|maximum|aggregate)(?:\s+amount)?(?:\s+of)?)?\s*$",
    re.IGNORECASE,
)
_DENIED_ABOVE = r"(?:\S{0,2}지\s?(?:않|못)|え(?:ない|ず|ません))"
_ABOVE_AFTER = re.compile(
    rf"\s(?:[a-z]+\s)?or (?:more|above|over|longer|higher|later|older)\b"
    rf"|\s?[가-힣]{{0,3}}\s?(?:이상|(?:초과|넘)(?!{_DENIED_ABOVE})|以上|を?超(?!{_DENIED_ABOVE})|を上回)"
)
_BELOW_AFTER = re.compile(
    rf"\s(?:[a-z]+\s)?or (?:less|fewer|below|under|shorter|lower|earlier|younger)\b"
    rf"|\s?[가-힣]{{0,3}}\s?(?:이하|미만|以下|未満|(?:초과하|넘){_DENIED_ABOVE}|を?超{_DENIED_ABOVE})"
)
_OR = {"more": ">", "over": ">", "less": "<", "fewer": "<", "under": "<"}
_BOUND_WORDS = 36  # characters before a number that may bound it
_FIRST_YEAR = 1000
_JOINS = re.compile(r"[\s,]*(?:and\s+)?")
MONTHS = 12


@dataclass(frozen=True)
class Quantity:
    """Number `text[start:end]` by value; `step` is the value of its last digit, `bound` "<", ">", "~" or ""."""

    value: Decimal
    unit: str
    step: Decimal
    bound: str
    start: int
    end: int

    @property
    def is_year(self) -> bool:
        """True for a bare number that may be a year."""
        return not self.unit and self.step == 1 and 1000 <= self.value <= 2100

    def fits(self, source: "Quantity", *, sign: bool = False) -> bool:
        """Return True where a source with this number supports it: 39.7 billion fits 39,669 million.

        Without `sign` a loss of 139 fits (139), since words say the sign.
        """
        if not same_unit(self.unit, source.unit):
            times = _SMALLER.get((self.unit, source.unit), 0)
            more = _SMALLER.get((source.unit, self.unit), 0)
            if more:
                return self.fits(replace(source, value=source.value * more, unit=self.unit))
            return bool(times) and replace(
                self, value=self.value * times, step=Decimal(1), unit=source.unit
            ).fits(source)
        mine, theirs = (self.value, source.value) if sign else (abs(self.value), abs(source.value))
        if self.bound in ("<", ">"):
            return _within(self.bound, mine, theirs, source.bound)
        return source.bound in ("", "~") and abs(mine - theirs) <= self.step / 2


def _within(bound: str, limit: Decimal, value: Decimal, stated: str) -> bool:
    if limit == value:
        return stated == bound
    near = limit * Decimal("0.7") <= value <= limit * Decimal("1.3")
    return stated in ("", "~") and near and (value > limit if bound == ">" else value < limit)


def same_unit(one: str, other: str) -> bool:
    """Return True for the same unit, or where one names none, as a table whose header has it."""
    return one == other or (not one and other in _UNSAID) or (not other and one in _UNSAID)


def headed_unit(header: str) -> str:
    """Return the unit of measure or currency that a column's header has in brackets; empty without one.

    >>> [headed_unit(told) for told in ("Volume (L)", "Weight [in g]", "Loss (net)", "Fee (£)")]
    ['l', 'g', '', 'GBP']
    """
    found = _IN_BRACKETS.search(header)
    name = found[1].lower() if found else ""
    unit = "g" if name == "g" else _UNITS.get(name, "")
    return unit if unit in _UNSAID else ""


def quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text in order.

    >>> [(f"{q.value:.0f}", q.unit) for q in quantities("about $39.7 billion, 48억 2,100만 달러, (2)%")]
    [('39700000000', 'USD'), ('4821000000', 'USD'), ('-2', '%')]
    >>> [(q.unit, q.start) for q in quantities("EUR 97,850 or 97,850 EUR")]
    [('EUR', 0), ('EUR', 14)]
    >>> [f"{q.value:.0f}" for q in quantities("제4조, 4조 원")]
    ['4', '4000000000000']
    >>> [(q.unit, q.bound) for q in quantities("CHF 12.6 billion, three or more hours, 7 days or less")]
    [('CHF', ''), ('h', '>'), ('d', '<')]
    >>> [(f"{q.value:.0f}", q.unit) for q in quantities("1 year and 2 months, 1년 6개월")]
    [('14', 'mo'), ('18', 'mo')]
    """
    return list(_joined(text))


@lru_cache(maxsize=1_024)
def _joined(text: str) -> tuple[Quantity, ...]:
    """Return the quantities of a text, those of years and months as one."""
    found: list[Quantity] = []
    for one in _quantities(text):
        last = found[-1] if found else None
        if (
            last is not None
            and (last.unit, one.unit) == ("yr", "mo")
            and _JOINS.fullmatch(text, last.end, one.start)
        ):
            found[-1] = replace(one, value=last.value * MONTHS + one.value, start=last.start)
        else:
            found.append(one)
    return tuple(found)


_COUNTED = re.compile(r"\s?(?:[台種人名個件本冊か]|[명대개종건권](?:[을를이가은는의,.\s]|\Z))")
"""Counters after a number that is no year: 1968台."""


def undated(text: str, dated: Sequence[StatedTime]) -> list[Quantity]:
    """Return the quantities of a text that are no years and no parts of its dates and rates.

    >>> from rag.citations.quantities import periods
    >>> text = "On 3 May 2020 it sold 12 cars."
    >>> [str(q.value) for q in undated(text, periods(text))], [str(q.value) for q in undated("1週につき3日", ())]
    (['12'], ['3'])
    """
    return [
        q
        for q in quantities(text)
        if not (q.is_year and "," not in text[q.start : q.end] and not _COUNTED.match(text, q.end))
        and not any(p.start < q.end and q.start < p.end for p in dated)
        and not text.startswith("世", q.end)  # of a king's name
        and not is_of_rate(q.start, q.end, text)
    ]


def _quantities(text: str) -> Iterator[Quantity]:
    plain = _same_length(text)
    for match in _NUMBER.finditer(plain):
        number = _number(match)
        if number is not None and not _is_code(match):
            yield _quantity(plain, match, *number)


_NAMED = re.compile(r"\b[A-Z][a-z]+ \Z")


def _is_code(match: re.Match[str]) -> bool:
    """Return True for a number with a letter that a name is in front of: "Unit 4B", no thousand millions.

    >>> [len(quantities(said)) for said in ("Unit 4B", "sales of 4B", "Sales were 4.5M", "Unit $4B")]
    [0, 1, 1, 1]
    """
    bare = match["short"] in ("M", "B") and match["digits"].isdigit() and not match["before"]
    return bool(bare and _NAMED.search(match.string, 0, match.start("digits")))


LABEL = "no."
"""Unit of a number that names a provision or an item of a list, and counts nothing."""
_LABEL_BEFORE = re.compile(
    r"(?:\b(?:articles?|sections?|clauses?|chapters?|paragraphs?|schedules?|annex|appendix|rules?|tables?|figures?|pages?)"
    r"\s|§\s?)\Z",
    re.IGNORECASE,
)
_PROVISION = re.compile(r"[第제]\s?\Z")
_OF_PROVISION = re.compile(r"\s?[条項号章節款조항호장절관]")
_OF_ITEM = re.compile(r"\s*(?:\d{1,3}[.)]|\d{1,2}(?:\.\d{1,2})+\.?)\s+(?=[^\W\d_])(?![a-z])")


def _is_label(match: re.Match[str]) -> bool:
    """Return True for a number that names its sentence or another: 제4조, 第5条, Clause 7, "7.1 Invoices are".

    >>> [q.unit for said in ("7.1 Invoices", "7.1 litres", "Clause 7", "第5条", "제4조, 4조 원") for q in quantities(said)]
    ['no.', 'l', 'no.', 'no.', 'no.', 'KRW']
    """
    if not match["digits"]:
        return False
    text, start, end = match.string, match.start("digits"), match.end("digits")
    if _PROVISION.search(text, max(0, start - 2), start):
        return bool(_OF_PROVISION.match(text, end))
    before = _LABEL_BEFORE.search(text, max(0, start - 12), start)
    counted = any(match[group] for group in ("before", "cjk", "scale", "after"))
    item = None if counted or text[:start].strip() else _OF_ITEM.match(text)
    return bool(before or (item and end <= item.end()))


def _same_length(text: str) -> str:
    """Return the text in NFKC where that keeps every offset."""
    if unicodedata.is_normalized("NFKC", text):
        return text
    return "".join(c if len(n := unicodedata.normalize("NFKC", c)) != 1 else n for c in text)


def _number(match: re.Match[str]) -> tuple[Decimal, Decimal] | None:
    """Return value and step of a match; the unit's scale is applied later."""
    if match["word"]:
        parts = re.split(r"\s?-\s?", match["word"].lower())
        return Decimal(sum(_TENS.get(p, _WORDS.get(p, 0)) for p in parts)), Decimal(1)
    if match["korean"]:
        return Decimal(_KOREAN[match["korean"]]), Decimal(1)
    if match["kanji"]:
        return Decimal(_KANJI[match["kanji"]]), Decimal(1)
    digits = match["digits"].replace(",", "")
    if len(digits) > 30:
        return None
    units = re.sub(r"[\s,]", "", match["cjk"] or "")
    return _scaled(digits, "" if _is_label(match) else units)


def _scaled(digits: str, units: str) -> tuple[Decimal, Decimal]:
    """Return value and step of digits and the units after them.

    >>> [str(n) for n in _scaled("6", "億2500万")], [str(n) for n in _scaled("6", "천3백50만")]
    (['625000000', '10000'], ['63500000', '10000'])
    """
    total = below = Decimal(0)
    part, step = Decimal(digits), _step(digits)
    for piece in re.findall(r"\d+|\D", units):
        power = SCALES.get(piece)
        if power is None:
            part, step = Decimal(piece), _step(piece)
            continue
        step *= 10**power
        if power < LARGE:
            below, part = below + part * 10**power, Decimal(0)
        else:
            total, below, part = total + (below + part) * 10**power, Decimal(0), Decimal(0)
    return total + below + part, step


def _step(digits: str) -> Decimal:
    return Decimal(1).scaleb(-len(digits.partition(".")[2]))


def _quantity(text: str, match: re.Match[str], value: Decimal, step: Decimal) -> Quantity:
    scale = SCALES.get((match["scale"] or match["short"] or "").lower(), 0)
    value, step = value * 10**scale, step * 10**scale
    unit = _UNITS.get((match["before"] or "").lower()) or _UNITS.get((match["after"] or "").lower(), "")
    if unit == "yr" and value >= _FIRST_YEAR and match["after"] in ("년", "年"):
        unit = ""  # a year, not a number of years
    if unit == "tenths":
        value, step, unit = value * 10, step * 10, "%"
    if not unit and _is_label(match):
        unit = LABEL
    opened = match["open"] or match["open2"]
    closed = match["close"] or match["close2"] or (opened or "") not in "("
    if opened and closed:
        value = -value
    start, end = match.start() + len(match[0]) - len(match[0].lstrip(" (")), match.end()
    bound = _OR.get((match["or"] or "").lower()) or _bound(text, match.start(), match.end())
    if bound == "~" and match["digits"] and not scale:
        step = max(step, _round_step(value))
    return Quantity(value, unit, step, bound, start, end)


def _round_step(value: Decimal) -> Decimal:
    """Return the value of the last digit that is not 0: 1200 -> 100."""
    value = abs(value).normalize()
    exponent = value.as_tuple().exponent
    return Decimal(1).scaleb(exponent) if isinstance(exponent, int) else Decimal(1)


def _bound(text: str, start: int, end: int) -> str:
    """Return the bound that the words around a number state.

    >>> [quantities(said)[0].bound for said in ("not exceed 397 days", "exceeds 397 days", "397일을 넘지 않는다")]
    ['<', '>', '<']
    """
    before, after = text[max(0, start - _BOUND_WORDS) : start], text[end : end + _BOUND_WORDS]
    if _BELOW.search(before) or _BELOW_AFTER.match(after):
        return "<"
    if _ABOVE.search(before) or _ABOVE_AFTER.match(after):
        return ">"
    return "~" if _ABOUT.search(before) or _ABOUT_AFTER.match(after) else ""


_SCALE_LINE = re.compile(
    r"(?:\bin|(?:단위|単位|单位)\s*[:：]?)\s*(?:U\.?S\.?\s+)?(?P<currency>dollars|euros|yen|won)?\s*"
    rf"(?:of\s+)?(?P<scale>thousands|millions|billions|[{_CJK}]+)\s*(?:of\s+)?(?P<unit>{_UNIT})?"
    rf"|[(（\[［〔【]\s*(?P<mark>US\$|[$€£¥₩])?\s*"
    rf"(?P<scale2>thousands?|millions?|billions?|mn|bn|m(?=\s*[)）])|[{_CJK}]+)"
    rf"\s*(?:(?P<unit2>{_UNIT})|[명대건개톤인人台件個])?"
    rf"\s*(?:[,、，・][^)）\]］〕】]{{1,12}})?[)）\]］〕】]",
    re.IGNORECASE,
)


def stated_scale(text: str) -> tuple[int, str] | None:
    """Return the power of ten and the unit that a unit line states; None without one.

    >>> stated_scale("(dollars in millions)"), stated_scale("(단위: 백만 달러)"), stated_scale("売上（万円）")
    ((6, ''), (6, 'USD'), (4, 'JPY'))
    """
    match = _SCALE_LINE.search(text)
    if match is None:
        return None
    scale = (match["scale"] or match["scale2"]).lower()
    power = SCALES.get(scale) or sum(SCALES[letter] for letter in scale)
    unit = match["unit"] or match["currency"] or match["unit2"] or match["mark"] or ""
    return power, _UNITS.get(unit.lower(), "")
