"""The HTTP interface as one application, and its routes in the server of the pages."""

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from api import (
    ask,
    chat_completions,
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
from api.limits import BodyLimits, WholeBody
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
        chat_completions,
    ):
        api.include_router(resource.router)
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
