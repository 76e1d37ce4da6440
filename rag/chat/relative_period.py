"""Periods that a follow-up names by another one: "And the year before?" after a question about 2025."""

import re
from collections.abc import Sequence

from rag.chat.corpus import History
from rag.chat.small_talk import phrase_file
from rag.text.dates import ERA_YEAR, Period, era_year, find_periods, spoken_period, year_of_era
from rag.text.language import language

MOST_CHARS = 80  # of a question that only asks for another period
_YEAR = re.compile(r"(?<!\d)(?:1[1-9]|20)\d\d(?!\d)")
_QUARTERS = {"ko": "{year}년 {quarter}분기", "ja": "{year}年第{quarter}四半期"}


def relative_period(question: str, history: History) -> str:
    """Return the period that a question means by one before or after the last one named; empty without one.

    >>> relative_period("And the year before?", [("user", "What was the rent in 2025?")])
    '2024'
    >>> relative_period("그 전 분기는요?", [("user", "2023년 1분기 매출은?")])
    '2022년 4분기'
    """
    code = language(question)
    step = _step(question, code)
    if step is None:
        return ""
    unit, by = step
    return shifted(_last_named([content for role, content in history if role == "user"]), unit, by, code)


def is_step(question: str) -> bool:
    """Return True for a question that only names a period before or after another one.

    >>> is_step("And the year before?"), is_step("And the deposit?")
    (True, False)
    """
    return _step(question, language(question)) is not None


def shifted(words: str, unit: str, by: int, code: str = "en") -> str:
    """Return the words of a period that lies so many years or quarters on; empty where that is not known.

    >>> shifted("July 1, 2023", "year", -1), shifted("the first quarter of 2023", "quarter", -1)
    ('July 1, 2022', 'Q4 2022')
    >>> shifted("令和7年度", "year", -1, "ja"), shifted("令和元年", "year", -1, "ja")
    ('令和6年度', '平成30年')
    """
    named = find_periods(words)
    if not named:
        return ""
    if unit == "quarter":
        return _quarter_on(named[0], by, code) if named[0].grain == "quarter" else ""
    eras, years = ERA_YEAR.findall(words), _YEAR.findall(words)
    if len(eras) + len(years) != 1:
        return ""
    if eras:
        return ERA_YEAR.sub(lambda year: era_year(year_of_era(year["era"], year["eras"]) + by), words)
    return _YEAR.sub(lambda year: str(int(year[0]) + by), words)


def _quarter_on(period: Period, by: int, code: str) -> str:
    year, quarter = divmod(4 * int(period.label[:4]) + int(period.label[-1]) - 1 + by, 4)
    if form := _QUARTERS.get(code):
        return form.format(year=year, quarter=quarter + 1)
    return spoken_period(f"{year}-Q{quarter + 1}")


def _step(question: str, code: str) -> tuple[str, int] | None:
    """Return the unit of the step from one period to the other, and its direction."""
    phrases = phrase_file(code)["relative_periods"]
    if len(question) > MOST_CHARS or find_periods(question):
        return None
    if re.search(phrases["compared"], question, re.IGNORECASE):
        return None
    for unit in ("quarter", "year"):
        for direction, by in (("before", -1), ("after", 1)):
            if re.search(phrases[f"{unit}_{direction}"], question, re.IGNORECASE):
                return unit, by
    return None


def _last_named(questions: Sequence[str]) -> str:
    """Return the words of the period that the questions came to, steps from one to the next included."""
    words = ""
    for question in questions:
        code = language(question)
        if named := find_periods(question):
            words = question[named[0].start : named[0].end]
        elif words and (step := _step(question, code)):
            words = shifted(words, *step, code)
    return words
