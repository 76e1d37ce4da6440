from dataclasses import replace

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from rag.chat.answer import Sources
from rag.chat.conversation import Conversation
from rag.chat.scope import EVERYTHING, NarrowedTo, Scope
from rag.factory import make_llm, make_pipeline
from rag.ingest.library import Library
from rag.jobs import never
from rag.settings import Settings
from storage.conversations import Conversations
from tests.rag.fake_llm import FakeLLM

COMPANIES = {"Northwind Inc.": 3, "Brew Ltd.": 4}
QUESTION = "How deep is Northwind's moat?"


def about(company, metres):
    short = company.split()[0]
    moat = f"The moat of {short} is {metres} metres deep. {short} dug it. {short} keeps it."
    return f"# Report\n\n{company}\n\n{moat}"


@pytest.fixture
def library(database, embedder):
    opened = Library(database, "ann", lambda: embedder)
    for number, (company, metres) in enumerate(COMPANIES.items()):
        record, _ = opened.add(f"{number}.md", about(company, metres).encode())
        list(opened.index(record.id))
    yield opened
    opened.close()


def asked(library, question=QUESTION, scope=EVERYTHING, **options):
    events = list(make_pipeline(Settings(), library, None, scope=scope).ask(question, [], never, **options))
    sources = next(event.passages for event in events if isinstance(event, Sources))
    told = [event.said for event in events if isinstance(event, NarrowedTo)]
    return {passage.document for passage in sources}, told


def test_a_question_that_names_a_party_is_searched_in_its_documents(library):
    assert asked(library) == ({"0.md"}, ["Northwind Inc."])
    assert asked(library, "How deep is the moat?") == ({"0.md", "1.md"}, [])


@pytest.mark.parametrize(
    ("options", "searched"),
    [({}, "How deep is moat?"), ({"searched": QUESTION}, QUESTION)],
    ids=["", "typed"],
)
def test_the_name_of_the_only_party_searched_is_not_searched_for(library, options, searched):
    queries = []

    def search(text, **_):
        queries.append(text)
        return [Document(id="1", page_content="It is 3 metres deep.")]

    pipeline = replace(make_pipeline(Settings(), library, None), within=lambda _: RunnableLambda(search))
    list(pipeline.ask(QUESTION, [], never, **options))
    assert queries == [searched]


def test_a_widened_question_is_searched_everywhere(library):
    assert asked(library, widened=True) == ({"0.md", "1.md"}, [])


def test_a_chosen_scope_stays_the_limit(library):
    brew = next(record.id for record in library.documents.list() if record.name == "1.md")
    assert asked(library, scope=Scope(frozenset({brew}), "1.md")) == ({"1.md"}, [])


def test_what_was_narrowed_is_kept_and_its_removal_too(database, library):
    conversations = Conversations(database, "ann")
    chat = Conversation(conversations, lambda: make_pipeline(Settings(), library, None))
    turn = chat.begin(conversations.create().id, QUESTION)
    list(chat.run(turn, never))
    assert conversations.message(turn.answer_id).narrowed_to == "Northwind Inc."
    again = chat.begin_version(turn.question_id, QUESTION, widened=True)
    list(chat.run(again, never))
    assert conversations.message(again.answer_id).narrowed_to is None
    assert {passage.document for passage in conversations.message(again.answer_id).passages} == {
        "0.md",
        "1.md",
    }


def test_documents_from_before_facts_are_read_for_them_at_the_first_question(database, library):
    with database.writing() as session:
        session.connection().exec_driver_sql("DELETE FROM document_facts")
    assert library.documents.without_facts()
    assert asked(library) == ({"0.md"}, ["Northwind Inc."])
    assert not library.documents.without_facts()


def test_the_prompt_tells_what_each_document_is(library):
    with FakeLLM() as fake:
        settings = Settings(llm_base_url=fake.url, llm_model="fake")
        llm = make_llm(settings)
        list(make_pipeline(settings, library, llm).ask(QUESTION, [], never))
        llm.close()
        assert '<passage number="1" document="0.md" about="Northwind Inc."' in fake.requests[-1].prompt


def test_the_steps_of_a_question_are_searched_in_the_documents_that_it_names(library):
    question = "How does Northwind's moat compare to the moat's keeper?"
    assert asked(library, question) == ({"0.md"}, ["Northwind Inc."])
    both = "Compare the moat of Northwind with the moat of Brew."
    assert asked(library, both)[0] == {"0.md", "1.md"}
