"""One request to a model's server: tried again where that may help, its failure one sentence.

Runs on an event loop of whoever calls; knows no thread. Nothing a server sends reaches an error's text but a
short cleaned detail, and the key never does.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from rag.errors import LLMError, LLMGarbled, LLMUnreachable
from rag.llm_errors import Failure, host_of, rejected, silent, unfinished, unreachable
from rag.odds import Odds, read_odds
from rag.sse import content
from rag.unhurried import Unhurried

if TYPE_CHECKING:
    import openai

T = TypeVar("T")
Body = dict[str, Any]

ANSWER_CHARS = 200_000
"""About 50,000 tokens: more than any model answers at once, little enough to keep."""
ATTEMPTS = 3
FIRST_WAIT = 0.4
BODY_CHARS = 10_000
LONGEST_WAIT = 10.0
"""Seconds; a server that asks for more patience is reported to the user instead."""


@dataclass(frozen=True)
class LLMSettings:
    """Where the model is and how long to wait, in seconds: for a whole answer, and for its next piece.

    `brief` is for a small model on a small machine: it is shown few short passages, in few words.
    """

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    timeout: float = 300.0
    idle_timeout: float = 60.0
    context_tokens: int = 4096
    brief: bool = False

    @property
    def host(self) -> str:
        """The server as it may be shown: without user, password or path."""
        return host_of(self.base_url)


@dataclass(frozen=True)
class Requests:
    """What can be asked of one server, by a client that `client` made; raises LLMError as it fits."""

    settings: LLMSettings

    def client(self) -> "openai.AsyncOpenAI":
        """Return a client of the server; importing what it needs takes a second."""
        import openai

        settings = self.settings
        return openai.AsyncOpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key or "none",
            timeout=openai.Timeout(settings.idle_timeout, connect=min(10.0, settings.idle_timeout)),
            max_retries=0,
        )

    async def stream(
        self,
        client: "openai.AsyncOpenAI",
        request: Body,
        put: Callable[[str], None],
        *,
        unhurried: bool = False,
    ) -> None:
        """Put the pieces of one answer; what was put stays good when an error follows.

        `unhurried` reads what follows the first words a few times a second: enough for whoever looks on.
        """
        spoken = 0

        async def once(request: Body) -> None:
            nonlocal spoken
            async with contextlib.aclosing(self._pieces(client, request, unhurried)) as pieces:
                async for piece in pieces:
                    put(piece[: ANSWER_CHARS - spoken])
                    spoken += len(piece)
                    if spoken > ANSWER_CHARS:
                        raise LLMGarbled("The model's answer did not come to an end, so it was cut.")

        await self._tried(request, once, lambda: spoken > 0)

    async def odds(self, client: "openai.AsyncOpenAI", request: Body) -> Odds | None:
        """Return the odds of an answer's first token; None where the server does not tell any."""
        return await self._tried(request, lambda request: self._odds(client, request), lambda: False)

    async def listed(self, client: "openai.AsyncOpenAI") -> list[Body]:
        """Return the models that the server lists, as it describes them."""
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
            raise (await self._read(error)).error from _cause(error)

    async def _tried(
        self, request: Body, once: Callable[[Body], Awaitable[T]], spoke: Callable[[], bool]
    ) -> T:
        """Do something once, or again where it failed before it `spoke` and another attempt may help."""
        settings, attempt = self.settings, 1
        try:
            async with asyncio.timeout(settings.timeout):
                while True:
                    try:
                        return await once(request)
                    except _failures() as error:
                        failure = await self._read(error)
                        if spoke() or not failure.again or attempt == ATTEMPTS or failure.wait > LONGEST_WAIT:
                            raise failure.error from _cause(error)
                    request = _without(request, failure.unwanted)
                    await asyncio.sleep(0 if failure.unwanted else failure.wait or FIRST_WAIT * attempt)
                    attempt += 1
        except TimeoutError as error:
            raise unfinished(settings.host, settings.timeout) from error

    async def _pieces(
        self, client: "openai.AsyncOpenAI", request: Body, unhurried: bool
    ) -> AsyncGenerator[str, None]:
        """Yield the pieces of an answer, and close at the end what it was read with, here and in turn.

        Left to the collector of garbage, whichever thread that runs in, the parts of it close each other.
        """
        idle = self.settings.idle_timeout
        async with contextlib.AsyncExitStack() as stack:
            create = client.chat.completions.with_streaming_response.create
            async with asyncio.timeout(idle):
                response = await stack.enter_async_context(create(**request, stream=True))
            came = response.http_response.aiter_bytes()
            chunks = Unhurried(await stack.enter_async_context(contextlib.aclosing(came)))
            pieces = await stack.enter_async_context(contextlib.aclosing(content(chunks)))
            while True:
                async with asyncio.timeout(idle):
                    piece = await anext(pieces, None)
                if piece is None:
                    return
                yield piece
                chunks.rests = unhurried

    async def _odds(self, client: "openai.AsyncOpenAI", request: Body) -> Odds | None:
        import openai

        try:
            async with asyncio.timeout(self.settings.idle_timeout):
                answer = await client.chat.completions.with_raw_response.create(**request)
                return read_odds(answer.http_response.text)
        except openai.APIStatusError as error:
            if "logprob" in (await error.response.aread()).decode("utf-8", "replace")[:BODY_CHARS].lower():
                return None
            raise

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


def _cause(error: Exception) -> Exception | None:
    """Return what an error may name as its cause: a status error's own text may hold the key."""
    return None if hasattr(error, "response") else error


def _without(request: Body, unwanted: str) -> Body:
    """Return the request without an option its server does not know, or with its newer name."""
    kept = {name: value for name, value in request.items() if name != unwanted}
    if unwanted == "max_tokens":
        kept["max_completion_tokens"] = request["max_tokens"]
    return kept


def _failures() -> tuple[type[Exception], ...]:
    import httpx2
    import openai

    return openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, LLMError, TimeoutError
