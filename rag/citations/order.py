"""Two sentences side by side: where they run alike, and what is exchanged, moved or spliced there."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from rag.citations.claims import LIGHT, Stated
from rag.text.language import words_of
from rag.text.tokenize import tokens

ALIKE = 0.6
"""The share of words in the same order from which two sentences run alike, so that a different one tells."""
COPIED = 0.75
"""The share of all that is said from which a sentence is a copy: what is other in it was changed."""
RUN = 0.6
"""The share that it copies in one go, of which the same is true."""
NEW = 0.05
"""The share of its words that a sentence may have of its own and still be another's, put in another order."""
PAIRED = {"words": 0.4, "letters": 0.6}
"""The share of neighbours that stay neighbours where a sentence is told in the same words."""
MOVED = 3
"""The pieces of a sentence one part of which has moved: before it, itself, after it."""
_LEADING = words_of("in on at by for from to with during after before since until under over of as through")
COVERED = 0.9
PART = 3
"""The share of a sentence that two others make up, and how many words each gives at least."""

_LETTERS = re.compile("[\u3041-\u30ff\u3400-\u9fff]")

Step = tuple[str, Sequence[str], Sequence[str]]


def steps(claim: Sequence[str], anchor: Sequence[str]) -> Iterator[Step]:
    """Yield what is equal, replaced, inserted or deleted from anchor to claim, with the words of both."""
    for operation, a, b, c, d in SequenceMatcher(None, anchor, claim, autojunk=False).get_opcodes():
        yield operation, claim[c:d], anchor[a:b]


def tampered(claim: Stated, anchor: Stated) -> bool:
    """Return whether a claim copies a sentence but for a word that says something else.

    >>> copied = Stated("The hall was opened in spring by Tom Berg.", 0, 0)
    >>> tampered(Stated("The hall was opened in spring by Ann Lee.", 0, 0), copied)
    True
    >>> tampered(Stated("However, the hall was opened in spring.", 0, 0), copied)
    False
    """
    taken = list(steps(claim.surface, anchor.surface))
    copied = [len(ours) for operation, ours, _ in taken if operation == "equal"]
    if sum(copied) < COPIED * len(claim.surface) and max(copied, default=0) < RUN * len(claim.surface):
        return False
    more = Counter(claim.surface) - Counter(anchor.surface)
    return any(_changes(step, more) for step in taken)


def _changes(step: Step, more: Counter[str]) -> bool:
    operation, ours, theirs = step
    new = [word for word in ours if more[word] and _tells(word)]
    if operation == "replace":
        return bool(new) and any(map(_tells, theirs))
    return operation == "insert" and any(any(map(str.isdigit, word)) for word in new)


def _tells(word: str) -> bool:
    """Return whether a word says something of the world: no "the", no "became"."""
    return any(token not in LIGHT for token in tokens(word, "en"))


def exchanged(claim: Sequence[str], anchor: Sequence[str]) -> bool:
    """Return whether, where two sentences run alike, one has something else in a place of the other.

    Words that only moved are no exchange, nor are words that one has more than the other.

    >>> exchanged("elder order of deacon".split(), "elder order of elder".split())
    True
    >>> exchanged("film open 2004".split(), "2004 film open".split())
    False
    """
    more, less = Counter(claim) - Counter(anchor), Counter(anchor) - Counter(claim)
    taken = list(steps(claim, anchor))
    alike = sum(len(ours) for operation, ours, _ in taken if operation == "equal")
    return alike >= ALIKE * len(claim) and any(
        operation == "replace" and any(map(more.get, ours)) and any(map(less.get, theirs))
        for operation, ours, theirs in taken
    )


def shuffled(claim: Stated, window: Sequence[Stated], passage: Sequence[Stated]) -> bool:
    """Return whether the claim has nothing but words of the evidence, in an order that says something else.

    One part may have moved, as "in 2019" in "In 2019 sales rose": that leaves three pieces, one of which
    goes back.
    """
    sources = ([unit] for unit in passage)
    return any(_contained(claim, source) and _disordered(claim, source) for source in (window, *sources))


