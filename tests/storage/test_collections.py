import pytest

from storage.collections import LONGEST_INSTRUCTIONS, Collections
from storage.documents import Documents
from storage.errors import NameRefused, NotFound
from storage.records import ChunkSpan
from tests.storage.many import add_many

SHORT = {"size": 300, "overlap": 30, "minimum": 0}


@pytest.fixture
def collections(database):
    return Collections(database, "ann")


@pytest.fixture
def documents(database):
    return Documents(database, "ann")


def add(documents, name, sha256=None):
    return documents.add(name, sha256 or name[0] * 64, 1)[0].id


def read(documents, document_id, splitting=None):
    documents.save_chunks(document_id, "the moat", [], [ChunkSpan(0, 8)], splitting=splitting)
    documents.set_state(document_id, "ready")


def test_collections_are_listed_by_name_with_how_many_documents_they_have(collections, documents):
    contracts, hr = collections.create("contracts"), collections.create("HR")
    collections.put([add(documents, "a.md"), add(documents, "b.md")], hr.id)
    assert [(one.name, one.documents) for one in collections.list()] == [("contracts", 0), ("HR", 2)]
    assert collections.get(contracts.id) == contracts
    assert collections.get(hr.id).documents == 2


def test_a_document_is_in_one_collection_at_most(collections, documents):
    one, other, document = collections.create("one"), collections.create("other"), add(documents, "a.md")
    assert documents.get(document).collection_id is None
    assert collections.put([document, document], one.id) == 1
    assert collections.put([document], other.id) == 1
    assert collections.put([document], other.id) == 0
    assert documents.get(document).collection_id == other.id
    assert (collections.documents_of([one.id]), collections.documents_of([other.id])) == (set(), {document})
    assert collections.put([document], None) == 1
    assert documents.get(document).collection_id is None


def test_many_documents_are_moved_at_once(collections, database):
    ids = add_many(database, "ann", 1100)
    archive = collections.create("Archive")
    assert collections.put([*ids, "gone"], archive.id) == 1100
    assert collections.get(archive.id).documents == 1100


@pytest.mark.parametrize("name", ["HR", " hr ", "ＨＲ", "h\u0072"])
def test_a_name_is_there_once_however_it_is_written(collections, name):
    kept = collections.create("HR")
    with pytest.raises(NameRefused, match="HR already"):
        collections.create(name)
    assert collections.named(name) == kept
    collections.rename(kept.id, name)
    other = collections.create("other")
    with pytest.raises(NameRefused, match="already"):
        collections.rename(other.id, name)


@pytest.mark.parametrize("name", ["", " \n ", "\u3000"])
def test_a_name_that_is_none_is_refused(collections, name):
    with pytest.raises(NameRefused, match="needs a name"):
        collections.create(name)
    assert collections.list() == []


def test_a_name_is_kept_on_one_line_and_not_too_long(collections):
    assert collections.create("계약\n 2024\x00").name == "계약 2024\ufffd"
    assert len(collections.create("n" * 1000).name) == 120


def test_two_owners_may_use_one_name(collections, database):
    collections.create("HR")
    assert Collections(database, "bob").create("HR").name == "HR"
    assert Collections(database, "carl").named("HR") is None


def test_a_deleted_collection_leaves_its_documents(collections, documents):
    hr, document = collections.create("HR"), add(documents, "a.md")
    collections.put([document], hr.id)
    collections.delete(hr.id)
    assert documents.get(document).collection_id is None
    assert collections.list() == []
    with pytest.raises(NotFound):
        collections.put([document], hr.id)


def test_a_replacement_is_in_the_collection_of_what_it_replaces(collections, documents):
    hr, old = collections.create("HR"), add(documents, "a.md")
    collections.put([old], hr.id)
    read(documents, old)
    new = add(documents, "a.md", "b" * 64)
    assert collections.documents_of([hr.id]) == {old, new}
    assert collections.get(hr.id).documents == 1
    collections.put([old], None)
    assert collections.documents_of([hr.id]) == set()
    collections.put([old], hr.id)
    documents.promote(new)
    assert collections.documents_of([hr.id]) == {new}


def test_how_a_document_is_split_is_said_by_its_collection(collections, documents):
    short, document = collections.create("short", SHORT), add(documents, "a.md")
    assert collections.splitting_of(document) is None
    collections.put([document], short.id)
    assert collections.splitting_of(document) == SHORT == collections.get(short.id).splitting
    collections.set_splitting(short.id, None)
    assert collections.splitting_of(document) is None


def test_a_document_is_due_while_it_is_split_in_another_way_than_its_collection_says(collections, documents):
    short, moved, other = collections.create("short", SHORT), add(documents, "a.md"), add(documents, "b.md")
    for document in (moved, other):
        read(documents, document)
    assert collections.due() == []
    collections.put([moved], short.id)
    assert collections.due() == [moved]
    read(documents, moved, SHORT)
    assert collections.due() == []
    assert [chunk.id for chunk in documents.chunks(moved)] == [f"{moved}.300.30.0-00000"]
    collections.delete(short.id)
    assert collections.due() == [moved]
    documents.set_state(moved, "searchable_by_words")
    assert collections.due() == []


def test_chunks_of_another_edition_have_no_document(collections, documents):
    document = add(documents, "a.md")
    read(documents, document, SHORT)
    ids = [f"{document}.300.30.0-00000", f"{document}-00000", f"{document}.900.0.0-00000"]
    assert documents.of_chunks(ids) == {ids[0]: (document, "a.md")}
    assert list(documents.chunks_by_id(ids)) == ids[:1]


def test_instructions_are_those_of_the_documents_collections(collections, documents):
    one, other = collections.create("Leases"), collections.create("Mills")
    lease, mill = add(documents, "lease.md"), add(documents, "mill.md")
    collections.put([lease], one.id)
    collections.put([mill], other.id)
    collections.instruct(one.id, "  Be brief. " + "x" * 2 * LONGEST_INSTRUCTIONS)
    assert collections.instructions_for({mill}) == []
    ((name, text),) = collections.instructions_for({lease, mill})
    assert (name, text[:9], len(text)) == ("Leases", "Be brief.", LONGEST_INSTRUCTIONS)
    assert collections.get(one.id).instructions == text
