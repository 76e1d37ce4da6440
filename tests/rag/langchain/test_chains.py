from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

from rag.errors import LLMRejected, QuestionRefused
from rag.index.chroma import ChromaVectorStore
from rag.index.vector_index import VectorStoreRetriever
from rag.langchain import ConversationalRetrievalChain, RetrievalQA, to_history
from rag.models.embeddings import Embedder
from rag.models.llm import LLM, LLMSettings
from rag.retrieval.bm25 import BM25Retriever
from tests.rag.fake_llm import FakeLLM, Reply

DOCUMENTS = [
    Document("The castle of Aldenburg was built in 1432. Its moat is nine metres deep.", id="castle"),
    Document("The lighthouse keeper lit the lamp at dusk. The lamp burned whale oil.", id="lamp"),
    Document("등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.", id="등대"),
    Document("灯台守は夕暮れにランプを灯した。ランプは鯨油で燃えた。", id="灯台"),
]
QUESTIONS = [
    ("When was the castle of Aldenburg built?", "castle", "1432"),
    ("등불은 무엇으로 탔나요?", "등대", "고래기름"),
    ("ランプは何で燃えましたか。", "灯台", "鯨油"),
]
EVERYTHING: dict[str, Any] = {"return_source_documents": True, "return_generated_question": True}
FOLLOW_UPS = [
    ("How deep is its moat?", ("When was the castle of Aldenburg built?", "In 1432 [1]."), "castle", "nine"),
    ("그것은 무엇으로 탔나요?", ("등대지기는 언제 등불을 켰나요?", "해질녘에 켰다 [1]."), "등대", "고래기름"),
    (
        "それは何で燃えましたか。",
        ("灯台守はいつランプを灯しましたか。", "夕暮れに灯した [1]。"),
        "灯台",
        "鯨油",
    ),
]


@pytest.fixture(scope="module", params=["bm25", "similarity"])
def retriever(request: pytest.FixtureRequest, embedder: Embedder) -> BaseRetriever:
    documents = [
        Document(id=found.id, page_content=found.page_content, metadata={"author": "Ann", "name": found.id})
        for found in DOCUMENTS
    ]
    if request.param == "bm25":
        return BM25Retriever.from_documents(documents, k=2)
    store = ChromaVectorStore.from_documents(documents, embedder)
    return VectorStoreRetriever(vectorstore=store, search_kwargs={"k": 2})


@pytest.fixture
def words() -> BM25Retriever:
    return BM25Retriever.from_documents(DOCUMENTS, k=2)


@pytest.fixture
def connected(fake_llm: FakeLLM) -> Iterator[LLM]:
    with LLM(LLMSettings(base_url=fake_llm.url, model="fake", context_tokens=1500)) as llm:
        yield llm


@pytest.fixture(params=["no model", "a server", "a chat model"])
def llm(request: pytest.FixtureRequest, fake_llm: FakeLLM, connected: LLM) -> Callable[[str], Any]:
    """What gives an `llm` that answers with a text: without a model, with ours, with LangChain's own."""

    def answering(text: str) -> Any:
        if request.param == "no model":
            return None
        if request.param == "a chat model":
            return FakeListChatModel(responses=[text])
        fake_llm.say(text)
        return connected

    return answering


def first_sentence(id_: str, said: str) -> str:
    text = next(document.page_content for document in DOCUMENTS if document.id == id_)
    return next(part for part in text.replace("。", "。|").replace(". ", ".|").split("|") if said in part)


@pytest.mark.parametrize(("question", "id_", "said"), QUESTIONS)
def test_a_question_is_answered_with_its_sources(retriever, llm, question, id_, said):
    model = llm(f"{first_sentence(id_, said)} [1]")
    chain = RetrievalQA(retriever=retriever, llm=model, return_source_documents=True)
    result = chain.invoke({"query": question})
    assert set(result) == {"query", "result", "source_documents"}
    assert result["query"] == question
    assert said in result["result"] and "[1]" in result["result"]
    source = result["source_documents"][0]
    assert source.id == id_
    assert (source.metadata["author"], source.metadata["number"]) == ("Ann", 1)
    citation = source.metadata["citations"][0]
    assert citation["status"] == "verified" and said in citation["quote"]
    assert source.page_content[citation["quote_start"] : citation["quote_end"]] == citation["quote"]
    assert said in result["result"][citation["answer_start"] : citation["answer_end"]]


