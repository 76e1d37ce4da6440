"""A real local server speaking OpenAI's chat completions, with scripted answers, faults and delays.

    with FakeLLM() as fake:
        fake.say("Seoul is the capital [1].")            # streamed word by word
        fake.reply(Reply(status=429, headers={"retry-after": "1"}))
        fake.reply(Reply("Half an answer", hang_after=2))
        ... LLMSettings(base_url=fake.url, model="fake") ...
        fake.requests[-1].messages, fake.hung_up.wait(1)

Scripted replies are used in their order, then the last one again; with none scripted it answers from the
passages in the prompt, as an obedient model would. `python tests/rag/fake_llm.py --port N` runs it by hand.
"""

import argparse
import base64
import io
import json
import math
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """One request as it arrived: the path, its headers in lower case, and the JSON body."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, str]]:
        return self.body.get("messages", [])

    @property
    def prompt(self) -> str:
        return "\n".join(_words(message["content"]) for message in self.messages)

    @property
    def pictures(self) -> list[bytes]:
        """The pictures that were sent as data URIs."""
        parts = [
            part
            for message in self.messages
            if not isinstance(message["content"], str)
            for part in message["content"]
            if part["type"] == "image_url"
        ]
        return [base64.b64decode(part["image_url"]["url"].partition(",")[2]) for part in parts]


@dataclass(frozen=True)
class Reply:
    """What to send for one request. Times in seconds, `*_after` in pieces sent before."""

    text: str | Callable[[Request], str] = ""
    pieces: tuple[str, ...] | None = None  # exact pieces; without them the text goes word by word
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None  # sent as it is in place of a completion
    content_type: str = "text/event-stream"
    delay: float = 0.0  # before the headers
    pause: float = 0.0  # between pieces
    hang: bool = False  # never even send headers
    hang_after: int | None = None
    hold_after: int | None = None  # goes on when the server's `released` is set
    drop_after: int | None = None  # close the socket without a goodbye
    trickle: float = 0.0  # send byte by byte with this pause
    repeat: bool = False  # the pieces again and again, without end
    odds: Callable[[Request], dict[str, float]] | None = None  # probabilities of the first token, if asked


def _words(content: Any) -> str:
    """Return the words of a message, whose content is text or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def seeing(*descriptions: str) -> Callable[[Request], str]:
    """Answer as a model with eyes: with the colours of a picture of stripes, else with a description.

    The descriptions are for the pictures in the order in which they are first seen, then the last again.
    """
    seen: list[bytes] = []

    def look(request: Request) -> str:
        if not request.pictures:
            return from_passages(request)
        picture = request.pictures[0]
        if "stripes" in request.prompt:
            return " ".join(stripes(picture))
        if picture not in seen:
            seen.append(picture)
        return descriptions[min(seen.index(picture), len(descriptions) - 1)]

    return look


