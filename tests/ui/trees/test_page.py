from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from rag.raptor.tree import Cost, ForestProgress, LayerProgress, OpenedPath, open_tree
from rag.workspace import Workspace
from storage.records import ChunkSpan
from storage.trees import NodeRecord
from tests.rag.raptor.conftest import story
from tests.ui.conftest import passage, tell, words
from ui.server import services
from ui.trees.labels import below_of, cost_of, path_in_document, share_of, step_of
from ui.trees.page import MAX_DRAWN, draw_tree, window


@pytest.fixture
def ships(here: Workspace) -> str:
    """A document that is ready, as if it had been read and embedded, with no tree yet."""
    text = story(["engine", "cargo"])
    record, _ = here.library.documents.add("ships.txt", *here.library.files.save(text.encode()))
    here.library.documents.save_chunks(record.id, text, [], [ChunkSpan(0, len(text))])
    here.library.documents.set_state(record.id, "ready")
    return record.id


@pytest.fixture
def grown(here: Workspace, ships: str) -> str:
    list(here.library.forest.build_due())
    return ships


def button(at: AppTest, start: str):
    return next(one for one in at.button if one.label.startswith(start))


def leaf(number: int) -> NodeRecord:
    return NodeRecord(f"l{number}", 0, f"Words {number}.", document_id="d")


def test_without_documents_there_is_nothing_to_build_over(page: Callable[..., AppTest]):
    assert "Add documents first" in words(page("trees"))


def test_what_is_off_says_so_and_stands_as_it_is(page: Callable[..., AppTest], grown: str):
    at = page("trees")
    assert "Summaries are off." in words(at) and "Existing summaries are kept" in words(at)
    assert "Summary on level" in words(at)


def test_what_a_build_takes_is_said_before_it_begins(
    page: Callable[..., AppTest], here: Workspace, ships: str
):
    list(here.library.forest.build_branch(ships))
    here.library.forest.trees.reopen()
    at = page("trees")
    assert "1 document has no tree yet" in words(at) and "about 1 minute of computing" in words(at)
    assert button(at, "Continue building")


def test_a_choice_on_the_settings_page_has_trees_built_at_once(
    page: Callable[..., AppTest], here: Workspace, ships: str
):
    at = page("settings")
    at.radio(key="raptor").set_value("extractive")
    next(one for one in at.button if one.key == "save-trees").click()
    at.run()
    assert services.services().settings.raptor == "extractive"
    job = here.ingest._tree_job
    assert job is not None and job.wait(120)
    assert here.library.forest.due() == []


def test_a_summary_opens_and_shows_its_passages(page: Callable[..., AppTest], here: Workspace, grown: str):
    at = page("trees")
    opened = open_tree(here.library.forest, grown, [])
    below = [one for one in at.button if str(one.key).startswith("tree-below-")]
    assert len(below) == len(opened.below)
    below[0].click()
    at.run()
    assert not at.exception
    assert at.query_params["way"] == f"{opened.node.id}.{opened.below[0].id}"
    assert button(at, "Top")


def test_where_the_last_answer_s_citations_sit_is_marked(
    page: Callable[..., AppTest], here: Workspace, grown: str
):
    (first,) = here.library.forest.trees.nodes_by_id(
        here.library.forest.trees.leaves_at(grown, 0, 9)
    ).values()
    answer = "It burns heavy fuel [1]."
    given = replace(passage(1, first.text, page=None), document_id=grown, start=first.start, end=first.end)
    tell(here, "What does it burn?", answer, passages=[given])
    at = page("trees")
    assert "Shows what the last answer cites, in the chat “About the harbour”" in words(at)
    assert any("cited [1]" in one.label.replace("\\", "") for one in at.button)
    way = [*(one.id for one in reversed(here.library.forest.path(first.id))), first.id]
    at = page("trees", tree=grown, way=".".join(way))
    assert "Cited in the last answer: [1]" in words(at)


def test_summaries_that_could_not_be_made_are_told_of(
    page: Callable[..., AppTest], here: Workspace, grown: str
):
    branch = here.library.forest.trees.branch(grown)
    ids = [node.id for node in here.library.forest.trees.nodes(branch.id)]
    here.library.forest.trees.finish(branch.id, ids, left_out=2)
    at = page("trees")
    assert "2 summaries could not be written" in words(at) and "still searched" in words(at)
    assert button(at, "Try again")


