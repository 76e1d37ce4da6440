"""The `footnote mcp` command: an MCP server on standard input and output, for an agent on this computer."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from rag.cli.common import Commands, Options, say
from rag.local_server import LocalServer, find_server
from rag.services import Services
from rag.settings import Settings

if TYPE_CHECKING:
    from api.mcp import Interface

REACH_SECONDS = 5.0
MCP = """Let an agent on this computer, such as Claude Desktop or Cursor, search, ask, read the documents and
check its statements. Where the app runs, its server is asked; otherwise the data directory is opened."""


def add_commands(commands: Commands) -> None:
    """Add the command to the command line."""
    serving = commands.add_parser("mcp", help="serve an agent over MCP, on stdin and stdout", description=MCP)
    serving.set_defaults(command=_mcp_command)


def _mcp_command(settings: Settings, options: Options) -> int:
    from api.mcp import DocumentTools

    with _interface(settings) as interface:
        DocumentTools(lambda _: interface).server().run("stdio")
    return 0


@contextmanager
def _interface(settings: Settings) -> "Iterator[Interface]":
    """Return the running server's interface, or one in this process.

    Raises DataDirectoryLocked where another process than a server has the data directory.
    """
    import httpx2

    from api.application import create_api
    from api.mcp import Interface

    server = find_server(settings.data)
    if server is not None and _status(server, "/api/documents?limit=1") == 200:
        page = server.url if _status(server, "/") == 200 else None
        yield Interface(server.url, f"Bearer {server.token}", page=page)
        return
    with closing(Services(settings)) as services:
        threading.Thread(target=services.warm_up, name="warm-up", daemon=True).start()
        say("the data directory is open for this agent; `footnote serve` can use it after it ends.")
        transport = httpx2.ASGITransport(create_api(lambda: services), client=("127.0.0.1", 0))
        yield Interface("http://127.0.0.1", f"Bearer {services.local_token}", transport=transport)


def _status(server: LocalServer, path: str) -> int:
    """Return the status of an answer of the server; 0 without one."""
    import httpx2

    try:
        headers = {"Authorization": f"Bearer {server.token}"}
        return httpx2.get(f"{server.url}{path}", headers=headers, timeout=REACH_SECONDS).status_code
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return 0
