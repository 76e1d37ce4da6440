"""The openai SDK and langchain-openai, unchanged, against the real server."""

import time

import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI

from tests.api.conftest import HARBOUR, QUESTION, ApiServer
from tests.rag.fake_llm import Reply

ANSWER = "The harbour handled 4.1 million containers in 2024 [1]."


def opened(api: ApiServer, key: str, **options) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{api.url}/v1", api_key=key, max_retries=0, **options)


@pytest.fixture
def client(api: ApiServer):
    api.fake.reply(Reply(ANSWER, pause=0.05))
    with opened(api, api.keys["ann"]) as client:
        yield client


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def ask(client: openai.OpenAI, *messages, model: str = "footnote", **options):
    return client.chat.completions.create(model=model, messages=list(messages), **options)


def test_models_are_all_documents_and_each_collection_of_the_owner(client):
    assert [model.id for model in client.models.list()] == ["footnote", "footnote/Reports"]
    assert client.models.retrieve("footnote/Reports").object == "model"
    with pytest.raises(openai.NotFoundError, match="There is no model 'footnote/Lamps'"):
        client.models.retrieve("footnote/Lamps")


def test_an_answer_carries_the_exact_words_it_rests_on(client):
    completion = ask(client, user(QUESTION))
    message = completion.choices[0].message
    assert message.content == ANSWER
    assert completion.choices[0].finish_reason == "stop"
    assert (
        completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens
    )
    assert completion.usage.prompt_tokens > 50
    first = message.citations[0]
    assert first["status"] == "verified" and first["document"] == "harbour.md"
    assert message.content[first["statement_start"] : first["statement_end"]] == first["statement"]
    assert "4.1 million containers" in first["quote"]
    assert first["quote"] == HARBOUR[first["start"] : first["end"]]
    assert len(first["sha256"]) == 64


