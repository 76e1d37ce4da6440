"""Server of OpenAI's embeddings and chat completions: a packaged model, and a stand-in for a chat model.

The stand-in answers with a fixed sentence and the name of the first passage it is shown. Given a tool that
searches, it calls that once with the question first.
"""

import argparse
import base64
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from rag.models.embeddings import Embedder, open_embedder
from rag.settings import default_model_cache

EMBEDDING, CHAT = "all-MiniLM-L6-v2", "stand-in"
SENTENCE = "The documents answer this [1]."
NAME = re.compile(r"document-\d+\.txt")
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
Json = dict[str, Any]


def texts_of(given: object) -> list[str] | None:
    """Return the texts of an embedding request; None for tokens or anything else."""
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        return None
    return listed


def encoded(vector: Sequence[float], form: object) -> list[float] | str:
    """Return a vector as numbers, or as base64 of float32."""
    if form != "base64":
        return list(vector)
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()


def message(body: Mapping[str, Any]) -> Json:
    """Return the stand-in's message for a chat request."""
    messages = body.get("messages") or []
    searching = [
        tool["function"]["name"] for tool in body.get("tools") or [] if "search" in tool["function"]["name"]
    ]
    if searching and not any(one["role"] == "tool" for one in messages):
        asked = [words(one) for one in messages if one["role"] == "user"]
        called = {"name": searching[0], "arguments": json.dumps({"query": asked[-1] if asked else ""})}
        call = {"id": "call-1", "type": "function", "function": called}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    named = NAME.search("\n".join(map(words, messages)))
    return {"role": "assistant", "content": f"{SENTENCE} {named[0] if named else ''}".strip()}


def words(one: Mapping[str, Any]) -> str:
    """Return the text of a message, whose content is text or a list of parts."""
    content = one.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def streamed(model: str, said: Json) -> Iterator[str]:
    """Yield the events of an answer."""
    calls = said.get("tool_calls")
    delta = {**said, "tool_calls": [{"index": 0, **calls[0]}]} if calls else said
    chunk = _completion(model, "chat.completion.chunk")
    for part in (
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]},
        {"choices": [], "usage": USAGE},
    ):
        yield f"data: {json.dumps(chunk | part)}\n\n"
    yield "data: [DONE]\n\n"


def _completion(model: str, kind: str) -> Json:
    return {"id": "chat-1", "object": kind, "created": int(time.time()), "model": model}


def create_app(open_model: Callable[[], Embedder]) -> Starlette:
    """Return the server's application."""
    embedder, lock = open_model(), threading.Lock()

    def vectors(texts: list[str]) -> list[list[float]]:
        with lock:
            return embedder.embed_documents(texts) if texts else []

    async def embed(request: Request) -> Response:
        body = await request.json()
        texts = texts_of(body.get("input"))
        if texts is None:
            reason = "Send the input as a text or a list of texts: this server takes no tokens."
            return JSONResponse({"error": {"message": reason}}, 400)
        made = await run_in_threadpool(vectors, texts)
        data = [
            {"object": "embedding", "index": at, "embedding": encoded(vector, body.get("encoding_format"))}
            for at, vector in enumerate(made)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return JSONResponse({"object": "list", "model": EMBEDDING, "data": data, "usage": usage})

    async def chat(request: Request) -> Response:
        body = await request.json()
        said = message(body)
        if body.get("stream"):
            return StreamingResponse(streamed(body.get("model", CHAT), said), media_type="text/event-stream")
        reason = "tool_calls" if "tool_calls" in said else "stop"
        choices = [{"index": 0, "message": said, "finish_reason": reason}]
        answer = _completion(body.get("model", CHAT), "chat.completion") | {
            "choices": choices,
            "usage": USAGE,
        }
        return JSONResponse(answer)

    async def models(_: Request) -> Response:
        listed = [{"id": name, "object": "model", "owned_by": "footnote"} for name in (CHAT, EMBEDDING)]
        return JSONResponse({"object": "list", "data": listed})

    return Starlette(
        routes=[
            Route("/v1/embeddings", embed, methods=["POST"]),
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/models", models),
        ]
    )


@contextmanager
def serving(open_model: Callable[[], Embedder], port: int = 0) -> Iterator[str]:
    """Serve in a thread; yield the address."""
    server = uvicorn.Server(uvicorn.Config(create_app(open_model), port=port, log_level="warning"))
    with closing(server.config.bind_socket()) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def main() -> None:
    """Print the address, and serve until the standard input ends."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    with serving(lambda: open_embedder(EMBEDDING, cache=default_model_cache()), options.port) as address:
        print(address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
