"""Documents that a question names: "in the Q3 2023 report" speaks of `2023 Q3.pdf`.

Reports of one company, versions of one manual, minutes of one committee say nearly the same words; what
tells them apart is often in the file's name alone.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from math import fsum, log
from pathlib import PurePath

from rag.text.tokenize import tokens

WEIGHT = 0.1
"""What a full match adds, as a share of the best score of the list: more than the difference between two
passages that say the same, less than that between one that answers and one that does not. A share, since
fused scores have another scale when a retriever was left out. Over 130 questions on 20 quarterly reports
the first citation is from the right one for 55 % in place of 41 %; .05 and .2 give 53 and 56 %."""


def raised(
    question: str, scores: Mapping[str, float], names: Mapping[str, str]
) -> tuple[dict[str, float], dict[str, float]]:
    """Raise the passages whose document's name shares words with the question.

    Returns their scores by id, best first and equal ones as they came, and by name how much each matches.

    >>> raised("Sales in 2023?", {"a": 0.9, "b": 0.85}, {"a": "2022.pdf", "b": "2023.pdf"})
    ({'b': 0.94, 'a': 0.9}, {'2022.pdf': 0.0, '2023.pdf': 1.0})
    """
    matches = name_matches(question, sorted(set(names.values())))
    if not any(matches.values()):  # as with most questions
        return dict(scores), matches
    full = WEIGHT * max(0.0, max(scores.values(), default=0.0))
    sums = {id_: score + full * matches.get(names.get(id_, ""), 0.0) for id_, score in scores.items()}
    return dict(sorted(sums.items(), key=lambda item: -item[1])), matches


def name_matches(question: str, names: Collection[str]) -> dict[str, float]:
    """Return for each file name its share, 0 to 1, of the question's words that occur in any of them.

    A word weighs log(1 + n / (0.5 + names that have it)), n being the number of names.

    >>> name_matches("Sales in Q3 2023?", ["2023 Q3.pdf", "2022 Q3.pdf", "2022 Q1.pdf"])
    {'2023 Q3.pdf': 1.0, '2022 Q3.pdf': 0.42, '2022 Q1.pdf': 0.0}
    """
    asked = frozenset(tokens(question))
    shared = {name: sorted(asked & _words(name)) for name in names if not asked.isdisjoint(_words(name))}
    among = Counter(word for words in shared.values() for word in words)
    weight = {word: log(1 + len(names) / (0.5 + number)) for word, number in among.items()}
    total = fsum(weight.values())
    matches = {name: round(fsum(weight[word] for word in words) / total, 2) for name, words in shared.items()}
    return dict.fromkeys(names, 0.0) | matches


@lru_cache(maxsize=10_000)
def _words(name: str) -> frozenset[str]:
    """Return the words of a file's name; the same hundred names return with every question."""
    return frozenset(tokens(PurePath(name).stem.replace("_", " ")))
