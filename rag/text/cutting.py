"""A stretch of text cut into spans of about equal length, at the best places near them."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from rag.text.splitting import Splitting

_WIDE = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]")
_WIDTH = 2.7  # what one of them weighs against a Latin letter


def cut(
    text: str,
    start: int,
    end: int,
    splitting: Splitting,
    separators: Sequence[re.Pattern[str]],
    whole: Sequence[tuple[int, int]] = (),
) -> Iterator[tuple[int, int]]:
    """Yield the spans of a stretch, all of about equal length, each beginning before the last one's end.

    No span of `whole`, which are in order, is cut if it fits.
    """
    start, end = trimmed(text, start, end)
    if start == end:
        return
    scale = weight(text, start, end)
    limit, overlap = max(int(splitting.size / scale), 1), int(splitting.overlap / scale)
    inside = whole[max(bisect_left(whole, (start,)) - 1, 0) : bisect_left(whole, (end,))]
    kept = [(first, last) for first, last in inside if last - first <= limit]
    while end - start > limit:
        even = math.ceil((end - start) / math.ceil((end - start) / limit))
        stop = best(text, start + even // 2, min(start + limit, end), start + even, separators)
        stop = _outside(kept, stop, start, limit)
        yield trimmed(text, start, stop)
        after = best(text, stop - overlap, stop, stop - overlap, separators)
        start, end = trimmed(text, max(_after(kept, after, stop), start + 1), end)
    yield start, end


def _outside(kept: Sequence[tuple[int, int]], stop: int, start: int, limit: int) -> int:
    """Return a place to end that cuts nothing of what is kept whole: behind it if that fits, else before."""
    for first, last in kept:
        if first < stop < last:
            if last - start <= limit:
                return last
            return first if first > start else stop
    return stop


def _after(kept: Sequence[tuple[int, int]], place: int, stop: int) -> int:
    """Return a place to go on at: what is kept whole is not repeated in part."""
    return stop if any(first < place < last for first, last in kept) else place


def best(text: str, low: int, high: int, wanted: int, separators: Sequence[re.Pattern[str]]) -> int:
    """Return the best place to cut in (low, high], near the wanted one among equals."""
    for pattern in separators:
        places = [found.end() for found in pattern.finditer(text, low, high) if low < found.end() <= high]
        if places:
            return min(places, key=lambda place: abs(place - wanted))
    return high


def weight(text: str, start: int, end: int) -> float:
    """Return what a character of a stretch weighs on average, against a Latin letter.

    >>> weight("abcd", 0, 4), weight("ab항구", 0, 4)
    (1.0, 1.85)
    """
    return 1 + (_WIDTH - 1) * len(_WIDE.findall(text, start, end)) / max(end - start, 1)


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without the white space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
