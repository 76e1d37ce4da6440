"""Embeddings of any OpenAI-compatible server, each answer checked before it is believed."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from rag.errors import EmbeddingError
from rag.models.embeddings import OPENAI, Embedder, Floats, Role, unit
from rag.models.llm_errors import host_of, rejected, silent, unreachable

OPENAI_URL = "https://api.openai.com/v1"
TIMEOUT = 60.0
BODY_CHARS = 10_000


class OpenAIEmbedder(Embedder):
    """A model behind `base_url`; opening it embeds one word, which tells the dimension.

    Raises EmbeddingError, whose text never holds the key.
    """

    local = False

    def __init__(self, model: str, *, base_url: str | None, api_key: str | None, timeout: float = TIMEOUT):
        import openai

        url = base_url or OPENAI_URL
        self.name = model
        self._key = api_key or ""
        self._host, self._timeout = host_of(url), timeout
        self._client = openai.OpenAI(base_url=url, api_key=api_key or "none", timeout=timeout, max_retries=2)
        self.fingerprint = hashlib.sha256(f"{url.rstrip('/')} {model}".encode()).hexdigest()
        probe = self._ask(["dimension"])
        self.dimension = probe.shape[1]
        unit(probe, 1, self.dimension, self.name)

    @property
    def spec(self) -> str:
        """The model's name as one on a server."""
        return OPENAI + self.name

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        del role  # such servers embed both alike
        return self._ask([text or " " for text in texts])

    def _ask(self, texts: list[str]) -> Floats:
        import httpx2
        import openai

        try:
            answer = self._client.embeddings.with_raw_response.create(
                model=self.name, input=texts, encoding_format="float"
            )
            return _read(answer.http_response.json(), len(texts))
        except openai.APIStatusError as error:
            # The error's own text may hold the key, so it is not chained.
            raise self._rejected(error) from None
        except openai.APITimeoutError as error:
            raise EmbeddingError(f"{_FAILED}: {silent(self._host, self._timeout)}") from error
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise EmbeddingError(f"{_FAILED}: {unreachable(error, host=self._host).error}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EmbeddingError(
                f"{_FAILED}: {self._host} sent something that is not an embedding for each text. "
                f"Check that {self.name} is an embedding model."
            ) from error

    def _rejected(self, error: Any) -> EmbeddingError:
        response = error.response
        failure = rejected(
            response.status_code,
            response.headers,
            response.text[:BODY_CHARS],
            host=self._host,
            model=self.name,
            key=self._key,
        )
        return EmbeddingError(f"{_FAILED}: {failure.error}")


_FAILED = "The texts could not be embedded"


def _read(answer: Any, count: int) -> Floats:
    """Return the vectors in the order of the texts; raises ValueError when some are missing or uneven."""
    rows = sorted(answer["data"], key=lambda row: row["index"])
    if [row["index"] for row in rows] != list(range(count)):
        raise ValueError(f"{len(rows)} embeddings for {count} texts")
    vectors = np.array([row["embedding"] for row in rows], np.float32)
    if vectors.ndim != 2 or not vectors.size:
        raise ValueError(f"embeddings of shape {vectors.shape}")
    return vectors
