import pytest

from rag.errors import RetrievalError
from rag.raptor.tree import numbers_above, open_tree
from tests.rag.raptor.conftest import add, grow, story


def test_without_a_way_the_top_is_open_and_what_is_below_it_is_seen(library):
    ships = add(library, "a.txt", story(["engine", "cargo"]))
    grow(library, ships)
    opened = open_tree(library.forest, ships, [])
    (root,) = library.forest.roots({ships})
    assert opened.node == root
    assert [node.id for node in opened.below] == list(root.children)


def test_a_way_opens_each_step_down_to_a_leaf(library):
    ships, ports = (add(library, f"{n}.txt", story([n, "storm"])) for n in ("engine", "harbour"))
    grow(library, ships, ports)
    leaf = library.forest.trees.leaves_at(ports, 0, 9)[0]
    way = [*(node.id for node in reversed(library.forest.path(leaf))), leaf]
    opened = open_tree(library.forest, None, way)
    assert [node.id for node in opened.way] == way
    assert opened.node.level == 0 and opened.below == ()
    steps = zip(opened.way, opened.layers, strict=True)
    assert all(node in layer for node, layer in steps)


@pytest.mark.parametrize("way", [["no such"], ["no such", "nor this"]])
def test_a_way_that_leads_nowhere_opens_the_top(library, way):
    ships = add(library, "a.txt", story(["engine"], lines=3))
    grow(library, ships)
    assert open_tree(library.forest, ships, way) == open_tree(library.forest, ships, [])
    root = library.forest.roots({ships})[0].id
    assert open_tree(library.forest, ships, [root, *way]) == open_tree(library.forest, ships, [root])


def test_a_tree_that_is_not_there_cannot_be_opened(library):
    with pytest.raises(RetrievalError, match="no tree"):
        open_tree(library.forest, None, [])


def test_numbers_of_leaves_are_seen_on_all_that_stands_above_them(library):
    ships = add(library, "a.txt", story(["engine", "cargo"]))
    grow(library, ships)
    first, *_, last = library.forest.trees.leaves_at(ships, 0, 10_000)
    given = numbers_above(library.forest, {first: {2}, last: {1}})
    assert given[first] == (2,) and given[last] == (1,)
    assert given[library.forest.roots({ships})[0].id] == (1, 2)
    assert numbers_above(library.forest, {}) == {}
