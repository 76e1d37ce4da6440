"""ASGI application: Streamlit pages, health and metrics routes, start and stop. `streamlit run app.py`.

`ui/start/app.py` links here, and is its copy in an installed package, which `footnote serve` runs.
"""

import gc
import logging
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from api.application import routes as api_routes
from api.limits import limit_connections
from api.operations import admits_to_metrics, draining, limit_malloc_arenas, operation_routes
from api.security import SecurityMiddleware
from rag.errors import SettingsError
from rag.local_server import is_loopback
from rag.logs import LoggableText, count_errors, write_lines
from rag.settings import load
from rag.telemetry import disable_tracing
from storage.errors import FootnoteError
from ui import pages
from ui.auth.identity import AuthMode, LocalUser
from ui.auth.middleware import AuthMiddleware, read_auth_mode
from ui.components.messages import show_sentence
from ui.server.downloads import download_routes
from ui.server.headers import security_headers, server_error
from ui.server.services import begin_stop, close, owner_of, services

log = logging.getLogger("footnote")

RETRY = 20.0  # seconds until services that could not be opened are tried again
FIRST_PAGE = 1.0  # seconds in which the first page is drawn before models are loaded


def _warm_up(stopped: threading.Event) -> None:
    """Open the services and load the models that the first question needs, trying again until it works."""
    logged = ""
    while not stopped.is_set():
        try:
            opened = services()
            opened.announce(_local_url())
            count_errors(opened.metrics.error)
            time.sleep(FIRST_PAGE)
            opened.warm_up()
            break
        except FootnoteError as error:
            if str(error) != logged:  # an error that lasts is logged once
                log.error("Footnote cannot work yet. %s", LoggableText(error))
            logged = str(error)
            stopped.wait(RETRY)
    # Objects that live as long as the process need no garbage collection.
    gc.collect()
    gc.freeze()


def _local_url() -> str:
    """Return the address at which this computer's own commands reach the HTTP interface."""
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    address = st.get_option("server.address") or ""
    host = "[::1]" if address == "::1" else address if is_loopback(address) else "127.0.0.1"
    return f"{scheme}://{host}:{st.get_option('server.port')}"


@asynccontextmanager
async def _lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    write_lines(sys.stderr)
    disable_tracing()
    limit_malloc_arenas()
    stopped = threading.Event()
    threading.Thread(target=_warm_up, args=[stopped], name="warm-up", daemon=True).start()
    with draining(begin_stop):
        yield {}
    stopped.set()
    close()


def _auth_mode() -> AuthMode:
    """Return the sign-in mode; exit where a public address would be served without sign-in."""
    try:
        mode = read_auth_mode(load())
    except SettingsError:  # every page shows the error and nothing else
        mode = LocalUser()
    address = st.get_option("server.address")
    if isinstance(mode, LocalUser) and not is_loopback(address):
        raise SystemExit(
            f"Footnote was not started: at {address or 'every address of this computer'} everyone could read "
            "the documents, since nobody signs in. Start it with --server.address=127.0.0.1, or set up "
            "sign-in first: docs/operator/sign-in.md."
        )
    return mode


def _explain(error: Exception) -> bool:
    """Show a sentence in place of the traceback, which is in the log."""
    if isinstance(error, FootnoteError):
        show_sentence(error)
    else:
        st.error("This page could not be shown. Reload it. If that does not help, see the server's log.")
    return True


limit_connections()
ROUTES = [
    *operation_routes(services),
    *api_routes(services),
    *download_routes(lambda: services().downloads),
]
AUTH = Middleware(
    AuthMiddleware,
    mode=_auth_mode(),
    owner_of=owner_of,
    origins=lambda: list(st.get_option("server.corsAllowedOrigins")),
)
SECURITY = Middleware(
    SecurityMiddleware,
    headers=security_headers,
    is_known=is_host_allowed,
    may_see_metrics=partial(admits_to_metrics, services),
)
app = st.App(
    Path(pages.__file__).with_name("main.py"),
    lifespan=_lifespan,
    routes=ROUTES,
    middleware=[SECURITY, AUTH],
    exception_handlers={Exception: server_error},
    on_script_error=_explain,
)
