"""Answers whose passages were put in a better order, from search to trace."""

import re
import threading
from collections.abc import Iterator, Sequence

import pytest

from rag.chat.answer import Sources
from rag.chat.conversation import Conversation
from rag.chat.pipeline import RagPipeline
from rag.errors import Cancelled, ModelUnavailable, SettingsError
from rag.factory import make_pipeline, make_reranker
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings, Sent
from rag.retrieval.degradation import Degraded
from rag.retrieval.rerank.llm import NO_LOGPROBS, LogprobReranker
from rag.retrieval.rerank.registry import Reordered, Reranking
from rag.settings import Settings
from storage.answers import Traces
from storage.conversations import Conversations
from storage.database import Database
from tests.rag.fake_llm import FakeLLM, Reply, Request

TOWNS = ("Aldenburg", "Borgholm", "Celle", "Dornbach", "Eutin", "Freital", "Gera", "Hagen")
QUESTION = "Which castle has a moat that is nine metres deep?"


def no_embedder():
    raise ModelUnavailable("There is no embedding model here.")


@pytest.fixture
def library(database: Database) -> Iterator[Library]:
    """A library of castles, of which the search by words finds all alike."""
    opened = Library(database, "ann", no_embedder)
    for town in TOWNS:
        record, _ = opened.add(f"{town}.md", f"The castle of {town} has a moat that is deep.\n".encode())
        for _ in opened.read(record.id):
            pass
    yield opened
    opened.close()


@pytest.fixture
def llm(fake_llm: FakeLLM) -> Iterator[LLM]:
    with LLM(LLMSettings(fake_llm.url, "fake", timeout=60, idle_timeout=60)) as opened:
        yield opened


def likes_gera(request: Request) -> dict[str, float]:
    asked_of = request.prompt.split("<passage ")[-1]
    return {"Yes": 0.9, "No": 0.1} if "Gera" in asked_of else {"Yes": 0.2, "No": 0.8}


def settings(reranker: str = "pointwise-logprob", seconds: float = 60.0) -> Settings:
    return Settings(retriever="bm25", k=2, reranker=reranker, rerank_seconds=seconds)


def ask(
    pipeline: RagPipeline, question: str = QUESTION, history: Sequence[tuple[str, str]] = ()
) -> list[object]:
    return list(pipeline.ask(question, history, never))


def passages(events: Sequence[object]) -> list[str]:
    (sources,) = (event for event in events if isinstance(event, Sources))
    return [passage.document for passage in sources.passages]


def test_many_are_found_and_the_best_of_them_answer(library, fake_llm, llm):
    fake_llm.reply(Reply("It is Gera's [1].", odds=likes_gera))
    assert passages(ask(make_pipeline(settings("none"), library, llm))) != ["Gera.md"]
    events = ask(make_pipeline(settings(), library, llm))
    assert passages(events)[0] == "Gera.md" and len(passages(events)) == 2
    (sources,) = (event for event in events if isinstance(event, Sources))
    first, second = (passage.found_by["reranker"] for passage in sources.passages)
    assert (first.rank, first.score, second.rank) == (1, pytest.approx(0.9), 2)
    assert [event for event in events if isinstance(event, Reranking | Reordered)] == [
        Reranking(len(TOWNS)),
        Reordered(""),
    ]
    purposes = [event.purpose for event in events if isinstance(event, Sent)]
    assert purposes == ["rerank"] * len(TOWNS) + ["answer"]


def test_a_follow_up_is_reranked_after_its_readings_are_fused(library, fake_llm, llm):
    fake_llm.reply(Reply("Gera's [1].", odds=likes_gera))
    history = [("user", "Which castle is in Hagen?"), ("assistant", "The castle of Hagen has a moat.")]
    events = ask(make_pipeline(settings(), library, llm), "Which castle has a deep moat?", history)
    assert passages(events)[0] == "Gera.md"
    assert sum(isinstance(event, Reranking) for event in events) == 1


