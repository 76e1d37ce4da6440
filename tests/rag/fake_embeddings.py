"""A real local server speaking OpenAI's embeddings, with faults on demand.

    with FakeEmbeddings() as server:
        server.change = lambda rows: rows[:1]      # one vector for however many texts
        server.drop_after = 2                      # two more batches, then nothing listens any more
        server.hold()                              # texts wait from now on
    server.let(2)                              # two requests go on; `mend` lets all
        ... open_embedder("openai:small", base_url=server.url) ...

A text's vector counts its words in 16 places, so that texts that share words are near each other.
"""

import json
import math
import threading
import zlib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSION = 16
MODEL = "openai:small"

Rows = list[dict[str, Any]]


def unchanged(rows: Rows) -> Rows:
    """Answer as it should be."""
    return rows


def vector(text: str, dimension: int) -> list[float]:
    """Return how many of a text's words fall on each place."""
    counts = [0.001] * dimension
    for word in text.lower().split():
        counts[zlib.crc32(word.strip("#.,?!").encode()) % dimension] += 1
    return counts


class FakeEmbeddings:
    """The server, in threads of its own, from `with` to the end of its block."""

    def __init__(self) -> None:
        self.change: Callable[[Rows], Any] = unchanged
        self.dimension = DIMENSION
        self.drop_after: int | None = None  # requests, after which connections are closed without an answer
        self.batches: list[list[str]] = []  # that were answered
        self._may = math.inf  # how many more may be answered
        self._turn = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self

    @property
    def url(self) -> str:
        """Its address, as FOOTNOTE_EMBEDDING_BASE_URL wants it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def mend(self) -> None:
        """Work again as it should."""
        self.change, self.dimension, self.drop_after = unchanged, DIMENSION, None
        self.let(math.inf)

    def hold(self) -> None:
        """Let texts wait, though not the word that tells the dimension."""
        with self._turn:
            self._may = 0

    def let(self, requests: float) -> None:
        """Answer so many more that wait, or are to come."""
        with self._turn:
            self._may += requests
            self._turn.notify_all()

    def take(self, texts: list[str]) -> None:
        """Wait until these texts may be answered."""
        with self._turn:
            self._turn.wait_for(lambda: self._may > 0)
            self._may -= 1
            self.batches.append(texts)

    def __enter__(self) -> "FakeEmbeddings":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.mend()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    fake: FakeEmbeddings

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Its tests break connections on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        fake = self.server.fake
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        if texts != ["dimension"]:
            fake.take(texts)
        if fake.drop_after is not None:
            if fake.drop_after == 0:
                self.close_connection = True
                return
            fake.drop_after -= 1
        rows: Rows = [
            {"index": place, "embedding": vector(text, fake.dimension)} for place, text in enumerate(texts)
        ]
        body = json.dumps({"data": rows if texts == ["dimension"] else fake.change(rows)}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
