"""Words that run over the line ends of a PDF: Korean ones, and Japanese and Chinese sentences.

Text without spaces between words goes on over a line end as it stands. A Korean line end may hold no space
where one word ends.

Korean lines break between words in some documents and at any syllable in others. The room at the ends of a
document's lines and the letters around them tell which; in the latter, a line end parts or joins two words
as its letters do in running text (weights of `scripts/korean_spacing.py`) and elsewhere in the document.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from string import ascii_letters, digits
from typing import NamedTuple

WEIGHTS = Path(__file__).with_name("korean_spacing.json")
_LETTERS = "\uac00-\ud7a30-9A-Za-z"
_BETWEEN = re.compile(rf"(?<=[{_LETTERS}%)\]\"'”’〉》」』])( ?)(?=[{_LETTERS}(\[\"'“‘〈《「『])")
_LEFT = re.compile(r"\S{1,4}\Z")
_RIGHT = re.compile(r"\S{1,4}")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_CLASSES = str.maketrans({**dict.fromkeys(digits, "0"), **dict.fromkeys(ascii_letters, "a")})
_SIZES = ((1, 1), (2, 1), (1, 2))  # characters before and after a place that are counted
# Fitted to half of the articles of KorQuAD 1.0; docs/benchmarks/parsing.md has the other half.
_WEIGHT = 0.56
_COUNT_WEIGHTS = (0.89, 1.26, 0.67)
_PARTED = 0.29  # share of places between Korean letters that have a space
# Share of line ends, of those that have no room for the next word, that have no room for a letter either:
# where lines break inside words, and where they break between words.
_TIGHT_INSIDE, _TIGHT_BETWEEN = 0.95, 0.45
_SURE = 3.0  # log of the odds that lines break inside words, from which words are joined
_ENTRY = re.compile(r"제\s?\d+\s?[조장절항]|\([가나다라마바사아자차카타파하]\)\s|\(?\d{1,3}[.)]\s")
_SPACELESS_ENTRY = re.compile(
    r"第\s?[\d０-９一二三四五六七八九十百]+\s?[条章節款項編]|附則|[（(].{1,3}[）)]|[・●○◎■□◆※]"
)
_SPACELESS_PROSE = 15  # characters; a shorter line is a label, or part of one
_SPACELESS_ROOM = 0.25  # of the width of its column, within a sentence; digits take half a letter's place


class LineEnd(NamedTuple):
    """Line end in a text that may part a Korean word; ``tight`` where the line has no room for a letter.

    One that is ``spaceless`` stands within a sentence of Kana and Han, and parts no words.
    """

    place: int
    tight: bool
    spaceless: bool = False


def may_run_on(before: str, after: str) -> bool:
    """Return whether a Korean word may run from one line into the next.

    >>> may_run_on("이익은 37억 원", "으로"), may_run_on("줄었다.", "이익은"), may_run_on("in 2025", "and")
    (True, False, False)
    >>> may_run_on("계약의 목적", "제2조 임대차 기간")
    False
    """
    around = f"{before[-1:]} {after[:1]}"
    return not _ENTRY.match(after) and bool(_HANGUL.search(around) and _BETWEEN.search(around))


def goes_on(before: str, after: Sequence[str], room: float) -> bool:
    """Return whether a sentence without spaces goes on in the lines after it, one of which ends it.

    `room` is the share of the column that the line leaves empty. Lines of names and titles end no sentence.

    >>> goes_on("旧規程は本規程の施行をもって廃止す", ["る。"], 0.1)
    True
    >>> goes_on("旧規程は本規程の施行をもって廃止", ["第2条 この規程は別に定める。"], 0.1)
    False
    """
    if room > _SPACELESS_ROOM or len(before) < _SPACELESS_PROSE or before[-1] in "。！？":
        return False
    return not _SPACELESS_ENTRY.match(after[0]) and any("。" in line for line in after)


def inside_words(pages: Sequence[tuple[str, Sequence[LineEnd]]]) -> list[list[int]]:
    """Return, for each page's text and line ends, the places of those that part a word, or no words."""
    ends = [(text, end) for text, found in pages for end in found if not end.spaceless]
    contexts = [_context(text, end.place) for text, end in ends]
    evidence = list(_evidence(contexts, _counts((text for text, _ in pages), contexts)))
    inside = _break_inside(zip((end.tight for _, end in ends), evidence, strict=True))
    likely = iter(evidence)
    return [
        [end.place for end in found if end.spaceless or (next(likely) < 0 and end.tight and inside)]
        for _, found in pages
    ]