def _contained(claim: Stated, source: Sequence[Stated]) -> bool:
    """Return whether nearly all that a claim says, as it stands, is said by some sentences too."""
    new = Counter(claim.surface) - Counter(word for unit in source for word in unit.surface)
    return new.total() <= NEW * len(claim.surface)


def _disordered(claim: Stated, source: Sequence[Stated]) -> bool:
    letters = bool(_LETTERS.search(claim.folded))
    if _paired(claim, source) < PAIRED["letters" if letters else "words"]:
        return True
    pieces = _pieces(claim.surface, [word for unit in source for word in unit.surface])
    back = sum(later < earlier for (earlier, _), (later, _) in pairwise(pieces))
    moved = len(pieces) <= MOVED and any(word in _LEADING for _, word in pieces)
    return back > 1 or (back == 1 and not moved)


def _paired(claim: Stated, window: Sequence[Stated]) -> float:
    """Return which part of the claim's neighbouring words are neighbours in the evidence too: 0 to 1."""
    pairs = _neighbours(claim.surface)
    given = frozenset(pair for unit in window for pair in _neighbours(unit.surface))
    return sum(pair in given for pair in pairs) / len(pairs) if pairs else 1.0


def _neighbours(surface: Sequence[str]) -> list[tuple[str, ...]]:
    """Return pairs of words; of letters without spaces between them, threes."""
    size = 3 if _LETTERS.search("".join(surface)) else 2
    return [tuple(surface[at : at + size]) for at in range(len(surface) - size + 1)]


def _pieces(claim: Sequence[str], source: Sequence[str]) -> list[tuple[int, str]]:
    """Return where in the source each run of the claim begins, and its first word; others are passed over.

    >>> _pieces("in 2004 the film opened".split(), "the film opened in 2004".split())
    [(3, 'in'), (0, 'the')]
    """
    found: list[tuple[int, str]] = []
    at = 0
    while at < len(claim):
        after = found[-1][0] if found else 0
        runs = [(_run(claim[at:], source[start:]), start >= after, -start) for start in range(len(source))]
        length, _, place = max(runs, default=(0, True, 0))
        if length:
            found.append((-place, claim[at]))
        at += length or 1
    return found


def _run(claim: Sequence[str], anchor: Sequence[str]) -> int:
    """Return how many words two texts begin with together."""
    both = zip(claim, anchor, strict=False)
    return next((at for at, (a, b) in enumerate(both) if a != b), min(len(claim), len(anchor)))


def spliced(claim: Stated, passage: Sequence[Stated]) -> bool:
    """Return whether the claim is the beginning of one sentence and the end of another, word for word.

    Where the end follows a mere "It" or "He", the beginning may well say who that is.

    >>> told = "The north gate opens at nine.", "The old mill closes at six."
    >>> spliced(Stated("The north gate closes at six.", 0, 0), [Stated(text, 0, 0) for text in told])
    True
    """
    said = claim.surface
    heads = [_longest(said, unit.surface)[0] for unit in passage]
    tails = [_longest(said[::-1], unit.surface[::-1]) for unit in passage]
    if max((*heads, *(length for length, _ in tails)), default=0) >= COVERED * len(said):
        return False
    return any(
        head >= PART and tail >= PART and head + tail >= COVERED * len(said)
        for at, head in enumerate(heads)
        for other, (tail, rest) in enumerate(tails)
        if at != other and any(map(_tells, rest))
    )


def _longest(said: Sequence[str], given: Sequence[str]) -> tuple[int, Sequence[str]]:
    """Return how far a text runs on in the given at most, and what is left of the given after that."""
    runs = [(_run(said, given[at:]), at) for at in range(len(given)) if given[at] == said[0]]
    length, at = max(runs, default=(0, 0))
    return length, given[at + length :]
