"""Places put in order by scores, some of which may be missing. Pure."""

import math
from collections.abc import Sequence

Score = float | None
"""How well a passage answers, more is better, on any scale; None where nobody can say."""


def ordered(scores: Sequence[Score]) -> list[int]:
    """Return the places, the best score first; equals stay as they came, and who has no score stays put.

    >>> ordered([0.1, None, 0.9, 0.9])
    [2, 1, 3, 0]
    """
    known = finite(scores)
    best = iter(
        sorted((at for at, score in enumerate(known) if score is not None), key=lambda at: -_of(known, at))
    )
    return [at if score is None else next(best) for at, score in enumerate(known)]


def finite(scores: Sequence[Score]) -> list[Score]:
    """Return the scores with those that are no numbers as missing: ``[1.0, nan] -> [1.0, None]``."""
    return [score if score is not None and math.isfinite(score) else None for score in scores]


def _of(scores: Sequence[Score], at: int) -> float:
    return scores[at] or 0.0
