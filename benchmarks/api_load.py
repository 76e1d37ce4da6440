"""The HTTP interface under load: overhead to the first token, and many clients that stream at once.

    python benchmarks/api_load.py [--clients 200] [--seconds 20] [--asked 100] [--json]

The model is a server of a process of its own that streams 50 tokens a second. First, one question after
another is asked by the generator itself and over HTTP, in turns, in one process: the overhead is the
difference of the medians until the first token. Then `footnote serve --no-ui` runs as a process, and each
client asks again as soon as it is answered, on one connection, for so many seconds after all have begun.
Fails where the median overhead is 10 ms or more, an answer is not whole, or 95 % of the first tokens take a
second or more. On a machine that does other work the second figure says nothing.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent))

import uvicorn

from api.application import create_app
from rag.api_client import ApiClient
from rag.chat.answer import Token
from rag.chat.scope import EVERYTHING
from rag.jobs import never
from rag.local_server import find_server
from rag.services import Services
from rag.settings import LOCAL_OWNER, load

TOKENS = 1000  # of an answer, which takes 20 seconds
PAUSE = 0.02  # seconds between two tokens of the model
WORD = "containers "
TEXT = "# Harbour {0}\n\nThe harbour of port {0} handled {0} million containers.\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
QUESTION = "How many containers did port 7 handle?"
MOST_OVERHEAD, MOST_FIRST = 0.010, 1.0  # seconds
READY = 300.0  # seconds until a server answers


async def _model(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Stream one answer after another on a connection."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lines = head.lower().split(b"\r\n")
            named = [line for line in lines if line.startswith(b"content-length:")]
            await reader.readexactly(int(named[0].split(b":")[1]) if named else 0)
            writer.write(HEAD)
            due = time.monotonic()
            for number in range(TOKENS):
                _send(writer, {"delta": {"content": WORD if number else "The "}, "finish_reason": None})
                await writer.drain()
                due += PAUSE
                await asyncio.sleep(max(0.0, due - time.monotonic()))
            _send(writer, {"delta": {}, "finish_reason": "stop"})
            data = b"data: [DONE]\n\n"
            writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


def _send(writer: asyncio.StreamWriter, choice: dict[str, object]) -> None:
    data = b"data: " + json.dumps({"choices": [{"index": 0, **choice}]}).encode() + b"\n\n"
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


def _serve_model(port: "multiprocessing.Queue[int]") -> None:
    async def run() -> None:
        server = await asyncio.start_server(_model, "127.0.0.1", 0, backlog=512)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def model() -> Iterator[str]:
    """Run the model; yield its address."""
    port: multiprocessing.Queue[int] = multiprocessing.Queue()
    process = multiprocessing.Process(target=_serve_model, args=[port], daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{port.get(timeout=30)}/v1"
    finally:
        process.terminate()


def fill(data: Path) -> None:
    """Add the documents."""
    with closing(Services(load({"data": data}))) as services:
        library = services.library(LOCAL_OWNER)
        for number in range(20):
            record, _ = library.add(f"port{number}.md", TEXT.format(number).encode())
            list(library.index(record.id))
        library.close()


def overhead(data: Path, url: str, asked: int) -> dict[str, float]:
    """Return the medians until the first token, in milliseconds, of the generator and over HTTP."""
    settings = load({"data": data, "llm_base_url": url, "llm_model": "fake", "citation_judge": "off"})
    with closing(Services(settings)) as services:
        config = uvicorn.Config(create_app(services), port=0, log_config=None, access_log=False)
        listening = config.bind_socket()
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        client = ApiClient(f"http://127.0.0.1:{listening.getsockname()[1]}", services.local_token)
        _until_ready(client)
        direct, http = [], []
        for number in range(asked + 5):
            pair = (_direct(services), _over_http(client))
            if number >= 5:  # the first warm up
                direct.append(pair[0])
                http.append(pair[1])
        server.should_exit = True
        thread.join(30)
    medians = {"direct": statistics.median(direct), "http": statistics.median(http)}
    difference = medians["http"] - medians["direct"]
    return {name: 1000 * value for name, value in {**medians, "overhead": difference}.items()}


def _direct(services: Services) -> float:
    began = time.perf_counter()
    events = services.workspace(LOCAL_OWNER).pipeline_within(EVERYTHING).ask(QUESTION, (), never)
    with closing(events):  # type: ignore[type-var]
        next(event for event in events if isinstance(event, Token))
        return time.perf_counter() - began


def _over_http(client: ApiClient) -> float:
    began = time.perf_counter()
    events = client.events("/api/ask", {"question": QUESTION, "stream": True})
    with closing(events):  # type: ignore[type-var]
        next(name for name, _ in events if name == "token")
        return time.perf_counter() - began


def _until_ready(client: ApiClient) -> None:
    deadline = time.monotonic() + READY
    while True:
        try:
            client.call("GET", "/api/collections")
            client.call("POST", "/api/search", body={"query": QUESTION})
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


@dataclass
class Load:
    """Result of the clients."""

    answers: int = 0
    errors: list[str] = field(default_factory=list)
    first: list[float] = field(default_factory=list)


async def _client(url: str, token: str, until: float, load: Load) -> None:
    """Ask again and again on one connection."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    body = json.dumps(
        {"model": "footnote", "stream": True, "messages": [{"role": "user", "content": QUESTION}]}
    ).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    try:
        while time.monotonic() < until:
            began = time.monotonic()
            writer.write(head + body)
            load.first.append(await _answered(reader) - began)
            load.answers += 1
    except (ConnectionError, asyncio.IncompleteReadError) as error:
        load.errors.append(str(error)[:200])
    finally:
        writer.close()


