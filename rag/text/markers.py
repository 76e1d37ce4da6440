"""Citation markers in a stream of text: `[1]` and its relatives, split over pieces in any way.

Only markers of given passages pass. Links and images are broken, so that no text of a document can make a
browser send a request.
"""

import re
from dataclasses import dataclass

from rag.text.markdown import cells

_OPEN, _CLOSE = r"[\[【［]", r"[\]】］]"
_NUMBERS = r"\d{1,4}(?:\s*(?:[,;、，·&–-]|and|및|と)\s*\^?\d{1,4})*"
_WORD = r"(?:\^|#|passages?|sources?|documents?|docs?|出典|資料|文書|출처|자료|문서|구절|문단|지문)?"
_MARKER = re.compile(
    rf"(?<![ \t])[ \t]*{_OPEN}\s*{_WORD}\s*:?\s*({_NUMBERS})(?:\s*†[^\]】］\n]{{0,40}})?\s*{_CLOSE}", re.I
)
_HELD = 60  # characters of a marker at most, and of the text held back
_LINE = 120  # characters of a line that are looked back at
_OPENED = re.compile(rf"{_OPEN}[^\[\]【】［］\n]{{0,{_HELD}}}\Z")
_DEFINITION = re.compile(r"\W*\[[^\]]*\]\Z")
_SHOWN = re.compile(r"\[(\d{1,4})\]")


class MarkerFilter:
    """Filters a stream: only markers 1 to `count` pass, each written `[n]`.

    >>> markers = MarkerFilter(2)
    >>> [markers.feed(piece) for piece in ("Yes [", "1, 9", "] and no【2】.")] + [markers.flush()]
    ['Yes', '', ' [1] and no[2].', '']
    """

    def __init__(self, count: int):
        self._count = count
        self._held = ""
        self._line = ""

    def feed(self, piece: str) -> str:
        """Return the text that is decided and was not yet returned."""
        text = self._held + piece
        opened = _OPENED.search(text)
        cut = len(text[: opened.start() if opened else None].rstrip(" \t"))
        self._held = text[cut:]
        return self._pass(text[:cut])

    def flush(self) -> str:
        """Return the text held back, at the end of the stream."""
        text, self._held = self._held, ""
        return self._pass(text)

    def _pass(self, text: str) -> str:
        return self._unlink(_MARKER.sub(self._keep, text))

    def _keep(self, match: re.Match[str]) -> str:
        numbers = [number for number in _listed(match[1]) if 1 <= number <= self._count]
        if not numbers:
            return ""
        space = match[0][: len(match[0]) - len(match[0].lstrip(" \t"))]
        return space + "".join(f"[{number}]" for number in dict.fromkeys(numbers))

    def _unlink(self, text: str) -> str:
        """Set a space into `![`, `](` and `[x]:`, without which Markdown has neither images nor links."""
        passed = []
        for character in text:
            if self._links(character):
                passed.append(" ")
            passed.append(character)
            self._line = "" if character == "\n" else (self._line + character)[-_LINE:]
        return "".join(passed)

    def _links(self, character: str) -> bool:
        if character == "[":
            return self._line.endswith("!")
        if character == "(":
            return self._line.endswith("]")
        return character == ":" and bool(_DEFINITION.match(self._line))


_SYNTAX = re.compile(
    r"(?m)^[ \t]{0,3}#{1,6}[ \t]+"  # a heading's marks
    r"|[ \t]*\{\s*(?:#[\w-]+|/\*.*?\*/)\s*\}"  # and its anchor
    r"|^[ \t]*\|?(?:[ \t]*:?-{3,}:?[ \t]*\|)+[ \t:-]*$"  # the rule under a table's head
)


_ROWS = re.compile(r"^[ \t]*\|[^\n]*(?:\n[ \t]*\|[^\n]*)*", re.MULTILINE)


def inert(text: str) -> str:
    r"""Return text of a document on one line, without markers, links, images and Markdown syntax.

    The cells of a table stay, with dots between them.

    >>> inert("See ![x](http://a)\n and [7].")
    'See ! [x] (http://a) and.'
    >>> inert("## Setup { #setup }\nCall `run`.")
    'Setup Call `run`.'
    >>> inert("| price | 40 |\n|---|---|\n| tax | 8 |")
    'price · 40; tax · 8'
    """
    words = _SYNTAX.sub("", _ROWS.sub(_cells, text))
    if words.count("`") % 2:
        words = words.replace("`", "")
    markers = MarkerFilter(0)
    return markers.feed(" ".join(words.split())) + markers.flush()


def _cells(rows: re.Match[str]) -> str:
    split = map(cells, rows[0].splitlines())
    told = (" · ".join(cell for cell in row if cell.strip("-: ")) for row in split)
    return "; ".join(filter(None, told))


def _listed(numbers: str) -> list[int]:
    """Return the numbers of one marker; a dash spans a range.

    >>> _listed("1, 3-5")
    [1, 3, 4, 5]
    """
    found: list[int] = []
    for first, last in re.findall(r"(\d+)(?:\s*[–-]\s*\^?(\d+))?", numbers):
        start, end = int(first), int(last or first)
        found.extend(range(start, end + 1) if 0 <= end - start < 20 else (start, end))
    return found


@dataclass(frozen=True)
class Plain:
    """Answer without markers: the text, the original offset of each character, and the markers' places.

    `markers` holds (position in the plain text, number).
    """

    text: str
    offsets: tuple[int, ...]
    markers: tuple[tuple[int, int], ...]


def plain(answer: str) -> Plain:
    """Remove the markers from an answer that passed a MarkerFilter.

    >>> plain("Yes [1][2].").text, plain("Yes [1].").markers
    ('Yes .', ((4, 1),))
    """
    kept: list[int] = []
    markers: list[tuple[int, int]] = []
    done = 0
    for match in _SHOWN.finditer(answer):
        kept.extend(range(done, match.start()))
        markers.append((len(kept), int(match[1])))
        done = match.end()
    kept.extend(range(done, len(answer)))
    return Plain("".join(answer[at] for at in kept), tuple(kept), tuple(markers))
