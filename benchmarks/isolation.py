"""Isolation of owners: fails where a search finds another owner's passage or scores depend on it.

    python benchmarks/isolation.py [--queries 1000] [--documents 60] [--json] [--http]

Two people have nearly the same documents in one place, and one of them the same again where nobody else
is. Each way of searching is asked the same questions in both; what is found must be theirs, and the scores
must be equal. With `--http` a server is asked over HTTP and MCP instead: four search modes, an answer, an
answer in OpenAI's form, and the tool of agents; each passage and citation must be of the key's owner. That
takes some six minutes of a core.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from api.application import create_app
from rag.services import Services
from rag.settings import load
from storage.keys import ApiKeys
from tests.rag.isolation import CANARY, PATHS, Leaks, leaks, queries, text_of, world

Ask = Callable[[httpx2.AsyncClient, Client, str], Awaitable[Sequence[dict[str, Any]]]]


@contextmanager
def served(folder: Path, documents: int) -> Iterator[tuple[str, str, set[str]]]:
    """Serve the documents of two people; yield the address, Ann's key, and the ids of her documents."""
    with closing(Services(load({"data": folder / "data"}))) as services:
        for owner, count in (("ann", documents), ("bob", 2 * documents)):
            library = services.workspace(owner).library
            for number in range(count):
                list(library.index(library.add(f"{number}.md", text_of(number, owner).encode())[0].id))
        config = uvicorn.Config(
            create_app(services), port=0, log_config=None, access_log=False, timeout_keep_alive=300
        )
        listening, server = config.bind_socket(), uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        hers = {record.id for record in services.workspace("ann").documents()}
        key = ApiKeys(services.database, "ann").create("Benchmark")[1]
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", key, hers
        server.should_exit = True
        thread.join(60)


def _posted(path: str, found: Callable[[dict[str, Any]], Sequence[dict[str, Any]]], **more: Any) -> Ask:
    async def ask(http: httpx2.AsyncClient, _: Client, query: str) -> Sequence[dict[str, Any]]:
        said = {"query": query, "question": query, "messages": [{"role": "user", "content": query}]}
        wanted = {"/api/search": "query", "/api/ask": "question"}.get(path, "messages")
        answer = await http.post(path, json={wanted: said[wanted], **more})
        return found(answer.raise_for_status().json())

    return ask


async def _by_tool(_: httpx2.AsyncClient, agent: Client, query: str) -> Sequence[dict[str, Any]]:
    result = await agent.call_tool("search_documents", {"query": query})
    passages: list[dict[str, Any]] = (result.structured_content or {})["passages"]
    return passages


def _evidence(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [*answer["sources"], *(one for one in answer["citations"] if one["document_id"])]


OVER_HTTP: dict[str, Ask] = {
    **{
        name: _posted("/api/search", lambda found: found["passages"], retriever=name, k=5)
        for name in ("similarity", "bm25", "ensemble-cc", "mmr")
    },
    "ask": _posted("/api/ask", _evidence),
    "openai": _posted("/v1/chat/completions", lambda answer: _evidence(answer["footnote"])),
    "mcp": _by_tool,
}


async def leaks_over_http(url: str, key: str, hers: set[str], asked: Sequence[str]) -> dict[str, Leaks]:
    """Ask with Ann's key; count what is found of Bob's."""
    headers = {"Authorization": f"Bearer {key}"}
    found = {}
    async with (
        httpx2.AsyncClient(base_url=url, headers=headers, timeout=300) as http,
        httpx2.AsyncClient(headers=headers, timeout=300) as for_tools,
        Client(streamable_http_client(f"{url}/mcp", http_client=for_tools)) as agent,
    ):
        for name, ask in OVER_HTTP.items():
            seen = foreign = 0
            begun = time.monotonic()
            for query in asked:
                evidence = await ask(http, agent, query)
                seen += len(evidence)
                foreign += sum(
                    one["document_id"] not in hers or CANARY["bob"] in str(one) for one in evidence
                )
            if not seen:
                raise RuntimeError(f"{name} found nothing at all, which shows nothing")
            found[name] = Leaks(len(asked), foreign, 0)
            each = 1000 * (time.monotonic() - begun) / len(asked)
            said = f"{name}: {foreign} of {seen} passages and citations foreign, {each:.0f} ms a request"
            print(said, file=sys.stderr, flush=True)
    return found


def main() -> int:
    """Ask, print a line for each retriever, and fail where anything leaked."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--queries", type=int, default=1000)
    options.add_argument("--documents", type=int, default=60)
    options.add_argument("--json", action="store_true")
    options.add_argument("--http", action="store_true", help="ask a server, over HTTP and MCP")
    given = options.parse_args()
    asked = queries(given.queries)
    with tempfile.TemporaryDirectory() as folder:
        if given.http:
            with served(Path(folder), given.documents) as there:
                leaked = asyncio.run(leaks_over_http(*there, asked))
        else:
            with world(Path(folder), given.documents) as built:
                leaked = {path: leaks(built, path, asked) for path in PATHS}
        found = {path: asdict(one) for path, one in leaked.items()}
    if given.json:
        print(json.dumps(found, indent=2))
    else:
        for path, leaked in found.items():
            print(
                f"{path:10} {leaked['asked']:6} asked, {leaked['foreign']} foreign, {leaked['scores']} scores"
            )
    return int(any(leaked["foreign"] or leaked["scores"] for leaked in found.values()))


if __name__ == "__main__":
    sys.exit(main())
