"""Text layer quality: the share of a page's letters that cannot be its words.

A wrong encoding leaves characters without a name, letters of many alphabets, syllables and ideographs that
nobody writes, or letters in an order that no language has. Poor recognition leaves fewer of the last.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

GARBLED = 0.3  # share of unreadable letters; that of good pages is .04, and at most .2
_POOR = 0.1  # share in a layer that a scanner's program wrote behind a picture
_ENOUGH = 60  # letters that are needed for a judgement
_SAMPLE = 1000  # characters from the middle of a page that are looked at
_CID = re.compile(r"\(cid:\d+\)")
_UNNAMED = "\ufffe"  # also a hyphen at the end of a line
_NAMELESS = re.compile(f"[\x00-\x01\x03-\x08\x0e-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd\uffff]+|{_UNNAMED}{{2,}}")
_LATIN1_RUN = re.compile("[\x80-\xff]{3,}")  # bytes of another encoding: `ì•ˆ`, `¾È³ç`
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile("[a-z]{4,}")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_HAN = re.compile("[\u3400-\u9fff]")
_OTHER = re.compile("[\u0250-\u10ff\u1200-\u1dff\u1f00-\u1fff\u2c00-\u2dff\ua4d0-\uabff]")
_COMMON_HAN = {"gb2312": 0xD7, "shift_jis": 0x97, "big5": 0xC6}  # last first byte of the common ones
_GAIN = 2 / 3  # of the share before; a page of codes reads as badly from its picture


def is_better(recognised: str, share: float) -> bool:
    """Return whether the recognised text of a page replaces a layer with that unreadable share."""
    return any(map(str.isalnum, recognised)) and unreadable_share(recognised) < _GAIN * share


def doubt(page: Any, characters: Any) -> float:
    """Return the unreadable share of a PDF page's characters if it should be recognised again, else 0."""
    count = characters.count_chars()
    share = unreadable_share(characters.get_text_range(_middle(count), min(count, _SAMPLE)))
    return share if share > GARBLED or (share > _POOR and _is_hidden(page)) else 0.0


def _is_hidden(page: Any) -> bool:
    """Return whether most of a page's text is invisible: a scanner's program put it behind the picture."""
    import pypdfium2.raw as pdfium

    texts = [found for found in page.get_objects(max_depth=2) if found.type == pdfium.FPDF_PAGEOBJ_TEXT]
    modes = [pdfium.FPDFTextObj_GetTextRenderMode(text) for text in texts]
    return 2 * modes.count(pdfium.FPDF_TEXTRENDERMODE_INVISIBLE) > len(modes)


def unreadable_share(text: str) -> float:
    """Return the share of letters and nameless characters that cannot be words; 0 where they are few.

    >>> good = "The annual report of the company says that its sales have fallen in every quarter."
    >>> shifted = "".join(chr(ord(letter) - 29) for letter in good)
    >>> unreadable_share(good) < 0.1, unreadable_share(shifted) > 0.6
    (True, True)
    """
    start = _middle(len(text))
    text = text[start : start + _SAMPLE]
    if "(cid:" in text:
        text = _CID.sub(lambda found: len(found[0]) * "\uffff", text)
    strange = 0
    for unreadable in (_NAMELESS, _LATIN1_RUN):
        if found := unreadable.findall(text):
            strange += sum(map(len, found))
            text = unreadable.sub(" ", text)
    words = _WORD.findall(text)
    letters = strange + sum(map(len, words))
    if letters < _ENOUGH:
        return 0.0
    return min((strange + _alphabet_changes(text) + sum(map(_unreadable, words))) / letters, 1.0)


def _middle(length: int) -> int:
    return max((length - _SAMPLE) // 2, 0)


def _alphabet_changes(text: str) -> int:
    """Return how often a letter that is not Latin or East Asian follows one of another alphabet."""
    if text.isascii():
        return 0
    alphabets = map(_alphabet, _OTHER.findall(text))
    return sum(before != after for before, after in pairwise(alphabets))


@lru_cache(maxsize=1000)
def _alphabet(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


@lru_cache(maxsize=20_000)
def _unreadable(word: str) -> float:
    """Return how many letters of a word, or of a whole line in some languages, are unreadable."""
    if word.isascii():
        return _strange_latin(word.lower())
    uncommon = sum(not _is_common_hangul(syllable) for syllable in _HANGUL.findall(word))
    uncommon += sum(not _is_common_han(ideograph) for ideograph in _HAN.findall(word))
    return uncommon + _strange_latin(fold(word))


def fold(text: str) -> str:
    """Return text in lower case without accents.

    >>> fold("Élève Ⅷ")
    'eleve viii'
    """
    split = unicodedata.normalize("NFKD", text.lower())
    return "".join(letter for letter in split if not unicodedata.combining(letter))


def _strange_latin(word: str) -> float:
    """Return the number of Latin letters times the share of trigrams that no language commonly has."""
    return sum(len(part) * _rare(part) / (len(part) - 2) for part in _LATIN.findall(word))


def _rare(word: str) -> int:
    trigrams = zip(word, word[1:], word[2:], strict=False)
    return len(word) - 2 - sum(map(_common_trigrams().__contains__, trigrams))


@cache
def _common_trigrams() -> frozenset[tuple[str, ...]]:
    return frozenset(_read_trigrams(Path(__file__).with_name("common_trigrams.txt").read_text("ascii")))


def _read_trigrams(lines: str) -> Iterator[tuple[str, ...]]:
    for line in lines.splitlines():
        pair, _, following = line.partition(" ")
        yield from ((*pair, letter) for letter in following)


def _is_common_hangul(syllable: str) -> bool:
    """Return whether a syllable is one of the 2,350 of KS X 1001, out of 11,172."""
    try:
        return len(syllable.encode("euc-kr")) == 2
    except UnicodeEncodeError:
        return False


@lru_cache(maxsize=20_000)
def _is_common_han(ideograph: str) -> bool:
    """Return whether an ideograph is on the first level of a Chinese or Japanese standard."""
    codes = ((ideograph.encode(encoding, "ignore"), last) for encoding, last in _COMMON_HAN.items())
    return any(code and code[0] <= last for code, last in codes)
