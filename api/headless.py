"""Server of the HTTP interface without the page: `footnote serve --no-ui`."""

import logging
import sys
import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import partial

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from api.application import routes
from api.connections import LimitedConnection
from api.draining import draining
from api.operations import limit_malloc_arenas, operation_routes
from api.problems import on_http_error, on_unexpected
from api.security import HEADERS, SecurityMiddleware
from rag.errors import SettingsError
from rag.local_server import ip_address, is_loopback
from rag.logs import count_errors, write_lines
from rag.services import Services
from storage.errors import FootnoteError

log = logging.getLogger("footnote")

POLICY = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox", **HEADERS}
RETRY = 20.0  # seconds until work that could not begin is tried again
KEEP_ALIVE = 30  # seconds that a connection may be idle between two requests
MOST_CONNECTIONS = 2000


def create_app(
    services: Services, *, hosts: Collection[str] = (), started: Callable[[], None] = lambda: None
) -> Starlette:
    """Return the application; `hosts` are the names that it answers to, beside addresses and localhost."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        started()
        stopped = threading.Event()
        threading.Thread(target=_warm_up, args=[services, stopped], name="warm-up", daemon=True).start()
        with draining(services.begin_stop):
            yield
        stopped.set()

    guard = Middleware(
        SecurityMiddleware,
        headers=_headers,
        is_known=partial(is_known_host, hosts=frozenset(hosts)),
        may_see_metrics=lambda _: False,
    )
    return Starlette(
        routes=[*operation_routes(lambda: services), *routes(lambda: services, page=False)],
        middleware=[guard],
        lifespan=lifespan,
        exception_handlers={HTTPException: on_http_error, Exception: on_unexpected},
    )


def serve(services: Services, host: str, port: int, *, say: Callable[[str], None]) -> None:
    """Serve until a signal ends it; `say` is told the address. Raises SettingsError where it is taken."""
    limit_malloc_arenas()
    write_lines(sys.stderr)
    count_errors(services.metrics.error)

    def started() -> None:
        services.announce(f"http://{'127.0.0.1' if _is_any(host) else host}:{bound}")
        say(f"Footnote answers at http://{host}:{bound}/api and /v1, with a key. Stop it with Ctrl-C.")

    app = create_app(services, hosts=[host, *services.settings.allowed_hosts], started=started)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=LimitedConnection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=int(services.settings.shutdown_seconds) + 1,
    )
    try:
        listening = config.bind_socket()
    except (OSError, SystemExit) as error:
        raise SettingsError(
            f"The port {port} at {host} cannot be used. Choose another with --port."
        ) from error
    with listening:
        listening.listen(config.backlog)  # the address is told before uvicorn accepts connections
        bound = listening.getsockname()[1]
        uvicorn.Server(config).run(sockets=[listening])


def _warm_up(services: Services, stopped: threading.Event) -> None:
    """Continue interrupted work and load the models, trying again until it works."""
    while not stopped.is_set():
        try:
            services.warm_up()
            return
        except FootnoteError as error:
            log.error("Footnote cannot work yet. %s", error)
            stopped.wait(RETRY)


def is_known_host(header: str | None, hosts: Collection[str]) -> bool:
    """Return True for the `Host` of an address, of this computer, or of a name that was given.

    A page of another site reaches this server only under that site's name.

    >>> [is_known_host(it, {"docs.corp"}) for it in ("127.0.0.1:8501", "[::1]", "Docs.corp", "evil.example")]
    [True, True, True, False]
    """
    if not header:
        return False
    name = header.rpartition("]")[0].lstrip("[") if header.startswith("[") else header.partition(":")[0]
    return ip_address(name) is not None or name.lower() in {"localhost", *map(str.lower, hosts)}


def _headers() -> Mapping[str, str]:
    return POLICY


def _is_any(host: str) -> bool:
    address = ip_address(host)
    return address is not None and address.is_unspecified and not is_loopback(host)
