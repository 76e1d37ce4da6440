from datetime import date
from typing import get_args

import pytest

from rag.chat.answer import Done, Sources
from rag.chat.conversation import Conversation
from rag.chat.pipeline import RagPipeline
from rag.chat.scope import (
    EVERYTHING,
    DocumentFilter,
    Scope,
    SearchedIn,
    counted,
    in_words,
    scope_of,
    scope_within,
)
from rag.errors import QuestionRefused
from rag.factory import make_llm, make_pipeline
from rag.ingest.document_facts import DocumentProfile
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.embeddings import Embedder
from rag.passage import Passage
from rag.settings import RetrieverName, Settings
from storage.answers import Traces
from storage.choices import Choices, Chosen
from storage.conversations import Conversations
from storage.database import Database
from storage.records import DocumentFact
from tests.rag.fake_llm import FakeLLM

RETRIEVERS = get_args(RetrieverName)
QUESTIONS = ["How deep is the moat in the Velden report?", "velden.md", "What are these documents about?"]


def about(town: str, metres: int) -> str:
    return (
        f"# {town}\n\nThe castle of {town} has a moat. The moat is {metres} metres deep. It was dug in 1432."
    )


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder):
    """Six towns with their trees; Aldenburg and Bergen are in the collection North."""
    database = Database.open(tmp_path_factory.mktemp("shelf") / "data")
    library = Library(database, "ann", lambda: embedder)
    ids = {}
    for metres, town in enumerate(["Aldenburg", "Bergen", "Celle", "Dorne", "Eutin", "Velden"], start=3):
        record, _ = library.add(f"{town.lower()}.md", about(town, metres).encode())
        list(library.index(record.id))
        ids[town] = record.id
    list(library.forest.build_due())
    north = library.collections.create("North")
    library.collections.put([ids["Aldenburg"], ids["Bergen"]], north.id)
    yield library, ids, Choices(database, "ann"), Conversations(database, "ann")
    library.close()
    database.close()


def ask(pipeline: RagPipeline, question: str, **options):
    return list(pipeline.ask(question, options.pop("history", []), never, **options))


def passages(events) -> tuple[Passage, ...]:
    return next(event.passages for event in events if isinstance(event, Sources))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_nothing_outside_is_found_whoever_searches_and_whatever_is_asked(shelf, retriever, question):
    library, ids, _, _ = shelf
    inside = frozenset({ids["Aldenburg"], ids["Celle"]})
    pipeline = make_pipeline(Settings(retriever=retriever, k=6), library, None, scope=Scope(inside, "two"))
    found = {passage.document_id for passage in passages(ask(pipeline, question))}
    assert found <= inside
    assert found == inside or question != QUESTIONS[0]


def test_a_follow_ups_readings_and_what_is_carried_over_stay_inside(shelf):
    library, ids, _, _ = shelf
    history = [("user", "How deep is the moat of Velden?"), ("assistant", "The moat is 8 metres deep [1].")]
    everything = make_pipeline(Settings(k=4), library, None)
    carried = [p for p in passages(ask(everything, "velden moat")) if p.document == "velden.md"]
    assert carried
    again = passages(ask(everything, "Tell me more.", history=history, carried=carried))
    assert "velden.md" in {passage.document for passage in again}
    scoped = make_pipeline(Settings(k=4), library, None, scope=Scope(frozenset({ids["Bergen"]}), "one"))
    for question in ("Tell me more.", "And how deep is the one of Velden?", "Why?"):
        found = passages(ask(scoped, question, history=history, carried=carried))
        assert {passage.document for passage in found} == {"bergen.md"}


def test_a_reranker_is_given_nothing_from_outside(shelf):
    library, ids, _, _ = shelf
    with FakeLLM() as fake:
        settings = Settings(llm_base_url=fake.url, llm_model="fake", reranker="listwise", fetch_k=20, k=3)
        llm = make_llm(settings)
        pipeline = make_pipeline(settings, library, llm, scope=Scope(frozenset({ids["Celle"]}), "Celle"))
        events = ask(pipeline, "How deep is the moat of Velden?")
        llm.close()
    sent = [content for event in events for _, content in getattr(event, "messages", ())]
    assert sent and not any("8 metres" in content for content in sent)
    assert {passage.document for passage in passages(events)} == {"celle.md"}


def test_a_conversation_searches_what_was_chosen_for_it(shelf):
    library, ids, choices, chats = shelf
    chat = chats.create().id
    assert scope_of(choices, chat) is EVERYTHING
    choices.choose(chat, [library.collections.named("north").id], [ids["Velden"]])
    scope = scope_of(choices, chat)
    assert scope.document_ids == {ids["Aldenburg"], ids["Bergen"], ids["Velden"]}
    assert scope.said == "North (collection), velden.md"
    events = ask(make_pipeline(Settings(k=6), library, None, scope=scope), "How deep is the moat?")
    assert SearchedIn("North (collection), velden.md") in events
    assert {p.document_id for p in passages(events)} == scope.document_ids