@pytest.mark.parametrize("in_tree", [True, False])
def test_the_way_through_the_tree_is_shown_for_what_was_found_there(
    page: Callable[..., AppTest], here: Workspace, grown: str, in_tree: bool
):
    (leaf_id,) = here.library.forest.trees.leaves_at(grown, 0, 9)
    chunk = leaf_id if in_tree else f"{grown}-00000"
    given = replace(passage(1, page=None), document_id=grown, chunk_id=chunk)
    turn = tell(here, "What?", "It burns fuel [1].", passages=[given])
    at = page("chat", chat=here.conversations.list()[0].id, cite=f"{turn.answer_id}-p1")
    assert not at.exception
    assert ("Only the passage is cited" in words(at)) == in_tree
    assert any("Path through the summaries" in one.label for one in at.expander) == in_tree


def test_a_chart_draws_a_level_s_neighbours_of_the_open_node_and_tells_of_the_rest():
    leaves = tuple(leaf(n) for n in range(40))
    root = NodeRecord("r", 1, "All.", tuple(one.id for one in leaves), document_id="d")
    drawn = draw_tree(
        OpenedPath((root, leaves[30]), ((root,), leaves)), "a.txt", lambda _: (), "#000", "#fff"
    )
    (top,) = drawn.spec["baseOption"]["series"][0]["data"]
    said = [item["name"] for item in top["children"]]
    assert said[0] == "24 more" and said[-1] == "4 more" and len(said) == MAX_DRAWN + 2
    assert drawn.paths[:3] == [("r",), ("r",), ("r", "l24")]


def test_what_is_cited_is_marked_by_shape_and_number_and_open_nodes_by_size():
    one, two = leaf(1), leaf(2)
    root = NodeRecord("r", 1, "All.", ("l1", "l2"), document_id="d")
    numbers = {"r": (3,), "l2": (3,)}
    drawn = draw_tree(
        OpenedPath((root,), ((root,), (one, two))), "a.txt", lambda id_: numbers.get(id_, ()), "#000", "#fff"
    )
    (top,) = drawn.spec["baseOption"]["series"][0]["data"]
    plain, cited = top["children"]
    assert (top["symbol"], plain["symbol"], cited["symbol"]) == ("diamond", "rect", "diamond")
    assert cited["name"] == "2 · [3] Words 2." and top["symbolSize"] > cited["symbolSize"]


def test_several_tops_stand_below_the_name_of_the_tree():
    drawn = draw_tree(OpenedPath((), ((leaf(1), leaf(2)),)), "All documents", lambda _: (), "#000", "#fff")
    (top,) = drawn.spec["baseOption"]["series"][0]["data"]
    assert top["name"] == "All documents" and len(top["children"]) == 2
    assert drawn.paths[0] == () and drawn.paths[2] == ("l2",)


@pytest.mark.parametrize(
    ("count", "chosen", "drawn"), [(5, "l4", (0, 5)), (40, None, (0, 12)), (40, "l39", (28, 40))]
)
def test_the_window_of_a_level_is_around_the_open_node(count, chosen, drawn):
    assert window([leaf(n) for n in range(count)], chosen) == drawn


def test_how_far_a_build_is_never_goes_back():
    steps = [
        ForestProgress("a.md", 0, 2, LayerProgress(0, 4, 4)),
        ForestProgress("a.md", 0, 2, LayerProgress(1, 0, 3)),
        ForestProgress("a.md", 0, 2, LayerProgress(2, 0, 1)),
        ForestProgress("b.md", 1, 2, LayerProgress(0, 1, 4)),
        ForestProgress("", 2, 2, LayerProgress(1, 0, 1)),
    ]
    shares = [share_of(step) for step in [None, *steps]]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert step_of(steps[3]) == "b.md, 2 of 2 documents: passages, 1 of 4"
    assert step_of(None) == "Waiting to start"


def test_what_is_said_of_one_is_said_of_one():
    assert below_of([leaf(1)]) == "1 passage"
    assert below_of([leaf(1), NodeRecord("s", 1, "x")]) == "1 summary and 1 passage"
    assert cost_of(Cost(1, 1, 0, 300.0)) == "1 passage, about 1 summary, and about 5 minutes of computing"


def test_the_way_in_a_document_s_tree_leaves_out_what_stands_above_all():
    above = [NodeRecord("s", 1, "x", document_id="d"), NodeRecord("top", 2, "y")]
    assert path_in_document(above, "l1") == "s.l1"
