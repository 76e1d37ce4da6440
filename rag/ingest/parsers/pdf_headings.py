"""The headings of a PDF, which only looks tell: short lines set larger than the text, or bold and alone."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from rag.ingest.parsers.pdf_text import LineStart, PageText

_MAX_LENGTH = 120
_LARGER = 1.15  # a heading's font size over the body's
_LEVELS = 4
_SENTENCE = re.compile(r"[.。,;:]$")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_LETTER = re.compile(r"[^\W\d_]")


class _Block(NamedTuple):
    """Lines that follow each other and are set alike."""

    start: int
    text: str
    size: float
    bold: bool
    opens: bool  # begins a paragraph


def headings(pages: list[PageText], starts: list[int]) -> tuple[tuple[int, int, str], ...]:
    """Return (start, level, heading), in a document where page i begins at ``starts[i]``.

    The largest size is level 1; everything below the third size is level 4.
    """
    blocks = [block for page, start in zip(pages, starts, strict=True) for block in _blocks(page, start)]
    if not blocks:
        return ()
    sizes: Counter[float] = Counter()
    for block in blocks:
        sizes[block.size] += len(block.text)
    body = sizes.most_common(1)[0][0]
    found = [block for block in blocks if _is_heading(block, body)]
    ranks = sorted({block.size for block in found}, reverse=True)
    return tuple((block.start, min(ranks.index(block.size) + 1, _LEVELS), block.text) for block in found)


def _blocks(page: PageText, offset: int) -> Iterator[_Block]:
    """Yield what a page says, in blocks; stamps in its margin, which run another way, are left out."""
    if not page.lines:
        return
    [(main, _)] = Counter(round(line.angle) for line in page.lines).most_common(1)
    ends = [*(line.start for line in page.lines[1:]), len(page.text)]
    first = page.lines[0]
    for line, following, end in zip(page.lines, [*page.lines[1:], None], ends, strict=True):
        opens = page.text.endswith("\n\n", 0, end)
        if following and not opens and _style(following) == _style(line):
            continue
        if round(line.angle) == main:
            text = " ".join(page.text[first.start : end].split())
            begins = first.start == 0 or page.text.endswith("\n\n", 0, first.start)
            yield _Block(offset + first.start, text, round(line.size, 1), line.bold, begins)
        first = following or line


def _style(line: LineStart) -> tuple[float, float, bool]:
    return round(line.angle), round(line.size, 1), line.bold


def _is_heading(block: _Block, body: float) -> bool:
    text = block.text
    if not 2 < len(text) <= _MAX_LENGTH or 2 * len(_LETTER.findall(text)) < len(text):
        return False
    if block.size > _LARGER * body:
        return len(text) <= 40 or not _SENTENCE.search(text)
    if not (block.bold and block.opens and block.size >= body) or _SENTENCE.search(text):
        return False
    return len(_YEAR.findall(text)) < 2  # else it heads a table's columns
