"""When to ask again a server that said "not now": what `Retry-After` means, and what stands in for it."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

NOT_NOW = frozenset({429, 503})
TRIES = 4
LONGEST_WAIT = 60.0
"""Seconds; a server that asks for more is left alone until the next time."""
_FIRST_WAIT = 1.0


def wait_before(attempt: int, headers: Mapping[str, str], now: datetime) -> float:
    """Return how many seconds to wait before the request after `attempt` (from 1).

    >>> wait_before(1, {"retry-after": "7"}, datetime(2026, 1, 1, tzinfo=UTC))
    7.0
    >>> wait_before(3, {}, datetime(2026, 1, 1, tzinfo=UTC))
    4.0
    """
    asked = _asked(headers.get("retry-after", "").strip(), _date(headers.get("date", "")) or now)
    return asked if asked is not None else _FIRST_WAIT * 2.0 ** (attempt - 1)


def _asked(value: str, now: datetime) -> float | None:
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value):
        return float(value)
    date = _date(value)
    return max(0.0, (date - now).total_seconds()) if date else None


def _date(value: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(value)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
