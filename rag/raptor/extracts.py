"""A summary without a model: of a cluster's own sentences those that say most of what all of it says.

The centroid method of Radev and others (Information Processing and Management, 2004): a cluster's centre is
the weight of its words, a sentence is worth the weight of what it adds, and members take turns.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag.text.sentences import sentences
from rag.text.text_budget import count_tokens
from rag.text.tokenize import tokens, word_language

SIZE = 160  # tokens of an extract; the paper's summaries have 131 on average, by a count that is less
FEWEST_WORDS = 3  # of a sentence that says something by itself
BREAK = "\n"  # between sentences that do not follow one another


@dataclass(frozen=True)
class _Sentence:
    member: int
    text: str
    words: frozenset[str]
    size: int


def extract(texts: Sequence[str], rarity: Mapping[str, float], *, size: int = SIZE) -> str:
    """Return sentences of the members' texts, word for word, in their order: up to `size` tokens, or one.

    `texts` come with the member nearest the cluster's centre first; each gives one sentence before any gives
    a second. `rarity` is how much a word tells; see `rarities`.
    """
    pool = [sentence for member, text in enumerate(texts) for sentence in _sentences(member, text)]
    weights = _centre(pool, rarity)
    chosen: list[int] = []
    left = size
    taken: Counter[int] = Counter()
    told: set[str] = set()
    while candidates := [at for at in _in_turn(pool, taken, chosen) if pool[at].size <= left or not chosen]:
        best = max(candidates, key=lambda at: (_worth(pool[at], weights, told), -at))
        chosen.append(best)
        taken[pool[best].member] += 1
        told |= pool[best].words
        left -= pool[best].size
    return BREAK.join(pool[at].text for at in sorted(chosen)) or texts[0]


def rarities(texts: Iterable[str]) -> dict[str, float]:
    """Return ln(n / df) of the words of n texts: a word that is in all of them tells nothing.

    >>> found = rarities(["the ship", "the storm"])
    >>> round(found["ship"], 2)
    0.69
    """
    seen: Counter[str] = Counter()
    count = 0
    for text in texts:
        seen.update(set(tokens(text)))
        count += 1
    return {word: math.log(count / known) for word, known in seen.items()}


def weights(texts: Sequence[str], rarity: Mapping[str, float]) -> list[float]:
    """Return how much each text tells of what all of them are about: standard deviations from their mean.

    A word counts that many of them have and many have not, as ``ln(1 + df) √ln(n / df)``; long texts have
    more of everything, so that the sum is divided by the root of the length.
    """
    if not texts:
        return []
    having = Counter(word for text in texts for word in set(tokens(text)))
    told = np.array(
        [
            math.fsum(
                math.log1p(having[word]) * math.sqrt(rarity.get(word, 0.0)) for word in set(tokens(text))
            )
            / math.sqrt(max(1, count_tokens(text)))
            for text in texts
        ]
    )
    spread = float(told.std()) or 1.0
    return [float(value) for value in (told - told.mean()) / spread]


def _sentences(member: int, text: str) -> Iterable[_Sentence]:
    language = word_language(text)
    seen: set[str] = set()
    for start, end in sentences(text):
        said = text[start:end]
        words = frozenset(tokens(said, language))
        if said not in seen and len(words) >= FEWEST_WORDS:
            seen.add(said)
            yield _Sentence(member, said, words, count_tokens(said))


def _centre(pool: Sequence[_Sentence], rarity: Mapping[str, float]) -> dict[str, float]:
    """Return what each word weighs: how many other sentences have it, times how much it tells."""
    having = Counter(word for sentence in pool for word in sentence.words)
    return {word: (count - 1) * rarity.get(word, 0.0) for word, count in having.items()}


def _worth(sentence: _Sentence, weights: Mapping[str, float], told: set[str]) -> float:
    """Return the weight of a sentence's words, those told before at half; long ones have more of all."""
    weight = math.fsum(weights[word] * (0.5 if word in told else 1.0) for word in sentence.words)
    return weight / math.sqrt(sentence.size)


def _in_turn(pool: Sequence[_Sentence], taken: Counter[int], chosen: Sequence[int]) -> list[int]:
    """Return the sentences of those members that have given least."""
    free = [at for at in range(len(pool)) if at not in chosen]
    least = min((taken[pool[at].member] for at in free), default=0)
    return [at for at in free if taken[pool[at].member] == least]
