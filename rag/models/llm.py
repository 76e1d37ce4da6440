"""Client of language models on OpenAI-compatible servers: complete(), stream() and log-probabilities.

Requests run on an event loop in a thread, so that a cancel closes the connection at once. Retries are done
here, not by the SDK, which would wait for a silent server three times, or as long as a server asks, and would
not repeat an answer that broke off before its first word. No error text holds the key.
"""

import asyncio
import base64
import contextlib
import queue
import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AbstractContextManager
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from rag.errors import Cancelled, LLMError, LLMGarbled, LLMUnreachable
from rag.i18n import N_
from rag.jobs import never
from rag.models.llm_errors import (
    Failure,
    idle_timeout_error,
    read_connection_error,
    read_status,
    timeout_error,
)
from rag.models.protocol import Chat, LLMSettings, Logprobs, first_token_logprobs, not_an_answer

if TYPE_CHECKING:
    import openai

    from rag.models.llm_stream import Throttle

T = TypeVar("T")
Body = dict[str, Any]

ANSWER_CHARS = 200_000
"""Longest answer, about 50,000 tokens."""
ATTEMPTS = 3
FIRST_WAIT = 0.4  # seconds
BODY_CHARS = 10_000  # of an error's body
LONGEST_WAIT = 10.0
"""Seconds of the longest back-off; a server that asks for more is reported to the user instead."""
TOP_LOGPROBS = 20
"""Tokens with log-probabilities per request: the most that common servers give."""
_POLL = 0.05  # seconds
CONNECT_SECONDS = 2.0  # to find out whether a server is there
_PORTS = {"http": 80, "https": 443}


def server_answers(url: str) -> bool:
    """Return whether a model server accepts connections; no request and no key is sent."""
    try:
        parts = urlsplit(url)
        address = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443)
        with socket.create_connection(address, timeout=CONNECT_SECONDS):
            return True
    except (OSError, ValueError):
        return False


