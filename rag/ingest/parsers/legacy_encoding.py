"""Detection of the encoding of text that is not Unicode, by the likelihood of the letters it yields.

Each candidate's reading costs bits: a letter by its rank among a language's commonest, another by its part of
the character set, and most for what no text holds. The cheapest reading is taken, so that a short table of
names and amounts is told apart as prose is. charset-normalizer gets fewer texts right.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import log2
from pathlib import Path

SAMPLE_BYTES = 200_000
LETTERS = Path(__file__).parent / "common_letters.json"
"""Letters of each language, the commonest first, counted in encyclopedia articles and captions."""

# Bits
ASCII = 5.0
KANA = 11.0  # not among the commonest
SYMBOL = 12.0
FIRST_LEVEL = 14.0  # of a character set: the letters in common use
SECOND_LEVEL = 18.0
OUTSIDE = 24.0  # of the character set that the language is written in
CUT = 11.0  # the last letter, of which bytes are missing
IMPOSSIBLE = 32.0  # a byte that cannot be decoded, a control character, a private letter
HALF_WIDTH = 8.0  # katakana beside katakana of one byte
HALF_WIDTH_ALONE = 16.0
LOWER, UPPER, MARK, WESTERN = 7.0, 9.0, 8.0, 11.0  # Western letters in words, punctuation, other letters

_NON_ASCII = re.compile("[^\x00-\x7f]")
_HALF_WIDTH_RUN = re.compile("[\uff61-\uff9f]{2,}")
_IN_WORD = re.compile("(?<=[A-Za-z])[\xc0-\xff]+|[\xc0-\xff]+(?=[A-Za-z])")
_PUNCTUATION = frozenset("‘’“”–—…•€£¥§©®°·«»¿¡ºª\xa0")


@dataclass(frozen=True)
class _CharacterSet:
    """Encoding whose first byte tells how common a letter is: symbols, first and second level."""

    encoding: str
    first: range
    second: range


_SETS = {
    "ko": _CharacterSet("euc_kr", range(0xB0, 0xC9), range(0xCA, 0xFE)),
    "ja": _CharacterSet("euc_jp", range(0xB0, 0xD0), range(0xD0, 0xF5)),
    "zh": _CharacterSet("gb2312", range(0xB0, 0xD8), range(0xD8, 0xF8)),
    "tw": _CharacterSet("big5", range(0xA4, 0xC7), range(0xC9, 0xFA)),
}
# Encodings with the language they write and the bits against them. UTF-8 is damaged UTF-8; UTF-16 is without
# a mark and without Latin letters, whose zero bytes would show it.
_CANDIDATES = (
    ("cp932", "ja", 0.0),
    ("euc_jp", "ja", 0.0),
    ("cp949", "ko", 0.0),
    ("gb18030", "zh", 4.0),
    ("big5", "tw", 4.0),
    ("cp1252", "western", 0.0),
    ("utf-8", "any", 0.0),
    ("utf-16-le", "any", 16.0),
    ("utf-16-be", "any", 16.0),
)


def legacy_encoding(content: bytes) -> str:
    """Return the encoding of text that has no mark and is not sound UTF-8.

    >>> [legacy_encoding("部署,金額".encode(code)) for code in ("cp932", "euc_jp")]
    ['cp932', 'euc_jp']
    >>> legacy_encoding("부서,금액".encode("cp949")), legacy_encoding("Café – né".encode("cp1252"))
    ('cp949', 'cp1252')
    """
    sample = content[:SAMPLE_BYTES]
    return min(_CANDIDATES, key=lambda one: one[2] + _bits(sample.decode(one[0], "replace"), one[1]))[0]


def _bits(text: str, code: str) -> float:
    """Return the bits of a reading; its last letter may be cut."""
    letters = Counter(_NON_ASCII.findall(text.removesuffix("\ufffd")))
    bits = ASCII * (len(text) - letters.total()) + (CUT - ASCII) * text.endswith("\ufffd")
    if code == "western":
        for letter in "".join(_IN_WORD.findall(text)):
            letters[letter] -= 1
            bits += LOWER if letter.islower() else UPPER
    for run in _HALF_WIDTH_RUN.findall(text):
        letters.subtract(run)
        bits += HALF_WIDTH * len(run)
    cost = _COSTS[code]
    return bits + sum(count * cost(letter) for letter, count in letters.items())


@cache
def _ranks() -> Mapping[str, Mapping[str, int]]:
    """Return the rank of each common letter by language, from 1."""
    listed: Mapping[str, str] = json.loads(LETTERS.read_text("utf-8"))
    return {code: {letter: rank for rank, letter in enumerate(listed[code], 1)} for code in listed}


def _letter(code: str) -> Callable[[str], float]:
    """Return the bits of a letter in a language of East Asia."""

    @cache
    def cost(letter: str) -> float:
        if letter == "\ufffd" or "\x80" <= letter <= "\x9f" or "\ue000" <= letter <= "\uf8ff":
            return IMPOSSIBLE
        if rank := _ranks().get(code, {}).get(letter):
            return 4.5 + 0.8 * log2(rank)
        if "\uff61" <= letter <= "\uff9f":
            return HALF_WIDTH_ALONE
        if "\u3041" <= letter <= "\u30ff":
            return KANA if code == "ja" else SECOND_LEVEL
        return _by_level(letter, _SETS[code])

    return cost


def _by_level(letter: str, characters: _CharacterSet) -> float:
    try:
        encoded = letter.encode(characters.encoding)
    except UnicodeEncodeError:
        return OUTSIDE
    if len(encoded) != 2:
        return OUTSIDE
    if encoded[0] in characters.first:
        return FIRST_LEVEL
    return SECOND_LEVEL if encoded[0] in characters.second else SYMBOL


def _western(letter: str) -> float:
    """Return the bits of a Western letter outside of words."""
    if letter == "\ufffd" or "\x80" <= letter <= "\x9f":
        return IMPOSSIBLE
    if letter in _PUNCTUATION:
        return MARK
    return WESTERN if letter.isalpha() else FIRST_LEVEL


_EAST_ASIAN = {code: _letter(code) for code in _SETS}


@cache
def _any(letter: str) -> float:
    western = _western(letter) if letter < "\u0180" or letter in _PUNCTUATION else OUTSIDE
    return min(western, *(cost(letter) for cost in _EAST_ASIAN.values()))


_COSTS: Mapping[str, Callable[[str], float]] = {**_EAST_ASIAN, "western": _western, "any": _any}
