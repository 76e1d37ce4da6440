"""Remote rerankers with a /rerank endpoint, such as Cohere, Jina, TEI, vLLM and llama.cpp.

All but TEI take ``{model, query, documents, top_n}`` and give ``{"results": [{index, relevance_score}]}``.
TEI takes ``{query, texts}`` and gives ``[{index, score}]``.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from pydantic import PrivateAttr, SecretStr

from rag.errors import Cancelled, LLMError, RerankError
from rag.i18n import N_
from rag.jobs import Cancel
from rag.models.llm_errors import host_of, idle_timeout_error, read_connection_error, read_status
from rag.retrieval.rerank.base import Reranker, RerankScores
from rag.text.normalize import clean

if TYPE_CHECKING:
    import httpx2

REPLY_BYTES = 5_000_000
"""Largest reply: scores of fifty passages are 5,000 bytes, but some servers send the passages too."""
BATCH = 32
"""Texts that TEI takes at once by default."""
_BODY_CHARS = 10_000
_POLL = 0.05


class RemoteReranker(Reranker):
    """Reranker on a server; TEI's format is used where the server's first error asks for texts."""

    base_url: str
    model: str = ""
    api_key: SecretStr = SecretStr("")
    _wants_texts: bool = PrivateAttr(default=False)
    _requests: int = PrivateAttr(default=0)

    @property
    def requests(self) -> int:
        """Number of requests sent so far."""
        return self._requests

    def score(self, query: str, documents: Sequence[Document], cancelled: Cancel) -> RerankScores:
        """Return the server's scores; raises RerankError and Cancelled."""
        texts = [clean(document.page_content) for document in documents]
        try:
            return RerankScores(asyncio.run(self._unless_cancelled(query, texts, cancelled)))
        except LLMError as error:
            raise RerankError(
                N_("The reranker could not be asked: {reason}", reason=error)
            ) from error.__cause__

    async def _unless_cancelled(self, query: str, texts: list[str], cancelled: Cancel) -> list[float]:
        """Wait for the scores; a cancel closes the connection."""
        scores = asyncio.create_task(self._scores(query, texts))
        while not scores.done():
            if cancelled():
                scores.cancel()
                await asyncio.wait([scores])
                raise Cancelled(N_("The reranking was stopped."))
            await asyncio.wait([scores], timeout=_POLL)
        return scores.result()

    async def _scores(self, query: str, texts: list[str]) -> list[float]:
        import httpx2

        try:
            async with httpx2.AsyncClient(timeout=self.seconds, headers=self._headers()) as client:
                if not self._wants_texts:
                    scores = await self._all_at_once(client, query, texts)
                    if scores is not None:
                        return scores
                    self._wants_texts = True
                return await self._in_batches(client, query, texts)
        except httpx2.TimeoutException as error:
            raise idle_timeout_error(self._host, self.seconds) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise read_connection_error(error, host=self._host).error from error

    async def _all_at_once(
        self, client: "httpx2.AsyncClient", query: str, texts: list[str]
    ) -> list[float] | None:
        """Return the scores; None where the server wants TEI's format."""
        asked = {"query": query, "documents": texts, "top_n": len(texts)}
        body = {**({"model": self.model} if self.model else {}), **asked}
        status, reply = await self._post(client, body)
        if status in (400, 422) and "texts" in reply:
            return None
        return self._parse_reply(status, reply, len(texts))

    async def _in_batches(self, client: "httpx2.AsyncClient", query: str, texts: list[str]) -> list[float]:
        scores: list[float] = []
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            status, reply = await self._post(client, {"query": query, "texts": batch, "truncate": True})
            scores += self._parse_reply(status, reply, len(batch))
        return scores

    async def _post(self, client: "httpx2.AsyncClient", body: dict[str, Any]) -> tuple[int, str]:
        self._requests += 1
        async with client.stream("POST", self._url, json=body) as response:
            received = bytearray()
            async for part in response.aiter_bytes():
                received += part
                if len(received) > REPLY_BYTES:
                    raise RerankError(
                        N_("The reranker at {host} sent far more than scores.", host=self._host)
                    )
            return response.status_code, received.decode("utf-8", "replace")

    def _parse_reply(self, status: int, reply: str, count: int) -> list[float]:
        if not 200 <= status < 300:
            key = self.api_key.get_secret_value()
            raise read_status(
                status, {}, reply[:_BODY_CHARS], host=self._host, model=self.model or "(none named)", key=key
            ).error
        try:
            return read_scores(reply, count)
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
            raise RerankError(
                N_(
                    "The reranker at {host} did not give one score for each passage. Check its address.",
                    host=self._host,
                )
            ) from error

    def _headers(self) -> dict[str, str]:
        key = self.api_key.get_secret_value()
        return {"authorization": f"Bearer {key}"} if key else {}

    @property
    def _url(self) -> str:
        url = self.base_url.rstrip("/")
        return url if url.endswith("/rerank") else f"{url}/rerank"

    @property
    def _host(self) -> str:
        return host_of(self.base_url)


def read_scores(reply: str, count: int) -> list[float]:
    """Return a reply's scores in the order of the passages; raises ValueError, TypeError or KeyError.

    >>> read_scores('[{"index": 1, "score": 0.9}, {"index": 0, "score": 0.2}]', 2)
    [0.2, 0.9]
    >>> read_scores('{"results": [{"index": 0, "relevance_score": 0.5}]}', 1)
    [0.5]
    """
    parsed = json.loads(reply)
    results = parsed["results"] if isinstance(parsed, dict) else parsed
    scores = {_index(one): float(one.get("relevance_score", one.get("score"))) for one in results}
    if len(results) != count or scores.keys() != set(range(count)):
        raise ValueError(f"{len(results)} scores for {count} passages")
    return [scores[at] for at in range(count)]


def _index(result: Any) -> int:
    if not isinstance(result, dict) or type(result.get("index")) is not int:
        raise ValueError("a result without an index")
    return int(result["index"])
