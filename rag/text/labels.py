"""Labels of lines that state a value, as "Present: Ann Lee" at the head of minutes."""

import re

LONGEST = 24  # characters of a label
_LABELLED = re.compile(r"([^\n:：|]{1,40})[:：](?!//)[ \t*]*[^\s*]")
_MARK = re.compile(r"\A(?:[-*•+・]|\d{1,2}[.)])")


def label_of(text: str) -> str:
    """Return the label of a line that states a value after it; empty for another one.

    >>> [label_of(text) for text in ("- 欠席者: 山本", "Absent: Lee", "It opens at 9:30.", "| a: b |")]
    ['欠席者', 'Absent', '', '']
    """
    found = _LABELLED.match(text.lstrip(" \t"))
    label = _MARK.sub("", found[1]).strip(" \t*") if found else ""
    return label if 0 < len(label) <= LONGEST and not label[-1].isdigit() else ""


def begins_entry(line: str, first: str) -> bool:
    """Return True where a line states a value of its own, as the `first` line of its paragraph does.

    Such a line does not go on from the one above: it keeps its line end.

    >>> begins_entry("Absent: Kim", "Date: 3 May"), begins_entry("Note: it rained", "We met")
    (True, False)
    """
    return bool(label_of(line) and label_of(first))
