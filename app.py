"""The server: pages, routes for whoever runs it, what begins and ends with it: `streamlit run app.py`."""

import gc
import logging
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rag.observing.lines import Sentence, count_errors, write_lines

log = logging.getLogger("footnote")

FIRST_PAGE = 1.0  # seconds in which a first page is drawn undisturbed by what is loaded for later


def _warm_up() -> None:
    """Open what the first question needs while the first page is being looked at."""
    from storage.errors import FootnoteError
    from ui.services import services

    try:
        opened = services()
        count_errors(opened.metrics.error)
        time.sleep(FIRST_PAGE)
        opened.warm_up()
    except FootnoteError as error:
        log.error("Footnote cannot work yet. %s", Sentence(error))
    # The page collects garbage on every run; what is loaded once need not be looked at again.
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def _lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    write_lines(sys.stderr)
    threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()
    yield {}
    from ui.services import close

    close()


async def _healthz(_: Request) -> PlainTextResponse:
    """Say that the process is alive: nothing is looked at."""
    return PlainTextResponse("ok\n")


def _readyz(request: Request) -> Response:
    from ui.operating import readyz

    return readyz(request)


def _metrics(request: Request) -> Response:
    from ui.operating import counted

    return counted(request)


def _explain(error: Exception) -> bool:
    """Show a sentence in place of a traceback, which is in the log already."""
    from storage.errors import FootnoteError
    from ui.markdown import verbatim

    if isinstance(error, FootnoteError):
        st.error(verbatim(str(error)), icon=":material/error:")
        return True
    st.error("This page could not be shown. Reload it; if that does not help, the server's log tells more.")
    return True


ROUTES = [Route("/healthz", _healthz), Route("/readyz", _readyz), Route("/metrics", _metrics)]
app = st.App("ui/main.py", lifespan=_lifespan, routes=ROUTES, on_script_error=_explain)
