"""The MCP server by the SDK's own client: over HTTP behind keys, and over stdio as a process of its own."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from rag import cli
from storage.lock import DataDirectoryLock
from tests.api.conftest import CASTLE, HARBOUR, QUESTION, ApiServer, add

TOOLS = {
    *("search_documents", "ask_documents", "read_passage"),
    *("read_document", "list_documents", "verify_statement"),
}
ANSWER = "The harbour handled 4.1 million containers in 2024 [1]."
TRUE, FALSE = "The castle of Aldenburg was built in 1432.", "The castle of Aldenburg was built in 1532."


@asynccontextmanager
async def over_http(url: str, key: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(data: Path, home: Path) -> AsyncIterator[Client]:
    command = [sys.executable, "-m", "rag.cli", "--data", str(data), "mcp"]
    environment = {
        "FOOTNOTE_KOREAN_JAPANESE_ANALYZERS": "off",
        "PYTHONPATH": str(Path(cli.__file__).parents[2]),
    }
    async with Client(StdioServerParameters(command=command[0], args=command[1:], env=environment)) as client:
        yield client


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)


async def test_an_agent_searches_reads_and_asks_as_by_http(api: ApiServer):
    api.fake.say(ANSWER)
    with api.client() as http:
        plain = http.post("/api/ask", json={"question": QUESTION}).json()
    async with over_http(api.url, api.keys["ann"]) as agent:
        listed = await agent.list_tools()
        assert {tool.name for tool in listed.tools} == TOOLS
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed.tools)

        found = await called(agent, "search_documents", query=QUESTION, k=2, collections=["Reports"])
        first = found["passages"][0]
        assert HARBOUR[first["start"] : first["end"]] == first["text"]
        again = await called(
            agent, "read_passage", document_id=first["document_id"], start=first["start"], end=first["end"]
        )
        assert again["text"] == first["text"]
        assert again["before"] + again["text"] + again["after"] == HARBOUR.strip()

        answer = await called(agent, "ask_documents", question=QUESTION)
        assert answer["text"] == plain["text"] == ANSWER
        assert [one["quote"] for one in answer["citations"]] == [one["quote"] for one in plain["citations"]]
        assert "verified" in {one["status"] for one in answer["citations"]}


async def test_a_long_document_is_read_in_parts(api: ApiServer):
    async with over_http(api.url, api.keys["ann"]) as agent:
        (castle,) = [
            one for one in (await called(agent, "list_documents"))["documents"] if one["name"] == "castle.md"
        ]
        read, start = "", 0
        while start is not None:
            part = await called(agent, "read_document", document_id=castle["id"], start=start, length=30)
            read, start = read + part["text"], part["next_start"]
        assert read == CASTLE.strip()


async def test_a_statement_is_verified_or_told_what_the_documents_say(api: ApiServer):
    async with over_http(api.url, api.keys["ann"]) as agent:
        true = await called(agent, "verify_statement", statement=TRUE)
        assert true["verified"] is True
        (source,) = true["statements"][0]["sources"]
        assert "1432" in source["quote"]
        false = await called(agent, "verify_statement", statement=FALSE)
        assert false["verified"] is False
        assert false["statements"][0]["status"] != "verified"


async def test_nothing_is_told_without_a_key_nor_beyond_it(api: ApiServer):
    with api.client("no-such-key") as http:
        assert http.post("/mcp", json={}).status_code == 401
    async with over_http(api.url, api.keys["bob"]) as agent:
        names = {one["name"] for one in (await called(agent, "list_documents"))["documents"]}
        assert names == {"lighthouse.md"}
        castle = next(one for one in api.workspace().library.documents.list() if one.name == "castle.md")
        assert "no document" in await refused(agent, "read_document", document_id=castle.id)
        assert (await called(agent, "verify_statement", statement=TRUE))["verified"] is False
    async with over_http(api.url, api.key("ann", "read")) as agent:
        assert "may not ask questions" in await refused(agent, "ask_documents", question=QUESTION)
        assert (await called(agent, "search_documents", query=QUESTION))["passages"]


async def test_over_stdio_the_running_server_is_asked(api: ApiServer, tmp_path: Path):
    local = api.workspace("local")
    add(local, "castle.md", CASTLE)
    api.services.announce(api.url)
    async with over_stdio(api.services.settings.data, tmp_path) as agent:
        assert (await called(agent, "verify_statement", statement=TRUE))["verified"] is True
        names = {one["name"] for one in (await called(agent, "list_documents"))["documents"]}
        assert names == {"castle.md"}


async def test_over_stdio_a_data_directory_of_its_own_is_opened(tmp_path: Path):
    (tmp_path / "castle.md").write_text(CASTLE)
    cli.main(["--data", str(tmp_path / "data"), "ingest", str(tmp_path / "castle.md")])
    async with over_stdio(tmp_path / "data", tmp_path) as agent:
        answer = await called(agent, "ask_documents", question="When was the castle of Aldenburg built?")
        (citation, *_) = answer["citations"]
        assert "1432" in citation["quote"]
        assert citation["link"] is None  # no page is served
    assert cli.main(["--data", str(tmp_path / "data"), "doctor"]) == 0


def test_a_data_directory_that_a_command_uses_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    lock = DataDirectoryLock(tmp_path / "data")
    lock.acquire()
    assert cli.main(["--data", str(tmp_path / "data"), "mcp"]) == 2
    lock.release()
    assert "is in use by process" in capsys.readouterr().err
