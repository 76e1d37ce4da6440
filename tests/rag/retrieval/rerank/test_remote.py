import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import Cancelled
from rag.retrieval.rerank.remote import BATCH, RemoteReranker, read_scores
from tests.rag.fake_llm import FakeLLM, Reply
from tests.rag.retrieval.rerank.retrieved import found, ids

KEY = "sk-marked-0123456789"


@pytest.fixture
def server() -> Iterator[FakeLLM]:
    with FakeLLM() as fake:
        yield fake


def sending(value: Any) -> Reply:
    return Reply(body=json.dumps(value).encode(), content_type="application/json")


def scored(*scores: float, name: str = "relevance_score") -> list[dict[str, Any]]:
    """Return results as servers give them: best first, each with the index of its passage."""
    results = [{"index": at, name: score} for at, score in enumerate(scores)]
    return sorted(results, key=lambda one: -one[name])


def remote(server: FakeLLM, **changes: Any) -> RemoteReranker:
    return RemoteReranker(**{"base_url": server.url, "model": "m", "api_key": KEY, "seconds": 60, **changes})


def test_passages_are_sent_and_ordered_by_what_comes_back(server):
    server.reply(sending({"id": "x", "model": "m", "results": scored(0.1, 0.7, 0.4), "usage": {}}))
    result = remote(server).rerank(found("a", "b", "c"), "Which?")
    assert ids(result.documents) == ["2", "3", "1"] and result.documents[0].metadata["score"] == 0.7
    (request,) = server.requests
    assert request.path == "/v1/rerank" and request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "m", "query": "Which?", "documents": ["a", "b", "c"], "top_n": 3}


def test_an_address_may_name_the_endpoint_and_need_no_key_nor_model(server):
    server.reply(sending({"results": scored(0.1, 0.7)}))
    remote(server, base_url=f"{server.url}/rerank/", api_key="", model="").rerank(found("a", "b"), "?")
    (request,) = server.requests
    assert request.path == "/v1/rerank" and "authorization" not in request.headers
    assert "model" not in request.body


def test_a_server_that_wants_texts_is_found_out_once_and_sent_batches(server):
    wants = Reply(status=422, body=b"Failed to deserialize the JSON body: missing field `texts` at line 1")
    one = sending(scored(*[0.5] * BATCH, name="score"))
    server.reply(
        wants, one, sending(scored(0.1, 0.9, name="score")), one, sending(scored(0.9, 0.1, name="score"))
    )
    reranker = remote(server)
    given_ = found(*map(str, range(BATCH + 2)))
    assert reranker.rerank(given_, "?").documents[0].id == str(BATCH + 2)
    assert reranker.rerank(given_, "?").documents[0].id == str(BATCH + 1)
    assert ["texts" in request.body for request in server.requests] == [False, True, True, True, True]
    assert [len(request.body["texts"]) for request in server.requests[1:]] == [BATCH, 2, BATCH, 2]


@pytest.mark.parametrize(
    "reply",
    [
        sending({"results": scored(0.1, 0.2)}),
        sending({"results": scored(0.1, 0.2, 0.3, 0.4)}),
        sending({"results": [{"index": 0, "relevance_score": 0.1}] * 3}),
        sending({"results": [{"index": str(at), "relevance_score": 0.1} for at in range(3)]}),
        sending({"results": [{"index": at, "relevance_score": "best"} for at in range(3)]}),
        sending({"results": [{"index": True, "relevance_score": 1}, *scored(0.1, 0.2)]}),
        sending({"results": [{"index": at} for at in range(3)]}),
        sending({"results": None}),
        sending({"error": "no"}),
        sending([1, 2, 3]),
        sending(None),
        Reply(body=b'[{"index": 0, "score": 1' + b"0" * 400 + b"}]"),
        Reply(body=b"<html>Hello</html>"),
        Reply(body=b""),
        Reply(body=b"[" * 100_000),
    ],
)
def test_a_reply_that_is_not_one_score_each_leaves_the_order(server, reply):
    server.reply(reply)
    result = remote(server).rerank(found("a", "b", "c"), "?")
    assert ids(result.documents) == ["1", "2", "3"]
    assert "did not give one score for each passage" in result.note


def test_scores_that_are_no_numbers_count_as_none(server):
    server.reply(
        Reply(body=b'[{"index": 0, "score": NaN}, {"index": 1, "score": 1}, {"index": 2, "score": 2}]')
    )
    result = remote(server).rerank(found("a", "b", "c"), "?")
    assert ids(result.documents) == ["1", "3", "2"] and "1 of 3 passages have no score" in result.note


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(status=401, body=json.dumps({"message": f"bad key {KEY}"}).encode()), "refused the API key"),
        (Reply(status=404), "its address is not that of an API"),
        (Reply(status=429, headers={"retry-after": "9"}), "limits how often it may be asked"),
        (Reply(status=400, body=json.dumps({"message": f"bad {KEY}"}).encode()), "refused the request"),
        (Reply(status=307, headers={"location": "http://127.0.0.1:9/"}), "refused the request (status 307)"),
        (Reply(status=500), "failed to answer (status 500)"),
        (Reply(body=b"[]", drop_after=0), "broke off"),
    ],
)
def test_a_server_that_fails_leaves_the_order_and_why_is_said_without_the_key(server, reply, why):
    server.reply(reply)
    result = remote(server).rerank(found("a", "b"), "?")
    assert ids(result.documents) == ["1", "2"] and why in result.note and KEY not in result.note
    assert len(server.requests) == 1


def test_half_a_character_of_a_foreign_document_is_sent_as_a_whole_one(server):
    server.reply(sending({"results": scored(0.1, 0.7)}))
    assert ids(remote(server).rerank(found("a\ud800b", "c"), "?").documents) == ["2", "1"]
    assert server.requests[0].body["documents"] == ["a\ufffdb", "c"]


def test_a_reply_without_end_is_cut(server):
    server.reply(Reply(body=b"[" + b" " * 6_000_000))
    assert "far more than scores" in remote(server).rerank(found("a", "b"), "?").note


def test_nobody_listens():
    result = RemoteReranker(base_url="http://127.0.0.1:9/v1", seconds=60).rerank(found("a", "b"), "?")
    assert ids(result.documents) == ["1", "2"] and "127.0.0.1:9" in result.note


def test_a_server_that_hangs_is_left_within_the_time_and_hears_of_it(server):
    server.reply(Reply(hang=True))
    result = remote(server, seconds=3).rerank(found("a", "b"), "?")
    assert ids(result.documents) == ["1", "2"] and result.failure is not None
    assert server.hung_up.wait(20)


def test_a_cancel_closes_the_connection(server):
    server.reply(Reply(hang=True))
    with pytest.raises(Cancelled):
        remote(server).rerank(found("a", "b"), "?", cancelled=server.asked.is_set)
    assert server.hung_up.wait(20)


def test_the_key_is_never_shown():
    assert KEY not in repr(RemoteReranker(base_url="http://127.0.0.1:9", api_key=KEY))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["results", "index", "score", "relevance_score"]), inner)
    ),
    max_leaves=12,
)


@given(st.builds(json.dumps, JSON) | st.text(), st.integers(1, 3))
def test_whatever_is_sent_is_one_score_each_or_refused(reply: str, count: int):
    try:
        assert len(read_scores(reply, count)) == count
    except (ValueError, TypeError, KeyError):
        return
