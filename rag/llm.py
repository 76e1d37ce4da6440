"""complete() and stream() on any OpenAI-compatible server.

Requests run on an event loop of their own, so that a cancel closes the connection at once, even
while the server says nothing. Nothing a server sends reaches an error's text but a short cleaned detail,
and the key never does.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from rag.errors import Cancelled, LLMError, LLMGarbled, LLMUnreachable
from rag.jobs import never
from rag.llm_errors import Failure, rejected, silent, unfinished, unreachable
from rag.sse import content

if TYPE_CHECKING:
    import openai

T = TypeVar("T")
Chat = Sequence[Mapping[str, str]]

ANSWER_CHARS = 200_000
"""About 50,000 tokens: more than any model answers at once, little enough to keep."""
ATTEMPTS = 3
FIRST_WAIT = 0.4
BODY_CHARS = 10_000
LONGEST_WAIT = 10.0
"""Seconds; a server that asks for more patience is reported to the user instead."""
_POLL = 0.05


@dataclass(frozen=True)
class LLMSettings:
    """Where the model is and how long to wait, in seconds: for a whole answer, and for its next piece."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    timeout: float = 300.0
    idle_timeout: float = 60.0
    context_tokens: int = 4096

    @property
    def host(self) -> str:
        """The server as it may be shown: without user, password or path."""
        parts = urlsplit(self.base_url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}"


@dataclass(frozen=True)
class Probe:
    """What a server told about itself; None where it did not say."""

    models: tuple[str, ...]
    context_tokens: int | None


