"""Client of the HTTP interface: of a server elsewhere, or of the one that holds this data directory."""

import http.client
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

from rag.errors import ApiError
from rag.i18n import N_
from rag.settings import http_address

PATIENCE = 60.0  # seconds without a byte; a stream has one every ten
LARGEST = 256 << 20  # bytes of one answer


class ApiClient:
    """Requests with a key to the server at `base_url`; each has a connection of its own."""

    def __init__(self, base_url: str, key: str):
        """Connect to nothing yet; raises ValueError for what is no address."""
        self._parts = urlsplit(http_address(base_url))
        self._key = key

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        params: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Return the JSON object of an answer, empty without one; raises ApiError."""
        with self._sent(method, path, body, content, params) as response:
            text = self._read(response)
        return dict(self._parsed(text)) if text else {}

    def content(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        """Return the bytes of a file; raises ApiError."""
        with self._sent("GET", path, None, None, params) as response:
            return response.read(LARGEST)

    def search(
        self, query: str, k: int, collections: Sequence[str] = (), retriever: str | None = None
    ) -> list[dict[str, Any]]:
        """Return the passages for a query; raises ApiError."""
        asked: dict[str, Any] = {"query": query, "k": k, "collections": list(collections)}
        if retriever is not None:
            asked["retriever"] = retriever
        passages = self.call("POST", "/api/search", body=asked).get("passages")
        if not isinstance(passages, list):
            raise ApiError(
                N_("The server at {netloc} gave no passages: is it Footnote's?", netloc=self._parts.netloc),
                502,
            )
        return passages

    def events(self, path: str, body: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the server-sent events of an answer; an event "error" raises ApiError."""
        with self._sent("POST", path, body, None, None) as response:
            name = ""
            while line := self._line(response):
                field, _, value = line.rstrip("\r\n").partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    fields = self._parsed(value)
                    if name == "error":
                        raise ApiError(str(fields.get("detail")), int(fields.get("status", 500)))
                    yield name, fields

    @contextmanager
    def _sent(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        content: bytes | None,
        params: Mapping[str, str] | None,
    ) -> Iterator[http.client.HTTPResponse]:
        headers = {"Authorization": f"Bearer {self._key}"}
        if body is not None:
            content, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        elif content is not None:
            headers["Content-Type"] = "application/octet-stream"
        target = self._parts.path.rstrip("/") + path + (f"?{urlencode(params)}" if params else "")
        connection = self._connection()
        try:
            connection.request(method, target, content, headers)
            response = connection.getresponse()
            if response.status >= 300:  # a redirect is not followed: the key is for this server
                raise self._refusal(response)
            yield response
        except (OSError, http.client.HTTPException) as error:
            raise ApiError(
                N_(
                    "The server at {host} does not answer: {reason}. Check that it runs there.",
                    host=self._parts.netloc,
                    reason=error or type(error).__name__,
                ),
                503,
            ) from error
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        secure = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return kind(self._parts.hostname or "", self._parts.port, timeout=PATIENCE)

    def _refusal(self, response: http.client.HTTPResponse) -> ApiError:
        try:
            sentence = str(json.loads(self._read(response))["detail"])
        except (ValueError, TypeError, KeyError):
            sentence = N_(
                "The server at {host} answered with status {status}.",
                host=self._parts.netloc,
                status=response.status,
            )
        return ApiError(sentence, response.status)

    def _read(self, response: http.client.HTTPResponse) -> str:
        return response.read(LARGEST).decode("utf-8", "replace")

    def _line(self, response: http.client.HTTPResponse) -> str:
        return response.readline(LARGEST).decode("utf-8", "replace")

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            fields = json.loads(text)
        except ValueError as error:
            raise ApiError(
                N_("The server at {host} sent no JSON: is it Footnote's?", host=self._parts.netloc), 502
            ) from error
        return fields if isinstance(fields, dict) else {}