def is_off(url: str) -> bool:
    """Return whether a server on this computer does not run: its port refuses connections."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443)
        if host != "localhost" and not ip_address(host).is_loopback:
            return False
        with socket.create_connection((host, port), timeout=CONNECT_SECONDS):
            return False
    except ConnectionRefusedError:
        return True
    except (OSError, ValueError):
        return False


class LLM(AbstractContextManager["LLM"]):
    """Language model on an OpenAI-compatible server; errors are kinds of LLMError. Thread-safe."""

    def __init__(self, settings: LLMSettings):
        self.settings = settings
        self.supports_logprobs = True
        """True until the server is found to give no log-probabilities."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: openai.AsyncOpenAI | None = None
        self._throttle: Throttle | None = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def stream(
        self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never
    ) -> Iterator[str]:
        """Yield the answer in pieces; those before an error are valid. Raises LLMError and Cancelled."""
        return self._pieces(messages, max_tokens, cancelled, throttled=True)

    def complete(self, messages: Chat, *, max_tokens: int, cancelled: Callable[[], bool] = never) -> str:
        """Return the whole answer; errors as of `stream`."""
        return "".join(self._pieces(messages, max_tokens, cancelled, throttled=False))

    def look(
        self,
        instruction: str,
        picture: bytes,
        *,
        max_tokens: int,
        cancelled: Callable[[], bool] = never,
    ) -> str:
        """Return what the model says of a picture in PNG; errors as of `stream`."""
        url = "data:image/png;base64," + base64.b64encode(picture).decode("ascii")
        shown = {"type": "image_url", "image_url": {"url": url}}
        content = [{"type": "text", "text": instruction}, shown]
        messages = [{"role": "user", "content": content}]
        return "".join(self._pieces(messages, max_tokens, cancelled, throttled=False))

    def logprobs(self, messages: Chat, *, cancelled: Callable[[], bool] = never) -> Logprobs | None:
        """Return the log-probabilities of the answer's first token; None where the server gives none."""
        if not self.supports_logprobs:
            return None
        request = {**self._request(messages, 1), "logprobs": True, "top_logprobs": TOP_LOGPROBS}
        running = self._submit(lambda client: self._retry(request, partial(self._logprobs, client)))
        logprobs = _wait_for(running, cancelled)
        if logprobs is None:
            self.supports_logprobs = False
        return logprobs

    def models(self) -> list[str]:
        """Return the names of the models the server offers, as it orders them."""
        return [str(model.get("id", "")) for model in self._submit(self._listed).result()]

    def close(self) -> None:
        """Close every connection and end the thread; the next call starts another."""
        with self._lock:
            loop, client = self._loop, self._client
            self._loop = self._client = None
        if loop is not None and client is not None:
            asyncio.run_coroutine_threadsafe(_close_client(client), loop).result(5)
            loop.call_soon_threadsafe(loop.stop)

    def warm(self) -> None:
        """Import the SDK and start the thread before the first request, which takes a second."""
        with self._lock:
            self._started()

    def _request(self, messages: Sequence[Mapping[str, Any]], max_tokens: int) -> Body:
        model = self.settings.model
        return {"model": model, "messages": list(messages), "max_tokens": max_tokens, "temperature": 0.0}

    def _pieces(
        self,
        messages: Sequence[Mapping[str, Any]],
        max_tokens: int,
        cancelled: Callable[[], bool],
        *,
        throttled: bool,
    ) -> Iterator[str]:
        pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        request = self._request(messages, max_tokens)
        stream = partial(self._stream, request=request, put=pieces.put, throttled=throttled)
        running = self._submit(stream)
        running.add_done_callback(lambda _: pieces.put(None))
        try:
            yield from _merge_pieces(pieces, cancelled)
            running.result()
        except FutureCancelled as error:
            raise _connection_closed() from error
        finally:
            running.cancel()

    def _submit(self, work: "Callable[[openai.AsyncOpenAI], Coroutine[Any, Any, T]]") -> "Future[T]":
        with self._lock:
            client, loop = self._started()
            return asyncio.run_coroutine_threadsafe(work(client), loop)

    def _started(self) -> "tuple[openai.AsyncOpenAI, asyncio.AbstractEventLoop]":
        if self._loop is None or self._client is None:
            self._client, self._loop = self._open_client(), asyncio.new_event_loop()
            threading.Thread(target=_run_loop, args=(self._loop,), name="llm", daemon=True).start()
        return self._client, self._loop

    def _open_client(self) -> "openai.AsyncOpenAI":
        """Return a client of the server; importing the SDK takes a second."""
        import httpx  # noqa: F401 - the SDK looks into it, while another thread may still be importing it
        import httpx2
        import openai

        import rag.models.llm_stream  # noqa: F401 - imported before the first answer

        settings = self.settings
        return openai.AsyncOpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key or "none",
            timeout=openai.Timeout(settings.idle_timeout, connect=min(10.0, settings.idle_timeout)),
            max_retries=0,
            default_headers={"Accept-Encoding": "identity"},  # a compressed stream arrives late
            # A stream is not read beyond its end, so its connection cannot serve the next request.
            http_client=openai.DefaultAsyncHttpxClient(limits=httpx2.Limits(max_keepalive_connections=0)),
        )

    async def _stream(
        self, client: "openai.AsyncOpenAI", request: Body, put: Callable[[str], None], *, throttled: bool
    ) -> None:
        """Put the pieces of one answer, `throttled` a few times a second; those before an error are valid."""
        from rag.models.llm_stream import Throttle, stream_text

        if self._throttle is None:
            self._throttle = Throttle()
        throttle = self._throttle if throttled else None
        idle, spoke = self.settings.idle_timeout, False

        def say(piece: str) -> None:
            nonlocal spoke
            spoke = True
            put(piece)

        async def once(request: Body) -> None:
            await stream_text(client, request, say, most=ANSWER_CHARS, idle_timeout=idle, throttle=throttle)

        await self._retry(request, once, lambda: spoke)

    async def _listed(self, client: "openai.AsyncOpenAI") -> list[Body]:
        """Return the server's list of models."""
        try:
            async with asyncio.timeout(self.settings.idle_timeout):
                answer = await client.models.with_raw_response.list()
                listed = answer.http_response.json()["data"]
                return [model for model in listed if isinstance(model, dict)]
        except (ValueError, KeyError, TypeError) as error:
            host = self.settings.host
            raise LLMGarbled(
                N_("{host} did not list its models. Check that its address ends in /v1.", host=host)
            ) from error
        except _failures() as error:
            raise (await self._failure(error)).error from _safe_cause(error)

    async def _retry(
        self, request: Body, once: Callable[[Body], Awaitable[T]], spoke: Callable[[], bool] = never
    ) -> T:
        """Run `once` with retries, as long as it failed before it `spoke` and a retry may help."""
        settings, attempt = self.settings, 1
        try:
            async with asyncio.timeout(settings.timeout):
                while True:
                    try:
                        return await once(request)
                    except _failures() as error:
                        failure = await self._failure(error)
                        if spoke() or not failure.again or attempt == ATTEMPTS or failure.wait > LONGEST_WAIT:
                            raise failure.error from _safe_cause(error)
                    request = _without_option(request, failure.unwanted)
                    await asyncio.sleep(0 if failure.unwanted else failure.wait or FIRST_WAIT * attempt)
                    attempt += 1
        except TimeoutError as error:
            raise timeout_error(settings.host, settings.timeout) from error

    async def _logprobs(self, client: "openai.AsyncOpenAI", request: Body) -> Logprobs | None:
        import openai

        try:
            async with asyncio.timeout(self.settings.idle_timeout):
                return first_token_logprobs(await client.chat.completions.create(**request))
        except openai.APIStatusError as error:
            if "logprob" in error.response.text[:BODY_CHARS].lower():
                return None
            raise
        except (ValueError, RecursionError) as error:
            raise not_an_answer() from error

    async def _failure(self, error: Exception) -> Failure:
        settings = self.settings
        if isinstance(error, LLMError):
            return Failure(error, again=isinstance(error, LLMUnreachable))
        response = getattr(error, "response", None)
        if response is not None:
            body = (await response.aread()).decode("utf-8", "replace")[:BODY_CHARS]
            return read_status(
                response.status_code,
                response.headers,
                body,
                host=settings.host,
                model=settings.model,
                key=settings.api_key,
            )
        if isinstance(error, TimeoutError) or "timeout" in type(error).__name__.lower():
            return Failure(idle_timeout_error(settings.host, settings.idle_timeout))
        return read_connection_error(error, host=settings.host)


