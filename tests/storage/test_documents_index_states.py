import pytest

from storage.collections import Collections
from storage.documents import Documents, IndexStates, chunk_id
from storage.errors import NotFound
from storage.records import ChunkSpan
from storage.trees import Trees

OLD, NEW = {"fingerprint": "old", "folder": "vectors-1"}, {"fingerprint": "new", "folder": "vectors-2"}


def begun(database, owner):
    documents = Documents(database, owner)
    documents.set_index_state("vectors", OLD)
    documents.set_index_state("vectors-next", NEW)
    Trees(database, owner).begin(None, {"model": "old", "seed": 1}, "contents")
    return documents


def made_with(database, owner):
    return Trees(database, owner).branch(None).made_with


def test_another_index_takes_its_place_and_trees_go_along(database):
    documents = begun(database, "ann")
    IndexStates(database, "ann").replace("vectors", "vectors-next")
    assert (documents.index_state("vectors"), documents.index_state("vectors-next")) == (NEW, None)
    assert made_with(database, "ann") == {"model": "new", "seed": 1}


def test_one_owners_index_changes_nothing_of_anothers(database):
    documents, _ = begun(database, "ann"), begun(database, "bob")
    IndexStates(database, "bob").replace("vectors", "vectors-next")
    assert (documents.index_state("vectors"), documents.index_state("vectors-next")) == (OLD, NEW)
    assert made_with(database, "ann") == {"model": "old", "seed": 1}


def test_where_none_follows_the_index_there_stays(database):
    documents = begun(database, "ann")
    documents.set_index_state("vectors-next", None)
    with pytest.raises(NotFound):
        IndexStates(database, "ann").replace("vectors", "vectors-next")
    assert documents.index_state("vectors") == OLD


def test_of_two_that_begin_an_index_both_use_the_first_ones(database):
    states, documents = IndexStates(database, "ann"), Documents(database, "ann")
    assert states.begin("vectors", OLD) == OLD
    assert states.begin("vectors", NEW) == OLD
    assert states.begin("vectors", NEW, after=OLD) == NEW
    assert states.begin("vectors", OLD, after=OLD) == NEW
    assert states.begin("words", OLD, after=NEW) == {}
    assert (documents.index_state("vectors"), documents.index_state("words")) == (NEW, None)


def searchable(documents, name, sha256):
    record, _ = documents.add(name, sha256 * 64, 3)
    documents.save_chunks(record.id, "owl", [], [ChunkSpan(0, 3)])
    documents.set_state(record.id, "searchable_by_words")
    return record


def test_whatever_changes_what_is_found_raises_the_version_of_its_owners_indexes(database):
    documents, bob = Documents(database, "ann"), Documents(database, "bob")
    versions = [documents.index_version()]

    def is_raised():
        versions.append(documents.index_version())
        return versions[-1] > versions[-2]

    record, _ = documents.add("a.txt", "a" * 64, 3)
    documents.save_chunks(record.id, "owl", [], [ChunkSpan(0, 3)])
    assert not is_raised()
    documents.set_state(record.id, "searchable_by_words")
    assert is_raised()
    documents.set_state(record.id, "searchable_by_meaning")
    documents.set_state(record.id, "ready")
    assert is_raised()
    documents.set_state(record.id, "ready")
    assert not is_raised()
    documents.save_chunks(record.id, "owls", [], [ChunkSpan(0, 4)])  # split anew
    assert is_raised()
    newer, outcome = documents.add("a.txt", "b" * 64, 3)
    assert outcome == "replaces" and not is_raised()
    documents.promote(newer.id)
    assert is_raised()
    documents.set_index_state("vectors", OLD)
    assert is_raised()
    branch = Trees(database, "ann").begin(None, {"model": "old"}, "contents")
    assert not is_raised()
    Trees(database, "ann").finish(branch.id, [])
    assert is_raised()
    documents.raise_index_version()
    assert is_raised()
    documents.delete(newer.id)
    assert is_raised()
    assert bob.index_version() == 0


def test_entries_of_what_is_gone_are_strays_but_not_those_of_what_is_being_split(database):
    documents, collections = Documents(database, "ann"), Collections(database, "ann")
    kept, gone = searchable(documents, "a.txt", "a"), searchable(documents, "b.txt", "b")
    ids = documents.chunk_ids()
    documents.delete(gone.id)
    new = chunk_id(kept.id, "900.100.0", 0)
    assert documents.strays({*ids, new}) == {chunk_id(gone.id, "", 0), new}
    documents.set_state(kept.id, "ready")
    collection = collections.create("Long", {"size": 900, "overlap": 100, "minimum": 0})
    collections.put([kept.id], collection.id)
    assert documents.strays({*ids, new}) == {chunk_id(gone.id, "", 0)}