async def _answered(reader: asyncio.StreamReader) -> float:
    """Read an answer to its end; return when its first token came. Raises ConnectionError."""
    first, done = 0.0, False
    while (line := await reader.readline()) != b"0\r\n":
        if not line or line.startswith((b'data: {"error"', b"HTTP/1.1 4", b"HTTP/1.1 5")):
            raise ConnectionError(line.decode() or "closed")
        if not first and b'"content": "The' in line:
            first = time.monotonic()
        done = done or line.startswith(b"data: [DONE]")
    await reader.readline()
    if not (first and done):
        raise ConnectionError("not whole")
    return first


async def _clients(url: str, token: str, count: int, seconds: float) -> Load:
    """Run the clients, which begin one after another within the time of an answer."""
    load, until = Load(), time.monotonic() + TOKENS * PAUSE + seconds

    async def begin(number: int) -> None:
        await asyncio.sleep(TOKENS * PAUSE * number / count)
        await _client(url, token, until, load)

    await asyncio.gather(*map(begin, range(count)))
    return load


def under_load(data: Path, url: str, clients: int, seconds: float) -> Load:
    """Return what the clients saw of `footnote serve --no-ui`."""
    environment = {
        **os.environ,
        "FOOTNOTE_LLM_BASE_URL": url,
        "FOOTNOTE_LLM_MODEL": "fake",
        "FOOTNOTE_CITATION_JUDGE": "off",
    }
    command = [sys.executable, "-m", "rag.cli", "--data", str(data), "serve", "--no-ui", "--port", "0"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + READY
        while (there := find_server(data)) is None and time.monotonic() < deadline:
            time.sleep(0.1)
        if there is None:
            raise RuntimeError("The server did not start.")
        _until_ready(ApiClient(there.url, there.token))
        _over_http(ApiClient(there.url, there.token))  # the first answer opens the client of the model
        return asyncio.run(_clients(there.url, there.token, clients, seconds))
    finally:
        process.terminate()
        process.wait(60)


def main() -> int:
    """Measure, print, and return 1 where a figure is not reached."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--asked", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, model() as url:
        data = Path(folder) / "data"
        fill(data)
        medians = overhead(data, url, options.asked)
        load = under_load(data, url, options.clients, options.seconds)
    first = sorted(load.first) or [float("inf")]
    result = {
        **{f"{name}_ms": round(value, 1) for name, value in medians.items()},
        "clients": options.clients,
        "answers": load.answers,
        "errors": len(load.errors),
        "first_token_p50_s": round(first[len(first) // 2], 3),
        "first_token_p95_s": round(first[int(len(first) * 0.95)], 3),
        "load_average": round(os.getloadavg()[0], 1),
    }
    for name, value in result.items():
        print(f"{name:20} {value}") if not options.json else None
    if options.json:
        print(json.dumps(result))
    for error in sorted(set(load.errors))[:5]:
        print(f"an error: {error}", file=sys.stderr)
    reached = (
        medians["overhead"] < 1000 * MOST_OVERHEAD
        and not load.errors
        and result["first_token_p95_s"] < MOST_FIRST
    )
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
