"""Supplementary provisions of Japanese and Korean regulations (附則, 부칙), as sections of their own.

Their articles are numbered from one again, so that 第1条 or 제1조 of a regulation stands in it twice. Without
a heading of their own they would be read as part of the last chapter.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag.text.chunking import CODE
from rag.text.document import LoadedDocument

Heading = tuple[int, int, str]

_BRACKETED = r"[(（<〈＜\[【][^\n]{1,60}?[)）>〉＞\]】]"
_NUMBER = "[0-9０-９一二三四五六七八九十]"
# The word alone in its line, with the number or date of the amendment, or with its first article after it.
_SUPPLEMENT = re.compile(
    rf"^[ \t　*]*(?P<name>附[ 　]*則|부[ 　]*칙)(?P<of>[ 　]*(?:抄|{_BRACKETED}))?[ \t　*]*"
    rf"(?:$|(?<=[ 　*])(?:この|本|이 |①|第{_NUMBER}+[条項]|제 ?[0-9]+ ?조 ?[(（]|[1１][.． 　]))",
    re.MULTILINE,
)
_ANNEX = re.compile(
    rf"^[ \t　*]*(?P<name>[\[［【<〈]?(?:別表|別紙|別記|様式|별표|별지)[ 　]?(?:第|제)?[ 　]?{_NUMBER}*[ 　]?"
    r"(?:[号호][ 　]?(?:様式|서식)?)?[\]］】>〉]?"
    r"(?:[ 　]*[(（][^()（）\n]{1,40}[)）]|[ 　]{1,9}[^\n。.]{1,30})?)"
    r"[ \t　*]{0,99}$",
    re.MULTILINE,
)
_CHAPTER = re.compile(rf"^[ \t　*#]*(?:第[ 　]?{_NUMBER}+[ 　]?[章編]|제 ?[0-9]+ ?[장편])", re.MULTILINE)


def with_provisions(document: LoadedDocument) -> LoadedDocument:
    r"""Return a document with a heading for each of its supplementary provisions, and for annexes after them.

    >>> read = LoadedDocument("第1条 目的\n\n附 則\n\n第1条 施行する。\n\n別表第1\n\n額")
    >>> with_provisions(read).headings
    ((8, 1, '附則'), (24, 1, '別表第1'))
    """
    if document.media_type.startswith(CODE):
        return document
    supplements = [*_supplements(document.text)]
    if not supplements:
        return document
    first = supplements[0].start("name")
    known = document.headings
    found = [
        (match.start(), _level(known, match.start()), _title(match))
        for match in (*supplements, *_ANNEX.finditer(document.text, first))
        if not any(match.start() <= heading[0] <= match.end() for heading in known)
    ]
    return replace(document, headings=tuple(sorted([*document.headings, *found])))


def _supplements(text: str) -> Iterator[re.Match[str]]:
    """Yield the supplementary provisions; a line of the table of contents has chapters after it."""
    last = max((match.start() for match in _CHAPTER.finditer(text)), default=-1)
    yield from (match for match in _SUPPLEMENT.finditer(text) if match.start() > last)


def _title(match: re.Match[str]) -> str:
    """Return the heading of a match: its name without the spaces that space it out, and what it is of."""
    if match.re is _ANNEX:
        return " ".join(match["name"].split())
    return " ".join([re.sub(r"[ 　]", "", match["name"]), *(match["of"] or "").split()])


def _level(headings: Sequence[Heading], place: int) -> int:
    """Return the level of the chapters before a place: the highest below the document's only title."""
    levels = [level for start, level, _ in headings if start < place]
    if not levels:
        return 1
    top = min(levels)
    below = [level for level in levels if level > top]
    if levels.count(top) > 1:
        return top
    return min(below, default=top + 1)
