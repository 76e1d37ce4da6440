"""Why a sentence cannot rest on a passage that has its words: what differs between them.

Each question is asked of the claim, of the anchor (the sentence of the passage that says most of it), of
the window around the anchor and of the whole passage. Pure, without a model.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from rag.citations.claims import Stated, joined
from rag.citations.order import exchanged, shuffled, spliced, tampered
from rag.text.facts import clauses, in_order, is_year, negations, opposed
from rag.text.tokenize import tokens

ALONE = 0.75
"""The share of the claim's plain words from which the anchor states the claim by itself, names apart."""
SAME_CLAUSE = 0.3
_MONTHS = "january february march april may june july august september october november december"
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_DATED = frozenset(f"{_MONTHS} {_WEEKDAYS}".split())
_COUNTS = tuple(frozenset(words.split()) for words in (_MONTHS, _WEEKDAYS, _ORDINALS))
_NEGATING = ("un", "in", "im", "il", "ir", "dis", "non", "de", "mis")


def differs(claim: Stated, anchor: Stated, window: Sequence[Stated], passage: Sequence[Stated]) -> str:
    """Return in a word what is other in the claim than in the evidence; empty where nothing is.

    `passage` are all sentences whose names a pronoun of the window may stand for.

    >>> claim, anchor = Stated("It opened in 1933.", 0, 18), Stated("It opened in 1932.", 0, 18)
    >>> differs(claim, anchor, [anchor], [anchor])
    'number'
    """
    asked: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("number", lambda: _other_number(claim, anchor, window, passage)),
        ("name", lambda: _other_name(claim, anchor, passage)),
        ("denial", lambda: _denied(claim, anchor, window)),
        ("direction", lambda: opposed(claim.text, anchor.text) or _reversed(claim, window)),
        ("word", lambda: tampered(claim, anchor)),
        ("order", lambda: shuffled(claim, window, passage)),
        ("splice", lambda: spliced(claim, passage)),
        ("exchange", lambda: claim.unspaced and exchanged(claim.outline, anchor.outline)),
    )
    return next((what for what, is_so in asked if is_so()), "")


def _other_number(claim: Stated, anchor: Stated, window: Sequence[Stated], passage: Sequence[Stated]) -> bool:
    """Return whether a number is in the window nowhere, or stands where the anchor has another.

    A year may come from further away, unless the window has another year: "on 7 May" in a text of 2018.
    """
    given = [number for unit in window for number in unit.numbers]
    far = [number for unit in passage for number in unit.numbers]
    for number in claim.numbers:
        if number not in given and not (
            is_year(number) and number in far and all(n in claim.numbers for n in given if is_year(n))
        ):
            return True
    return any(
        _conflict(*pair) for pair in zip(_counts(claim), _counts(anchor), strict=True)
    ) or not in_order([number for number in claim.numbers if number in anchor.numbers], anchor.numbers)


def _counts(unit: Stated) -> Iterator[frozenset[str]]:
    """Yield what a sentence counts and dates, by kind: years, other numbers, months, weekdays, ordinals."""
    words = frozenset(unit.surface)
    yield frozenset(number for number in unit.numbers if is_year(number))
    yield frozenset(number for number in unit.numbers if not is_year(number))
    yield from (words & kind for kind in _COUNTS)


def _conflict(claimed: frozenset[str], given: frozenset[str]) -> bool:
    """Return whether each of two has something that the other lacks: {20, 10}, {20} is no conflict."""
    return bool(claimed - given and given - claimed)


def _other_name(claim: Stated, anchor: Stated, passage: Sequence[Stated]) -> bool:
    """Return whether a name is nowhere, or stands where the anchor has another."""
    missing = [name for name in anchor.lacks(claim.names) if name.casefold() not in _DATED]
    if not missing:
        return False
    if any(not any(unit.holds(name) for unit in passage) for name in missing):
        return True
    alone = not claim.plain or len(claim.plain & anchor.words) >= ALONE * len(claim.plain)
    return alone and bool(claim.lacks(_sure_names(anchor)))


def _sure_names(unit: Stated) -> list[str]:
    """Return the names of a sentence, but for dates, headings in capitals, and a lone first word."""
    opening = re.match(r"\W*(\w+)\s+[a-z(]", unit.text)
    return [
        name
        for name in unit.names
        if name.casefold() not in _DATED
        and not (opening and name == opening[1])
        and not (name.isupper() and len(name) > 3)
    ]


def _denied(claim: Stated, anchor: Stated, window: Sequence[Stated]) -> bool:
    """Return whether the evidence denies what the claim says, or the claim what the evidence says.

    A clause of the claim is held against the clause that has most of its words.
    """
    near = [clause for clause in clauses(anchor.text) if claim.words & frozenset(tokens(clause))]
    if any(map(negations, near)) != bool(negations(claim.text)):
        return True
    given = [(frozenset(tokens(clause)), clause) for unit in window for clause in clauses(unit.text)]
    return any(_other_denial(clause, given) for clause in clauses(claim.text))


def _other_denial(clause: str, given: Sequence[tuple[frozenset[str], str]]) -> bool:
    words = frozenset(tokens(clause))
    shared, nearest = max(((len(words & theirs), text) for theirs, text in given), default=(0, ""))
    return shared > SAME_CLAUSE * len(words) and negations(clause) != negations(nearest)


def _reversed(claim: Stated, window: Sequence[Stated]) -> bool:
    """Return whether a word stands there with its negation: "deactivate" for "activate"."""
    given = joined(window)
    return any(
        (prefix + word in given and prefix + word not in claim.words)
        or (word.startswith(prefix) and len(word) > len(prefix) + 3 and word[len(prefix) :] in given)
        for word in claim.words - given
        if word.isascii()
        for prefix in _NEGATING
    )
