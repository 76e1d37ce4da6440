"""Chunks, vectors and questions that are made, the same on every machine and in every environment.

Words of three languages in the frequencies of natural text (Zipf's law); vectors in clusters, as those of
passages about few hundred subjects. Nothing here was written by anyone.
"""

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Item = TypeVar("Item")

VERSION = 1  # a change of what is made changes this, and what was built of it is built anew
DIMENSION = 384
PER_DOCUMENT = 50  # chunks
BLOCK = 1000  # chunks made at once, from one seed
WORDS = 110  # in a chunk, about 700 characters of English
_COMMON = "the of and to in a is that for it as was with be by on not he his but at are this have from or"
COMMON = _COMMON.split()
_ONSETS = "b c d f g l m n p r s t v st tr pr"
PARTICLES = ("은", "는", "이", "가", "을", "를", "에", "의", "로", "와", "")
KANA = ("の", "は", "を", "が", "に", "で", "と", "した", "する", "から", "まで", "。")
LANGUAGES = ("en", "en", "en", "en", "en", "en", "en", "en", "ko", "ja")  # of ten blocks


def texts(count: int) -> Iterator[str]:
    """Yield chunks."""
    for block in range(-(-count // BLOCK)):
        yield from _block(block)[: count - block * BLOCK]


def together(items: Iterable[Item], count: int) -> Iterator[list[Item]]:
    """Yield the items `count` at a time."""
    rest = iter(items)
    while batch := list(islice(rest, count)):
        yield batch


def document_of(chunk: int) -> int:
    """Return the number of the document that a chunk belongs to."""
    return chunk // PER_DOCUMENT


def questions(count: int, size: int, seed: int = 7) -> list[str]:
    """Return questions of nine words, most of them from one of the first `size` chunks."""
    random = np.random.default_rng(seed)
    asked = []
    for chunk in random.integers(0, size, count):
        words = _words(_block(int(chunk) // BLOCK)[int(chunk) % BLOCK])
        chosen = random.choice(len(words), 7, replace=False)
        asked.append("what is " + " ".join(words[at] for at in chosen) + "?")
    return asked


def _words(text: str) -> list[str]:
    """Return what a text is made of; pieces of four letters where nothing stands between words."""
    words = text.split()
    return words if len(words) >= 7 else [text[at : at + 4] for at in range(0, len(text), 4)]


def vectors(count: int, seed: int = 1) -> Floats:
    """Return unit vectors [count, DIMENSION] around 300 centres."""
    centres = np.random.default_rng(0).standard_normal((300, DIMENSION), np.float32)
    random = np.random.default_rng(seed)
    made = 0.7 * centres[random.integers(0, 300, count)]
    made += random.standard_normal((count, DIMENSION), np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


@cache
def vocabulary(language: str) -> list[str]:
    """Return 30,000 words, most frequent first."""
    random = np.random.default_rng(11)
    match language:
        case "ko":
            syllables = [chr(code) for code in random.integers(0xAC00, 0xD7A3, 400)]
            endings = PARTICLES
        case "ja":
            syllables = [chr(code) for code in random.integers(0x4E00, 0x8000, 800)]
            endings = KANA
        case _:
            syllables = [a + b for a in _ONSETS.split() for b in "aeiou"]
            endings = ("", "", "n", "r", "s", "ting", "ed", "tion")
    parts = random.integers(0, len(syllables), (30_000, 3)).tolist()
    lengths, ends = random.integers(2, 4, 30_000).tolist(), random.integers(0, len(endings), 30_000).tolist()
    words = [
        "".join(syllables[part] for part in row[:length]) + endings[end]
        for row, length, end in zip(parts, lengths, ends, strict=True)
    ]
    return [*COMMON, *words] if language == "en" else words


@cache
def _cumulative(size: int) -> NDArray[np.float64]:
    weights = 1 / (np.arange(size) + 2.7)
    return np.cumsum(weights / weights.sum())


@lru_cache(maxsize=4)
def _block(number: int) -> list[str]:
    """Return a thousand chunks of one language."""
    language = LANGUAGES[number % len(LANGUAGES)]
    words, random = vocabulary(language), np.random.default_rng(1000 + number)
    ranks = np.searchsorted(_cumulative(len(words)), random.random((BLOCK, WORDS)))
    ranks = np.minimum(ranks, len(words) - 1)
    return [_sentences([words[rank] for rank in row], language) for row in ranks.tolist()]


def _sentences(words: list[str], language: str) -> str:
    if language == "ja":
        return "".join(words)
    return " ".join(
        ". ".join(" ".join(words[at : at + 11]).capitalize() for at in range(0, len(words), 11)).split()
    )
