"""Token budgets: about how many tokens a text is, and how many texts fit into a context."""

from collections.abc import Iterable
from math import ceil


def count_tokens(text: str) -> int:
    """Return about how many tokens a text is, rather too many: 3.5 Latin characters or one other each.

    >>> count_tokens("seven c"), count_tokens("한국어")
    (2, 3)
    """
    latin = sum(character < "\u0250" for character in text)
    return ceil(latin / 3.5) + len(text) - latin


def count_fitting(texts: Iterable[str], tokens: int, *, between: int = 0) -> int:
    """Return how many of the first texts fit into `tokens`, with so many `between` two; at least one.

    A single text that is too long by itself is left to the server to judge.

    >>> count_fitting(["한국어", "한국", "한"], 5), count_fitting(["한국어"], 1), count_fitting([], 9)
    (2, 1, 0)
    """
    kept, left = 0, tokens
    for text in texts:
        left -= count_tokens(text) + between
        if kept and left < 0:
            break
        kept += 1
    return kept