def _merge_pieces(pieces: "queue.SimpleQueue[str | None]", cancelled: Callable[[], bool]) -> Iterator[str]:
    """Yield the pieces of a queue up to None; pieces that are there together are joined."""
    come: list[str | None] = [""]
    while come[-1] is not None:
        come = [_next_piece(pieces, cancelled)]
        while not pieces.empty():
            come.append(pieces.get())
        if said := "".join(filter(None, come)):
            yield said


def _next_piece(pieces: "queue.SimpleQueue[str | None]", cancelled: Callable[[], bool]) -> str | None:
    while True:
        if cancelled():
            raise Cancelled(N_("You stopped the answer."))
        try:
            return pieces.get(timeout=_POLL)
        except queue.Empty:
            continue


def _wait_for(running: "Future[T]", cancelled: Callable[[], bool]) -> T:
    """Return the result of a request; a cancel closes its connection."""
    try:
        while True:
            if cancelled():
                raise Cancelled(N_("You stopped the answer."))
            with contextlib.suppress(FutureTimeout):
                return running.result(_POLL)
    except FutureCancelled as error:
        raise _connection_closed() from error
    finally:
        running.cancel()


def _connection_closed() -> LLMUnreachable:
    return LLMUnreachable(N_("The connection to the language model was closed while it answered. Ask again."))


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _close_client(client: "openai.AsyncOpenAI") -> None:
    running = asyncio.all_tasks() - {asyncio.current_task()}
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=2)
    await client.close()


def _safe_cause(error: Exception) -> Exception | None:
    """Return the cause to chain, None for a status error, whose text may hold the key."""
    return None if hasattr(error, "response") else error


def _without_option(request: Body, unwanted: str) -> Body:
    """Return the request without an unsupported option, or with its newer name."""
    kept = {name: value for name, value in request.items() if name != unwanted}
    if unwanted == "max_tokens":
        kept["max_completion_tokens"] = request["max_tokens"]
    return kept


def _failures() -> tuple[type[Exception], ...]:
    import httpx2
    import openai

    return openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, LLMError, TimeoutError
