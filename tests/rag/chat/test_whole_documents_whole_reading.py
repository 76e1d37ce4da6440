import re
import threading
from collections.abc import Iterator

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from rag.chat.answer import Done, Sources
from rag.chat.conversation import Conversation
from rag.chat.corpus import Corpus
from rag.chat.map_reduce import BatchRead, Coverage, ReadingPlan
from rag.chat.pipeline import RagPipeline
from rag.chat.whole_documents import Budget
from rag.errors import Cancelled, LLMError
from rag.ingest.document_facts import DocumentProfile
from rag.jobs import never
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.passage import Passage
from rag.retrieval.degradation import Degraded
from tests.rag.fake_llm import FakeLLM, Reply, Request

TOWNS = ("Aldenburg", "Brunn", "Cleve", "Dahl", "Essing", "Furth", "Greven", "Hameln", "Idstein", "Jever")
PASSAGES = [
    Passage(
        f"c{at}", f"d{at % 2}", f"towns-{at % 2}.md", "", None, "", at * 2000, at * 2000 + len(text), text
    )
    for at, town in enumerate(TOWNS)
    for text in [
        f"The mill of {town} was let to {town} Grain Ltd. " + "The bakers of the town met there. " * 40
    ]
]
PROFILES = [DocumentProfile("d0", "towns-0.md", []), DocumentProfile("d1", "towns-1.md", [])]
FENCED = re.compile(r'<passage number="(\d+)"[^>]*>\nThe mill of (\w+)')


class Towns(Corpus):
    def documents_in_scope(self):
        return PROFILES

    def all_passages(self, document_ids=None):
        yield from (one for one in PASSAGES if document_ids is None or one.document_id in document_ids)

    def has_trees(self, document_ids):
        return self.rarity is not None  # as a mark of a corpus with trees


def obedient(request: Request) -> str:
    """Read a batch as it is asked for, and answer from notes with all of them."""
    if "was let to" in request.messages[1]["content"] and "<passage" not in request.prompt:
        return " ".join(
            f"{town} was let to {town} Grain Ltd [{n}]."
            for town, n in re.findall(r"of (\w+) was let.*\[(\d+)\]", request.prompt)
        )
    given = FENCED.findall(request.prompt)
    if "copied exactly" in request.prompt:
        return "\n".join(f"[{n}] {town} Grain Ltd" for n, town in given)
    return "\n".join(f"- The mill of {town} was let to {town} Grain Ltd [{n}]." for n, town in given)


@pytest.fixture
def fake() -> Iterator[FakeLLM]:
    with FakeLLM(default=Reply(obedient)) as server:
        yield server


def pipeline(fake: FakeLLM, budget: Budget = Budget(), tokens: int = 2048, **parts: object) -> RagPipeline:  # noqa: B008
    llm = LLM(LLMSettings(base_url=fake.url, model="fake", context_tokens=tokens))
    searched = [Document("The mill of Aldenburg was let.", id="c0")]
    corpus = parts.pop("corpus", Towns())
    return RagPipeline(RunnableLambda(lambda _: searched), llm, corpus=corpus, reading_budget=budget, **parts)


def events_of(asked: RagPipeline, question: str) -> tuple[list[object], Done]:
    events = list(asked.ask(question, [], never))
    return events, next(event for event in events if isinstance(event, Done))


def only(events: list[object], kind: type) -> list[object]:
    return [event for event in events if isinstance(event, kind)]


def test_a_scope_that_fits_into_the_prompt_is_given_whole(fake):
    events, _ = events_of(pipeline(fake, tokens=16_000), "Summarise my documents")
    assert len(fake.requests) == 1 and len(FENCED.findall(fake.requests[0].prompt)) == len(TOWNS)
    assert only(events, Coverage) == [Coverage(10, 10, 2)] and not only(events, ReadingPlan)


def test_a_larger_scope_is_read_in_batches_and_cited_by_its_passages(fake):
    events, done = events_of(pipeline(fake), "Summarise my documents")
    (plan,) = only(events, ReadingPlan)
    assert plan.begun and plan.passages == 10 and plan.requests == len(fake.requests) - 1 > 2
    assert only(events, BatchRead)[-1] == BatchRead(plan.requests, plan.requests)
    assert events.index(plan) < events.index(only(events, BatchRead)[0])
    assert only(events, Coverage) == [Coverage(10, 10, 2)]
    (sources,) = only(events, Sources)
    cited = {sources.passages[c.marker - 1].id for c in done.citations if c.status == "verified"}
    assert cited == {one.id for one in PASSAGES}
    assert "<passage" not in fake.requests[-1].prompt  # the answer is written from the notes


