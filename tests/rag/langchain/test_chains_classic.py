"""The chains beside langchain-classic's: the same model, prompts and documents, the same results."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_classic import chains as classic
from langchain_classic.chains.combine_documents.stuff import StuffDocumentsChain
from langchain_classic.chains.conversational_retrieval.base import ChatVectorDBChain as ClassicVectorDB
from langchain_classic.chains.conversational_retrieval.base import _get_chat_history
from langchain_classic.chains.llm import LLMChain
from langchain_classic.memory import ConversationBufferMemory
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import Field, ValidationError

from rag import langchain as ours
from rag.errors import LLMRejected
from rag.models.embeddings import Embedder
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from tests.rag.fake_llm import FakeLLM, Reply

pytestmark = [
    pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The apply_and_parse method is deprecated:UserWarning"),
]
DOCUMENTS = [
    Document("The castle of Aldenburg was built in 1432.", id="castle"),
    Document("Its moat is nine metres deep.", id="moat"),
]
HISTORY = [("Which castle is old?", "The castle of Aldenburg.")]
PROMPT = PromptTemplate.from_template("Context: {context}\n{question}")
CONDENSE = PromptTemplate.from_template("Rewrite {question} after {chat_history}")
MODULES = pytest.mark.parametrize("module", [classic, ours], ids=["langchain", "ours"])
TYPES = {
    "stuff": ({"prompt": PROMPT}, ["The castle of Aldenburg was built in 1432."]),
    "map_reduce": ({}, ["built in 1432", "nothing", "The castle of Aldenburg was built in 1432."]),
    "refine": ({}, ["It is old.", "The castle of Aldenburg was built in 1432."]),
    "map_rerank": (
        {},
        ["The castle of Aldenburg was built in 1432.\nScore: 90", "This does not answer it.\nScore: 10"],
    ),
}


class Found(BaseRetriever):
    """Retriever that tells what it was asked."""

    documents: Sequence[Document] = DOCUMENTS
    asked: list[str] = Field(default_factory=list)

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        self.asked.append(query)
        return list(self.documents)


class Scripted(FakeListChatModel):
    """Chat model that keeps what it was shown."""

    disable_streaming: Any = True
    shown: list[str] = Field(default_factory=list)

    def get_num_tokens(self, text: str) -> int:
        return len(text.split())

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        self.shown.append("\n".join(str(message.content) for message in messages))
        return super()._call(messages, *args, **kwargs)


def scripted(*responses: str) -> Scripted:
    return Scripted(responses=list(responses))


def unmarked(text: str) -> str:
    return re.sub(r" ?\[\d+\]", "", text)


@pytest.mark.parametrize("chain_type", TYPES)
def test_each_chain_type_asks_and_answers_as_langchains_and_is_checked(chain_type: Any):
    options, responses = TYPES[chain_type]
    shown, results = [], []
    for module in (classic, ours):
        model = scripted(*responses)
        chain: Any = module.RetrievalQA.from_chain_type(
            model, chain_type, chain_type_kwargs=options, retriever=Found(), return_source_documents=True
        )
        results.append(chain.invoke("When was the castle built?"))
        shown.append(sorted(model.shown))
    theirs, mine = results
    assert shown[0] == shown[1] and len(shown[0]) == len(responses)
    assert unmarked(mine["result"]) == theirs["result"]
    assert [each.id for each in mine["source_documents"]] == [each.id for each in theirs["source_documents"]]
    citation = mine["source_documents"][0].metadata["citations"][0]
    assert mine["result"].endswith("1432 [1].") and citation["status"] == "verified"


@pytest.mark.parametrize("chain_type", TYPES)
def test_each_chain_type_works_over_a_server(fake_llm: FakeLLM, chain_type: Any):
    options, responses = TYPES[chain_type]
    fake_llm.say(*responses)
    with LLM(LLMSettings(base_url=fake_llm.url, model="fake")) as llm:
        chain = ours.RetrievalQA.from_chain_type(
            llm, chain_type, chain_type_kwargs=options, retriever=Found()
        )
        assert chain.run("When was the castle built?") == "The castle of Aldenburg was built in 1432 [1]."
        fake_llm.reply(Reply(status=401))
        with pytest.raises(LLMRejected):
            chain.run("When?")


def test_a_prompt_of_ones_own_is_asked():
    shown = []
    for module in (classic, ours):
        model = scripted("In 1432.")
        chain: Any = module.RetrievalQA.from_llm(model, PROMPT, retriever=Found())
        assert unmarked(chain.run("When?")) == "In 1432."
        shown.append(model.shown)
    assert shown[0] == shown[1]


@MODULES
async def test_calls_and_their_outputs(module: Any):
    qa = module.RetrievalQA.from_llm(scripted("In 1432."), retriever=Found())
    assert (qa.input_keys, qa.output_keys) == (["query"], ["result"])
    assert (
        set(qa("When?")) == set(qa({"query": "When?"})) == set(await qa.acall("When?")) == {"query", "result"}
    )
    assert set(qa("When?", return_only_outputs=True)) == {"result"}
    assert set(qa.invoke({"query": "When?"}, return_only_outputs=True)) == {"result"}
    assert unmarked(qa.run("When?")) == unmarked(qa.run(query="When?")) == "In 1432."
    assert unmarked(await qa.arun("When?")) == "In 1432."
    assert len(qa.apply([{"query": "When?"}, {"query": "Why?"}])) == 2
    for wrong in ((), ("When?", "Why?")):
        with pytest.raises(ValueError, match="run"):
            qa.run(*wrong)
    told = module.RetrievalQA.from_llm(scripted("In 1432."), retriever=Found(), return_source_documents=True)
    assert set(told("When?")) == {"query", "result", "source_documents"}
    with pytest.raises(ValueError, match="run"):
        told.run("When?")
    named = module.RetrievalQA.from_llm(scripted("x"), retriever=Found(), input_key="q", output_key="a")
    assert set(named("When?")) == {"q", "a"}


@MODULES
@pytest.mark.parametrize("rephrase", [True, False])
def test_the_question_is_condensed_by_its_own_model_and_prompt(module: Any, rephrase: bool):
    condensing, answering, found = (
        scripted("How deep is the moat?"),
        scripted("Nine metres."),
        Found(),
    )
    chain = module.ConversationalRetrievalChain.from_llm(
        answering,
        found,
        condense_question_prompt=CONDENSE,
        condense_question_llm=condensing,
        get_chat_history=lambda history: " / ".join(f"{human}: {ai}" for human, ai in history),
        combine_docs_chain_kwargs={
            "prompt": PromptTemplate.from_template("{chat_history}|{question}|{context}")
        },
        rephrase_question=rephrase,
        return_generated_question=True,
        return_source_documents=True,
    )
    result = chain({"question": "How deep?", "chat_history": HISTORY})
    assert set(result) == {"question", "chat_history", "answer", "source_documents", "generated_question"}
    assert condensing.shown == ["Rewrite How deep? after Which castle is old?: The castle of Aldenburg."]
    assert found.asked == ["How deep is the moat?"] and result["generated_question"] == found.asked[0]
    asked = "How deep is the moat?" if rephrase else "How deep?"
    assert answering.shown[0].startswith(f"Which castle is old?: The castle of Aldenburg.|{asked}|The castle")
    assert unmarked(result["answer"]) == "Nine metres."


def test_the_apps_answer_follows_a_question_condensed_by_anyone():
    model, found = scripted("Nine metres [2]."), Found()
    generator = RunnableLambda(lambda given: f"How deep is the moat?{given['chat_history']!r:.0}")
    chain = ours.ConversationalRetrievalChain(
        llm=model, retriever=found, question_generator=generator, rephrase_question=False
    )
    assert chain.run(question="How deep?", chat_history=HISTORY) == "Nine metres [2]."
    assert found.asked == ["How deep is the moat?"]
    assert "Question: How deep?" in model.shown[0] and "Which castle is old?" in model.shown[0]
    chain.run(question="How deep?", chat_history=[])
    assert found.asked[-1] == "How deep?", "a first question stands alone"


def test_another_model_condenses_with_the_apps_prompt_and_check():
    condensing, found = scripted("How deep is the moat of the castle of Aldenburg?"), Found()
    chain = ours.ConversationalRetrievalChain.from_llm(
        scripted("Nine metres [2]."), found, condense_question_llm=condensing
    )
    chain({"question": "How deep is its moat?", "chat_history": HISTORY})
    assert found.asked == ["How deep is the moat of the castle of Aldenburg?"]


def test_a_history_may_be_text_where_it_is_read_by_a_function():
    for module in (classic, ours):
        condensing, found = scripted("How deep is the moat?"), Found()
        chain: Any = module.ConversationalRetrievalChain.from_llm(
            scripted("Nine."),
            found,
            condense_question_llm=condensing,
            condense_question_prompt=CONDENSE,
            get_chat_history=str,
        )
        chain({"question": "How deep?", "chat_history": "We spoke of a castle."})
        assert condensing.shown == ["Rewrite How deep? after We spoke of a castle."]
        assert found.asked == ["How deep is the moat?"]


def test_a_history_is_written_as_langchain_writes_it():
    for history in (HISTORY, [HumanMessage("Which?"), AIMessage("The castle.")], []):
        assert ours.chat_history_text(history) == _get_chat_history(history)  # type: ignore[arg-type]


@MODULES
def test_nothing_found_has_a_response_of_its_own(module: Any):
    model = scripted("unused")
    chain = module.ConversationalRetrievalChain.from_llm(
        model,
        Found(documents=[]),
        response_if_no_docs_found="Nothing is known.",
        return_source_documents=True,
    )
    result = chain({"question": "When?", "chat_history": []})
    assert (result["answer"], result["source_documents"], model.shown) == ("Nothing is known.", [], [])


@MODULES
def test_a_memory_gives_and_takes_the_conversation(module: Any):
    memory = ConversationBufferMemory(memory_key="chat_history", return_messages=True)
    model = scripted("In 1432.", "How deep is the moat of the castle?", "Nine metres.")
    chain = module.ConversationalRetrievalChain.from_llm(
        model, Found(), memory=memory, condense_question_prompt=CONDENSE, rephrase_question=False
    )
    assert unmarked(chain.run("When was the castle built?")) == "In 1432."
    assert unmarked(chain.run("How deep is its moat?")) == "Nine metres."
    said = [unmarked(message.content) for message in memory.chat_memory.messages]
    assert said == ["When was the castle built?", "In 1432.", "How deep is its moat?", "Nine metres."]
    assert "In 1432." in model.shown[1]


def test_a_stream_is_remembered_too():
    memory = ConversationBufferMemory(memory_key="chat_history", return_messages=True)
    chain = ours.ConversationalRetrievalChain(llm=scripted("In 1432 [1]."), retriever=Found(), memory=memory)
    assert list(chain.stream("When was the castle built?"))
    assert [message.content for message in memory.chat_memory.messages][1] == "In 1432 [1]."


@MODULES
def test_a_documents_chain_and_its_search_may_be_replaced(module: Any):
    class Mine(module.RetrievalQA):  # type: ignore[name-defined,misc]
        def _get_docs(self, question: str, *, run_manager: Any = None) -> list[Document]:
            return [Document(f"About {question}")]

    model = scripted("Yes.")
    stuff = StuffDocumentsChain(
        llm_chain=LLMChain(llm=model, prompt=PROMPT), document_variable_name="context"
    )
    chain = Mine(combine_documents_chain=stuff, retriever=Found())
    assert chain.run("walls") == "Yes."
    assert model.shown == ["Context: About walls\nwalls"]


def test_documents_beyond_a_limit_of_tokens_are_left_out():
    model = scripted("Nine metres [1].")
    chain = ours.ConversationalRetrievalChain.from_llm(
        model, Found(), max_tokens_limit=14, return_source_documents=True
    )
    assert [d.id for d in chain("When?")["source_documents"]] == ["castle"]
    assert "moat" not in model.shown[0]


@pytest.mark.filterwarnings("ignore:`ChatVectorDBChain` is deprecated:UserWarning")
def test_a_vector_store_is_conversed_with(embedder: Embedder):
    store = InMemoryVectorStore.from_documents(DOCUMENTS, embedder)
    for kind in (ClassicVectorDB, ours.ChatVectorDBChain):
        model = scripted("Nine metres.")
        chain: Any = kind.from_llm(
            model, store, combine_docs_chain_kwargs={"prompt": PROMPT}, top_k_docs_for_context=1
        )
        chain({"question": "How deep is the moat?", "chat_history": []})
        assert model.shown == ["Context: Its moat is nine metres deep.\nHow deep is the moat?"]


def test_verbose_tells_what_it_does(capsys: pytest.CaptureFixture[str]):
    ours.RetrievalQA(retriever=Found(), verbose=True).run("When was the castle built?")
    assert "Entering new RetrievalQA chain" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ours.RetrievalQA.from_chain_type(None, "refine", retriever=Found()), "model"),
        (
            lambda: ours.ConversationalRetrievalChain(retriever=Found(), condense_question_prompt=CONDENSE),
            "condense_question_llm",
        ),
        (lambda: ours.RetrievalQA(retriever=Found(), unknown=1), "unknown"),  # type: ignore[call-arg]
    ],
)
def test_what_cannot_work_is_refused_when_the_chain_is_made(make: Any, said: str):
    with pytest.raises((ValueError, ValidationError), match=said):
        make()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "langchain_classic.chains.question_answering", None)
    with pytest.raises(ImportError, match="pip install langchain-classic"):
        ours.RetrievalQA.from_chain_type(scripted("x"), "refine", retriever=Found())
