import pytest

from storage.choices import Choices, Chosen
from storage.collections import Tags
from storage.conversations import Conversations
from storage.documents import Documents
from storage.errors import NameRefused, NotFound
from storage.records import ChunkSpan


@pytest.fixture
def tags(database):
    return Tags(database, "ann")


@pytest.fixture
def documents(database):
    return Documents(database, "ann")


def add(documents, name, sha256=None):
    return documents.add(name, sha256 or name[0] * 64, 1)[0].id


def named(tags):
    return {tag.name: tag.documents for tag in tags.list()}


def test_a_tag_is_made_with_its_first_document_and_gone_with_its_last(tags, documents):
    a, b = add(documents, "a.md"), add(documents, "b.md")
    assert tags.add([a, b, a, "gone"], "  Tax  2024 ") == 2
    assert tags.add([a], "TAX 2024") == 0
    assert named(tags) == {"Tax 2024": 2}
    assert tags.of_documents() == {a: ["Tax 2024"], b: ["Tax 2024"]}
    assert tags.remove([a], "tax 2024") == 1
    assert tags.remove([a, b], "tax 2024") == 1
    assert named(tags) == {} and tags.remove([a], "tax 2024") == 0


def test_a_document_has_several_tags(tags, documents):
    a = add(documents, "a.md")
    for name in ("요약", "Draft", "報告"):
        tags.add([a], name)
    assert tags.of_documents() == {a: ["Draft", "報告", "요약"]}
    documents.delete(a)
    assert named(tags) == {} and tags.of_documents() == {}


@pytest.mark.parametrize("name", ["", "  ", "\n"])
def test_a_tag_needs_a_name(tags, documents, name):
    with pytest.raises(NameRefused, match="needs a name"):
        tags.add([add(documents, "a.md")], name)


def test_no_tag_is_made_for_documents_that_are_gone(tags):
    assert tags.add(["gone"], "Draft") == 0
    assert named(tags) == {}


def test_a_replacement_keeps_the_tags_of_the_document_it_replaces(tags, documents):
    old = add(documents, "a.md")
    documents.save_chunks(old, "words", [], [ChunkSpan(0, 5)])
    documents.set_state(old, "ready")
    tags.add([old], "Draft")
    new = add(documents, "a.md", "f" * 64)
    assert named(tags) == {"Draft": 1}
    documents.promote(new)
    assert tags.of_documents() == {new: ["Draft"]}


def test_a_conversation_searches_the_documents_that_have_a_tag_now(database, tags, documents):
    choices, chat = Choices(database, "ann"), Conversations(database, "ann").create().id
    a, b, c = (add(documents, name) for name in ("a.md", "b.md", "c.md"))
    tags.add([a], "Draft")
    (draft,) = tags.list()
    choices.choose(chat, documents=[c], tags=[draft.id])
    assert choices.documents(chat) == {a, c}
    tags.add([b], "Draft")
    assert choices.documents(chat) == {a, b, c}
    assert Chosen("tag", draft.id, "Draft") in choices.of(chat)
    assert choices.would_be([], [], [draft.id, "gone"]) == (Chosen("tag", draft.id, "Draft"),)
    tags.remove([a, b], "Draft")
    assert Chosen("tag", draft.id, "Draft", there=False) in choices.of(chat)
    assert choices.documents(chat) == {c}


def test_a_tag_of_another_owner_is_not_there(database, tags, documents):
    a = add(documents, "a.md")
    tags.add([a], "Draft")
    (draft,) = tags.list()
    bob = Tags(database, "bob")
    assert bob.list() == [] and bob.of_documents() == {} and bob.documents_of([draft.id]) == set()
    assert bob.add([a], "Mine") == 0 and bob.remove([a], "Draft") == 0
    chat = Conversations(database, "bob").create().id
    with pytest.raises(NotFound):
        Choices(database, "bob").choose(chat, tags=[draft.id])
    assert named(tags) == {"Draft": 1}
