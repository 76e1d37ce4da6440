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
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rag.errors import SettingsError
from rag.logs import LoggableText, count_errors, write_lines
from rag.settings import load
from rag.telemetry import disable_tracing
from ui.auth.identity import Alone, Entrance, on_this_machine, read_entrance
from ui.auth.middleware import Door
from ui.server.operations import share_pools

log = logging.getLogger("footnote")

AGAIN = 20.0  # seconds until what cannot be opened is tried again
FIRST_PAGE = 1.0  # seconds in which a first page is drawn undisturbed by what is loaded for later


def _warm_up(stopped: threading.Event) -> None:
    """Open what the first question needs while the first page is being looked at, as soon as it can be."""
    from storage.errors import FootnoteError
    from ui.server.services import services

    said = ""
    while not stopped.is_set():
        try:
            opened = services()
            count_errors(opened.metrics.error)
            time.sleep(FIRST_PAGE)
            opened.warm_up()
            break
        except FootnoteError as error:
            if str(error) != said:  # what lasts is said once
                log.error("Footnote cannot work yet. %s", LoggableText(error))
            said = str(error)
            stopped.wait(AGAIN)
    # What is loaded once need not be looked at again whenever garbage is collected.
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def _lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    write_lines(sys.stderr)
    disable_tracing()
    share_pools()
    stopped = threading.Event()
    threading.Thread(target=_warm_up, args=[stopped], name="warm-up", daemon=True).start()
    yield {}
    stopped.set()
    from ui.server.services import close

    close()


async def _healthz(_: Request) -> PlainTextResponse:
    """Say that the process is alive: nothing is looked at."""
    return PlainTextResponse("ok\n")


def _readyz(request: Request) -> Response:
    from ui.server.operations import readyz

    return readyz(request)


def _metrics(request: Request) -> Response:
    from ui.server.operations import counted

    return counted(request)


def _entrance() -> Entrance:
    """Return how people come in; end here, before anything is served, where nobody would ask who they are."""
    try:
        entrance = read_entrance(load(), st.secrets)
    except SettingsError:  # every page says so, and shows nothing else
        entrance = Alone()
    address = st.get_option("server.address")
    if isinstance(entrance, Alone) and not on_this_machine(address):
        raise SystemExit(
            f"Footnote was not started: at {address or 'every address of this computer'} everyone could read "
            "the documents, since nobody signs in. Start it with --server.address=127.0.0.1, or set up "
            "sign-in first: docs/operator/sign-in.md."
        )
    return entrance


def _owner_of(session_id: str) -> str | None:
    from ui.server.services import owner_of

    return owner_of(session_id)


def _origins() -> list[str]:
    return list(st.get_option("server.corsAllowedOrigins"))


def _explain(error: Exception) -> bool:
    """Show a sentence in place of a traceback, which is in the log already."""
    from storage.errors import FootnoteError
    from ui.components.markdown import verbatim

    if isinstance(error, FootnoteError):
        st.error(verbatim(str(error)), icon=":material/error:")
        return True
    st.error("This page could not be shown. Reload it. If that does not help, see the server's log.")
    return True


ROUTES = [Route("/healthz", _healthz), Route("/readyz", _readyz), Route("/metrics", _metrics)]
DOOR = Middleware(Door, entrance=_entrance(), owner_of=_owner_of, origins=_origins)
app = st.App("ui/main.py", lifespan=_lifespan, routes=ROUTES, middleware=[DOOR], on_script_error=_explain)
