"""A job of the server on the page: how far it is, a way to stop it, and the page drawn anew at its end."""

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from rag.jobs import Job

TICK = 0.5  # seconds between looks
E = TypeVar("E")


def follow_job(job: Job[E], said: Callable[[E | None], tuple[float, str]], *, key: str) -> None:
    """Show a job until it ends; the page may leave, and a later one finds it again.

    `said` makes a share from 0 to 1 and a sentence of its latest event, None before the first.
    """
    _strip(job, said, key)


@st.fragment(run_every=TICK)
def _strip(job: Job[Any], said: Callable[[Any], tuple[float, str]], key: str) -> None:
    if job.done:
        st.rerun()
    share, text = said(job.latest)
    st.progress(min(1.0, share), text=text)
    st.button("Stop", icon=":material/stop_circle:", on_click=job.cancel, key=key)
    st.caption("It goes on when you leave this page.")
