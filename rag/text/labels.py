"""Labels of lines that state a value, as "Present: Ann Lee" at the head of minutes."""

import re

_LABEL = re.compile(
    r"[ \t]*(?:[-*•+・]|\d{1,2}[.)])?[ \t]*\**([^\n:：|]{1,24}?)\**[ \t]*[:：](?!//)\**[ \t]*\S"
)


def label_of(text: str) -> str:
    """Return the label of a line that states a value after it; empty for another one.

    >>> [label_of(text) for text in ("- 欠席者: 山本", "Absent: Lee", "It opens at 9:30.", "| a: b |")]
    ['欠席者', 'Absent', '', '']
    """
    found = _LABEL.match(text)
    return found[1] if found and not found[1][-1].isdigit() else ""


def begins_entry(line: str, first: str) -> bool:
    """Return True where a line states a value of its own, as the `first` line of its paragraph does.

    Such a line does not go on from the one above: it keeps its line end.

    >>> begins_entry("Absent: Kim", "Date: 3 May"), begins_entry("Note: it rained", "We met")
    (True, False)
    """
    return bool(label_of(line) and label_of(first))
