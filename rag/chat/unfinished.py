"""An answer that ended early: what of it is kept, and how the rest is joined to it."""

import re
from collections.abc import Iterable, Iterator

from rag.text.sentences import sentences

_ENDED = re.compile(r"""[.!?。！？…]["'”’」』)）\]]*(?:\s?\[\d+\])*\s*\Z""")
_RUNS_ON = re.compile(r"[.!?…\]\"'”’)]\Z")


def whole_sentences(text: str) -> str:
    r"""Return the text up to its last sentence that ended, with the white space after it.

    >>> [whole_sentences(text) for text in ("It rained [1].\n\nThen the ri", "비가 왔다. 그리", "It")]
    ['It rained [1].\n\n', '비가 왔다. ', '']
    """
    starts = [start for start, _ in sentences(text)]
    return next((text[:at] for at in (len(text), *reversed(starts)) if _has_ended(text[:at])), "")


def _has_ended(text: str) -> bool:
    spoken = text.rstrip()
    return bool(spoken) and ("\n" in text[len(spoken) :] or _ENDED.search(spoken) is not None)


def joined(kept: str, pieces: Iterable[str]) -> Iterator[str]:
    """Yield what is kept, then the pieces of the rest, with a space between where there is none.

    >>> list(joined("It rained.", ["Then it", " stopped."])), list(joined("", ["It rained."]))
    (['It rained.', ' Then it', ' stopped.'], ['It rained.'])
    """
    if kept:
        yield kept
    apart = _RUNS_ON.search(kept) is not None
    for piece in pieces:
        yield f" {piece}" if apart and not piece[0].isspace() else piece
        apart = False
