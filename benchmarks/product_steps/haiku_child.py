"""haiku.rag's client on request: a JSON line in, a JSON line out. Runs in haiku.rag's environment."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from haiku.rag.client import HaikuRAG


async def add(client: HaikuRAG, files: list[str]) -> None:
    """Add each file, with its name as its title."""
    for path in files:
        await client.create_document_from_source(Path(path), title=Path(path).name)


async def delete(client: HaikuRAG, name: str) -> None:
    """Delete the document with a title."""
    document = await client.resolve_document(name)
    await client.delete_document(document.id)


async def search(client: HaikuRAG, question: str, limit: int) -> list[str]:
    """Return the titles of the documents that are found."""
    return [found.document_title for found in await client.search(question, limit=limit)]


async def ready(client: HaikuRAG) -> None:
    """Say that the client is open."""


STEPS = {"add": add, "delete": delete, "search": search, "ready": ready}


async def main() -> None:
    """Answer requests until the input ends."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no answer
    async with HaikuRAG(create=True) as client:
        while line := await asyncio.to_thread(sys.stdin.readline):
            request: dict[str, Any] = json.loads(line)
            result = await STEPS[request.pop("step")](client, **request)
            print(json.dumps(result), file=answers, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
