from dataclasses import replace

import pytest

from storage.documents import Documents
from storage.errors import NotFound
from storage.records import ChunkSpan
from storage.trees import NodeRecord, Trees

MADE = {"model": "e5"}


@pytest.fixture
def trees(database):
    return Trees(database, "ann")


def document(database, name="a.txt"):
    documents = Documents(database, "ann")
    record, _ = documents.add(name, name.ljust(64, "0"), 9)
    documents.save_chunks(record.id, "One. Two.", [], [ChunkSpan(0, 9)])
    return record.id


def leaf(id_, start=0, end=4):
    return NodeRecord(id_, 0, "One.", start=start, end=end, page=2, heading="Ships")


def summary(id_, *children, level=1):
    return NodeRecord(id_, level, f"about {' and '.join(children)}", children)


def built(trees, document_id, nodes, contents="c"):
    branch = trees.begin(document_id, MADE, contents)
    trees.keep(branch.id, nodes)
    trees.finish(branch.id, [node.id for node in nodes])
    return branch


def test_nodes_come_back_with_their_place_their_children_and_their_document(database, trees):
    here = document(database)
    nodes = [leaf("l1"), leaf("l2", 5, 9), summary("s", "l2", "l1")]
    branch = built(trees, here, nodes)
    named = [
        replace(node, document_id=here, document="a.txt", sha256="a.txt".ljust(64, "0")) for node in nodes
    ]
    assert trees.nodes(branch.id) == named
    assert list(trees.nodes_by_id(["s", "no such", "l1"]).values()) == [named[2], named[0]]
    assert trees.parents(["l1", "l2", "s"]) == {"l1": ("s",), "l2": ("s",)}


def test_a_branch_that_is_being_built_is_not_searched(database, trees):
    branch = trees.begin(document(database), MADE, "c")
    trees.keep(branch.id, [leaf("l1"), summary("s", "l1")])
    assert trees.nodes_by_id(["l1", "s"]) == {}
    assert trees.parents(["l1"]) == {}
    assert trees.node_ids() == {"l1", "s"}


def test_a_build_goes_on_with_the_nodes_that_are_there(database, trees):
    here = document(database)
    first = trees.begin(here, MADE, "c")
    trees.keep(first.id, [leaf("l1")])
    again = trees.begin(here, MADE, "c")
    trees.keep(again.id, [replace(leaf("l1"), text="other"), leaf("l2")])
    assert again.id == first.id
    assert [node.text for node in trees.nodes(again.id)] == ["One.", "One."]


def test_a_branch_made_in_another_way_is_made_anew(database, trees):
    here = document(database)
    built(trees, here, [leaf("l1")])
    assert trees.begin(here, {"model": "other"}, "c").state == "building"
    assert trees.node_ids() == set()


def test_other_contents_are_built_on_and_what_is_left_goes_at_the_end(database, trees):
    here = document(database)
    branch = built(trees, here, [leaf("l1"), leaf("l2"), summary("s", "l1", "l2")])
    assert trees.begin(here, MADE, "c").state == "ready"
    assert trees.begin(here, MADE, "other").state == "building"
    assert trees.finish(branch.id, ["l1"], left_out=3) == ["l2", "s"]
    assert trees.node_ids() == {"l1"}
    assert trees.branch(here).left_out == 3


def test_with_a_document_go_its_branch_and_every_summary_that_tells_of_it(database, trees):
    first, second = document(database, "a.txt"), document(database, "b.txt")
    built(trees, first, [leaf("a1")])
    built(trees, second, [leaf("b1"), leaf("b2")])
    built(
        trees,
        None,
        [summary("both", "a1", "b1"), summary("b", "b1", "b2"), summary("top", "both", "b", level=2)],
    )
    Documents(database, "ann").delete(first)
    assert sorted(trees.drop_stale()) == ["both", "top"]
    assert trees.node_ids() == {"b1", "b2", "b"}
    assert trees.branch(None).state == "building"
    assert trees.drop_stale() == []


def test_a_branch_dropped_meanwhile_takes_no_more_nodes(database, trees):
    here = document(database)
    branch = trees.begin(here, MADE, "c")
    trees.drop(here)
    with pytest.raises(NotFound):
        trees.keep(branch.id, [leaf("l1")])
    with pytest.raises(NotFound):
        trees.begin("no such document", MADE, "c")


def test_branches_are_listed_those_over_documents_first(database, trees):
    here = document(database)
    built(trees, None, [])
    built(trees, here, [leaf("l1")])
    assert [branch.document_id for branch in trees.list()] == [here, None]


def test_a_stranger_finds_nothing_and_removes_nothing(database, trees):
    here = document(database)
    branch = built(trees, here, [leaf("l1"), summary("s", "l1")])
    bob = Trees(database, "bob")
    assert (bob.list(), bob.branch(here), bob.node_ids()) == ([], None, set())
    assert (bob.nodes_by_id(["l1"]), bob.parents(["l1"]), bob.drop_stale()) == ({}, {}, [])
    bob.drop(here)
    bob.reopen()
    assert trees.branch(here).state == "ready"
    assert len(trees.nodes(branch.id)) == 2


def test_a_tree_tells_its_tops_its_levels_and_the_leaves_at_a_place(database, trees):
    here = document(database)
    branch = built(
        trees, here, [leaf("l1"), leaf("l2", 5, 9), summary("s", "l1"), summary("t", "s", level=2)]
    )
    assert [node.id for node in trees.tops(branch.id)] == ["t"]
    assert trees.levels() == trees.levels(here) == {0: 2, 1: 1, 2: 1}
    assert trees.leaves_at(here, 3, 6) == ["l1", "l2"]
    assert trees.leaves_at(here, 4, 5) == []
    assert trees.characters([here, "no such"]) == 9


def test_without_summaries_the_leaves_are_the_tops(database, trees):
    branch = built(trees, document(database), [leaf("l1"), leaf("l2", 5, 9)])
    assert [node.id for node in trees.tops(branch.id)] == ["l1", "l2"]


def test_only_incomplete_branches_are_opened_again_where_these_are_meant(database, trees):
    whole, broken = document(database), document(database, "b.txt")
    built(trees, whole, [leaf("l1")])
    branch = trees.begin(broken, MADE, "c")
    trees.keep(branch.id, [leaf("l2")])
    trees.finish(branch.id, ["l2"], left_out=1)
    trees.reopen(incomplete=True)
    assert [trees.branch(id_).state for id_ in (whole, broken)] == ["ready", "building"]


def test_nobody_else_sees_a_tree(database, trees):
    here = document(database)
    built(trees, here, [leaf("l1")])
    other = Trees(database, "bob")
    assert other.levels(here) == {} and other.leaves_at(here, 0, 9) == []
    assert other.characters([here]) == 0
