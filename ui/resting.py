"""Libraries that nobody has used for a while are closed until they are asked for again: which ones."""

from collections.abc import Collection, Mapping

MOST = 20  # libraries that stay open though nobody uses them
IDLE = 300.0  # seconds after its last use in which none is closed: a page may still be drawn from it


def to_rest(
    used: Mapping[str, float], now: float, busy: Collection[str], *, most: int = MOST, idle: float = IDLE
) -> list[str]:
    """Return whose libraries are closed, of those open: the least recently used that are too many.

    `used` says when each was used last, `busy` whose jobs run.

    >>> to_rest({"ann": 10, "bob": 20, "eve": 30, "joe": 990}, 1000, ["ann"], most=2)
    ['bob', 'eve']
    """
    many = len(used) - most
    resting = [owner for owner in used if owner not in busy and now - used[owner] > idle]
    return sorted(resting, key=used.__getitem__)[: max(0, many)]
