import pytest

from storage.choices import Choices, Chosen
from storage.collections import Collections
from storage.conversations import Conversations
from storage.documents import Documents
from storage.errors import NotFound
from tests.storage.many import add_many


@pytest.fixture
def collections(database):
    return Collections(database, "ann")


@pytest.fixture
def documents(database):
    return Documents(database, "ann")


@pytest.fixture
def choices(database):
    return Choices(database, "ann")


@pytest.fixture
def chat(database):
    return Conversations(database, "ann").create().id


def add(documents, name, sha256=None):
    return documents.add(name, sha256 or name[0] * 64, 1)[0].id


def test_a_conversation_searches_everything_until_something_is_chosen(choices, documents, chat):
    document = add(documents, "a.md")
    assert (choices.of(chat), choices.documents(chat)) == ((), None)
    choices.choose(chat, documents=[document])
    assert choices.of(chat) == (Chosen("document", document, "a.md"),)
    choices.choose(chat)
    assert (choices.of(chat), choices.documents(chat)) == ((), None)


def test_what_is_chosen_are_the_documents_of_collections_and_single_ones(
    choices, collections, documents, chat
):
    inside, single, outside = (add(documents, name) for name in ("a.md", "b.md", "c.md"))
    hr = collections.create("HR")
    collections.put([inside], hr.id)
    choices.choose(chat, [hr.id], [single, single, inside])
    assert choices.documents(chat) == {inside, single}
    assert [(one.kind, one.name) for one in choices.of(chat)] == [
        ("collection", "HR"),
        ("document", "a.md"),
        ("document", "b.md"),
    ]
    collections.put([outside], hr.id)
    assert choices.documents(chat) == {inside, single, outside}


def test_what_was_chosen_and_is_gone_does_not_become_everything(choices, collections, documents, chat):
    hr, document = collections.create("HR"), add(documents, "a.md")
    choices.choose(chat, [hr.id], [document])
    collections.rename(hr.id, "People")
    collections.delete(hr.id)
    documents.delete(document)
    assert choices.documents(chat) == frozenset()
    assert choices.of(chat) == (
        Chosen("collection", hr.id, "HR", there=False),
        Chosen("document", document, "a.md", there=False),
    )


def test_what_would_be_chosen_is_told_before_there_is_a_conversation(choices, collections, documents):
    hr, document = collections.create("HR"), add(documents, "a.md")
    told = choices.would_be([hr.id, "gone"], [document, hr.id])
    assert told == (Chosen("collection", hr.id, "HR"), Chosen("document", document, "a.md"))
    assert choices.would_be([], []) == ()


def test_what_is_chosen_goes_by_the_name_that_it_has_now(choices, collections, chat):
    hr = collections.create("HR")
    choices.choose(chat, [hr.id])
    collections.rename(hr.id, "People")
    assert [one.name for one in choices.of(chat)] == ["People"]


def test_an_unknown_thing_is_not_chosen_and_the_choice_stays(choices, documents, chat):
    document = add(documents, "a.md")
    choices.choose(chat, documents=[document])
    for wrong in ({"collections": [document]}, {"documents": ["gone"]}):
        with pytest.raises(NotFound):
            choices.choose(chat, **wrong)
    assert choices.documents(chat) == {document}


def test_a_document_joins_a_choice_and_not_everything(choices, documents, chat):
    first, second = add(documents, "a.md"), add(documents, "b.md")
    choices.add(chat, [second])
    assert choices.documents(chat) is None
    choices.choose(chat, documents=[first])
    choices.add(chat, [second, first])
    assert choices.documents(chat) == {first, second}


def test_a_choice_follows_a_document_to_its_new_version(choices, documents, chat):
    old = add(documents, "a.md")
    documents.set_state(old, "ready")
    choices.choose(chat, documents=[old])
    new = add(documents, "a.md", "b" * 64)
    choices.add(chat, [new])
    assert choices.documents(chat) == {old}
    documents.promote(new)
    assert choices.documents(chat) == {new}
    assert [one.there for one in choices.of(chat)] == [True]


def test_a_choice_of_both_versions_becomes_one_of_the_new(choices, documents, chat):
    old, new = add(documents, "a.md"), add(documents, "b.md")
    documents.set_state(old, "ready")
    documents.set_state(new, "refused")
    choices.choose(chat, documents=[old, new])
    assert documents.add("a.md", "b" * 64, 1)[0].id == new
    documents.promote(new)
    assert choices.documents(chat) == {new}


def test_a_choice_goes_with_its_conversation_and_moves_it_to_the_front(choices, documents, chat, database):
    chats, document = Conversations(database, "ann"), add(documents, "a.md")
    other = chats.create()
    choices.choose(chat, documents=[document])
    assert [one.id for one in chats.list()] == [chat, other.id]
    chats.delete(chat)
    with pytest.raises(NotFound):
        choices.of(chat)
    choices.choose(other.id, documents=[document])
    assert choices.documents(other.id) == {document}


def test_many_documents_are_chosen_at_once(choices, database, chat):
    ids = add_many(database, "ann", 1200)
    choices.choose(chat, documents=ids)
    assert choices.documents(chat) == set(ids)
    assert sum(one.there for one in choices.of(chat)) == 1200


def test_filters_stand_beside_documents_and_one_choice_is_dropped(choices, documents, chat):
    document = add(documents, "a.md")
    choices.choose(chat, filters=[("type", ".md"), ("since", "2023-01-01")])
    assert choices.documents(chat) is None
    choices.add(chat, [document])  # all documents that pass are searched already
    assert [(one.kind, one.id, one.there) for one in choices.of(chat)] == [
        ("since", "2023-01-01", True),
        ("type", ".md", True),
    ]
    choices.choose(chat, documents=[document], filters=[("type", ".md")])
    assert choices.documents(chat) == {document}
    choices.drop(chat, next(one for one in choices.of(chat) if one.kind == "document"))
    assert [one.kind for one in choices.of(chat)] == ["type"]
    with pytest.raises(NotFound):
        Choices(choices._database, "bob").drop(chat, choices.of(chat)[0])
