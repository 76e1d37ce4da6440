import pytest

from storage.documents import Documents, IndexStates
from storage.errors import NotFound
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
