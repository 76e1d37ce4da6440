"""Write the common trigrams of Latin letters, from the vocabulary of a multilingual tokenizer.

`python scripts/common_trigrams.py TOKENIZER.JSON > rag/ingest/parsers/common_trigrams.txt`, with the file
`tokenizer.json` of multilingual-e5-small: its quarter of a million pieces come from a hundred languages.
Each line holds two letters, and the letters that commonly follow them.
"""

import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

from rag.ingest.parsers.text_layer import fold

_COVER = 0.95  # of all trigrams in the vocabulary, by their number


def common_trigrams(pieces: list[str]) -> list[str]:
    """Return the most frequent trigrams, until they cover that share of all.

    >>> common_trigrams(["the", "then", "thx"])
    ['the', 'hen', 'thx']
    """
    counts = Counter(
        word[start : start + 3]
        for piece in pieces
        for word in re.findall("[a-z]{3,}", fold(piece))
        for start in range(len(word) - 2)
    )
    kept, covered = [], 0
    for trigram, count in counts.most_common():
        if covered >= _COVER * counts.total():
            break
        kept.append(trigram)
        covered += count
    return kept


if __name__ == "__main__":
    vocabulary = json.loads(Path(sys.argv[1]).read_text("utf-8"))["model"]["vocab"]
    following: dict[str, str] = defaultdict(str)
    for found in sorted(common_trigrams([piece for piece, _ in vocabulary])):
        following[found[:2]] += found[2]
    print(*(f"{pair} {letters}" for pair, letters in following.items()), sep="\n")
