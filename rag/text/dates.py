"""Dates and periods of a text, in English, Korean and Japanese: days, months, quarters, halves, years."""

import calendar
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta

MONTH_NAMES = (
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
)
_MONTHS = {name[:3]: number for number, name in enumerate(MONTH_NAMES, 1)}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
# The year before an era's first.
_ERAS = {
    "令和": 2018,
    "平成": 1988,
    "昭和": 1925,
    "大正": 1911,
    "明治": 1867,
}

_MONTH = r"(?P<month>(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(?:[a-z]{1,6})?\b\.?)"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d|[,.]\d)"
_FISCAL = r"(?P<fiscal>(?:fiscal(?:\syear)?|FY)\s?)?"
_NO_DIGIT = r"(?<![\d.,/-])"


_DAYS = re.compile(r"(\d{4}-\d\d-\d\d)/(\d{4}-\d\d-\d\d)")


@dataclass(frozen=True)
class Period:
    """Days `first` to `last` that ``text[start:end]`` names, by a label: "2023-07-01", "2023-07", "2023-Q3".

    The label of a half is "2023-H1", that of a year "2023". A `fiscal` one counts in its writer's fiscal
    years: its days are not known, `first` and `last` are those of the calendar.
    """

    label: str
    first: date
    last: date
    start: int
    end: int
    fiscal: bool = False

    @property
    def grain(self) -> str:
        """Return "year", "half", "quarter", "month" or "day"."""
        if "Q" in self.label or "H" in self.label:
            return "quarter" if "Q" in self.label else "half"
        return ("year", "month", "day")[self.label.count("-")]


Reading = tuple[re.Pattern[str], Callable[[re.Match[str]], Period]]


def quarter_of(first: date, last: date) -> str:
    """Return the calendar quarter in which the middle of some days lies.

    >>> quarter_of(date(2023, 7, 31), date(2023, 10, 29))
    '2023-Q3'
    """
    middle = first + (last - first) / 2
    return f"{middle.year}-Q{(middle.month + 2) // 3}"


def spoken_period(label: str) -> str:
    """Return a label, or ISO days, as it is shown.

    >>> spoken_period("2023-Q3"), spoken_period("2023-04-02/2023-07-01"), spoken_period("2023-05")
    ('Q3 2023', '2023-04-02 to 2023-07-01', '2023-05')
    """
    year, _, part = label.partition("-")
    return f"{part} {year}" if re.fullmatch("[QH][1-4]", part) else _DAYS.sub(r"\1 to \2", label)


def last_of_month(day: date) -> date:
    """Return the last day of the month of a day."""
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def months_before(day: date, months: int) -> date:
    """Return the first day of the `months` that end with a day.

    >>> months_before(date(2023, 9, 30), 3), months_before(date(2023, 7, 1), 3)
    (datetime.date(2023, 7, 1), datetime.date(2023, 4, 2))
    """
    at = (day + timedelta(1)).replace(day=1)
    extra = (day + timedelta(1)).day - 1
    year, month = divmod(at.year * 12 + at.month - 1 - months, 12)
    return date(year, month + 1, 1) + timedelta(extra)


def find_periods(text: str) -> list[Period]:
    """Return the dates and periods that a text names, in order, none inside of another.

    >>> [period.label for period in find_periods("Q3 2023 ended July 1, 2023; 2022년 3분기, 2024年3月")]
    ['2023-Q3', '2023-07-01', '2022-Q3', '2024-03']
    """
    return _found(text, _PATTERNS)


def find_quarters(text: str) -> list[Period]:
    """Return the quarters that a text names, more quickly than `find_periods`."""
    return _found(text, [pattern for pattern in _PATTERNS if pattern[1] is _quarter])


_QUARTER_WORD = re.compile("quarter[1-4]")


def with_quarter_words(text: str) -> str:
    """Return a text in which each quarter is one word, however it is named; a year beside it stays.

    Two names of a quarter share no word ("Q3", "third quarter"), or most of their letters with another
    quarter's (第3四半期, 第4四半期).

    >>> [with_quarter_words(text) for text in ("In Q3 and the first quarter of 2024", "第３四半期の売上")]
    ['In  quarter3  and the  quarter1  of 2024', ' quarter3 の売上']
    """
    return _QUARTER_NAME.sub(_quarter_word, text)


def is_quarter_word(word: str) -> bool:
    """Return True for a word that `with_quarter_words` puts in a quarter's place."""
    return _QUARTER_WORD.fullmatch(word) is not None


