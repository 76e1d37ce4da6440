"""Spelling of questions: a word that no passage has is read as one that they have, one slip away."""

import re
from collections.abc import Collection, Iterable, Iterator

from rag.text.language import STOP_WORDS
from rag.text.tokenize import tokens

LEAST_LETTERS = 4  # of a word that is corrected
_WORD = re.compile(r"[A-Za-z]{4,}")


def corrected(question: str, told: Iterable[Collection[str]]) -> str:
    """Return a question with its misspelt words as the texts spell them; `told` are the texts' tokens.

    >>> corrected("waht is the gros margin", [{"gross", "margin"}])
    'what is the gross margin'
    """
    known = frozenset[str]().union(*told)
    return _WORD.sub(lambda match: _nearest(match[0], known), question)


def _nearest(word: str, known: frozenset[str]) -> str:
    folded = word.casefold()
    if folded in STOP_WORDS["en"] or not known.isdisjoint(tokens(word, "en")):
        return word
    near = [one for one in _one_slip_away(folded) if one in STOP_WORDS["en"] or one in known]
    return min(near, key=lambda one: (one not in STOP_WORDS["en"], one), default=word)


def _one_slip_away(word: str) -> Iterator[str]:
    """Yield the words with two letters exchanged, one left out, doubled or replaced."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    for at in range(len(word)):
        before, after = word[:at], word[at:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        if len(word) > LEAST_LETTERS:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in letters)
        yield from (before + letter + after for letter in letters if at)
