# ruff: noqa: E501 - patterns
"""Values that a sentence says were replaced: 48 of "raised from £48 to £55" and of "£55 instead of £48"."""

import re
from itertools import pairwise

from rag.grid.columns import Column
from rag.grid.values import find_values

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
