"""Whatever goes wrong with a language model's server, the passages come in the order of the search."""

import json

import pytest

from rag.retrieval.rerank.registry import LLM_RERANKERS
from tests.rag.fake_llm import FakeLLM, Reply
from tests.rag.retrieval.rerank.retrieved import found, ids, model

KEY = "k-secret-0123456789"


def whole(value: object) -> Reply:
    return Reply(body=json.dumps(value).encode(), content_type="application/json")


FAULTS = {
    "401": Reply(status=401, body=f'{{"error": {{"message": "bad key {KEY}"}}}}'.encode()),
    "403": Reply(status=403),
    "404": Reply(status=404),
    "429": Reply(status=429, headers={"retry-after": "600"}),
    "500": Reply(status=500),
    "hangs": Reply(hang=True),
    "hangs later": Reply("[2] > [1] 90", hang_after=1),
    "drops": Reply("Yes", drop_after=0),
    "a byte a second": Reply(body=b'data: {"choices": [{"delta": {"content": "9"}}]}' * 40, trickle=1.0),
    "a web page": Reply(body=b"<html><body>[2] > [1] Yes 90</body></html>", content_type="text/html"),
    "nothing": Reply(body=b""),
    "no choices": whole({"choices": []}),
    "no text": whole({"choices": [{"message": {"content": None}, "finish_reason": "stop"}]}),
    "a list": whole([2, 1]),
    "nested": Reply(body=b'{"choices":' + b"[" * 50_000),
    "half a character": Reply(body='data: {"choices": [{"delta": {"content": "예'.encode()[:-1]),
    "prose": Reply("I am sorry, but I cannot help with that."),
    "without end": Reply("Nine! ", repeat=True),
    "far too much": Reply("no " * 100_000),
}


@pytest.mark.parametrize("name", LLM_RERANKERS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_the_order_and_is_said(fake_llm: FakeLLM, name: str, fault: str):
    fake_llm.reply(FAULTS[fault])
    given = found(*"abcd")
    with model(fake_llm.url) as llm:
        result = LLM_RERANKERS[name](llm=llm, seconds=1.0).rerank(given, "Which?")
    assert result.documents == given
    assert result.failure is not None and str(result.failure).endswith(".")
    assert KEY not in result.note and "Traceback" not in result.note


@pytest.mark.parametrize("name", LLM_RERANKERS)
def test_a_server_that_is_not_there_leaves_the_order_and_is_named(name: str):
    with model("http://127.0.0.1:9/v1") as llm:
        result = LLM_RERANKERS[name](llm=llm, seconds=60).rerank(found(*"ab"), "Which?")
    assert ids(result.documents) == ["1", "2"] and "127.0.0.1:9" in result.note