def test_a_stream_has_the_words_as_they_come_and_the_citations_at_the_end(client, api):
    whole = ask(client, user(QUESTION))
    chunks = list(ask(client, user(QUESTION), stream=True, stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant"
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    last = next(chunk for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason == "stop")
    assert last.choices[0].delta.citations == whole.choices[0].message.citations
    assert said == last.footnote["text"] == whole.choices[0].message.content
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens == whole.usage.total_tokens
    assert len([chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]) > 2


def test_a_stream_without_that_option_has_no_usage(client):
    assert all(chunk.usage is None for chunk in ask(client, user(QUESTION), stream=True))


def test_the_messages_before_are_the_conversation(client, api):
    before = [
        user("When was the castle of Aldenburg built?"),
        {"role": "assistant", "content": "In 1432 [1]."},
    ]
    completion = ask(client, *before, user("How deep is its moat?"))
    assert completion.footnote["sources"][0]["document"] == "castle.md"
    assert "1432" in api.fake.requests[-2].prompt  # the request to complete the question


def test_a_collection_is_a_model(client):
    completion = ask(client, user("How deep is the moat of the castle?"), model="footnote/Reports")
    assert all(source["document"] == "harbour.md" for source in completion.footnote["sources"])


def test_parts_of_a_message_are_read_and_pictures_refused(client):
    parts = {"role": "user", "content": [{"type": "text", "text": QUESTION}]}
    message = ask(client, {"role": "system", "content": "Be brief."}, parts).choices[0].message
    assert message.content == ANSWER
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    with pytest.raises(openai.UnprocessableEntityError, match="Only text"):
        ask(client, {"role": "user", "content": [picture]})


@pytest.mark.parametrize("stream", [False, True])
def test_a_stored_chat_is_on_the_page_and_can_be_gone_on_with(client, api, stream):
    before = [user("When was the castle built?"), {"role": "assistant", "content": "In 1432."}]
    made = ask(client, *before, user(QUESTION), store=True, stream=stream)
    footnote = list(made)[-1].footnote if stream else made.footnote
    messages = api.workspace().conversations.messages(footnote["conversation_id"])
    assert [message.content for message in messages[:3]] == [before[0]["content"], "In 1432.", QUESTION]
    assert messages[3].id == footnote["answer_id"] and messages[3].content == footnote["text"]
    assert [one.quote for one in messages[3].citations] == [one["quote"] for one in footnote["citations"]]
    ask(client, user("And who?"), metadata={"conversation_id": footnote["conversation_id"]})
    assert len(api.workspace().conversations.messages(footnote["conversation_id"])) == 6


def test_nothing_is_stored_unasked(client, api):
    before = api.workspace().conversations.list()
    ask(client, user(QUESTION))
    assert api.workspace().conversations.list() == before


def test_errors_have_openais_form(client, api):
    with opened(api, "wrong") as stranger, pytest.raises(openai.AuthenticationError, match="unknown"):
        ask(stranger, user(QUESTION))
    with pytest.raises(openai.NotFoundError, match="There is no model 'gpt-4o'"):
        ask(client, user(QUESTION), model="gpt-4o")
    with pytest.raises(openai.UnprocessableEntityError, match="last message"):
        ask(client, {"role": "assistant", "content": "Hello."})
    with pytest.raises(openai.UnprocessableEntityError, match="8,000 is the limit"):
        ask(client, user("a" * 9000))
    reader = api.key("ann", "read")
    with opened(api, reader) as limited, pytest.raises(openai.PermissionDeniedError, match="may not ask"):
        ask(limited, user(QUESTION))


@pytest.mark.parametrize("store", [False, True])
def test_a_model_that_fails_is_an_error_of_the_stream_too(client, api, store):
    api.fake.reply(Reply(status=401))
    with pytest.raises(openai.InternalServerError) as whole:
        ask(client, user(QUESTION), store=store)
    assert whole.value.status_code == 502 and whole.value.body["type"] == "server_error"
    with pytest.raises(openai.APIError) as streamed:
        list(ask(client, user(QUESTION), stream=True, store=store))
    assert streamed.value.message == whole.value.body["message"]


@pytest.mark.parametrize("store", [False, True])
def test_a_client_that_leaves_stops_the_answer(client, api, store):
    api.fake.reply(Reply("The harbour grew. " * 50, hold_after=5))
    stream = ask(client, user(QUESTION), stream=True, store=store)
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    stream.close()
    assert api.fake.hung_up.wait(20)
    assert until(lambda: not api.services.jobs.running("ann", "answer"))


def test_a_client_that_leaves_before_the_first_word_stops_the_answer(api):
    api.fake.reply(Reply(hang=True))
    with opened(api, api.keys["ann"], timeout=2) as hasty, pytest.raises(openai.APITimeoutError):
        ask(hasty, user(QUESTION))
    assert api.fake.hung_up.wait(20)
    assert until(lambda: not api.services.jobs.running("ann", "answer"))


def until(holds) -> bool:
    deadline = time.monotonic() + 20
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()


@pytest.fixture
def chain(api: ApiServer) -> ChatOpenAI:
    api.fake.reply(Reply(ANSWER, pause=0.05))
    return ChatOpenAI(model="footnote", base_url=f"{api.url}/v1", api_key=api.keys["ann"], max_retries=0)


def test_langchain_asks_streams_and_follows_up(chain, api):
    whole = chain.invoke(QUESTION)
    assert whole.content == ANSWER and whole.usage_metadata["input_tokens"] > 50
    pieces = list(chain.stream(QUESTION))
    assert len(pieces) > 4 and "".join(piece.content for piece in pieces) == whole.content
    history = [HumanMessage("When was the castle of Aldenburg built?"), AIMessage("In 1432 [1].")]
    chain.invoke([*history, HumanMessage("How deep is its moat?")])
    assert "nine metres deep" in api.fake.requests[-1].prompt and "1432" in api.fake.requests[-2].prompt


def test_langchain_stops(chain, api):
    api.fake.reply(Reply("The harbour grew. " * 50, hold_after=5))
    stream = chain.stream(QUESTION)
    while not next(stream).content:
        pass
    stream.close()
    assert api.fake.hung_up.wait(20)