def _quarter_word(match: re.Match[str]) -> str:
    number = next(part for part in match.groups() if part).lower()
    return f" quarter{_ORDINALS.get(number) or _JAPANESE_NUMBERS.get(number) or int(number)} "


def _found(text: str, patterns: Iterable[Reading]) -> list[Period]:
    found: list[Period] = []
    for pattern, read in patterns:
        for match in pattern.finditer(text):
            if any(match.start() < one.end and one.start < match.end() for one in found):
                continue
            with suppress(ValueError):  # no such day
                found.append(read(match))
    return sorted(found, key=lambda one: one.start)


def _span(match: re.Match[str], year: int, months: tuple[int, int], label: str) -> Period:
    first, last = months
    end = last_of_month(date(year, last, 1))
    fiscal = bool(match.groupdict().get("fiscal"))
    return Period(label, date(year, first, 1), end, match.start(), match.end(), fiscal)


ERA_YEAR = re.compile(rf"(?P<era>{'|'.join(_ERAS)})\s?(?P<eras>元|\d{{1,2}})(?!\d)")
"""Year of a Japanese era: 令和7, 平成元."""


def year_of_era(era: str, year: str) -> int:
    """Return the year of an era by the common calendar, its first as "元" or 1.

    >>> year_of_era("令和", "元"), year_of_era("平成", "30")
    (2019, 2018)
    """
    return _ERAS[era] + (1 if year == "元" else int(year))


def era_year(year: int) -> str:
    """Return a year by its Japanese era, by the later of two that share it; empty before the first.

    >>> era_year(2024), era_year(2019), era_year(2018), era_year(1850)
    ('令和6', '令和元', '平成30', '')
    """
    era = next((name for name, before in _ERAS.items() if before < year), "")
    return f"{era}{'元' if year - _ERAS[era] == 1 else year - _ERAS[era]}" if era else ""


def _year(match: re.Match[str]) -> int:
    era = match.groupdict().get("era")
    return year_of_era(era, match["eras"]) if era else int(match["year"])


def _month_number(word: str) -> int:
    return int(word) if word.isdigit() else _MONTHS[word[:3].lower()]


def _is_month(word: str) -> bool:
    return word.isdigit() or any(
        name.startswith(word.lower().rstrip(".")) or word.lower().rstrip(".") == "sept"
        for name in MONTH_NAMES
    )


def _day(match: re.Match[str]) -> Period:
    if not _is_month(match["month"]):
        raise ValueError(match["month"])
    day = date(_year(match), _month_number(match["month"]), int(match["day"]))
    return Period(day.isoformat(), day, day, match.start(), match.end())


def _month(match: re.Match[str]) -> Period:
    if not _is_month(match["month"]):
        raise ValueError(match["month"])
    year, month = _year(match), _month_number(match["month"])
    if not 1 <= month <= 12:
        raise ValueError(month)
    return _span(match, year, (month, month), f"{year}-{month:02d}")


def _quarter(match: re.Match[str]) -> Period:
    word = next(value for name in ("q", "q2") if (value := match.groupdict().get(name))).lower()
    number, year = _ORDINALS.get(word) or int(word), _full_year(match)
    return _span(match, year, (3 * number - 2, 3 * number), f"{year}-Q{number}")


def _half(match: re.Match[str]) -> Period:
    word = match["half"].lower()
    number, year = 1 if word in ("first", "1st", "1", "상", "上") else 2, _full_year(match)
    return _span(match, year, (6 * number - 5, 6 * number), f"{year}-H{number}")


def _whole_year(match: re.Match[str]) -> Period:
    year = _full_year(match)
    return _span(match, year, (1, 12), str(year))


def _full_year(match: re.Match[str]) -> int:
    short = match.groupdict().get("short")
    return 2000 + int(short) if short else _year(match)


