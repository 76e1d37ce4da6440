"""Headings and numbered paragraphs of Hangul documents as Markdown; HWP 5 and HWPX share them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rag.ingest.parsers.docx import format_number

# Number formats in the order of HWP 5, by their names in HWPX; the last field is the first circled sign.
_FORMATS: dict[str, tuple[str, int]] = {
    "DIGIT": ("decimal", 0),
    "CIRCLED_DIGIT": ("decimalEnclosedCircle", 0),
    "ROMAN_CAPITAL": ("upperRoman", 0),
    "ROMAN_SMALL": ("lowerRoman", 0),
    "LATIN_CAPITAL": ("upperLetter", 0),
    "LATIN_SMALL": ("lowerLetter", 0),
    "CIRCLED_LATIN_CAPITAL": ("upperLetter", 0x24B6),
    "CIRCLED_LATIN_SMALL": ("lowerLetter", 0x24D0),
    "HANGUL_SYLLABLE": ("ganada", 0),
    "CIRCLED_HANGUL_SYLLABLE": ("ganada", 0x326E),
    "HANGUL_JAMO": ("chosung", 0),
    "CIRCLED_HANGUL_JAMO": ("chosung", 0x3260),
    "HANGUL_PHONETIC": ("decimal", 0),
    "IDEOGRAPH": ("japaneseCounting", 0),
}
FORMAT_NAMES = tuple(_FORMATS)
_CIRCLED = 14  # signs of each kind
_MAX_HEADING = 120  # characters; many offices write whole paragraphs in the styles of the outline
_DEEPEST_HEADING = 6
DAMAGED_PART = "A part of the file is damaged: text after it is missing."


class Level(NamedTuple):
    """Numbering of one level of a list; ``text`` has `^1` in the place of the first level's number."""

    text: str
    form: str = "DIGIT"
    start: int = 1


class ParagraphHead(NamedTuple):
    """Place of a paragraph in the outline or a list; ``level`` counts from 0."""

    kind: str = ""  # OUTLINE, NUMBER or BULLET, the names in HWPX
    list_id: int = 0
    level: int = 0


class Outline:
    """Numbers of a document's paragraphs, counted in their order; ``outline_id`` is the outline's list."""

    def __init__(self, levels: Mapping[int, Sequence[Level]]):
        self._levels, self._counts = levels, dict[int, list[int]]()
        self.outline_id = 0

    def block(self, text: str, head: ParagraphHead, *, in_table: bool) -> str:
        """Count a paragraph, and return it with its number, as a heading where it is one."""
        if head.kind == "BULLET":
            return f"- {text}" if text and not in_table else text
        number = self._number(head) if head.kind in ("OUTLINE", "NUMBER") else ""
        line = f"{number} {text}" if number and text else text
        is_heading = head.kind == "OUTLINE" and 0 < len(line) <= _MAX_HEADING and not in_table
        return f"{'#' * min(head.level + 1, _DEEPEST_HEADING)} {line}" if is_heading else line

    def _number(self, head: ParagraphHead) -> str:
        list_id = head.list_id or (self.outline_id if head.kind == "OUTLINE" else 0)
        levels = self._levels.get(list_id, ())
        if not 0 <= head.level < len(levels):
            return ""
        starts = [level.start for level in levels]
        counts = self._counts.setdefault(list_id, [start - 1 for start in starts])
        counts[: head.level] = map(max, counts[: head.level], starts)
        counts[head.level] += 1
        counts[head.level + 1 :] = [start - 1 for start in starts[head.level + 1 :]]
        text = levels[head.level].text
        for place in reversed(range(head.level + 1)):  # ^10 before ^1
            text = text.replace(f"^{place + 1}", _format(counts[place], levels[place].form))
        return text.strip()


def _format(number: int, form: str) -> str:
    """Return a number in a format of Hangul.

    >>> [_format(3, form) for form in ("DIGIT", "HANGUL_SYLLABLE", "CIRCLED_HANGUL_JAMO", "unknown")]
    ['3', '다', '㉢', '3']
    """
    name, circled = _FORMATS.get(form, ("decimal", 0))
    if circled and 0 < number <= _CIRCLED:
        return chr(circled + number - 1)
    return format_number(number, name)
