"""An embeddings server, and every way it can fail."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from rag.errors import EmbeddingError
from rag.models.embeddings import Embedder, OpenAIEmbedder, open_embedder

KEY = "sk-marked-0123456789"
Rows = list[dict[str, Any]]


def answering(server: HTTPServer, change: Callable[[Rows], Any] = lambda rows: rows) -> list[dict[str, Any]]:
    """Let the server give each text [length, 1, 0], as `change` alters it; return the requests it gets."""
    requests: list[dict[str, Any]] = []

    def respond(request: Request) -> Response:
        asked = json.loads(request.data)
        requests.append({**asked, "key": request.headers["authorization"]})
        rows = [{"index": i, "embedding": [len(text), 1, 0]} for i, text in enumerate(asked["input"])]
        probing = asked["input"] == ["dimension"]
        data = rows if probing else change(rows)
        return Response(json.dumps({"data": data}), content_type="application/json")

    server.expect_request("/v1/embeddings", method="POST").respond_with_handler(respond)
    return requests


def opened(server: HTTPServer, path: str = "/v1") -> Embedder:
    return open_embedder("openai:small", cache=Path("/nowhere"), base_url=server.url_for(path), api_key=KEY)


def test_texts_become_unit_vectors_in_their_order(httpserver: HTTPServer) -> None:
    requests = answering(httpserver, lambda rows: rows[::-1])
    embedder = opened(httpserver)
    vectors = np.array(embedder.embed_documents(["a", "서울", "東京都で", ""]))
    expected = np.array([[n, 1, 0] for n in (1, 2, 4, 1)])
    assert np.allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True))
    assert (embedder.name, embedder.dimension, len(embedder.fingerprint)) == ("small", 3, 64)
    assert requests[1]["key"] == f"Bearer {KEY}"
    assert requests[1]["model"] == "small"


def test_the_fingerprint_tells_servers_and_models_apart(httpserver: HTTPServer) -> None:
    answering(httpserver)
    one = opened(httpserver).fingerprint
    assert opened(httpserver, "/v1/").fingerprint == one
    other = open_embedder("openai:large", cache=Path(), base_url=httpserver.url_for("/v1"))
    assert other.fingerprint != one


def giving(embedding: Any) -> Callable[[Rows], Rows]:
    """Put this in the place of every embedding."""
    return lambda rows: [{**row, "embedding": embedding} for row in rows]


WRONG: dict[str, tuple[Callable[[Rows], Any], str]] = {
    "one too few": (lambda rows: rows[:1], "not an embedding for each text"),
    "one too many": (lambda rows: [*rows, rows[0]], "not an embedding for each text"),
    "one twice": (lambda rows: [rows[0], rows[0]], "not an embedding for each text"),
    "another dimension": (giving([1, 2]), "2 x 2 where 2 x 3"),
    "uneven": (lambda rows: [rows[0], {**rows[1], "embedding": [1, 2]}], "not an embedding"),
    "null": (giving(None), "not an embedding"),
    "empty": (giving([]), "not an embedding"),
    "text": (giving("AAAA"), "not an embedding"),
    "NaN": (giving([float("nan"), 1, 0]), "zero or not a number"),
    "a null in it": (giving([None, 1, 0]), "zero or not a number"),
    "infinite": (giving([float("inf"), 1, 0]), "zero or not a number"),
    "zeros": (giving([0, 0, 0]), "zero or not a number"),
    "no data": (lambda rows: rows and None, "not an embedding"),
    "a string": (lambda rows: str(rows), "not an embedding"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_answer_is_an_error(httpserver: HTTPServer, case: str) -> None:
    change, said = WRONG[case]
    answering(httpserver, change)
    embedder = opened(httpserver)
    with pytest.raises(EmbeddingError, match=said):
        embedder.embed_documents(["a", "b"])


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "refused the API key"),
        (403, "does not let this API key"),
        (404, "has no model small"),
        (400, "refused the request"),
    ],
)
def test_a_refusal_is_said_without_the_key(httpserver: HTTPServer, status: int, said: str) -> None:
    body = json.dumps({"error": {"message": f"bad key {KEY}"}})
    httpserver.expect_request("/v1/embeddings").respond_with_data(body, status=status)
    with pytest.raises(EmbeddingError, match=said) as caught:
        opened(httpserver)
    assert KEY not in f"{caught.value} {caught.value.__cause__}"


@pytest.mark.parametrize("body", [b"<html>not an API</html>", b"", b"[]", b"null", b'{"data": [1]}'])
def test_an_answer_that_is_none_is_said(httpserver: HTTPServer, body: bytes) -> None:
    httpserver.expect_request("/v1/embeddings").respond_with_data(body, content_type="application/json")
    with pytest.raises(EmbeddingError, match="not an embedding for each text"):
        opened(httpserver)


def test_a_server_that_is_busy_is_asked_again(httpserver: HTTPServer) -> None:
    busy = {"retry-after-ms": "10"}
    httpserver.expect_ordered_request("/v1/embeddings").respond_with_data("", status=429, headers=busy)
    data = {"data": [{"index": 0, "embedding": [1, 2]}]}
    httpserver.expect_ordered_request("/v1/embeddings").respond_with_json(data)
    assert opened(httpserver).dimension == 2


def test_a_server_that_is_down_is_named() -> None:
    with pytest.raises(EmbeddingError, match=r"Cannot reach http://127.0.0.1:1\."):
        open_embedder("openai:small", cache=Path(), base_url="http://127.0.0.1:1/v1", api_key=KEY)


def test_a_server_that_dies_between_batches_leaves_those_done(httpserver: HTTPServer) -> None:
    done = threading.Event()

    def once(rows: Rows) -> Rows:
        if done.is_set():
            raise ConnectionError
        done.set()
        return rows

    answering(httpserver, once)
    embedder = opened(httpserver)
    batches = embedder.embed_batches(["a", "bb", "ccc"], batch=2)
    assert next(batches)[0] == [2, 1]
    with pytest.raises(EmbeddingError, match="could not be embedded"):
        next(batches)
    httpserver.clear()


def test_a_server_that_says_nothing_is_not_waited_for(httpserver: HTTPServer) -> None:
    released = threading.Event()

    def hang(request: Request) -> Response:
        released.wait(10)
        return Response("")

    httpserver.expect_request("/v1/embeddings").respond_with_handler(hang)
    with pytest.raises(EmbeddingError, match=r"sent nothing for 0\.2 seconds"):
        OpenAIEmbedder("small", base_url=httpserver.url_for("/v1"), api_key=KEY, timeout=0.2)
    released.set()