def test_a_list_is_counted_by_code_and_each_item_opens_its_words(fake):
    def careless(request: Request) -> str:
        return obedient(request) + "\n[1] Zenith Grain Ltd\nThere are 99 tenants.\n[1] " + "x" * 300

    fake.reply(Reply(careless))
    events, done = events_of(pipeline(fake), "List all tenants")
    assert done.text.startswith("**10 found:**\n\n- Aldenburg Grain Ltd [1]") and done.model == "fake"
    (sources,) = only(events, Sources)
    for town, citation in zip(TOWNS, done.citations, strict=True):
        passage = sources.passages[citation.marker - 1]
        at = citation.quote_start - passage.start
        assert passage.text[at : at + len(citation.quote)] == citation.quote == f"{town} Grain Ltd"
    assert all("99" not in request.prompt for request in fake.requests)  # no second look at what was counted


def test_documents_are_counted_once_each(fake):
    _, done = events_of(pipeline(fake), "Which documents mention tenants?")
    assert done.text.startswith("**2 of 2 documents:**\n\n- towns-0.md: ")


def test_a_failed_batch_is_tried_again_and_then_named_in_the_coverage(fake):
    broken = Reply(status=400, body=b"{}")
    fake.reply(broken, Reply(obedient), *[broken] * 2, Reply(obedient))
    events, done = events_of(pipeline(fake), "List all tenants")
    (coverage,) = only(events, Coverage)
    assert 0 < coverage.read < coverage.total == 10
    assert done.text.startswith(f"**{coverage.read} found:**")
    assert only(events, Degraded)[0].sentence.startswith("Some passages were not read:")


def test_a_model_that_reads_nothing_fails_the_answer_soon(fake):
    fake.reply(Reply(status=400, body=b"{}"))
    with pytest.raises(LLMError):
        events_of(pipeline(fake), "List all tenants")
    assert len(fake.requests) == 4  # two batches, twice each


def test_above_the_free_requests_the_answer_is_cheap_and_reading_all_is_offered(fake):
    few = Budget(free=2)
    events, _ = events_of(pipeline(fake, few), "Summarise my documents")
    (plan,) = only(events, ReadingPlan)
    (coverage,) = only(events, Coverage)
    assert not plan.begun and plan.passages == 10 and plan.requests > 2
    assert len(fake.requests) == 1 and coverage.read < 10
    events, _ = events_of(pipeline(fake, Budget(free=2, all=True)), "Summarise my documents")
    assert only(events, ReadingPlan)[0].begun and Coverage(10, 10, 2) in events


def test_a_number_that_some_passage_states_is_searched_and_counting_is_offered(fake):
    events, done = events_of(pipeline(fake), "How many tenants are there?")
    assert [plan.begun for plan in only(events, ReadingPlan)] == [False]
    assert only(events, Coverage) == [Coverage(1, 10, 2)] and len(fake.requests) == 1
    _, done = events_of(pipeline(fake, Budget(all=True)), "How many tenants are there?")
    assert done.text.startswith("**10 found:**")


def test_of_a_scope_beyond_the_budget_evenly_spread_passages_are_read(fake):
    events, done = events_of(pipeline(fake, Budget(free=2, most=2)), "List all tenants")
    (coverage,) = only(events, Coverage)
    assert coverage.read < 10 and len(fake.requests) == 2
    assert "Aldenburg" in done.text and "Furth" in done.text


def test_a_summary_tree_is_read_where_there_is_one(fake):
    leaf = PASSAGES[3]
    found = Document(
        leaf.text, id="leaf", metadata=vars(leaf) | {"found_by": {}, "tree_summaries": [{"text": "Mills."}]}
    )
    tree = pipeline(fake, corpus=Towns(rarity=len), tree=lambda _: RunnableLambda(lambda _: [found]))
    events, _ = events_of(tree, "Summarise my documents")
    assert only(events, Coverage) == [Coverage(1, 10, 2)] and not only(events, ReadingPlan)[0].begun
    assert "<summary>\nMills.\n</summary>" in fake.requests[0].prompt


def test_stopping_ends_the_batch_that_is_being_read(fake):
    fake.reply(Reply(hang=True))
    stopped = threading.Event()
    events = pipeline(fake).ask("List all tenants", [], stopped.is_set)
    threading.Timer(0.3, stopped.set).start()
    with pytest.raises(Cancelled):
        list(events)
    assert fake.hung_up.wait(5) and len(fake.requests) == 1


def test_coverage_and_offer_are_stored_with_the_answer(fake, conversations):
    talk = Conversation(conversations, lambda: pipeline(fake, Budget(free=1)))
    chat = conversations.create().id
    list(talk.run(talk.begin(chat, "Summarise my documents"), never))
    answer = conversations.messages(chat)[-1]
    assert answer.coverage and answer.reading_offer and answer.reading_offer["passages"] == 10
    assert conversations.begin_retry(answer.id).answer.reading_offer is None


class AskedTowns(Towns):
    asked = 0

    def known_profiles(self):
        type(self).asked += 1
        return {one.id: one for one in PROFILES}


def test_profiles_are_asked_for_once_for_all_passages(fake):
    events_of(pipeline(fake, corpus=AskedTowns()), "Summarise my documents.")
    assert 0 < AskedTowns.asked < len(PASSAGES)
