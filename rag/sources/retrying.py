"""When an item that could not be had is tried again: soon at first, then less and less often. Pure."""

from datetime import timedelta

SOON = timedelta(minutes=15)
DAY = timedelta(days=1)
GIVEN_UP_AFTER = 5  # tries at what lasts: with waits that double those take a month


def wait_after(tries: int, *, lasting: bool) -> timedelta | None:
    """Return how long to wait after so many failures in a row; None where it is not tried again by itself.

    What may pass is tried again at the next sync, then after a quarter of an hour, doubled each time up to a
    day. What is `lasting` (not there, not ours, too large) is left for a day, doubled each time, and then
    given up until it changes.

    >>> [str(wait_after(tries, lasting=False)) for tries in (1, 2, 4, 40)]
    ['0:00:00', '0:15:00', '1:00:00', '1 day, 0:00:00']
    >>> [str(wait_after(tries, lasting=True)) for tries in (1, 5, 6)]
    ['1 day, 0:00:00', '16 days, 0:00:00', 'None']
    """
    if lasting:
        return None if tries > GIVEN_UP_AFTER else DAY * 2 ** (tries - 1)
    return min(SOON * 2 ** min(tries - 2, 10), DAY) if tries > 1 else timedelta(0)
