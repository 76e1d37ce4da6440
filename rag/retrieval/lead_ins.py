"""Lead-ins: sentences and labels that say nothing without the list, the table or the sentence after them.

| sentence | belongs with it |
|---|---|
| ends in a colon | the list or table after it, else the next sentence |
| points ahead ("as follows", 다음, 次の), right before a list or a table | all of that |
| a label alone on its line | the next sentence |
| a heading that is what is asked for, right above a list | all of that |
"""

import re
from collections.abc import Callable, Sequence

from rag.text.sentences import begins_item

_COLON = re.compile(r"[:：][*_\s]*\Z")
_AHEAD = re.compile(
    r"\b(?:as follows|(?:the|these) following|following (?:are|is|table|list)|below)\b"
    r"|다음|아래|次[のに表]|以下|下記|下表|左記",
    re.IGNORECASE,
)
"""Words that point to what follows them in a text: a closed class in each language."""
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


def ends_in_colon(sentence: str) -> bool:
    """Return True for a sentence that ends in a colon, whatever marks stand around it."""
    return _COLON.search(sentence) is not None


def points_ahead(sentence: str) -> bool:
    """Return True for a sentence that may announce the list or the table after it.

    >>> told = "Shifts are as follows:", "진료시간은 다음과 같다.", "次のとおりとする。", "It opens at 9."
    >>> list(map(points_ahead, told))
    [True, True, True, False]
    """
    return ends_in_colon(sentence) or _AHEAD.search(sentence) is not None


def last_led(text: str, spans: Sequence[tuple[int, int]], at: int, is_label: Callable[[str], bool]) -> int:
    r"""Return which of a passage's sentences is the last that belongs with the one `at`.

    >>> text = "Shifts are as follows:\n\n- Early: 3:30\n- Late: 13:00\n\nOvens are lit at 3."
    >>> spans = [(0, 22), (24, 37), (38, 51), (53, 72)]
    >>> [last_led(text, spans, at, lambda text: False) for at in range(4)]
    [2, 1, 2, 3]
    """
    start, end = spans[at]
    if at + 1 == len(spans) or text[start:end].startswith("|"):
        return at
    told = text[start:end]
    if _is_entry(text, spans[at + 1]) and not _is_entry(text, spans[at]):
        return _end_of_block(text, spans, at + 1) if points_ahead(told) else at
    return at + 1 if ends_in_colon(told) or is_label(told) else at


def list_around(text: str, spans: Sequence[tuple[int, int]], at: int) -> range:
    r"""Return which of a passage's sentences are the list that the item `at` is one of.

    >>> text = "# Fees\n\n- Ann: 3. Paid late.\n- Tom: 4.\n\nNo more."
    >>> list_around(text, [(0, 6), (8, 17), (18, 28), (29, 38), (40, 48)], 3)
    range(1, 4)
    """
    first = begun = at
    while begun > 0 and not _BLANK_LINE.search(text, spans[begun - 1][1], spans[begun][0]):
        begun -= 1
        first = begun if begins_item(text[slice(*spans[begun])]) else first
    return range(first, _end_of_block(text, spans, at) + 1)


def _end_of_block(text: str, spans: Sequence[tuple[int, int]], at: int) -> int:
    """Return the last sentence of the list or table that begins with the one `at`."""
    is_table = text[spans[at][0]] == "|"
    while at + 1 < len(spans):
        goes_on = _is_entry(text, spans[at + 1]) and (text[spans[at + 1][0]] == "|") == is_table
        if not goes_on and (is_table or _BLANK_LINE.search(text, spans[at][1], spans[at + 1][0])):
            break
        at += 1
    return at


def _is_entry(text: str, span: tuple[int, int]) -> bool:
    """Return True for an item of a list or a row of a table."""
    return text[span[0]] == "|" or begins_item(text[span[0] : span[1]])