def _break_inside(ends: Iterable[tuple[bool, float]]) -> bool:
    """Return whether lines that end so break inside words, too, as the likelier of the two."""
    balance = 0.0
    for tight, evidence in ends:
        inside, between = (
            (_TIGHT_INSIDE, _TIGHT_BETWEEN) if tight else (1 - _TIGHT_INSIDE, 1 - _TIGHT_BETWEEN)
        )
        spaced = 1 / (1 + math.exp(-evidence))
        balance += math.log(inside / between) + math.log(_PARTED / max(spaced, 0.01))
    return balance > _SURE


Context = tuple[str, str]


def _context(text: str, place: int) -> Context:
    """Return the ends of the words before and after a place, with a blank where a word begins or ends."""
    before, after = text[max(place - 4, 0) : place], text[place + 1 : place + 5]
    return _around(before, after)


def _around(before: str, after: str) -> Context:
    left, right = _LEFT.search(before), _RIGHT.match(after)
    return (
        (" " + left[0] if left else " ")[-4:].translate(_CLASSES),
        (right[0] + " " if right else " ")[:4].translate(_CLASSES),
    )


def places(text: str) -> Iterator[tuple[Context, bool]]:
    """Yield the context of each place where a Korean word may end, and whether a space is there."""
    for found in _BETWEEN.finditer(text):
        start, end = found.span()
        if _HANGUL.match(text[start - 1]) or _HANGUL.match(text[end]):
            yield _around(text[max(start - 4, 0) : start], text[end : end + 4]), start < end


def features(context: Context) -> list[str]:
    """Return the parts of a context that have weights: ends of the word before, starts of the word after.

    >>> features((" 억원", "으로 "))[:5]
    ['원|', '억원|', ' 억원|', '|으', '|으로']
    """
    left, right = context
    return [
        *(f"{left[-size:]}|" for size in range(1, len(left) + 1)),
        *(f"|{right[:size]}" for size in range(1, len(right) + 1)),
        *(f"{left[-before:]}|{right[:after]}" for before, after in (*_SIZES, (2, 2))),
    ]


def _counts(texts: Iterable[str], contexts: Iterable[Context]) -> Counter[tuple[str, str, bool]]:
    """Count, over the texts, the letters around each context's place with and without a space."""
    wanted = {pair for context in contexts for pair in _pairs(context)}
    return Counter(
        (*pair, spaced)
        for text in texts
        for context, spaced in (places(text) if wanted else ())
        for pair in _pairs(context)
        if pair in wanted
    )


def _pairs(context: Context) -> list[tuple[str, str]]:
    return [(context[0][-before:], context[1][:after]) for before, after in _SIZES]


def _evidence(contexts: Iterable[Context], counts: Counter[tuple[str, str, bool]]) -> Iterator[float]:
    """Yield the log odds that each place parts two words."""
    weights = _weights()
    for context in contexts:
        learned = weights[""] + sum(weights.get(feature, 0) for feature in features(context))
        own = [
            math.log((counts[*pair, True] + 0.5) / (counts[*pair, False] + 0.5)) for pair in _pairs(context)
        ]
        weighted = sum(weight * value for weight, value in zip(_COUNT_WEIGHTS, own, strict=True))
        yield _WEIGHT * learned / 10 + weighted


@lru_cache
def _weights() -> dict[str, int]:
    weights: dict[str, int] = json.loads(WEIGHTS.read_text("utf-8"))
    return weights