@pytest.mark.parametrize(("question", "turn", "id_", "said"), FOLLOW_UPS)
def test_a_follow_up_is_searched_as_it_reads_by_itself(words, question, turn, id_, said):
    chain = ConversationalRetrievalChain(retriever=words, **EVERYTHING)
    result = chain.invoke({"question": question, "chat_history": [turn]})
    assert set(result) == {"question", "chat_history", "answer", "source_documents", "generated_question"}
    assert (result["question"], result["chat_history"]) == (question, [turn])
    assert result["generated_question"].startswith(question[:-1]) and result["generated_question"] != question
    assert result["source_documents"][0].id == id_
    assert said in result["answer"]


def test_a_first_question_stays_as_it_is(words):
    result = ConversationalRetrievalChain(retriever=words, **EVERYTHING).invoke("When was the castle built?")
    assert result["generated_question"] == result["question"] == "When was the castle built?"
    assert result["chat_history"] == []
    assert "1432" in result["answer"]


@pytest.mark.parametrize("rephrase", [True, False])
def test_either_the_rephrased_question_is_answered_or_the_original(words, fake_llm, connected, rephrase):
    fake_llm.say("How deep is the moat of the castle of Aldenburg?", "Nine metres deep [1].")
    chain = ConversationalRetrievalChain.from_llm(connected, words, rephrase_question=rephrase, **EVERYTHING)
    history = [("When was the castle of Aldenburg built?", "In 1432 [1].")]
    result = chain.invoke({"question": "How deep is it?", "chat_history": history})
    assert result["generated_question"] == "How deep is the moat of the castle of Aldenburg?"
    assert result["source_documents"][0].id == "castle", "the rephrased question is searched either way"
    asked = fake_llm.requests[-1].prompt.rsplit("Question: ", 1)[1].strip()
    assert asked == (result["generated_question"] if rephrase else "How deep is it?")
    shown = (
        "Question: When was the castle of Aldenburg built?\nAnswer: In 1432." in fake_llm.requests[-1].prompt
    )
    assert shown is not rephrase, "the original question comes with the conversation"


def test_a_history_is_pairs_or_messages():
    turns = [("user", "a"), ("assistant", "b")]
    assert to_history([("a", "b")]) == turns
    assert (
        to_history([SystemMessage("x"), HumanMessage("a"), AIMessage([{"type": "text", "text": "b"}])])
        == turns
    )
    assert to_history("") == to_history(None) == []
    with pytest.raises(QuestionRefused, match="chat_history"):
        to_history([{"a": "b"}])  # type: ignore[list-item]


def test_the_pieces_of_a_stream_add_up_to_the_answer(words, llm):
    model = llm("The castle was built in 1432 [1].")
    chain = ConversationalRetrievalChain(retriever=words, llm=model, **EVERYTHING)
    asked = {"question": "When was the castle of Aldenburg built?", "chat_history": []}
    chunks = list(chain.stream(asked))
    assert chunks[0] == asked
    assert all(set(chunk) == {"answer"} for chunk in chunks[1:-1]) and len(chunks) > 2
    assert set(chunks[-1]) == {"generated_question", "source_documents"}
    assert reduce(add, chunks) == chain.invoke(asked)


async def test_async_twins_give_the_same(words, llm):
    chain = RetrievalQA(retriever=words, llm=llm("The castle was built in 1432 [1]."))
    question = "When was the castle of Aldenburg built?"
    expected = chain.invoke(question)
    assert await chain.ainvoke(question) == expected
    assert reduce(add, [chunk async for chunk in chain.astream(question)]) == expected
    assert await chain.abatch([question, question]) == chain.batch([question, question]) == [expected] * 2


