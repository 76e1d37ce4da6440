from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from rag.langchain import ConversationalRetrievalChain, conversation_tool
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.retrieval.bm25 import BM25Retriever
from tests.rag.fake_llm import FakeLLM, Reply

DOCUMENTS = [
    Document("The castle of Aldenburg was built in 1432. Its moat is nine metres deep.", id="castle"),
    Document("등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.", id="등대"),
    Document("灯台守は夕暮れにランプを灯した。ランプは鯨油で燃えた。", id="灯台"),
]


@pytest.fixture
def tool() -> BaseTool:
    retriever = BM25Retriever.from_documents(DOCUMENTS, k=2)
    return conversation_tool(ConversationalRetrievalChain(retriever=retriever))


def call(tool: BaseTool, **arguments: Any) -> ToolMessage:
    """Call the tool as an agent does, with what a model wrote."""
    message = tool.invoke({"type": "tool_call", "id": "1", "name": tool.name, "args": arguments})
    assert isinstance(message, ToolMessage)
    return message


@pytest.mark.parametrize(
    ("question", "id_", "said"),
    [
        ("When was the castle of Aldenburg built?", "castle", "1432"),
        ("등불은 무엇으로 탔나요?", "등대", "고래기름"),
        ("ランプは何で燃えましたか。", "灯台", "鯨油"),
    ],
)
def test_a_call_returns_the_cited_answer_and_carries_its_sources(tool, question, id_, said):
    message = call(tool, question=question)
    assert said in message.content and "[1]" in message.content
    assert message.status == "success"
    assert message.artifact[0].id == id_
    assert said in message.artifact[0].metadata["citations"][0]["quote"]


def test_a_call_takes_the_conversation_so_far(tool):
    history = [
        {"role": "user", "content": "When was the castle of Aldenburg built?"},
        {"role": "assistant", "content": "In 1432 [1]."},
    ]
    message = call(tool, question="How deep is it?", chat_history=history)
    assert "nine metres" in message.content


def test_its_text_ends_with_the_sources_it_cites():
    documents = [
        Document("The castle of Aldenburg was built in 1432.", metadata={"document": "a\nb.pdf", "page": 3}),
        Document("The castle is closed on Mondays.", metadata={"document": "hours.md"}),
    ]
    chain = ConversationalRetrievalChain(retriever=BM25Retriever.from_documents(documents, k=2))
    content = call(conversation_tool(chain), question="When was the castle of Aldenburg built?").content
    assert "The castle of Aldenburg was built in 1432." in content.splitlines()[0]
    assert content.splitlines()[-2:] == ["Sources:", "[1] a b.pdf, page 3"]
    nothing = ConversationalRetrievalChain(retriever=BM25Retriever.from_texts([]))
    assert "Sources:" not in call(conversation_tool(nothing), question="When?").content


def test_it_returns_directly_where_that_is_asked(tool):
    assert not tool.return_direct
    chain = ConversationalRetrievalChain(retriever=BM25Retriever.from_documents(DOCUMENTS))
    assert conversation_tool(chain, return_direct=True).return_direct


async def test_without_a_call_it_gives_the_answer_alone(tool):
    asked = {"question": "When was the castle built?"}
    assert await tool.ainvoke(asked) == tool.invoke(asked)
    assert "1432" in tool.invoke(asked)


def test_its_schema_tells_a_model_what_to_write(tool):
    schema = tool.tool_call_schema.model_json_schema()
    assert schema["required"] == ["question"]
    assert set(schema["properties"]) == {"question", "chat_history"}
    assert all(field["description"] for field in schema["properties"].values())
    assert tool.name == "ask_documents" and tool.description


@pytest.mark.parametrize("question", ["", "x" * 9000])
def test_what_goes_wrong_is_told_to_the_model(tool, question):
    message = call(tool, question=question)
    assert message.status == "error" and message.content.endswith(".")


def test_a_failing_model_is_told_to_the_agents_model(fake_llm: FakeLLM):
    fake_llm.reply(Reply(status=401))
    retriever = BM25Retriever.from_documents(DOCUMENTS)
    with LLM(LLMSettings(base_url=fake_llm.url, model="fake")) as llm:
        tool = conversation_tool(ConversationalRetrievalChain(retriever=retriever, llm=llm))
        message = call(tool, question="When was the castle built?")
    assert message.status == "error" and "API key" in message.content
