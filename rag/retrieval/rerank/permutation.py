"""The order that a model's reply names, made a true permutation whatever the reply is. Pure."""

import re
from collections.abc import Iterator, Sequence

_OPEN, _SHUT = r"[\[［【(]?\s{0,3}", r"\s{0,3}[\]］】)]?"
_NUMBER = r"(?<!\d)\d{1,4}(?!\d)"
_ITEM = rf"{_OPEN}{_NUMBER}{_SHUT}"
_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_CHAIN = re.compile(rf"{_ITEM}(?:\s{{0,3}}[>＞→]\s{{0,3}}{_ITEM})+")
_BRACKETED = re.compile(rf"[\[［【]\s{{0,3}}{_NUMBER}\s{{0,3}}[\]］】]")
_LISTED = re.compile(rf"{_ITEM}(?:\s{{0,3}}[,、]\s{{0,3}}{_ITEM})+")
_SPOKEN = re.compile(rf"passage\s{{0,3}}#?{_NUMBER}", re.IGNORECASE)
_DIGITS = re.compile(_NUMBER)


def named(reply: str, count: int) -> list[int]:
    """Return the places, from 0, that a reply puts in order: each once, none beyond `count`.

    Read is the first that is there of: the longest chain of ``[2] > [1]``, numbers in brackets, the longest
    ``2, 1``, ``passage 2``, any numbers. A model's thoughts before its reply are not read.

    >>> named("Sure! [3] > [1] > [3] > [9]", 4), named("I cannot rank 17 passages.", 4)
    ([2, 0], [])
    """
    said = _THOUGHT.sub("", reply, count=1)
    for numbers in _readings(said):
        places = [number - 1 for number in numbers if 1 <= number <= count]
        if places:
            return list(dict.fromkeys(places))
    return []


def completed(places: Sequence[int], count: int) -> list[int]:
    """Return the places and then those that are missing, as they came: ``[2, 0] of 4 -> [2, 0, 1, 3]``."""
    return [*places, *sorted(set(range(count)) - set(places))]


def windows(count: int, size: int, step: int) -> list[tuple[int, int]]:
    """Return windows over `count` places, (start, end), from the back to the front.

    What a window brings to its front is in the next one, so that the best rises from the last place to the
    first. Sun et al., "Is ChatGPT Good at Search?" (EMNLP 2023).

    >>> windows(10, 4, 2)
    [(6, 10), (4, 8), (2, 6), (0, 4)]
    """
    ends = range(count, size, -step)
    return [*((end - size, end) for end in ends), (0, min(count, size))]


def _readings(said: str) -> Iterator[list[int]]:
    yield _numbers(max(_CHAIN.findall(said), key=len, default=""))
    yield [number for found in _BRACKETED.findall(said) for number in _numbers(found)]
    yield _numbers(max(_LISTED.findall(said), key=len, default=""))
    yield [number for found in _SPOKEN.findall(said) for number in _numbers(found)]
    yield _numbers(said)


def _numbers(text: str) -> list[int]:
    return [int(digits) for digits in _DIGITS.findall(text)]
