"""Moments in the time zone of the browser."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st


def local_time(moment: datetime | None = None) -> datetime:
    """Return a moment, or this one, in the time zone of the browser."""
    try:
        zone: tzinfo = ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        zone = UTC
    return moment.astimezone(zone) if moment else datetime.now(zone)
