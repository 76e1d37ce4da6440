# ruff: noqa: E501
"""Rates: the span of time by which something is counted or paid, in English, Korean, Japanese and Chinese.

"£450 a month" and "monthly fee of £450" state one rate, as 月額450円 and 毎月450円 do. A rate belongs to the number
beside it: "12% a year" is not "12% a month", even where another sum is paid monthly.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

_ENGLISH = {
    "year": "annual(?:ly)?|yearly|per annum", "quarter": "quarterly", "month": "monthly|pcm", "week": "weekly",
    "day": "daily", "hour": "hourly",
}  # fmt: skip
"""Words for a rate besides "per month", "each month", "a month" and "/month"."""
_SPANS = (
    r"\b(?:{words})\b|\b(?:each|every|per) (?:calendar )?{every}\b|/\s?{every}\b"
    r"|(?<!within )(?<!for )(?<!in )(?<!after )(?<!half )\ban? (?:calendar )?{every}\b"
    r"(?!['’]| (?:ago|earlier|before|later|after|from|old|of)\b)"
)
_LINES = r"""
year    : 매년|해마다|(?<!\d)연간|(?<![가-힣\d])연(?=\s?\d)|(?<!\d)(?:1\s?년|일 ?년|한 ?해)(?:에|당|마다)
year    : 毎年|每年|(?<![\d一-鿿])年間|(?<![\d一-鿿])年(?:に)?(?=\d)|(?<!\d)[1一]年(?:間)?(?:につき|あ?当?たり|に(?=\d))|年額
quarter : 매\s?분기|분기마다|분기당|毎四半期|四半期ごと|每季
month   : 매\s?월|매달|달마다|월마다|월당|(?<![가-힣\d])(?<!\d\s)월(?=\s?\d)|(?<!\d)(?:1\s?개월|한 ?달|1\s?달)(?:에|당|마다)
month   : 毎月|每月|(?<![\d一-鿿])月間|(?<![\d一-鿿])月(?:に)?(?=\d)|(?<!\d)[1一](?:か|ヶ|カ|ヵ|箇)月(?:間)?(?:につき|あ?当?たり|ごとに|に(?=\d))|月額
week    : 매\s?주(?![가-힣])|주마다|(?<![가-힣\d])(?<!\d\s)주(?=\s?\d)|(?<![\d가-힣])(?:1주일?|일주일|한 ?주)(?:에|당|마다)
week    : 毎週|每周|(?<![\d一-鿿])週(?:に|あたり)?(?=\d)|(?<!\d)[1一]週間?(?:につき|あ?当?たり|ごとに|に(?=\d))
day     : 매일|날마다|하루(?:에|당)|하루(?=\s?\d)|(?<!\d)(?<!월 )(?<!월)1일(?:에 ?(?=\d)|당|마다|(?= \d+회))
day     : 毎日|每天|(?<![\d月])[1一]日(?:につき|あ?当?たり|ごとに|に(?=\d)|(?=\d+回))|日額
hour    : 매시간|시간당|시간마다|(?<!\d)(?:1시간|한 ?시간)(?:에|당|마다)|毎時|(?<!\d)[1一]時間(?:につき|あ?当?たり|ごとに|に(?=\d))
"""


def _patterns() -> dict[str, re.Pattern[str]]:
    found = {every: [_SPANS.format(every=every, words=words)] for every, words in _ENGLISH.items()}
    for line in _LINES.strip().splitlines():
        every, pattern = line.split(":", 1)
        found[every.strip()].append(pattern.strip())
    return {every: re.compile("|".join(lines), re.IGNORECASE) for every, lines in found.items()}


_PATTERNS = _patterns()
_WRITTEN = {
    "year": ("매년", "毎年"), "quarter": ("매분기", "毎四半期"), "month": ("매월", "毎月"), "week": ("매주", "毎週"),
    "day": ("매일", "毎日"), "hour": ("매시간", "毎時"),
}  # fmt: skip
_BORDER = re.compile(
    r"[;:、；。!?\n()（）]|[,.](?!\d)|\b(?:and|but|while)\b|(?<=[가-힣](?:고|며))\s", re.IGNORECASE
)
_KOREAN = re.compile(r"[가-힣]")


@dataclass(frozen=True)
class Rate:
    """Words `text[start:end]` that state a rate; `every` is the span of time that it counts by: "month"."""

    every: str
    start: int
    end: int


def rates(text: str) -> tuple[Rate, ...]:
    """Return the rates of a text in order.

    >>> [one.every for one in rates("£450 a month, 12% per annum; up from 9% a year earlier")]
    ['month', 'year']
    >>> [one.every for one in rates("1주일에 2일, 월 50,000원, 3월 5일")], [one.every for one in rates("週3日、月額9円、5月1日")]
    (['week', 'month'], ['week', 'month'])
    """
    return _rates(text)


@lru_cache(maxsize=8_192)
def _rates(text: str) -> tuple[Rate, ...]:
    found = [
        Rate(every, match.start(), match.end())
        for every, pattern in _PATTERNS.items()
        for match in pattern.finditer(text)
    ]
    return tuple(sorted(found, key=lambda one: one.start))


def in_one_form(text: str) -> str:
    """Return a Korean or Japanese text with each rate in one form.

    >>> in_one_form("1주일에 2일, 월 50,000원"), in_one_form("1週につき3日、月額900円")
    ('매주 2일, 매월 50,000원', '毎週3日、毎月900円')
    """
    korean = bool(_KOREAN.search(text))
    for one in reversed(rates(text)):
        if text[one.start : one.end].isascii():
            continue
        rest = text[one.end :].lstrip() if korean else text[one.end :]
        text = f"{text[: one.start]}{_WRITTEN[one.every][not korean]}{' ' if korean else ''}{rest}"
    return text


def rate_at(text: str, start: int, end: int) -> str:
    """Return the span of time that the number `text[start:end]` is counted by; empty without one.

    It is that of the nearest rate in its clause.

    >>> rate_at("It costs £9 a week and 12% per annum.", 9, 10), rate_at("It costs £9 a week and 12% per annum.", 22, 25)
    ('week', 'year')
    """
    near = [
        (max(one.start - end, start - one.end), one.every)
        for one in rates(text)
        if not _BORDER.search(text, min(end, one.end), max(start, one.start))
    ]
    return min(near, default=(0, ""))[1]


def is_of_rate(start: int, end: int, text: str) -> bool:
    """Return True where `text[start:end]` is part of a rate: the 1 of 1주일에."""
    return any(one.start < end and start < one.end for one in rates(text))