def test_where_all_that_was_chosen_is_gone_nothing_is_searched_and_it_is_said(shelf):
    library, _, choices, chats = shelf
    chat, gone = chats.create().id, library.collections.create("Gone")
    choices.choose(chat, [gone.id])
    for _ in range(2):  # empty first, then deleted
        for retriever in RETRIEVERS:
            pipeline = make_pipeline(
                Settings(retriever=retriever), library, None, scope=scope_of(choices, chat)
            )
            events = ask(pipeline, "How deep is the moat?")
            assert passages(events) == () and not any(isinstance(event, SearchedIn) for event in events)
            (done,) = [event for event in events if isinstance(event, Done)]
            assert "Nothing of what is chosen" in done.text and done.citations == ()
        if library.collections.named("Gone"):
            library.collections.delete(gone.id)


@pytest.mark.parametrize(
    ("question", "word"), [("해자는 얼마나 깊나요?", "선택한"), ("堀の深さはどれくらいですか?", "選ばれた")]
)
def test_it_is_said_in_the_language_of_the_question(shelf, question, word):
    library, _, _, _ = shelf
    pipeline = make_pipeline(
        Settings(), library, None, scope=Scope(frozenset(), "Gone (collection, deleted)")
    )
    assert word in next(event for event in ask(pipeline, question) if isinstance(event, Done)).text


def test_collections_are_named_on_a_command_line_however_they_are_written(shelf):
    library, ids, _, _ = shelf
    scope = scope_within(library.collections, ["north", "NORTH"])
    assert scope.document_ids == {ids["Aldenburg"], ids["Bergen"]}
    assert scope.said == "North (collection)"
    assert scope_within(library.collections, []) is EVERYTHING
    with pytest.raises(QuestionRefused, match=r"no collection 'South'.*North"):
        scope_within(library.collections, ["South"])


def test_a_choice_is_said_in_words_of_bounded_length():
    many = [Chosen("document", str(n), "n" * 500) for n in range(50)]
    assert in_words(many).endswith("and 46 more") and len(in_words(many)) < 300
    assert counted(many) == "50 documents"
    mixed = [Chosen("document", "1", "a.md"), *[Chosen("collection", str(n), "HR") for n in range(2)]]
    assert counted(mixed) == "2 collections, 1 document"
    assert counted([Chosen("document", "1", "a.md", there=False)]) == ""


def test_each_answer_keeps_what_it_was_searched_in_through_versions_retries_and_another_choice(shelf):
    library, ids, choices, chats = shelf
    chat = chats.create().id
    conversation = Conversation(
        chats, lambda: make_pipeline(Settings(k=3), library, None, scope=scope_of(choices, chat))
    )

    def run(turn):
        list(conversation.run(turn, never))
        return chats.message(turn.answer_id)

    choices.choose(chat, documents=[ids["Celle"]])
    first = run(conversation.begin(chat, "How deep is the moat?"))
    choices.choose(chat)
    version = run(conversation.begin_version(first.question_id, "How deep is that moat?"))
    assert (first.searched_in, version.searched_in) == ("celle.md", None)
    assert chats.message(first.id) == first
    assert Traces(chats._database, "ann").get(first.id).settings["searched_in"] == "celle.md"
    assert "searched_in" not in Traces(chats._database, "ann").get(version.id).settings
    choices.choose(chat, documents=[ids["Dorne"]])
    again = run(chats.begin_retry(first.id))
    assert again.searched_in == "dorne.md" and {p.document for p in again.passages} == {"dorne.md"}
    chats.show_version(version.question_id)
    assert choices.documents(chat) == {ids["Dorne"]}


def test_an_answer_that_is_gone_on_with_was_searched_in_what_it_was(shelf):
    library, ids, choices, chats = shelf
    chat = chats.create().id
    choices.choose(chat, documents=[ids["Celle"]])
    with FakeLLM() as fake:
        settings = Settings(llm_base_url=fake.url, llm_model="fake", k=3)
        llm = make_llm(settings)
        conversation = Conversation(
            chats, lambda: make_pipeline(settings, library, llm, scope=scope_of(choices, chat))
        )
        turn = conversation.begin(chat, "How deep is the moat?")
        list(conversation.run(turn, never))
        answered = chats.message(turn.answer_id)
        cut = chats.begin_retry(turn.answer_id)
        chats.checkpoint(cut.answer_id, "It is", passages=answered.passages, searched_in=answered.searched_in)
        chats.finish(cut.answer_id, "stopped", "It is")
        choices.choose(chat, documents=[ids["Velden"]])
        list(conversation.run(chats.begin_continuation(cut.answer_id), never))
        llm.close()
    whole = chats.message(cut.answer_id)
    assert (whole.state, whole.searched_in) == ("complete", "celle.md")
    assert Traces(chats._database, "ann").get(whole.id).settings["searched_in"] == "celle.md"


@pytest.mark.parametrize(
    ("since", "until", "passes"),
    [
        (date(2024, 3, 1), None, True),
        (date(2024, 3, 31), None, True),
        (date(2024, 4, 1), None, False),
        (None, date(2024, 3, 1), True),
        (None, date(2024, 2, 29), False),
        (date(2024, 3, 10), date(2024, 3, 12), True),
    ],
)
def test_a_document_of_a_month_passes_where_any_day_of_it_does(since, until, passes):
    report = DocumentProfile("1", "a.pdf", [DocumentFact("date", "2024-03")])
    assert DocumentFilter(since=since, until=until).passes(report) is passes
