"""Pagination of long lists."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st


@contextmanager
def paginated(length: int, size: int, key: str) -> Iterator[slice]:
    """Yield the part of a list that is on the chosen page; show the page numbers after it."""
    last = max(1, -(-length // size))
    first = (min(st.session_state.get(key, 1), last) - 1) * size
    yield slice(first, first + size)
    if last > 1:
        st.pagination(last, key=key)