class LLM:
    """A chat model behind an OpenAI-compatible server. Safe to share between threads; close() ends it."""

    def __init__(self, settings: LLMSettings):
        self.settings = settings
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: openai.AsyncOpenAI | None = None

    def __enter__(self) -> "LLM":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stream(
        self,
        messages: Chat,
        *,
        max_tokens: int,
        temperature: float = 0.0,
        cancelled: Callable[[], bool] = never,
    ) -> Iterator[str]:
        """Yield the answer in pieces as they come; what was yielded stays good when an error follows.

        Raises LLMError of the kind that fits, and Cancelled as soon as `cancelled()` is true.
        """
        pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        request = {
            "model": self.settings.model,
            "messages": list(messages),
            "max_tokens": max_tokens,
            "temperature": temperature,
        }
        running = self._submit(lambda client: self._pump(client, request, pieces.put))
        running.add_done_callback(lambda _: pieces.put(None))
        try:
            while (piece := _next(pieces, cancelled)) is not None:
                yield piece
            running.result()
        except FutureCancelled as error:
            raise LLMUnreachable(
                "The connection to the language model was closed while it answered. Ask again."
            ) from error
        finally:
            running.cancel()

    def complete(
        self,
        messages: Chat,
        *,
        max_tokens: int,
        temperature: float = 0.0,
        cancelled: Callable[[], bool] = never,
    ) -> str:
        """Return the whole answer; errors as of `stream`."""
        options = {"max_tokens": max_tokens, "temperature": temperature, "cancelled": cancelled}
        return "".join(self.stream(messages, **options))  # type: ignore[arg-type]

    def models(self) -> list[str]:
        """Return the names of the models the server offers, as it orders them."""
        return [str(model.get("id", "")) for model in self._submit(self._listed).result()]

    def probe(self) -> Probe:
        """Ask the server once what it offers. Context sizes are read as vLLM and llama.cpp tell them."""
        listed = self._submit(self._listed).result()
        ours = next((model for model in listed if model.get("id") == self.settings.model), {})
        meta = ours.get("meta") if isinstance(ours.get("meta"), dict) else {}
        size = ours.get("max_model_len") or (meta or {}).get("n_ctx")
        return Probe(
            models=tuple(str(model.get("id", "")) for model in listed),
            context_tokens=size if isinstance(size, int) and size > 0 else None,
        )

    def close(self) -> None:
        """Close every connection and end the thread; the next call would start another."""
        with self._lock:
            loop, client = self._loop, self._client
            self._loop = self._client = None
        if loop is not None and client is not None:
            asyncio.run_coroutine_threadsafe(_shut(client), loop).result(5)
            loop.call_soon_threadsafe(loop.stop)

    def warm(self) -> None:
        """Load what a request needs, which takes a second, before the first one; nothing is sent."""
        with self._lock:
            self._started()

    def _submit(self, work: "Callable[[openai.AsyncOpenAI], Coroutine[Any, Any, T]]") -> "Future[T]":
        with self._lock:
            client, loop = self._started()
            return asyncio.run_coroutine_threadsafe(work(client), loop)

    def _started(self) -> "tuple[openai.AsyncOpenAI, asyncio.AbstractEventLoop]":
        if self._loop is None or self._client is None:
            self._client, self._loop = self._open(), asyncio.new_event_loop()
            threading.Thread(target=_serve, args=(self._loop,), name="llm", daemon=True).start()
        return self._client, self._loop

    def _open(self) -> "openai.AsyncOpenAI":
        import openai

        settings = self.settings
        return openai.AsyncOpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key or "none",
            timeout=openai.Timeout(settings.idle_timeout, connect=min(10.0, settings.idle_timeout)),
            max_retries=0,
        )

    async def _pump(
        self, client: "openai.AsyncOpenAI", request: dict[str, Any], put: Callable[[str], None]
    ) -> None:
        settings = self.settings
        try:
            async with asyncio.timeout(settings.timeout):
                for attempt in range(1, ATTEMPTS + 1):
                    failure = await self._attempt(client, request, put, last=attempt == ATTEMPTS)
                    if failure is None:
                        return
                    request = _without(request, failure.unwanted)
                    await asyncio.sleep(0 if failure.unwanted else failure.wait or FIRST_WAIT * attempt)
        except TimeoutError as error:
            raise unfinished(settings.host, settings.timeout) from error

    async def _attempt(
        self, client: "openai.AsyncOpenAI", request: dict[str, Any], put: Callable[[str], None], *, last: bool
    ) -> Failure | None:
        """Put the pieces of one answer; return the failure after which to try again."""
        spoken = 0
        try:
            async for piece in self._pieces(client, request):
                put(piece[: ANSWER_CHARS - spoken])
                spoken += len(piece)
                if spoken > ANSWER_CHARS:
                    raise LLMGarbled("The model's answer did not come to an end, so it was cut.")
        except _failures() as error:
            failure = await self._read(error)
            if last or spoken or not failure.again or failure.wait > LONGEST_WAIT:
                # A status error's own text may hold the key, so it is not chained.
                raise failure.error from (None if hasattr(error, "response") else error)
            return failure
        return None

    async def _pieces(self, client: "openai.AsyncOpenAI", request: dict[str, Any]) -> AsyncIterator[str]:
        idle = self.settings.idle_timeout
        async with contextlib.AsyncExitStack() as stack:
            create = client.chat.completions.with_streaming_response.create
            async with asyncio.timeout(idle):
                response = await stack.enter_async_context(create(**request, stream=True))
            pieces = content(response.iter_bytes())
            while True:
                async with asyncio.timeout(idle):
                    piece = await anext(pieces, None)
                if piece is None:
                    return
                yield piece

    async def _listed(self, client: "openai.AsyncOpenAI") -> list[dict[str, Any]]:
        try:
            async with asyncio.timeout(self.settings.idle_timeout):
                answer = await client.models.with_raw_response.list()
                listed = answer.http_response.json()["data"]
                return [model for model in listed if isinstance(model, dict)]
        except (ValueError, KeyError, TypeError) as error:
            host = self.settings.host
            raise LLMGarbled(
                f"{host} did not list its models. Check that its address ends in /v1."
            ) from error
        except _failures() as error:
            raise (await self._read(error)).error from (None if hasattr(error, "response") else error)

    async def _read(self, error: Exception) -> Failure:
        """Tell what a failed request means."""
        settings = self.settings
        if isinstance(error, LLMError):
            return Failure(error, again=isinstance(error, LLMUnreachable))
        response = getattr(error, "response", None)
        if response is not None:
            body = (await response.aread()).decode("utf-8", "replace")[:BODY_CHARS]
            return rejected(
                response.status_code,
                response.headers,
                body,
                host=settings.host,
                model=settings.model,
                key=settings.api_key,
            )
        if isinstance(error, TimeoutError) or "timeout" in type(error).__name__.lower():
            return Failure(silent(settings.host, settings.idle_timeout))
        return unreachable(error, host=settings.host)


def _without(request: dict[str, Any], unwanted: str) -> dict[str, Any]:
    """Return the request without an option its server does not know, or with its newer name."""
    kept = {name: value for name, value in request.items() if name != unwanted}
    if unwanted == "max_tokens":
        kept["max_completion_tokens"] = request["max_tokens"]
    return kept


def _failures() -> tuple[type[Exception], ...]:
    import httpx2
    import openai

    return openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, LLMError, TimeoutError


def _next(pieces: "queue.SimpleQueue[str | None]", cancelled: Callable[[], bool]) -> str | None:
    while True:
        if cancelled():
            raise Cancelled("You stopped the answer.")
        try:
            return pieces.get(timeout=_POLL)
        except queue.Empty:
            continue


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _shut(client: "openai.AsyncOpenAI") -> None:
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await client.close()
