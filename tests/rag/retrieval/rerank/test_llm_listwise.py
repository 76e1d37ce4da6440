import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.models.llm import LLM
from rag.retrieval.rerank.llm import ListwiseReranker
from rag.text.prompt_parts import count_tokens
from tests.rag.fake_llm import FakeLLM, Reply, Request
from tests.rag.retrieval.rerank.retrieved import found, ids, model
from tests.rag.retrieval.rerank.test_llm_permutation import made_replies


@pytest.fixture
def llm(fake_llm: FakeLLM) -> Iterator[LLM]:
    with model(fake_llm.url) as opened:
        yield opened


def passages_of(request: Request) -> list[str]:
    return re.findall(r"<passage [^>]*>\n(.*?)\n</passage>", request.prompt, re.DOTALL)


def largest_first(request: Request) -> str:
    """Name the passages of a prompt by the numbers that are their texts."""
    texts = passages_of(request)
    order = sorted(range(len(texts)), key=lambda at: -int(texts[at]))
    return "Here is the order: " + " > ".join(f"[{at + 1}]" for at in order)


def test_passages_come_in_the_order_that_the_model_writes(fake_llm, llm):
    fake_llm.reply(Reply(largest_first))
    result = ListwiseReranker(llm=llm, seconds=60).rerank(found("3", "9", "5"), "Which is largest?")
    assert ids(result.documents) == ["2", "3", "1"] and result.note == ""
    assert [document.metadata["score"] for document in result.documents] == [1.0, 1 / 2, 1 / 3]


def test_windows_from_the_back_bring_the_best_from_the_last_place_to_the_first(fake_llm, llm):
    fake_llm.reply(Reply(largest_first))
    given_ = found(*(str(number) for number in range(12)))
    result = ListwiseReranker(llm=llm, size=4, step=2, seconds=60).rerank(given_, "Which is largest?")
    assert [len(passages_of(request)) for request in fake_llm.requests] == [4] * 5
    assert passages_of(fake_llm.requests[0]) == ["8", "9", "10", "11"]
    assert [document.page_content for document in result.documents][:2] == ["11", "10"]


def test_a_window_without_an_order_stays_and_it_is_said(fake_llm, llm):
    fake_llm.reply(Reply("I cannot."), Reply(largest_first))
    result = ListwiseReranker(llm=llm, size=2, step=1, seconds=60).rerank(found("1", "2", "3"), "?")
    assert ids(result.documents) == ["2", "1", "3"] and result.note == "1 of 2 replies named no order."


def test_no_order_at_all_leaves_the_incoming_one(fake_llm, llm):
    fake_llm.say("I cannot.")
    result = ListwiseReranker(llm=llm, seconds=60).rerank(found("1", "2", "3"), "?")
    assert ids(result.documents) == ["1", "2", "3"] and "named no order of the passages" in result.note


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(made_replies(200)) | st.text())
def test_whatever_a_server_sends_no_passage_is_lost(fake_llm: FakeLLM, llm: LLM, reply: str):
    fake_llm.reply(Reply(reply or " "))
    result = ListwiseReranker(llm=llm, size=3, step=2, seconds=60).rerank(found(*"12345"), "?")
    assert sorted(ids(result.documents)) == list("12345")


def test_a_window_fits_into_a_small_context(fake_llm):
    fake_llm.say("[2] > [1]")
    with model(fake_llm.url, context_tokens=700) as small:
        ListwiseReranker(llm=small, seconds=60).rerank(found(*(["word " * 900] * 10)), "Which?")
    (request,) = fake_llm.requests
    assert len(passages_of(request)) == 10 and count_tokens(request.prompt) <= 700 - 80


def test_a_question_that_leaves_no_room_leaves_the_order(fake_llm):
    with model(fake_llm.url, context_tokens=512) as small:
        result = ListwiseReranker(llm=small, seconds=60).rerank(found("1", "2"), "word " * 900)
    assert ids(result.documents) == ["1", "2"] and "too long" in result.note and not fake_llm.requests