def test_one_that_hangs_is_left_out_and_why_is_said_on_the_page_and_in_the_trace(
    library, fake_llm, llm, database
):
    llm.warm()
    pipeline = make_pipeline(settings("listwise", seconds=2), library, llm)
    searched = [found.metadata["document"] for found in library.retriever("bm25", 20).invoke(QUESTION)]
    over = threading.Event()

    def never_orders(request: Request) -> str:
        return "Aldenburg's [1]." if "The order of all" not in request.prompt else str(over.wait(60))

    fake_llm.reply(Reply(never_orders))
    conversations = Conversations(database, "ann")
    conversation = Conversation(conversations, lambda: pipeline)
    turn = conversation.begin(conversations.create().id, QUESTION)
    events = list(conversation.run(turn, never))
    why = "The passages are in the order of the search: the reranker took more than 2 seconds."
    assert [event.sentence for event in events if isinstance(event, Degraded)] == [why]
    assert passages(events) == searched[:2]
    trace = Traces(database, "ann").get(turn.answer_id)
    assert trace is not None and trace.settings["reranking"].casefold() == why.casefold()
    assert (trace.settings["reranker"], trace.settings["fetch_k"]) == ("listwise", 20)
    assert [sent.purpose for sent in trace.sent] == ["answer", "rerank"]
    over.set()


def test_what_a_server_cannot_tell_is_said_in_the_trace(library, fake_llm, llm):
    fake_llm.say("50")
    events = ask(make_pipeline(settings(), library, llm))
    assert [event.note for event in events if isinstance(event, Reordered)] == [NO_LOGPROBS]


def test_a_reader_who_stops_the_turn_stops_the_reranker(library, fake_llm, llm):
    fake_llm.reply(Reply(hang=True))
    events = make_pipeline(settings(), library, llm).ask(QUESTION, [], fake_llm.asked.is_set)
    with pytest.raises(Cancelled):
        list(events)
    assert fake_llm.hung_up.wait(20)


def test_without_what_it_needs_the_search_s_order_stays_and_it_is_said(library):
    events = ask(make_pipeline(settings("listwise"), library, None))
    (left_out,) = (event for event in events if isinstance(event, Degraded) if event.what == "reranker")
    assert "in the order of the search" in left_out.sentence and "none is connected" in left_out.sentence
    assert passages(events) == passages(ask(make_pipeline(settings("none"), library, None)))


def test_the_settings_name_the_reranker(llm):
    assert make_reranker(Settings(), llm) is None
    reranker = make_reranker(Settings(reranker="pointwise-logprob", rerank_threshold=0.5), llm, k=3)
    assert isinstance(reranker, LogprobReranker) and (reranker.k, reranker.threshold) == (3, 0.5)
    with pytest.raises(SettingsError, match="RERANK_BASE_URL"):
        make_reranker(Settings(reranker="remote"), None)
    with pytest.raises(SettingsError, match="none is connected"):
        make_reranker(Settings(reranker="listwise"), None)


def test_a_model_is_shown_the_best_first_and_last_and_their_numbers_stay(library, fake_llm, llm):
    fake_llm.say("It is the castle of Aldenburg [1].")
    chosen = Settings(retriever="bm25", k=5, lost_in_the_middle_order=True)
    events = ask(make_pipeline(chosen, library, llm))
    (request,) = fake_llm.requests
    shown = re.findall(r'<passage number="(\d)" document="(\w+\.md)"', request.prompt)
    assert [number for number, _ in shown] == ["1", "3", "5", "4", "2"]
    assert [document for _, document in sorted(shown)] == passages(events)


def test_every_turn_is_reranked_by_one_loaded_model():
    one, other = (make_reranker(Settings(reranker="cross-encoder", rerank_model="x"), None) for _ in "ab")
    assert one is not other and one.model is other.model
