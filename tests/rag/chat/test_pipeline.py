from collections.abc import Iterator, Sequence

import pytest

from rag.chat.answer import Condensed, Done, Sources, Token
from rag.chat.pipeline import RagPipeline, Timings
from rag.errors import ModelUnavailable
from rag.factory import make_pipeline
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.embeddings import Embedder
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.retrieval.degradation import Degraded
from rag.settings import Settings
from storage.database import Database
from tests.rag.fake_llm import FakeLLM

CASTLE = "# Castle\n\nThe castle of Aldenburg was built in 1432. Its moat is nine metres deep.\n"
GONE = "The embedding model is not on this machine. Fetch it: `footnote model fetch`."
SAID = "Searched by words only: the embedding model is not on this machine. Fetch it: `footnote model fetch`."


def no_embedder() -> Embedder:
    raise ModelUnavailable(GONE)


@pytest.fixture
def library(database: Database) -> Iterator[Library]:
    """A library on a machine without an embedding model."""
    opened = Library(database, "ann", no_embedder)
    yield opened
    opened.close()


def put(library: Library, text: str, name: str = "castle.md") -> None:
    record, _ = library.add(name, text.encode())
    for _ in library.read(record.id):
        pass


def ask(
    library: Library,
    question: str,
    llm: LLM | None = None,
    retriever: str = "ensemble-cc",
    history: Sequence[tuple[str, str]] = (),
) -> list[object]:
    pipeline = make_pipeline(Settings(retriever=retriever), library, llm)
    return list(pipeline.ask(question, history, never))


def said(events: list[object]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token))


@pytest.mark.parametrize("retriever", ["ensemble-cc", "ensemble-rrf"])
def test_half_a_search_answers_and_says_once_what_it_did_without(library: Library, retriever: str):
    put(library, CASTLE)
    events = ask(library, "When was the castle built?", retriever=retriever)
    assert [type(event) for event in events[:3]] == [Condensed, Degraded, Sources]
    assert [event.sentence for event in events if isinstance(event, Degraded)] == [SAID]
    assert "1432" in said(events)


@pytest.mark.parametrize("retriever", ["ensemble-cc", "ensemble-rrf", "bm25"])
def test_a_follow_up_finds_what_only_the_conversation_names_and_says_once_what_is_missing(
    library: Library, retriever: str
):
    put(library, CASTLE)
    put(library, "# Harbour\n\nThe harbour is nine metres deep where the ferries lie.\n", "harbour.md")
    history = [("user", "Who built the castle of Aldenburg?"), ("assistant", "That is not said.")]
    events = ask(library, "How deep is the moat?", retriever=retriever, history=history)
    (sources,) = (event for event in events if isinstance(event, Sources))
    assert sources.passages[0].document == "castle.md"
    assert sources.passages[0].found_by["conversation"].rank == 1
    assert len([event for event in events if isinstance(event, Degraded)]) == 1


def test_what_no_answer_needed_is_not_missed(library: Library, fake_llm: FakeLLM):
    put(library, CASTLE)
    fake_llm.say("It was built in 1432 [1].")
    with LLM(LLMSettings(fake_llm.url, "fake")) as llm:
        events = ask(library, "When was the castle built?", llm, retriever="bm25")
    assert not any(isinstance(event, Degraded) for event in events)


def test_words_alone_choose_the_sentences_where_there_is_no_embedding_model(library: Library):
    put(library, CASTLE)
    left_out = [e for e in ask(library, "When was it built?", retriever="bm25") if isinstance(e, Degraded)]
    assert [event.what for event in left_out] == ["embedding model"]
    assert left_out[0].sentence.startswith("The sentences were chosen by their words only: the embedding")


def test_each_question_tells_its_own_gaps(library: Library):
    put(library, CASTLE)
    pipeline = make_pipeline(Settings(), library, None)
    for _ in range(2):
        events = list(pipeline.ask("When was the castle built?", [], never))
        assert sum(isinstance(event, Degraded) for event in events) == 1


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("Hello there!", "Hello. What would you like to know from your documents?"),
        ("Thank you very much", "You are welcome."),
        ("감사합니다", "천만에요."),
        ("안녕히 계세요", "안녕히 가세요."),
        ("こんにちは", "こんにちは。文書について、何を知りたいですか？"),
        ("了解です", "文書について、何を知りたいですか？"),
    ],
)
def test_small_talk_is_answered_in_its_language_without_a_search(library: Library, text: str, reply: str):
    put(library, CASTLE)
    events = ask(library, text)
    assert [type(event) for event in events] == [Condensed, Sources, Token, Done, Timings]
    assert (events[0], events[1], said(events)) == (Condensed(text), Sources(()), reply)


@pytest.mark.parametrize(
    "text", ["Thanks, when was it built?", "네트워크", "History", "예금은 언제 만기인가요?"]
)
def test_a_question_with_thanks_is_a_question(library: Library, text: str):
    put(library, CASTLE)
    assert any(isinstance(event, Degraded) for event in ask(library, text))


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("When was the castle built?", "There are no documents here yet. Add some, and ask again."),
        ("성은 언제 지어졌습니까?", "아직 문서가 없습니다. 문서를 추가한 뒤 다시 질문해 주세요."),
        (
            "城はいつ建てられましたか?",
            "まだ文書がありません。追加してから、もう一度質問してください。",
        ),
    ],
)
def test_an_empty_library_says_so(library: Library, question: str, reply: str):
    assert said(ask(library, question)) == reply


def test_documents_that_are_still_being_read_are_said_to_be(library: Library):
    library.add("castle.md", CASTLE.encode())
    assert said(ask(library, "When was it built?")) == (
        "Your documents are still being read. Ask again in a moment."
    )


def test_a_pipeline_over_any_retriever_takes_it_as_searchable(library: Library):
    pipeline = RagPipeline(library.retriever("bm25", 3))
    assert "do not seem to answer" in said(list(pipeline.ask("When was it built?", [], never)))


def test_as_many_passages_are_read_as_the_settings_ask_for(library: Library):
    for number in range(45):
        put(
            library,
            f"# Crane {number}\n\nCrane number {number} lifts {60 + number} tonnes.\n",
            f"{number}.md",
        )
    pipeline = make_pipeline(Settings(retriever="bm25", k=45), library, None)
    events = pipeline.ask("What does each crane lift?", [], never)
    (sources,) = (event for event in events if isinstance(event, Sources))
    assert len(sources.passages) == 45
