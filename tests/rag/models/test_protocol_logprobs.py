import json
import math
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.language_models import FakeListChatModel

from rag.errors import Cancelled, LLMError, LLMGarbled, LLMRejected
from rag.models.llm import LLM
from rag.models.protocol import ChatModel, LLMSettings, ObservedModel, Sent, yes_against_no
from tests.rag.fake_llm import FakeLLM, Reply

CHAT = [{"role": "user", "content": "Is it?"}]
YES = {"Yes": 0.6, "yes": 0.1, "No": 0.2, "The": 0.1}


@pytest.fixture
def model(fake_llm: FakeLLM) -> Iterator[LLM]:
    with LLM(LLMSettings(fake_llm.url, "fake-model", api_key="k", timeout=20, idle_timeout=20)) as llm:
        yield llm


def logs(**odds: float) -> dict[str, float]:
    return {token: math.log(p) for token, p in odds.items()}


def body(logprobs: object) -> str:
    return json.dumps({"choices": [{"message": {"content": "Yes"}, "logprobs": logprobs}]})


def test_the_logprobs_of_the_first_token_are_asked_for_with_one_token_of_answer(fake_llm, model):
    fake_llm.reply(Reply("Yes", odds=lambda _: YES))
    assert model.logprobs(CHAT) == pytest.approx(logs(**YES))
    sent = fake_llm.requests[0].body
    assert (sent["max_tokens"], sent["logprobs"], sent["top_logprobs"]) == (1, True, 20)
    assert model.supports_logprobs


@pytest.mark.parametrize(
    "reply",
    [
        Reply("Yes"),
        Reply(status=400, body=b'{"error": {"message": "This model does not support logprobs."}}'),
        Reply(status=403, body=b'{"error": {"message": "You are not allowed to request logprobs"}}'),
        Reply(body=body({"content": [{"token": "Yes", "logprob": -0.1}]}).encode()),
    ],
)
def test_a_server_that_tells_none_is_found_out_once(fake_llm, model, reply):
    fake_llm.reply(reply)
    assert [model.logprobs(CHAT), model.logprobs(CHAT)] == [None, None]
    assert len(fake_llm.requests) == 1 and not model.supports_logprobs


def test_an_empty_answer_says_nothing_of_the_server(fake_llm, model):
    fake_llm.reply(Reply("", odds=lambda _: {}))
    assert model.logprobs(CHAT) == {} and model.supports_logprobs


def test_a_server_s_faults_are_told_as_of_an_answer(fake_llm, model):
    fake_llm.reply(Reply(status=503), Reply("Yes", odds=lambda _: YES), Reply(status=401))
    assert model.logprobs(CHAT) is not None
    with pytest.raises(LLMRejected, match="refused the API key"):
        model.logprobs(CHAT)


def test_a_cancel_closes_the_connection(fake_llm, model):
    fake_llm.reply(Reply(hang=True))
    with pytest.raises(Cancelled):
        model.logprobs(CHAT, cancelled=fake_llm.asked.is_set)
    assert fake_llm.hung_up.wait(10)


def test_a_request_is_noted_where_there_is_one(fake_llm, model):
    sent: list[Sent] = []
    noted = ObservedModel(model, purpose="rerank", sent=sent)
    assert noted.logprobs(CHAT) is None and noted.logprobs(CHAT) is None
    assert [one.messages for one in sent] == [(("user", "Is it?"),)]


def test_a_model_of_langchain_tells_none():
    model = ChatModel(FakeListChatModel(responses=["Yes"]))
    assert not model.supports_logprobs and model.logprobs(CHAT) is None


HUGE = body({"content": [{"top_logprobs": [{"token": "Yes", "logprob": -(10**400)}]}]})


@pytest.mark.parametrize("text", ["", "[]", "{}", "<html>", '{"choices": []}', body(7), HUGE, "[" * 100_000])
def test_what_is_no_completion_is_one_sentence(fake_llm, model, text):
    fake_llm.reply(Reply(body=text.encode(), content_type="application/json"))
    with pytest.raises(LLMGarbled, match="not an answer"):
        model.logprobs(CHAT)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "logprobs", "content", "top_logprobs", "token", "logprob"]), inner
        )
    ),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def answering() -> Iterator[tuple[FakeLLM, LLM]]:
    with FakeLLM() as server, LLM(LLMSettings(server.url, "fake-model")) as llm:
        yield server, llm


@given(
    st.builds(json.dumps, JSON) | st.builds(body, JSON) | st.text(st.characters(codec="utf-8")),
    st.sampled_from(["application/json", "text/html"]),
)
@settings(deadline=None)
def test_whatever_is_sent_is_read_or_refused(answering: tuple[FakeLLM, LLM], text: str, kind: str):
    server, llm = answering
    server.reply(Reply(body=text.encode(), content_type=kind))
    llm.supports_logprobs = True
    try:
        logprobs = llm.logprobs(CHAT)
    except LLMError:
        return
    share = yes_against_no(logprobs or {})
    assert share is None or 0.0 <= share <= 1.0


def test_all_spellings_count_and_in_three_languages():
    assert yes_against_no(logs(**YES)) == pytest.approx(0.7 / 0.9)
    assert yes_against_no(logs(예=0.3, 아니요=0.1)) == pytest.approx(0.75)
    assert yes_against_no(logs(はい=0.2, いいえ=0.6)) == pytest.approx(0.25)
    assert yes_against_no(logs(**{"\n**Yes**": 0.5, " NO.": 0.5})) == pytest.approx(0.5)


def test_a_side_that_is_not_told_counts_as_the_least_that_is():
    assert yes_against_no(logs(Yes=0.9, The=0.1)) == pytest.approx(0.9)
    assert yes_against_no(logs(No=0.9, The=0.1)) == pytest.approx(0.1)
    assert yes_against_no(logs(The=0.9, A=0.1)) is None
    assert yes_against_no({}) is None
