"""complete() and stream() on any OpenAI-compatible server.

Requests run on an event loop of their own, so that a cancel closes the connection at once, even
while the server says nothing. Nothing a server sends reaches an error's text but a short cleaned detail,
and the key never does.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from rag.errors import Cancelled, LLMUnreachable
from rag.jobs import never
from rag.llm_requests import ANSWER_CHARS as ANSWER_CHARS
from rag.llm_requests import LLMSettings as LLMSettings
from rag.llm_requests import Requests
from rag.odds import Odds

if TYPE_CHECKING:
    import openai

T = TypeVar("T")
Chat = Sequence[Mapping[str, str]]

TOLD = 20
"""Tokens whose odds a server is asked for: the most that common ones tell."""
_POLL = 0.05


@dataclass(frozen=True)
class Probe:
    """What a server told about itself; None where it did not say."""

    models: tuple[str, ...]
    context_tokens: int | None


class LLM:
    """A chat model behind an OpenAI-compatible server. Safe to share between threads; close() ends it."""

    def __init__(self, settings: LLMSettings):
        self.settings = settings
        self.tells_odds = True
        """Whether the server tells odds: true until it is found not to."""
        self._requests = Requests(settings)
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
        return self._spoken(messages, max_tokens, temperature, cancelled, unhurried=True)

    def complete(
        self,
        messages: Chat,
        *,
        max_tokens: int,
        temperature: float = 0.0,
        cancelled: Callable[[], bool] = never,
    ) -> str:
        """Return the whole answer; errors as of `stream`."""
        return "".join(self._spoken(messages, max_tokens, temperature, cancelled, unhurried=False))

    def odds(self, messages: Chat, *, cancelled: Callable[[], bool] = never) -> Odds | None:
        """Return how likely the answer's first token is each of several; None where the server tells none.

        That is found out once: such a server is not asked again. Errors as of `stream`.
        """
        if not self.tells_odds:
            return None
        request = {
            "model": self.settings.model,
            "messages": list(messages),
            "max_tokens": 1,
            "temperature": 0.0,
            "logprobs": True,
            "top_logprobs": TOLD,
        }
        running = self._submit(lambda client: self._requests.odds(client, request))
        odds = _result(running, cancelled)
        if odds is None:
            self.tells_odds = False
        return odds

    def models(self) -> list[str]:
        """Return the names of the models the server offers, as it orders them."""
        return [str(model.get("id", "")) for model in self._submit(self._requests.listed).result()]

    def probe(self) -> Probe:
        """Ask the server once what it offers. Context sizes are read as vLLM and llama.cpp tell them."""
        listed = self._submit(self._requests.listed).result()
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

    def _spoken(
        self,
        messages: Chat,
        max_tokens: int,
        temperature: float,
        cancelled: Callable[[], bool],
        *,
        unhurried: bool,
    ) -> Iterator[str]:
        pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        request = {
            "model": self.settings.model,
            "messages": list(messages),
            "max_tokens": max_tokens,
            "temperature": temperature,
        }
        stream = partial(self._requests.stream, request=request, put=pieces.put, unhurried=unhurried)
        running = self._submit(stream)
        running.add_done_callback(lambda _: pieces.put(None))
        try:
            yield from _told(pieces, cancelled)
            running.result()
        except FutureCancelled as error:
            raise _closed() from error
        finally:
            running.cancel()

    def _submit(self, work: "Callable[[openai.AsyncOpenAI], Coroutine[Any, Any, T]]") -> "Future[T]":
        with self._lock:
            client, loop = self._started()
            return asyncio.run_coroutine_threadsafe(work(client), loop)

    def _started(self) -> "tuple[openai.AsyncOpenAI, asyncio.AbstractEventLoop]":
        if self._loop is None or self._client is None:
            self._client, self._loop = self._requests.client(), asyncio.new_event_loop()
            threading.Thread(target=_serve, args=(self._loop,), name="llm", daemon=True).start()
        return self._client, self._loop


def _told(pieces: "queue.SimpleQueue[str | None]", cancelled: Callable[[], bool]) -> Iterator[str]:
    """Yield what is put up to None; what came at once, at once."""
    come: list[str | None] = [""]
    while come[-1] is not None:
        come = [_next(pieces, cancelled)]
        while not pieces.empty():
            come.append(pieces.get())
        if said := "".join(filter(None, come)):
            yield said


def _next(pieces: "queue.SimpleQueue[str | None]", cancelled: Callable[[], bool]) -> str | None:
    while True:
        if cancelled():
            raise Cancelled("You stopped the answer.")
        try:
            return pieces.get(timeout=_POLL)
        except queue.Empty:
            continue


def _result(running: "Future[T]", cancelled: Callable[[], bool]) -> T:
    """Wait for a request; one that is cancelled closes its connection."""
    try:
        while True:
            if cancelled():
                raise Cancelled("You stopped the answer.")
            with contextlib.suppress(FutureTimeout):
                return running.result(_POLL)
    except FutureCancelled as error:
        raise _closed() from error
    finally:
        running.cancel()


def _closed() -> LLMUnreachable:
    return LLMUnreachable("The connection to the language model was closed while it answered. Ask again.")


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _shut(client: "openai.AsyncOpenAI") -> None:
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await client.close()
