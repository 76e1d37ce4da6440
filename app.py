"""The server: pages, a health check, and what begins and ends with it. `streamlit run app.py` starts it."""

import gc
import logging
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

log = logging.getLogger(__name__)

FIRST_PAGE = 1.0  # seconds in which a first page is drawn undisturbed by what is loaded for later


def _warm_up() -> None:
    """Open what the first question needs while the first page is being looked at."""
    from storage.errors import FootnoteError
    from ui.services import services

    try:
        opened = services()
        time.sleep(FIRST_PAGE)
        opened.warm_up()
    except FootnoteError as error:
        log.error("%s", error)
    # The page collects garbage on every run; what is loaded once need not be looked at again.
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def _lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()
    yield {}
    from ui.services import close

    close()


async def _healthz(_: Request) -> PlainTextResponse:
    return PlainTextResponse("ok\n")


def _explain(error: Exception) -> bool:
    """Show a sentence in place of a traceback, which is in the log already."""
    from storage.errors import FootnoteError
    from ui.markdown import verbatim

    if isinstance(error, FootnoteError):
        st.error(verbatim(str(error)), icon=":material/error:")
        return True
    st.error("This page could not be shown. Reload it; if that does not help, the server's log tells more.")
    return True


app = st.App("ui/main.py", lifespan=_lifespan, routes=[Route("/healthz", _healthz)], on_script_error=_explain)
