"""The HTTP interface as one application: in the server of the pages, or alone (`footnote serve --no-ui`)."""

import asyncio
import logging
import sys
import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from api import (
    ask,
    check,
    collections,
    conversations,
    documents,
    grids,
    keys,
    problems,
    search,
    sources,
    webhooks,
)
from api.access import KeyMiddleware
from api.limits import BodyLimits, LimitedConnection, WholeBody
from api.operations import draining, limit_malloc_arenas, operation_routes
from api.problems import on_http_error, on_unexpected
from api.security import HEADERS, SecurityMiddleware
from rag.errors import SettingsError
from rag.local_server import ip_address, is_loopback
from rag.logs import count_errors, write_lines
from rag.services import Services
from storage.errors import FootnoteError

PREFIXES = ("/api/", "/v1/")
MCP_PATH = "/mcp"
VERSION = "1"
ABOUT = """Chat with your own documents; every statement of an answer comes with the words it rests on.

Each request needs a key: `Authorization: Bearer KEY`. Keys are made on the Settings page, or by
`footnote keys create`. Errors are problems (RFC 9457); under `/v1/` they have OpenAI's form."""


def create_api(services: Callable[[], Services]) -> FastAPI:
    """Return the application over the services of the process, which may raise FootnoteError."""
    api = FastAPI(
        title="Footnote",
        version=VERSION,
        description=ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={
            FootnoteError: problems.on_footnote_error,
            HTTPException: problems.on_http_error,
            ClientDisconnect: problems.on_disconnect,
            RequestValidationError: problems.on_invalid,
            Exception: problems.on_unexpected,
        },
    )
    for resource in (
        ask,
        search,
        check,
        documents,
        collections,
        sources,
        conversations,
        grids,
        webhooks,
        keys,
    ):
        api.include_router(resource.router)
    api.include_router(ask.openai_router)
    api.add_middleware(BodyLimits, upload_mb=_upload_mb(services))
    api.add_middleware(KeyMiddleware, services=services)  # the outer one: nothing is read without a key
    generated = api.openapi
    api.openapi = lambda: _with_security(generated())  # type: ignore[method-assign]
    return api


def routes(services: Callable[[], Services], *, page: bool = True) -> list[Route]:
    """Return the routes of the interface for an application that has others beside them.

    Links that lead to the page are given where it is served too.
    """
    api = create_api(services)
    bounded = BodyLimits(WholeBody(ToolsOnDemand(api, page=page)), upload_mb=_upload_mb(services))
    tools = KeyMiddleware(bounded, services=services)
    return [*(Route(f"{prefix}{{path:path}}", api) for prefix in PREFIXES), Route(MCP_PATH, tools)]


def _upload_mb(services: Callable[[], Services]) -> Callable[[], int]:
    return lambda: services().settings.max_upload_mb


class ToolsOnDemand:
    """The MCP endpoint, made for its first request: to import it takes a fifth of a server's start."""

    def __init__(self, api: ASGIApp, *, page: bool):
        self._api, self._page = api, page
        self._made: ASGIApp | None = None
        self._making = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        async with self._making:
            if self._made is None:
                self._made = await asyncio.to_thread(self._make)
        await self._made(scope, receive, send)

    def _make(self) -> ASGIApp:
        from api.mcp import McpEndpoint

        return McpEndpoint(self._api, page=self._page)


def _with_security(document: dict[str, Any]) -> dict[str, Any]:
    """Add to an OpenAPI document what it cannot tell from the functions: keys and the forms of errors."""
    components = document.setdefault("components", {})
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"key": []}]
    for form in (problems.Problem, problems.OpenAIError):
        schema = form.model_json_schema(ref_template="#/components/schemas/{model}")
        components["schemas"] |= {**schema.pop("$defs", {}), form.__name__: schema}
    return document


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