async def test_leaving_an_asynchronous_stream_hangs_up(words, fake_llm, connected):
    fake_llm.reply(Reply("word ", pieces=("word ",), repeat=True, pause=0.01))
    chain = RetrievalQA(retriever=words, llm=connected)
    chunks = chain.astream("When was the castle built?")
    assert set(await anext(chunks)) == {"query"}
    assert set(await anext(chunks)) == {"result"}
    await chunks.aclose()
    del chunks
    assert fake_llm.hung_up.wait(5)


def test_callbacks_reach_the_retriever_and_the_model(words):
    class Heard(BaseCallbackHandler):
        def __init__(self) -> None:
            self.kinds: list[str] = []

        def on_chain_start(self, *_: Any, **kwargs: Any) -> None:
            self.kinds.append(kwargs["name"])

        def on_retriever_start(self, serialized: Any, query: str, **_: Any) -> None:
            self.kinds.append(f"retriever: {query}")

        def on_chat_model_start(self, *_: Any, **__: Any) -> None:
            self.kinds.append("model")

    chain = RetrievalQA(retriever=words, llm=FakeListChatModel(responses=["In 1432 [1]."]))
    for run in (
        lambda config: chain.invoke("Castle?", config),
        lambda config: list(chain.stream("Castle?", config)),
    ):
        heard = Heard()
        run({"callbacks": [heard]})
        assert heard.kinds == ["RetrievalQA", "retriever: Castle?", "model"]


def test_it_is_a_runnable_among_others(words):
    chain = RunnableLambda(str.strip) | RetrievalQA(retriever=words) | (lambda result: result["result"])
    assert "1432" in chain.invoke("  When was the castle built? ")


def test_sources_and_the_generated_question_are_told_where_they_are_asked_for(words):
    assert set(RetrievalQA(retriever=words).invoke("Castle?")) == {"query", "result"}
    conversation = ConversationalRetrievalChain(retriever=words)
    assert set(conversation.invoke("Castle?")) == {"question", "chat_history", "answer"}


def test_it_is_made_as_langchains_is(words):
    model = FakeListChatModel(responses=["In 1432 [1]."])
    for chain in (
        RetrievalQA.from_llm(model, retriever=words),
        RetrievalQA.from_chain_type(model, retriever=words),
    ):
        assert chain.invoke("When was the castle built?")["result"] == "In 1432 [1]."
    with pytest.raises(ValueError, match="map_rerank"):
        RetrievalQA.from_chain_type(model, "reduce", retriever=words)  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="chat model"):
        RetrievalQA(retriever=words, llm="gpt")


def test_what_does_not_fit_into_the_prompt_is_no_source(fake_llm, connected):
    texts = [f"Castle number {n}. " + "It is old and has a deep moat. " * 40 for n in range(6)]
    retriever = BM25Retriever.from_texts(texts, k=6)
    chain = RetrievalQA(retriever=retriever, llm=connected, return_source_documents=True)
    result = chain.invoke("Castle moat?")
    given = fake_llm.requests[-1].prompt.count("<passage number=")
    assert 0 < given == len(result["source_documents"]) < 6


def test_over_nothing_the_answer_says_so(llm):
    nothing = BM25Retriever.from_texts([])
    chain = RetrievalQA(retriever=nothing, llm=llm("unused"), return_source_documents=True)
    result = chain.invoke("무엇인가요?")
    assert result["source_documents"] == [] and "문서" in result["result"]


@pytest.mark.parametrize(
    "given", ["", " \n", {}, {"question": "When?"}, {"query": None}, {"query": "x" * 9000}, 7]
)
def test_a_question_that_cannot_be_asked_is_refused_with_a_sentence(words, given):
    with pytest.raises(QuestionRefused):
        RetrievalQA(retriever=words).invoke(given)


def test_an_error_of_the_model_is_the_chains(words, fake_llm, connected):
    fake_llm.reply(Reply(status=401))
    chain = RetrievalQA(retriever=words, llm=connected)
    with pytest.raises(LLMRejected, match="API key"):
        chain.invoke("When was the castle built?")
