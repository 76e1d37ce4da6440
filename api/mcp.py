"""MCP server: search, questions, reading and the check of statements as tools for agents.

Each tool is a call of the HTTP interface with the caller's key, so keys, limits and answers are the same. No
tool changes anything.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, cast
from urllib.parse import quote, urlencode

import httpx2
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import Field
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from api.problems import error_response

PART = 20_000  # characters of a document that are read at once
AROUND = 300  # characters on either side of a passage
INSTRUCTIONS = """The user's own documents. Search or ask before you answer about them, and give the links of
what you rest on. Before you state something about them, check it with verify_statement: only "verified"
means that the documents say it."""
CHECKED_BEFORE = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""Host names are checked by the middleware of the whole server, and each request needs a key."""
READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
BY_POST = "Tools are called with POST. See docs/user/mcp.md."
IN_JSON = "A message to the tools is JSON. Send it with “Content-Type: application/json”."
NOT_FOR_AGENTS = ("found_by", "timings_ms", "usage", "sha256")

Names = Annotated[
    list[str], Field(description="Ids or names of collections to search; everything without any.")
]
Ids = Annotated[list[str], Field(description="Ids of documents to search.")]


@dataclass(frozen=True)
class Interface:
    """The HTTP interface as a tool calls it: at `url`, or through `transport` in this process.

    `page` is the address of the page, to which links lead, if there is one.
    """

    url: str
    authorization: str
    page: str | None = None
    transport: httpx2.AsyncBaseTransport | None = None

    async def call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """Return a response's JSON; raises ToolError with the sentence of a refusal."""
        client = httpx2.AsyncClient(
            base_url=self.url,
            headers={"Authorization": self.authorization},
            transport=self.transport,
            timeout=None,  # a model may take its time, and the caller can cancel
        )
        async with client:
            try:
                response = await client.request(method, path, **options)
            except httpx2.HTTPError as error:
                raise ToolError(f"Footnote does not answer at {self.url}. Start it again.") from error
        body: dict[str, Any] = response.json()
        if not response.is_success:
            raise ToolError(str(body.get("detail") or body.get("title")))
        return body

    def linked(self, places: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return places in documents with a link to the page that shows each."""
        return [
            {**one, "link": self.link(one["document_id"], one.get("page"))} if one.get("document_id") else one
            for one in places
        ]

    def link(self, document_id: str, page: int | None = None) -> str | None:
        """Return the address that opens a document on the page; None without one.

        >>> Interface("http://127.0.0.1", "Bearer k", page="https://docs.example").link("d7", 3)
        'https://docs.example/?document=d7&page=3'
        """
        if self.page is None:
            return None
        shown = {"document": document_id} | ({} if page is None else {"page": page})
        return f"{self.page}/?{urlencode(shown)}"


Connect = Callable[[Context[Any, Any]], Interface]


class DocumentTools:
    """The tools, over the interface that `connect` finds for a request."""

    def __init__(self, connect: Connect):
        self._connect = connect
        self._checking = asyncio.Lock()  # a person's texts are checked one at a time

    def server(self) -> MCPServer:
        """Return an MCP server with the tools."""
        server = MCPServer("footnote", title="Footnote", instructions=INSTRUCTIONS, log_level="ERROR")
        for tool in (
            self.search_documents,
            self.ask_documents,
            self.read_passage,
            self.read_document,
            self.list_documents,
            self.verify_statement,
        ):
            server.add_tool(tool, annotations=READ_ONLY)
        return server

    async def search_documents(
        self,
        query: str,
        context: Context[Any, Any],
        k: Annotated[int | None, Field(ge=1, le=50, description="Passages to find.")] = None,
        collections: Names = [],  # noqa: B006 - a default of the tool's schema
        documents: Ids = [],  # noqa: B006
    ) -> dict[str, Any]:
        """Find the passages for a query, best first, by words and by meaning."""
        interface = self._connect(context)
        body = {"query": query, "k": k, "collections": collections, "documents": documents}
        found = await interface.call("POST", "/api/search", json=body)
        return {**found, "passages": interface.linked(map(_for_agents, found["passages"]))}

    async def ask_documents(
        self,
        question: str,
        context: Context[Any, Any],
        collections: Names = [],  # noqa: B006
        documents: Ids = [],  # noqa: B006
    ) -> dict[str, Any]:
        """Answer a question; each statement has a citation: its status and the exact words of a document."""
        interface = self._connect(context)
        body = {"question": question, "collections": collections, "documents": documents}
        answer = _for_agents(await interface.call("POST", "/api/ask", json=body))
        for name in ("citations", "sources"):
            answer[name] = interface.linked(map(_for_agents, answer[name]))
        return answer

    async def read_passage(
        self,
        document_id: str,
        start: Annotated[int, Field(ge=0, description="As in a passage or a citation.")],
        end: Annotated[int, Field(ge=0)],
        context: Context[Any, Any],
        around: Annotated[int, Field(ge=0, le=PART, description="Characters before and after.")] = AROUND,
    ) -> dict[str, Any]:
        """Read a passage or a quote again, with the text around it."""
        first = max(0, start - around)
        interface = self._connect(context)
        part = await _text(interface, document_id, first, max(start, end) + around)
        before, after = start - part["start"], max(start, end) - part["start"]
        page = next((one["number"] for one in part["pages"] if one["start"] <= start < one["end"]), None)
        return {
            "before": part["text"][:before],
            "text": part["text"][before:after],
            "after": part["text"][after:],
            "page": page,
            "link": interface.link(document_id, page),
        }

    async def read_document(
        self,
        document_id: str,
        context: Context[Any, Any],
        start: Annotated[int, Field(ge=0, description="Character to begin at.")] = 0,
        length: Annotated[int, Field(ge=1, le=PART, description="Characters to read.")] = PART,
    ) -> dict[str, Any]:
        """Read the text of a document, or a part of it; `next_start` begins the following part."""
        interface = self._connect(context)
        part = await _text(interface, document_id, start, start + length)
        following = part["end"] if part["end"] < part["length"] else None
        return {**part, "next_start": following, "link": interface.link(document_id)}

    async def list_documents(
        self,
        context: Context[Any, Any],
        collection: Annotated[str | None, Field(description="Id or name; everything without one.")] = None,
        cursor: Annotated[str | None, Field(description="`next_cursor` of the page before.")] = None,
    ) -> dict[str, Any]:
        """List the documents, newest first, with their states."""
        interface = self._connect(context)
        wanted = {"collection": collection, "cursor": cursor}
        given = {name: value for name, value in wanted.items() if value is not None}
        listed = await interface.call("GET", "/api/documents", params=given)
        shown = [{**_for_agents(one), "link": interface.link(one["id"])} for one in listed["data"]]
        return {"documents": shown, "next_cursor": listed["next_cursor"]}

    async def verify_statement(
        self,
        statement: Annotated[str, Field(min_length=1, description="One statement, or a few sentences.")],
        context: Context[Any, Any],
        collections: Names = [],  # noqa: B006
        documents: Ids = [],  # noqa: B006
    ) -> dict[str, Any]:
        """Check a statement against the documents before you make it: by code, without a language model.

        `verified` is true where the documents say all of it. Otherwise the sources and the note of each part
        tell what they say instead.
        """
        interface = self._connect(context)
        body = {"text": statement, "collections": collections, "documents": documents}
        async with self._checking:
            checked = await interface.call("POST", "/api/check", json=body)
        parts = [{**one, "sources": interface.linked(one["sources"])} for one in checked["statements"]]
        return {
            "verified": bool(parts) and all(one["status"] == "verified" for one in parts),
            "statements": parts,
            "searched_in": checked["searched_in"],
            "notes": checked["notes"],
        }


class McpEndpoint:
    """Streamable HTTP endpoint in the server's process; each request is one of its own, with its own key."""

    def __init__(self, api: ASGIApp, *, page: bool):
        """Serve calls of `api`, the HTTP interface; links are given where the server has the `page`."""
        self._api, self._page = api, page
        self._server = DocumentTools(self._connect).server()

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer a request. There is nothing to listen to with GET, and no session to end with DELETE."""
        if scope["method"] != "POST":
            await error_response(scope["path"], 405, BY_POST, {"Allow": "POST"})(scope, receive, send)
            return
        kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            await error_response(scope["path"], 415, IN_JSON)(scope, receive, send)
            return
        self._server.streamable_http_app(
            json_response=True, stateless_http=True, transport_security=CHECKED_BEFORE
        )
        manager = self._server.session_manager  # this request's own: there are no sessions
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    def _connect(self, context: Context[Any, Any]) -> Interface:
        request = cast(Request, context.request_context.request)
        client = (request.client.host, request.client.port) if request.client else ("", 0)
        return Interface(
            "http://127.0.0.1",
            request.headers["authorization"],
            page=str(request.base_url).rstrip("/") if self._page else None,
            transport=httpx2.ASGITransport(self._api, client=client),
        )


async def _text(interface: Interface, document_id: str, start: int, end: int) -> dict[str, Any]:
    path = f"/api/documents/{quote(document_id, safe='')}/text"
    return await interface.call("GET", path, params={"start": start, "end": end})


def _for_agents(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in NOT_FOR_AGENTS}
