"""The numbers that Word counts by itself and writes nowhere: `1.2`, `제3조`, `(b)` before a paragraph."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.ingest.parsers.ooxml import attribute, local

_GANADA = "가나다라마바사아자차카타파하"
_CHOSUNG = "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ"
_AIUEO = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
_HAN = "一二三四五六七八九"
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl")),
    *((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


@dataclass(frozen=True)
class _Level:
    """How a level of a list counts; ``text`` has `%1` where the first level's number stands."""

    start: int
    form: str
    text: str


class Numbering:
    """Counts the numbered paragraphs of a document in their order, by its numbering and its styles (lxml)."""

    def __init__(self, numbering: Any, styles: Any):
        lists = [part for part in numbering if local(part) == "abstractNum"]
        self._levels = {attribute(kept, "abstractNumId"): _levels(kept) for kept in lists}
        self._lists = {attribute(num, "numId"): num for num in numbering if local(num) == "num"}
        self._styles = {attribute(style, "styleId"): style for style in styles if local(style) == "style"}
        self._counts: dict[str, list[int]] = {}
        self._begun: set[str] = set()

    def count(self, paragraph: Any) -> str:
        """Count a paragraph and return what stands before it; nothing where it is not numbered, or plainly.

        A heading's number is told even if it is plain: headings are no list.
        """
        properties = _child(paragraph, "pPr")
        style = _value(_child(properties, "pStyle"))
        list_id, depth = self._place(properties, style)
        num = self._lists.get(list_id)
        levels = self._levels.get(_value(_child(num, "abstractNumId")), {})
        if num is None or depth not in levels or levels[depth].form == "bullet":
            return ""
        counts = self._counted(num, levels, depth)
        is_plain = levels[depth].form == "decimal" and levels[depth].text in _plain(depth)
        return "" if is_plain and not self._is_heading(style) else _written(levels, depth, counts)

    def _place(self, properties: Any, style: str) -> tuple[str, int]:
        """Return the list and the depth of a paragraph, by itself or by its style."""
        own = _child(properties, "numPr")
        list_id, depth = _value(_child(own, "numId")), _value(_child(own, "ilvl"))
        for _ in range(20):  # styles rest on styles; a circle of them ends too
            if (list_id and depth) or style not in self._styles:
                break
            given = _child(_child(self._styles[style], "pPr"), "numPr")
            list_id = list_id or _value(_child(given, "numId"))
            depth = depth or _value(_child(given, "ilvl"))
            style = _value(_child(self._styles[style], "basedOn"))
        return list_id, int(depth) if depth.isdecimal() else 0

    def _counted(self, num: Any, levels: dict[int, _Level], depth: int) -> list[int]:
        """Count on at a depth: what is deeper begins again, what is above and never counted begins."""
        kept, own = _value(_child(num, "abstractNumId")), attribute(num, "numId")
        starts = [levels[place].start if place in levels else 1 for place in range(9)]
        counts = self._counts.setdefault(kept, [start - 1 for start in starts])
        if own not in self._begun:
            self._begun.add(own)
            for change in (part for part in num if local(part) == "lvlOverride"):
                start, place = _value(_child(change, "startOverride")), attribute(change, "ilvl")
                if start.isdecimal() and place.isdecimal() and int(place) < len(counts):
                    counts[int(place)] = int(start) - 1
        counts[:depth] = [max(count, start) for count, start in zip(counts[:depth], starts, strict=False)]
        counts[depth] += 1
        counts[depth + 1 :] = [start - 1 for start in starts[depth + 1 :]]
        return counts

    def _is_heading(self, style: str) -> bool:
        name = _value(_child(self._styles.get(style), "name")).lower()
        return name.startswith(("heading", "title"))


def _levels(kept: Any) -> dict[int, _Level]:
    found = {}
    for level in (part for part in kept if local(part) == "lvl"):
        start, form = _value(_child(level, "start")), _value(_child(level, "numFmt"))
        text = _value(_child(level, "lvlText"))
        found[int(attribute(level, "ilvl"))] = _Level(int(start) if start.isdecimal() else 1, form, text)
    return found


def _plain(depth: int) -> tuple[str, ...]:
    """Return how a list numbers its items that is one as any other, and stays one."""
    return f"%{depth + 1}.", f"%{depth + 1})"


def _written(levels: Mapping[int, _Level], depth: int, counts: Sequence[int]) -> str:
    text = levels[depth].text
    for place, number in enumerate(counts[: depth + 1]):
        form = levels[place].form if place in levels else "decimal"
        text = text.replace(f"%{place + 1}", formed(number, form))
    return text.strip()


def _child(element: Any, name: str) -> Any:
    if element is None:
        return None
    return next((part for part in element if isinstance(part.tag, str) and local(part) == name), None)


def _value(element: Any) -> str:
    return "" if element is None else attribute(element, "val")


def formed(number: int, form: str) -> str:
    """Write a number as Word's format of that name does; an unknown one is decimal.

    >>> [formed(3, form) for form in ("decimal", "lowerLetter", "upperRoman", "ganada", "none")]
    ['3', 'c', 'III', '다', '']
    """
    return _FORMS.get(form, str)(number)


def _letters(number: int) -> str:
    """Write 1 as a, 27 as aa, as Word does."""
    return chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1) if number > 0 else ""


def _roman(number: int) -> str:
    written = ""
    for value, letters in _ROMAN:
        written += letters * (number // value)
        number %= value
    return written


def _han(number: int) -> str:
    tens, ones = divmod(number, 10)
    if not 0 < number < 100:
        return str(number)
    return ("" if tens < 1 else "十" if tens == 1 else _HAN[tens - 1] + "十") + (
        _HAN[ones - 1] if ones else ""
    )


def _of(letters: str) -> Callable[[int], str]:
    return lambda number: letters[(number - 1) % len(letters)]


_FORMS: dict[str, Callable[[int], str]] = {
    "none": lambda _: "",
    "decimalZero": lambda number: f"{number:02}",
    "decimalEnclosedCircle": lambda number: chr(0x2460 + number - 1) if 0 < number <= 20 else str(number),
    "lowerLetter": _letters,
    "upperLetter": lambda number: _letters(number).upper(),
    "lowerRoman": _roman,
    "upperRoman": lambda number: _roman(number).upper(),
    "ganada": _of(_GANADA),
    "chosung": _of(_CHOSUNG),
    "aiueo": _of(_AIUEO),
    "aiueoFullWidth": _of(_AIUEO),
    **dict.fromkeys(("japaneseCounting", "chineseCounting", "ideographDigital", "taiwaneseCounting"), _han),
}