def stripes(picture: bytes) -> list[str]:
    """Name the colours of three vertical stripes by looking at them."""
    from PIL import Image

    names = {
        (1, 0, 0): "red",
        (0, 1, 0): "green",
        (0, 0, 1): "blue",
        (1, 1, 0): "yellow",
        (0, 0, 0): "black",
        (1, 1, 1): "white",
    }
    with Image.open(io.BytesIO(picture)) as image:
        middles = [image.getpixel((image.width * place // 6, image.height // 2)) for place in (1, 3, 5)]
    return [names[tuple(int(part > 127) for part in colour)] for colour in middles]


READING = re.compile(r'<statement number="\d+">.*\nLines:\Z', re.S)
_STATEMENT = re.compile(r'<statement number="(\d+)">\n(.*?)\n</statement>', re.S)
REWRITE = re.compile(r"^Follow-up question: (.*)\nStandalone question:$", re.MULTILINE)


def stated(request: Request) -> list[tuple[str, str]]:
    """Return the statements that a reader is asked about, each with its number."""
    return _STATEMENT.findall(request.prompt)


def careful(words: Mapping[str, str]) -> Reply:
    """Read as a careful model does: quote given words for statements, by their beginning, and any copy."""

    def lines(request: Request) -> Iterator[str]:
        passages = " ".join(request.prompt.partition("Statements:")[0].split())
        for number, said in stated(request):
            copied = said if said in passages else ""
            quoted = next((quoted for told, quoted in words.items() if said.startswith(told)), copied)
            if quoted:
                yield f"{number} | supports | 1 | {quoted}"

    return Reply(lambda request: "\n".join(lines(request)) or "none")


def from_passages(request: Request) -> str:
    """Answer with the first sentence of each of the first two passages in the prompt, cited."""
    prompt = request.prompt
    fenced = re.findall(r'<passage number="(\d+)"[^>]*>\n(.*?)\n</passage>', prompt, re.S)
    if not fenced:
        return request.messages[-1]["content"].strip().splitlines()[-1] if request.messages else "Hello."
    said = []
    for number, text in fenced[:2]:
        sentence = re.split(r"(?<=[.!?。！？])\s*", " ".join(text.split()))[0]
        said.append(f"{sentence} [{number}]")
    return " ".join(said)


class FakeLLM:
    """The server, in threads of its own, from `with` to the end of its block."""

    def __init__(self, port: int = 0, *, default: Reply | None = None, keeps_questions: bool = False):
        """With `keeps_questions` a follow-up is left as it is, and the scripted replies are for answers."""
        self.requests: list[Request] = []
        self.readings: list[Request] = []  # requests to read for open statements, which are not in `requests`
        self.asked = threading.Event()  # set when the first request has arrived
        self.hung_up = threading.Event()  # set when a client closed a connection before its answer was over
        self.hung_up_at = 0.0  # time.monotonic() of that
        self.released = threading.Event()  # lets an answer that is held go on
        self._replies: list[Reply] = [default or Reply(from_passages)]
        self._readings: list[Reply] = [Reply("none")]
        self._choose: Callable[[Request], Reply] | None = None
        self._keeps_questions = keeps_questions
        self._next = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.fake = self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "FakeLLM":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def serve(self) -> None:
        self._server.serve_forever()

    def reply(self, *replies: Reply) -> None:
        """Script the coming requests; the last reply is repeated. Scripting again starts over."""
        with self._lock:
            self._replies, self._next, self._choose = list(replies), 0, None

    def say(self, *texts: str) -> None:
        self.reply(*(Reply(text) for text in texts))

    def say_by(self, text: Callable[[Request], str]) -> None:
        """Answer the coming requests by what they are."""
        self.reply(Reply(text))

    def reply_by(self, choose: Callable[[Request], Reply]) -> None:
        """Choose the reply to each of the coming requests by what it is."""
        with self._lock:
            self._choose = choose

    def read(self, *replies: Reply | str) -> None:
        """Script the coming requests to read for open statements; without, none has any support."""
        with self._lock:
            given = [reply if isinstance(reply, Reply) else Reply(reply) for reply in replies]
            self._readings = given

    def take(self, request: Request) -> Reply:
        with self._lock:
            if READING.search(request.prompt):
                self.readings.append(request)
                return self._readings[min(len(self.readings), len(self._readings)) - 1]
            self.requests.append(request)
            self.asked.set()
            if self._keeps_questions and (question := REWRITE.search(request.prompt)):
                return Reply(question[1])
            if self._choose is not None:
                return self._choose(request)
            reply = self._replies[min(self._next, len(self._replies) - 1)]
            self._next += 1
            return reply

    def note_hang_up(self) -> None:
        self.hung_up_at = time.monotonic()
        self.hung_up.set()

    def sleep(self, seconds: float) -> None:
        self._closing.wait(seconds)

    @property
    def closing(self) -> bool:
        return self._closing.is_set()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # the default of 5 makes a sixth client wait a second
    fake: FakeLLM

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients of these tests break connections on purpose."""


class _Gone(Exception):
    """The client closed the connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        request = Request(self.path, self._headers(), {})
        fake = self.server.fake
        if not self.path.endswith("/models"):
            self._whole(404, b"{}", "application/json")
            return
        reply = fake.take(request)
        if reply.status != 200 or reply.body is not None:
            self._whole(reply.status, reply.body or b"{}", reply.content_type, reply.headers)
            return
        model: dict[str, Any] = {"id": "fake", "object": "model"}
        self._whole(200, json.dumps({"object": "list", "data": [model]}).encode(), "application/json")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        request = Request(self.path, self._headers(), json.loads(raw or b"{}"))
        reply = self.server.fake.take(request)
        try:
            self._answer(request, reply)
        except (_Gone, OSError):
            self.server.fake.note_hang_up()
            self.close_connection = True

    def _answer(self, request: Request, reply: Reply) -> None:
        self._idle(reply.delay)
        if reply.hang:
            self._hang()
        if reply.status != 200:
            body = reply.body if reply.body is not None else b'{"error": {"message": "scripted"}}'
            self._whole(reply.status, body, "application/json", reply.headers)
        elif reply.body is not None:
            self._start(reply)
            self._send(reply.body, reply.trickle)
            self._finish(reply)
        elif not request.body.get("stream"):
            text = reply.text(request) if callable(reply.text) else reply.text
            choice: dict[str, Any] = {
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }
            if reply.odds is not None and request.body.get("logprobs"):
                choice["logprobs"] = _logprobs(reply.odds(request))
            self._whole(200, json.dumps({"choices": [choice]}).encode(), "application/json")
        else:
            self._start(reply)
            self._stream(request, reply)
            self._finish(reply)

    def _stream(self, request: Request, reply: Reply) -> None:
        for count, piece in enumerate(_pieces(request, reply)):
            self._break(reply, count)
            self._send(_event({"delta": {"content": piece}, "finish_reason": None}), reply.trickle)
            self._idle(reply.pause)
        self._break(reply, len(list(_pieces(request, reply))) if not reply.repeat else 0)
        self._send(_event({"delta": {}, "finish_reason": "stop"}) + b"data: [DONE]\n\n", reply.trickle)

    def _break(self, reply: Reply, sent: int) -> None:
        if reply.hang_after == sent:
            self._hang()
        while reply.hold_after == sent and not self.server.fake.released.is_set():
            self._idle(0.05)
        if reply.drop_after == sent:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            raise ConnectionAbortedError

    def _start(self, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("content-type", reply.content_type)
        self.send_header("transfer-encoding", "chunked")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self._break(reply, -1)

    def _finish(self, reply: Reply) -> None:
        if reply.body is not None and reply.drop_after == 0:
            self._break(reply, 0)
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, data: bytes, trickle: float = 0.0) -> None:
        self._idle(0)
        for part in [data[i : i + 1] for i in range(len(data))] if trickle else [data]:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self._idle(trickle)

    def _whole(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {
            "content-type": kind,
            "content-length": str(len(body)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _hang(self) -> None:
        while not self.server.fake.closing:
            self._idle(0.2)
        raise _Gone

    def _idle(self, seconds: float) -> None:
        """Wait, but notice at once when the client hangs up."""
        until = time.monotonic() + seconds
        while True:
            left = max(0.0, min(until - time.monotonic(), 0.1))
            poll = select.poll()  # unlike select, for connections of any number
            poll.register(self.connection, select.POLLIN)
            if poll.poll(left * 1000) and self.connection.recv(1, socket.MSG_PEEK) == b"":
                raise _Gone
            if self.server.fake.closing or time.monotonic() >= until:
                return

    def _headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}


def _pieces(request: Request, reply: Reply) -> Iterator[str]:
    text = reply.text(request) if callable(reply.text) else reply.text
    pieces = reply.pieces if reply.pieces is not None else tuple(re.findall(r"\s*\S+\s*?|\s+", text))
    yield from pieces
    while reply.repeat:
        yield from pieces


def _logprobs(odds: dict[str, float]) -> dict[str, Any]:
    listed = [
        {"token": token, "logprob": math.log(odds[token])} for token in sorted(odds, key=odds.get)[::-1]
    ]
    return {"content": [{**listed[0], "top_logprobs": listed}] if listed else []}


def _event(choice: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, **choice}]}).encode() + b"\n\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between words")
    parser.add_argument("--say", help="answer this, whatever is asked")
    options = parser.parse_args()
    fake = FakeLLM(options.port, default=Reply(options.say or from_passages, pause=options.pause))
    print(fake.url, flush=True)
    fake.serve()


if __name__ == "__main__":
    main()
