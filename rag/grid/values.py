# ruff: noqa: E501
"""Values of cells read from words: dates, money, numbers, options, parts of a list, birth and death.

Texts are read by the shape that a column asks for: an email address, a telephone number, a link, a number. A
value that a sentence says was replaced is none: 48 of "raised from £48 to £55" and of "£55 instead of £48".
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from rag.citations.quantities import CURRENCIES, MONEY, Quantity, quantities, undated
from rag.citations.quantities import periods as stated_times
from rag.grid.cells import Amount, CellValue, Day, Words
from rag.grid.columns import Column
from rag.text.dates import Period, find_periods


@dataclass(frozen=True)
class Shape:
    """Shape of a value: the words that ask for it, and its pattern.

    One that is `telling` says by itself what it is: an email address does, a number of an order does not.
    """

    asked: re.Pattern[str]
    pattern: re.Pattern[str]
    telling: bool = True

    def find(self, text: str) -> list[re.Match[str]]:
        """Return the values of this shape in a text."""
        return list(self.pattern.finditer(text))


EMAIL = Shape(
    re.compile(r"\be-?mail|이메일|전자우편|メール", re.IGNORECASE),
    re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
)
PHONE = Shape(
    re.compile(r"\b(?:tele)?phone\b|\bfax\b|\bmobile\b|전화|연락처|휴대폰|電話|携帯", re.IGNORECASE),
    re.compile(r"(?<![\w+-])\+\d{1,3}(?:[\s-]?\(?\d{1,4}\)?){2,5}(?![\w-])|(?<![\w+-])(?:\+\d{1,3}[\s-]?)?(?:\(\d{2,5}\)\s?|\d{2,4}[\s-])(?:\d{2,4}[\s-]){1,3}\d{2,4}(?![\w-])"
               r"|(?<![\w+-])(?:\+\d{1,3}[\s-]?)?\(?\d{2,4}\)?[\s-]\d{3,4}(?:-\d{4})?(?![\w-])"),
)  # fmt: skip
LINK = Shape(
    re.compile(r"\burl\b|\bweb ?site\b|\blink\b|홈페이지|웹사이트|ウェブサイト", re.IGNORECASE),
    re.compile(r"(?:https?://|www\.)[^\s<>()\[\]]+[^\s<>()\[\].,;]"),
)
CODE = Shape(
    re.compile(r"\b(?:numbers?|no|nr|ids?|codes?|ref|reference)\b\.?|#|번호|코드|番号|コード", re.IGNORECASE),
    re.compile(r"(?<![\w#/-])#?(?=[\w./-]*\d)[A-Za-z0-9][\w./-]*[A-Za-z0-9](?![\w-])"),
    telling=False,
)
SHAPES = (EMAIL, PHONE, LINK, CODE)


@lru_cache(maxsize=256)
def shape_of(column: Column) -> Shape | None:
    """Return the shape of the texts that a column asks for; None where any words may be its value.

    >>> shape_of(Column("p", "Telephone number")) is PHONE, shape_of(Column("n", "Name"))
    (True, None)
    """
    if column.kind != "text":
        return None
    return next((shape for shape in SHAPES if shape.asked.search(column.name)), None)


_LOOSE_END = re.compile(r"[\s,;:·|/<(（、，：-]+\Z")


def without_contact_details(text: str) -> str:
    """Return the words before the first telephone number, email address or link; all where there are none.

    >>> without_contact_details("Daniel Okafor, +44 117 555 0182"), without_contact_details("김하늘 (전화: 02-555-0182)")
    ('Daniel Okafor', '김하늘')
    """
    telling = [shape for shape in SHAPES if shape.telling]
    first = min((match.start() for shape in telling for match in shape.find(text)), default=len(text))
    if first == len(text):
        return text
    said = _LOOSE_END.sub("", text[:first])
    for shape in telling:
        named = [match for match in shape.asked.finditer(said) if match.end() == len(said)]
        said = _LOOSE_END.sub("", said[: named[0].start()]) if named else said
    return said or text


_NAME = re.compile(
    r"(?:[A-ZÀ-Þ][\w’'.-]*|(?:de|van|von|der|den|da|di|la|le|al|bin)\b)(?:[ \t]+(?:[A-ZÀ-Þ][\w’'.-]*|(?:de|van|von|der|den|da|di|la|le|al|bin)\b)){1,4}"
)


def is_name(text: str) -> bool:
    """Return True for words that may be the name of a person.

    >>> is_name("Timothy D. Cook"), is_name("Senior Vice President, Sales"), is_name("in 3 days")
    (True, False, False)
    """
    return _NAME.fullmatch(text.strip()) is not None


LONGEST = 300  # characters of a value of text
MOST_ITEMS = 100
_UNIT_NAMES = {"d": "days", "wk": "weeks", "mo": "months", "yr": "years", "h": "hours", "min": "minutes"}
_SEPARATOR = re.compile(
    r"\s*(?:,(?!\s?(?:Inc|Ltd|LLC|L\.?P|PLC|Corp|Co|GmbH|S\.?A)\b)|[;、，；・·]|\band\b|\s&\s(?=[A-Z“\"].*$)(?!.*[,;])|\s및\s|\s그리고\s|[와과]\s|及び|および|並びに|ならびに|\s와\s|\s과\s)\s*(?:\band\b\s*)?"
)
_QUOTED = re.compile(r"[“\"「『‘](?P<item>[^”\"」』’\n]{1,80})[”\"」』’]")
_DASHES = re.compile(r"(?:^|\s)[-•]\s+")
_TRIM = " \t\n.。:：*_“”\"'‘’「」『』()（）"
OPENING = 700
"""Characters at the beginning of a document in which its subject is introduced."""
LONGEST_LIFE = 240  # characters between the parentheses that have the dates of a life
_DASH = re.compile(
    r"\s*[)）]?[^-–—~～〜()（）]{0,12}(?:[(（][^()（）]{0,12}[)）])?\s*[-–—~～〜][^-–—~～〜]{0,24}"
)
_OPEN = re.compile(r"[-–—~～〜]\s*\Z")


@dataclass(frozen=True)
class FoundValue:
    """Value that ``text[start:end]`` states; `in_unit` where it is written in the unit of the column."""

    value: CellValue
    start: int
    end: int
    in_unit: bool = True


def find_values(text: str, column: Column) -> Iterator[FoundValue]:
    """Yield the dates, amounts or options that some words state, in order; for other kinds nothing.

    >>> rent = Column("rent", "Rent", kind="money")
    >>> [str(one.value.amount) for one in find_values("EUR 1,200 from 1 May 2024 (12 months)", rent)]
    ['1200']
    """
    match column.kind:
        case "date":
            found = [FoundValue(day_of(one), one.start, one.end) for one in find_periods(text)]
            yield from sorted((*found, *_slashed(text)), key=lambda one: one.start)
        case "money" | "number":
            yield from _amounts(without_numbering(text), column)
        case "choice":
            yield from _options(text, column)
        case _:
            return


def in_unit(found: list[FoundValue]) -> list[FoundValue]:
    """Return the values that are written in the unit of their column; all where none is."""
    return [one for one in found if one.in_unit] or found


_SLASHED = re.compile(r"(?<![\d/.])(\d{1,2})/(\d{1,2})/((?:19|20)?\d\d)(?![\d/])")
_LAST_MONTH, _SHORT_YEAR, _CENTURY = 12, 100, 2000


def _slashed(text: str) -> Iterator[FoundValue]:
    """Yield dates such as 16/03/2026 and 11/23/2024, whose parts can be told apart.

    >>> [one.value.label for one in _slashed("on 16/03/2026 or 11/23/2024, not 03/04/2024")]
    ['2026-03-16', '2024-11-23']
    """
    for match in _SLASHED.finditer(text):
        one, other, year = (int(part) for part in match.groups())
        short = year < _SHORT_YEAR  # of 24/05/16 the year may be the first
        if (one != other and max(one, other) <= _LAST_MONTH) or (short and other <= _LAST_MONTH):
            continue
        year += _CENTURY * short
        with suppress(ValueError):
            day = date(year, min(one, other), max(one, other))
            yield FoundValue(Day(day.isoformat(), day), match.start(), match.end())


def day_of(period: Period) -> Day:
    """Return a date or a period as the value of a cell, by its first day."""
    return Day(period.label, period.first)


_CODES = f"{CURRENCIES}|TRY"
CURRENCY = re.compile(rf"\b(?:{_CODES})\b")
"""Code of a currency."""
_CODE_BEFORE = re.compile(rf"\b({_CODES})\s?\Z")
_CODE_AFTER = re.compile(rf"\s?({_CODES})\b")


_NUMBERING = re.compile(
    r"(?m)^[ \t>*#|]*(?:\d{1,2}(?:\.\d{1,2})+\.?|\d{1,2}[.)]|\(\d{1,2}\))(?=[ \t](?![A-Z]{2,4}\b|Mio|Mrd|[백천만억조원달유円万億千百%％€£¥￥₩￦㎡])[^\d\W a-z])|[①-⑳]"
    r"|[제第]\s?\d+\s?[조항호관장절편条項号章節]|§\s?\d+"
    r"|\b(?:[Ss]ections?|[Aa]rticles?|[Cc]lauses?|[Ii]tems?|[Nn]otes?|[Pp]ages?|[Ff]orms?|[Rr]ules?)\s\d+[A-Za-z]?\b"
)
_SPELLED = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand"
_SPELLED_OUT = re.compile(rf"\b(?:(?:{_SPELLED})\b[\s-]*(?:and\s+)?)+(?=\(\d)", re.IGNORECASE)


def without_numbering(text: str) -> str:
    """Return a text of the same length without numbers of clauses, and without words that digits repeat.

    >>> without_numbering("2.1 It is five (5) years under Section 9.")
    '    It is      (5) years under          .'
    """
    for pattern in (_NUMBERING, _SPELLED_OUT):
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    return text.replace("￥", "¥").replace("￦", "₩")


def _amounts(text: str, column: Column) -> Iterator[FoundValue]:
    dated = [one for one in stated_times(text) if one.year or one.month or one.day or one.quarter]
    wanted = canonical_unit(column.unit)
    for one in undated(text, dated):
        code = _CODE_BEFORE.search(text, max(0, one.start - 4), one.start) or _CODE_AFTER.match(text, one.end)
        unit = one.unit or (code[1] if code else "")
        if unit_fits(unit, column, scaled=one.step > 1):
            start = code.start() if code and code.start() < one.start else one.start
            bracketed = text[max(0, one.start - 1) : one.start + 1].strip()[:1] == "("
            value = plain(abs(one.value) if bracketed else one.value)  # "ninety (90) days" is no loss
            counted = bool(wanted) and (unit == wanted or _is_counted(text, one.end, column.unit))
            shown = column.unit if counted and unit != wanted else shown_unit(unit) or column.unit
            yield FoundValue(
                Amount(value, shown), start, one.end, not wanted or counted or column.kind == "money"
            )


def _is_counted(text: str, end: int, unit: str) -> bool:
    """Return True where a number that ends here is followed by a unit in words: "2,400 square feet"."""
    after = text[end : end + len(unit) + 2].lstrip(" -").casefold()
    return after.startswith(unit.casefold().removesuffix("s"))


def unit_fits(unit: str, column: Column, *, scaled: bool = False) -> bool:
    """Return True for a unit that values of a column may have; money in words names a currency or a scale."""
    money = unit in MONEY or (len(unit) == 3 and unit.isupper())
    if column.kind == "money":
        return money or (not unit and scaled)
    wanted = canonical_unit(column.unit)
    if wanted == "%" or unit == "%":
        return unit == wanted or (not wanted and unit == "%")
    return not money


def canonical_unit(unit: str) -> str:
    """Return the unit that a column names as quantities have it.

    >>> canonical_unit("days"), canonical_unit("percent"), canonical_unit("shares")
    ('d', '%', 'shares')
    """
    read = quantities(f"1 {unit}") if unit else []
    return read[0].unit or unit if read else unit


def shown_unit(unit: str) -> str:
    """Return a unit as a cell shows it: "days" for "d"."""
    return _UNIT_NAMES.get(unit, unit)


def amount_of(quantity: Quantity, unit: str) -> Amount:
    """Return a quantity as the value of a cell; one without a unit has this one."""
    return Amount(plain(quantity.value), shown_unit(quantity.unit) or unit)


def plain(value: Decimal) -> Decimal:
    """Return a number without an exponent or zeros after the point.

    >>> str(plain(Decimal("8.1797E+10"))), str(plain(Decimal("1.260")))
    ('81797000000', '1.26')
    """
    return value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize()


def _options(text: str, column: Column) -> Iterator[FoundValue]:
    found = [
        (match.start(), option)
        for option in column.options
        for match in re.finditer(_whole(option), text, re.IGNORECASE)
    ]
    for start, option in sorted(found):
        yield FoundValue(Words(option), start, start + len(option))


def _whole(option: str) -> str:
    edge = r"\b" if option.isascii() and option[:1].isalnum() and option[-1:].isalnum() else ""
    return edge + re.escape(option) + edge


def split_items(text: str) -> tuple[str, ...]:
    """Return the parts of an enumeration; those in quotation marks where there are several.

    >>> split_items("the Americas, Europe and Japan."), split_items("「営業」、「開発」")
    (('Americas', 'Europe', 'Japan'), ('営業', '開発'))
    """
    quoted = [match["item"].strip(_TRIM + ",") for match in _QUOTED.finditer(text)]
    bullets = _DASHES.split(text) if _DASHES.match(text) else []
    parts = quoted if len(quoted) > 1 else bullets or _SEPARATOR.split(" ".join(text.split()))
    trimmed = (re.sub(r"^(?:the|an?)\s+", "", part.strip(_TRIM)) for part in parts)
    return tuple(dict.fromkeys(part for part in trimmed if part))[:MOST_ITEMS]


def life_dates(text: str) -> tuple[FoundValue | None, FoundValue | None]:
    """Return birth and death by the first parentheses with a life span; the second is None for the living.

    >>> [one.value.label for one in life_dates("Ada Lovelace (10 December 1815 – 27 November 1852) was")]
    ['1815-12-10', '1852-11-27']
    """
    for start, end in _parentheses(text[:OPENING]):
        inside = text[start:end]
        dates = find_periods(inside)
        pairs = (pair for pair in pairwise(dates) if _DASH.fullmatch(inside[pair[0].end : pair[1].start]))
        span = next(pairs, None)
        if span is not None:
            one, two = (FoundValue(day_of(date), start + date.start, start + date.end) for date in span)
            return (one, two) if _in_order(one, two) else (None, None)
        if len(dates) == 1 and _OPEN.match(inside[dates[0].end :].lstrip()):
            only = dates[0]
            return FoundValue(day_of(only), start + only.start, start + only.end), None
    return None, None


def _in_order(born: FoundValue, died: FoundValue) -> bool:
    match born.value, died.value:
        case Day(_, first), Day(_, last):
            return first < last
    return False


def _parentheses(text: str) -> list[tuple[int, int]]:
    """Return the spans inside of the outer parentheses of a text."""
    found, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "(（":
            start = place + 1 if depth == 0 else start
            depth += 1
        elif letter in ")）" and depth:
            depth -= 1
            if depth == 0 and place - start <= LONGEST_LIFE:
                found.append((start, place))
    return found


_CHANGES = re.compile(
    r"\b(?:rais|ris|rose|increas|chang|amend|adjust|reduc|decreas|lower|cut|fell|fall|drop|mov|postpon|brought|put|went|goes|gone|up|down|revis|updat|replac|extend|shorten|doubl)\w*",
    re.IGNORECASE,
)
_NOUN = r"(?:\s+(?:a|per|each)\s+\w+)?"
_JA_CHANGE = r"[^。、]{0,8}?(?:引き?上|引き?下|値上|値下|改|変更|増|減|修正|見直|訂正|延期|繰り?(?:上|下))"
_KO_CHANGE = r"[^.。]{0,12}?(?:인상|인하|상향|하향|조정|변경|개정|수정|올[리린려랐]|내[리린려렸]|늘|줄|증액|감액|바꾸|바뀌|고친|연기)"
_FROM_TO = re.compile(rf"{_NOUN}\s*(?:\([^()]*\)\s*)?to\s+(?:the\s+|about\s+)?", re.IGNORECASE)
_TO_FROM = re.compile(
    rf"{_NOUN}\s*,?\s*(?:\(?(?:up|down|raised|reduced|increased)\s+)?from\s+", re.IGNORECASE
)
_INSTEAD = re.compile(
    rf"{_NOUN}\s*,?\s*\(?(?:instead of|in place of|rather than|replacing|previously|formerly|before that|until (?:now|then))\s+(?:it was\s+)?",
    re.IGNORECASE,
)
_THEN_NOW = re.compile(
    rf"{_NOUN}\s*(?:,|;|and|but)\s*(?:it\s+|they\s+)?(?:and\s+)?(?:(?:is|are) now|now (?:is|are)|has (?:since )?been)\s*",
    re.IGNORECASE,
)
_FROM = re.compile(r"\bfrom\s+(?:about\s+)?\Z", re.IGNORECASE)
_BEFORE_CHANGE = re.compile(
    r"(?:종전|기존|종래|이전|개정 전)(?:의|에)?[^.。]{0,60}\Z|(?:従来|従前|これまで|改[定正]前|旧)(?:の|は)?[^。]{0,60}\Z"
)
_WAS = re.compile(
    r"\b(?:until|till|up to|before)\s+[^,;.]{1,30}?\s+(?:it|they|this)\s+(?:was|were)\s+\Z"
    r"|\b(?:previously|formerly)\s+(?:it\s+was\s+)?\Z",
    re.IGNORECASE,
)
_BETWEEN = {
    re.compile(r"\s*(?:から|より)\s*、?\s*"): re.compile(rf"\s*(?:に|へ|まで|と){_JA_CHANGE}"),
    re.compile(r"\s*を、?\s*"): re.compile(rf"\s*(?:に|へ|と){_JA_CHANGE}"),
    re.compile(r"\s*(?:에서|로부터|부터)\s*"): re.compile(rf"\s*(?:으로|로){_KO_CHANGE}"),
    re.compile(r"\s*(?:을|를)\s*"): re.compile(rf"\s*(?:으로|로){_KO_CHANGE}"),
}
"""Words between two values, and those after the second that say that it takes the place of the first."""
NEAR, NEAR_DATE = 60, 16
"""Characters before "from A to B" in which a verb of change stands; a span of dates needs it close by."""
_TOPIC = re.compile(r"\s*(?:은|는|을|를|에서|は|を|から)、?\s*")
_BECOMES = re.compile(rf"\s*(?:(?:으로|로){_KO_CHANGE}|(?:に|へ|と)(?:{_JA_CHANGE}|する|した|なる|なった))")


def without_former_values(text: str, column: Column) -> str:
    """Return a text of the same length without the values that it says were replaced.

    >>> fee = Column("fee", "Fee", kind="money")
    >>> without_former_values("The fee was raised from £48 to £55.", fee)
    'The fee was raised             £55.'
    >>> without_former_values("日当を2,000円から2,200円に改めた。", fee)
    '日当を        2,200円に改めた。'
    """
    values = list(find_values(text, column))
    for one, next_one in pairwise(values):
        between, after = text[one.end : next_one.start], text[next_one.end : next_one.end + 24]
        lead = text[max(0, one.start - 80) : one.start]
        dated = column.kind == "date"
        if _replaces(lead, between, after, NEAR_DATE if dated else NEAR) and not (
            dated and after.lstrip().startswith("まで")
        ):
            begin = _FROM.search(text, 0, one.start)
            text = _blanked(text, begin.start() if begin else one.start, next_one.start)
        elif _follows_new(text, between):
            text = _blanked(text, one.end, next_one.end)
    for one in values:
        if was := _WAS.search(text, 0, one.start):
            text = _blanked(text, was.start(), one.end)
    return text


def _replaces(lead: str, between: str, after: str, near: int) -> bool:
    """Return True where the words about two values say that the second takes the place of the first."""
    if _FROM.search(lead) and _FROM_TO.fullmatch(between) and _CHANGES.search(lead[-near:]):
        return True
    if _THEN_NOW.fullmatch(between):
        return True
    if any(told.fullmatch(between) and then.match(after) for told, then in _BETWEEN.items()):
        return True
    return bool(_BEFORE_CHANGE.search(lead) and _TOPIC.fullmatch(between) and _BECOMES.match(after))


def _follows_new(text: str, between: str) -> bool:
    """Return True where the second of two values is the former one: "to £55 from £48"."""
    changed = _TO_FROM.fullmatch(between) and _CHANGES.search(text)
    return bool(_INSTEAD.fullmatch(between) or changed)


def _blanked(text: str, start: int, end: int) -> str:
    return f"{text[:start]}{' ' * (end - start)}{text[end:]}"


_OPENED = {")": "(", "）": "（", "]": "[", "】": "【", "」": "「", "』": "『"}
_LIST_MARK = re.compile(r"\s*\(?\w{1,3}[)）]")
_ARTICLE_HEADING = re.compile(
    r"[ \t#*]*(?:第|제)\s?[\d一二三四五六七八九十百]+\s?[조条章][ \t　]*"
    r"(?:[(（【][^\n()（）【】]{1,60}[)）】][ \t　*]*|[^\n.。()（）【】]{0,40})"
)


def is_cut(text: str) -> bool:
    """Return True for a text without letters and digits, or that ends brackets which it does not begin.

    >>> [is_cut(text) for text in (")", "및 단가)", "24 months (from delivery)", "a) rope")]
    [True, True, False, False]
    """
    if not any(map(str.isalnum, text)):
        return True
    mark = _LIST_MARK.match(text)
    told = text[mark.end() :] if mark else text
    return any(
        letter in _OPENED and told.count(letter, 0, at + 1) > told.count(_OPENED[letter], 0, at)
        for at, letter in enumerate(told)
    )


def is_article_heading(line: str) -> bool:
    """Return True for the number of an article with no more than its title.

    >>> [is_article_heading(line) for line in ("제4조 납기 및 단가", "第3条（期間）", "第3条 期間は1年とする。")]
    [True, True, False]
    """
    return _ARTICLE_HEADING.fullmatch(line) is not None
