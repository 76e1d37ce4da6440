"""A language model that is served here: its server is started when it is first asked something."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from rag.errors import OwnModelUnusable
from rag.jobs import never
from rag.models.llm import LLM, Chat, LLMSettings
from rag.models.local.gguf import read_head
from rag.models.local.server import Address, Server
from rag.models.logprobs import Logprobs

TIMEOUT, IDLE_TIMEOUT = 900.0, 300.0
"""Seconds. It is slow where the computer is busy, but never away: if it ends, so does the connection."""


class OwnModel:
    """A GGUF file as a language model. Safe to share between threads; close() ends its server."""

    def __init__(self, path: Path, *, name: str, context_tokens: int):
        most = _most_context(path)
        self.settings = LLMSettings(
            base_url=f"http://127.0.0.1/{quote(str(path))}",  # two files are two models, whatever their names
            model=name,
            timeout=TIMEOUT,
            idle_timeout=IDLE_TIMEOUT,
            context_tokens=min(context_tokens, most) if most else context_tokens,
            brief=True,
        )
        self._server = Server(path, name=name, context_tokens=self.settings.context_tokens)
        self._lock = threading.Lock()
        self._llm: LLM | None = None
        self._address: Address | None = None

    def __enter__(self) -> "OwnModel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def ready(self) -> bool:
        """Whether it could answer now, without being started first."""
        return self._server.running

    @property
    def supports_logprobs(self) -> bool:
        """True: llama.cpp tells log-probabilities."""
        return True

    def stream(
        self,
        messages: Chat,
        *,
        max_tokens: int,
        temperature: float = 0.0,
        cancelled: Callable[[], bool] = never,
    ) -> Iterator[str]:
        """Yield the answer in pieces as they come; raises LLMError and Cancelled."""
        llm = self._served(cancelled)
        yield from llm.stream(messages, max_tokens=max_tokens, temperature=temperature, cancelled=cancelled)

    def complete(
        self,
        messages: Chat,
        *,
        max_tokens: int,
        temperature: float = 0.0,
        cancelled: Callable[[], bool] = never,
    ) -> str:
        """Return the whole answer; errors as of `stream`."""
        llm = self._served(cancelled)
        return llm.complete(messages, max_tokens=max_tokens, temperature=temperature, cancelled=cancelled)

    def logprobs(self, messages: Chat, *, cancelled: Callable[[], bool] = never) -> Logprobs | None:
        """Return the log-probabilities of the answer's first token; errors as of `stream`."""
        return self._served(cancelled).logprobs(messages, cancelled=cancelled)

    def warm(self) -> None:
        """Load what a request needs, which takes a second; the model itself waits for a question."""
        with LLM(self.settings) as client:
            client.warm()

    def close(self) -> None:
        """End the server and every connection to it; the next question would start it anew."""
        self._server.close()
        with self._lock:
            self._leave()

    def _served(self, cancelled: Callable[[], bool]) -> LLM:
        """Return the connection to the running server: a new one where it had to be started anew."""
        address = self._server.address(cancelled)
        with self._lock:
            if self._llm is None or self._address != address:
                self._leave()
                self._llm, self._address = LLM(self._at(address)), address
            return self._llm

    def _at(self, address: Address) -> LLMSettings:
        return replace(self.settings, base_url=address.base_url, api_key=address.api_key)

    def _leave(self) -> None:
        if self._llm is not None:
            self._llm.close()
        self._llm = self._address = None


def _most_context(path: Path) -> int:
    """Return what the model can read at once; 0 where its file does not tell, or cannot be read.

    A file that cannot be read is told when the model is asked: a server starts without it.
    """
    try:
        return read_head(path).context_tokens
    except OwnModelUnusable:
        return 0
