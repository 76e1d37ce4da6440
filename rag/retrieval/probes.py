"""Questions made from passages themselves: what words and meaning are weighed by, without labels.

Real questions lie between two extremes, and each passage gives one of both. An *echo* repeats half of
the words of one of its sentences: who wrote it remembers the text. A *gap* is a sentence taken out of
the passage, which then has to be found without it: who wrote it knows the subject only (the inverse
cloze task of Lee, Chang and Toutanova, ACL 2019, arXiv 1906.00300).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from rag.text.sentences import sentences

SHORTEST, LONGEST = 24, 500  # UTF-8 bytes of a sentence that can stand for a question: 8 kana, 24 letters
FEWEST_WORDS = 4  # below that a sentence is taken as written without spaces


@dataclass(frozen=True)
class Probe:
    """A passage, by its position, with one question of each kind."""

    position: int
    echo: str
    gap: str
    rest: str  # the passage without the gap's sentence


def make_probes(texts: Sequence[str], count: int, seed: int = 0) -> list[Probe]:
    """Return a probe each for `count` of the texts, chosen at random; those of one sentence have none."""
    random = Random(seed)  # noqa: S311 - a sample, not a secret
    order = list(range(len(texts)))
    random.shuffle(order)
    probes: list[Probe] = []
    for position in order:
        if len(probes) == count:
            break
        text = texts[position]
        spans = sentences(text)
        fitting = [(a, b) for a, b in spans if SHORTEST <= _size(text[a:b]) <= LONGEST]
        if fitting and len(spans) > 1:
            start, end = random.choice(fitting)
            rest = f"{text[:start]} {text[end:]}".strip()
            probes.append(Probe(position, half(text[start:end], random), text[start:end], rest))
    return probes


def half(sentence: str, random: Random) -> str:
    """Return about half of a sentence: of its words, or a stretch of its characters where it has no spaces.

    ``"The lease ends in March 2027." -> "lease in 2027."``, ``"契約は三月に終わる。" -> "契約は三月"``.
    """
    words = sentence.split()
    if len(words) < FEWEST_WORDS:
        length = max(1, len(sentence) // 2)
        start = random.randrange(len(sentence) - length + 1)
        return sentence[start : start + length]
    kept = sorted(random.sample(range(len(words)), len(words) // 2))
    return " ".join(words[i] for i in kept)


def _size(sentence: str) -> int:
    """Return a sentence's length in bytes, which follows what it says over scripts; characters do not."""
    return len(sentence.encode("utf-8", "replace"))