_JAPANESE_NUMBERS = {"一": 1, "二": 2, "三": 3, "四": 4}
_QUARTER_NAME = re.compile(
    rf"\b({'|'.join(_ORDINALS)})[\s-](?:fiscal\s)?quarter\b|\bQ([1-4])(?!\d)|(?<![\w.,])([1-4])Q(?![a-z])"
    r"|(?:제\s?)?(?<![\d.,])([1-4])\s?(?:/\s?4\s?)?사?분기|第?(?<![\d.,])([1-4１-４一二三四])\s?四半期",
    re.IGNORECASE,
)
_ORDINAL = "(?P<q>first|second|third|fourth|1st|2nd|3rd|4th)"
_AD = rf"(?:(?P<year>(?:1[1-9]|20)\d\d)|(?P<era>{'|'.join(_ERAS)})\s?(?P<eras>元|\d{{1,2}}))"
_YEAR_SIGN = r"\s?[년年](?:\s?[(（][^()（）\d]{2,4}(?:元|\d{1,2})\s?[년年][)）])?\s?"
"""Sign after a year, with the year of the era beside it: 2010年(平成22年)10月."""
_ANY_YEAR = r"(?P<year>(?:1\d|20)\d\d)(?!\d|[,.]\d)"
"""Year of a whole date, where no other number can be meant."""
_CLOSED = r"(?=\s?(?:$|[\n)\]|~〜∼]|현재|기준|개정|작성|시행|발행))"
"""End of the line or of the date: "2024. 3." is a month there, and a year and an item's number elsewhere."""
_SHORT = rf"(?:{_YEAR}|['’](?P<short>\d\d)\b)"


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_PATTERNS: tuple[Reading, ...] = tuple(
    (_compiled(pattern), read)
    for pattern, read in (
        # days
        (rf"\b{_MONTH}\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s{_ANY_YEAR}", _day),
        (rf"{_NO_DIGIT}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH},?\s{_ANY_YEAR}", _day),
        (
            rf"{_NO_DIGIT}(?P<year>(?:19|20)\d\d)(?P<sep>[-./])(?P<month>\d\d?)(?P=sep)(?P<day>\d\d?)(?!\d)",
            _day,
        ),
        (
            r"(?<!\d)(?P<year>(?:19|20)\d\d)\.\s(?P<month>\d\d?)\.\s(?P<day>\d\d?)(?!\d)",
            _day,
        ),
        (rf"(?<!\d){_AD}{_YEAR_SIGN}(?P<month>\d\d?)\s?[월月]\s?(?P<day>\d\d?)\s?[일日]", _day),
        (r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<month>[01]\d)(?P<day>[0-3]\d)(?!\d)", _day),
        # quarters and halves
        (rf"\b{_ORDINAL}[\s-](?:fiscal\s)?quarter\s?(?:,\s|of\s|in\s)?(?:the\s)?{_FISCAL}{_YEAR}", _quarter),
        (rf"\bQ(?P<q>[1-4])[\s,'’_/-]{{0,2}}(?:of\s|in\s)?{_FISCAL}{_SHORT}", _quarter),
        (
            rf"\b{_FISCAL}{_YEAR}[\s,_/-]{{0,2}}(?:Q(?P<q>[1-4])(?!\d)|(?P<q2>first|second|third|fourth)\squarter)",
            _quarter,
        ),
        (r"\b(?P<q>[1-4])Q[\s_-]?(?:FY\s?)?(?P<short>\d\d)(?!\d)", _quarter),
        (
            rf"(?<!\d){_AD}\s?(?P<fiscal>회계\s?)?(?:년도?|年度?)\s?(?:제|第)?\s?(?P<q>[1-4])\s?/?\s?(?:사?분기|四半期)",
            _quarter,
        ),
        (r"(?<!\d)(?P<year>20\d\d)年(?P<fiscal>\d\d?月期)\s?第?\s?(?P<q>[1-4])\s?四半期", _quarter),
        (rf"\b(?P<half>first|second|1st|2nd)[\s-]half\s(?:of\s)?(?:the\s)?{_FISCAL}{_YEAR}", _half),
        (rf"\bH(?P<half>[12])[\s_-]?{_FISCAL}{_YEAR}", _half),
        (rf"(?<!\d){_AD}\s?(?:년도?|年度?)\s?(?P<half>상|하|上|下)\s?(?:반기|半期)", _half),
        # months
        (rf"\b{_MONTH},?\s(?:of\s)?{_YEAR}", _month),
        (rf"(?<!\d){_AD}{_YEAR_SIGN}(?P<month>\d\d?)\s?[월月]", _month),
        (rf"(?<![\w.,])(?P<year>(?:19|20)\d\d)\.\s?(?P<month>\d\d?)\.{_CLOSED}", _month),
        (r"(?<![\d-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\d-])", _month),
        # years
        (rf"\b(?P<fiscal>fiscal(?:\syear)?\s|FY\s?){_SHORT}", _whole_year),
        (r"\b(?P<fiscal>FY)(?P<short>\d\d)(?!\d)", _whole_year),
        (rf"(?<!\d){_AD}\s?(?:회계)?[년年](?P<fiscal>도|度)?", _whole_year),
        (rf"(?<![\d.,/$€£#-])(?<![A-Za-z]){_YEAR}(?![-/]\d)(?!\s?%)", _whole_year),
    )
)
