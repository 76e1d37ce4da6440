import pytest

from rag.errors import Cancelled, RetrievalError
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.raptor.retrievers import CollapsedTreeRetriever
from rag.raptor.summarize import LLMSummariser
from rag.raptor.tree import LayerProgress
from storage.documents import Documents
from storage.trees import NodeRecord
from tests.rag.fake_llm import Reply
from tests.rag.raptor.conftest import add, grow, story


def nodes(library, document_id):
    return library.forest.trees.nodes(library.forest.trees.branch(document_id).id)


def state(library):
    """Everything a tree is, and the ids of its vectors."""
    trees = library.forest.trees
    return [(b.document_id, b.state, trees.nodes(b.id)) for b in trees.list()], library.forest.vectors.ids()


def test_a_tree_stands_over_each_document_and_one_over_all(library):
    ships, ports = (add(library, f"{n}.txt", story([n, "storm"])) for n in ("engine", "harbour"))
    grow(library, ships, ports)
    text = library.documents.text(ships)
    branch = nodes(library, ships)
    leaves = [node for node in branch if node.level == 0]
    assert len(leaves) >= 12
    assert all(text[leaf.start : leaf.end] == leaf.text for leaf in leaves)
    assert {child for node in branch for child in node.children} >= {leaf.id for leaf in leaves}
    (root,) = library.forest.roots({ships})
    (top,) = library.forest.roots()
    assert root.id in top.children
    assert top.level > root.level
    assert library.forest.vectors.ids() == library.forest.trees.node_ids()


def test_an_extractive_summary_is_sentences_of_what_is_below_it(library):
    ships = add(library, "a.txt", story(["engine", "cargo"]))
    grow(library, ships)
    text = library.documents.text(ships)
    summaries = [node for node in nodes(library, ships) if node.level > 0]
    assert summaries
    assert all(line in text for node in summaries for line in node.text.split("\n"))


@pytest.mark.parametrize("text", ["One.", "One is here.\n\nTwo is there.", story(["storm"], lines=3)])
def test_a_small_document_has_a_small_tree_or_none(library, text):
    document = add(library, "small.txt", text)
    grow(library, document)
    assert len(library.forest.roots()) == 1
    assert CollapsedTreeRetriever(forest=library.forest).invoke("Where is it?")


def test_a_build_that_was_stopped_goes_on_where_it_was(make_library, fake_llm):
    fake_llm.say("The engine and the storm.")
    asked = fake_llm.requests
    by_model = LLMSummariser(LLM(LLMSettings(base_url=fake_llm.url, model="fake")), print)
    library = make_library(summariser=lambda: by_model)
    ships = add(library, "a.txt", story(["engine", "storm"], lines=16))
    with pytest.raises(Cancelled):
        list(library.forest.build_branch(ships, cancelled=lambda: len(asked) > 1))
    with pytest.raises(RetrievalError):
        library.forest.roots()
    assert library.forest.due() == [ships]
    list(library.forest.build_branch(ships))
    made, wanted = len(asked), len([node for node in nodes(library, ships) if node.level > 0])
    assert made - wanted in (0, 1), "the answer on its way was kept if it was whole, else cut off"
    assert library.forest.due() == []
    list(library.forest.build_branch(ships))
    assert len(asked) == made


def test_a_summary_that_fails_is_asked_for_again_and_then_left_out(make_library, fake_llm):
    fake_llm.reply(Reply("", pieces=()), Reply("Short and sound."), *[Reply("", pieces=())] * 3)
    failed = []
    by_model = LLMSummariser(LLM(LLMSettings(base_url=fake_llm.url, model="fake")), failed.append)
    library = make_library(summariser=lambda: by_model)
    small = add(library, "a.txt", story(["engine"], lines=2))
    large = add(library, "b.txt", story(["storm"], lines=3))
    for document in (small, large):
        list(library.forest.build_branch(document))
    assert [node.text for node in nodes(library, small) if node.level > 0] == ["Short and sound."]
    assert [node.level for node in nodes(library, large)] == [0] * 3
    assert library.forest.trees.branch(large).left_out == len(failed) == 1
    assert CollapsedTreeRetriever(forest=library.forest, document_ids={large}).invoke("the waves in storm 1")


def test_a_document_that_comes_changes_its_own_branch_and_what_stands_above(library):
    ships, ports = (add(library, f"{n}.txt", story([n, "storm"])) for n in ("engine", "harbour"))
    grow(library, ships, ports)
    before = {id_: nodes(library, id_) for id_ in (ships, ports)}
    cargo = add(library, "cargo.txt", story(["cargo"]))
    grow(library, cargo)
    assert {id_: nodes(library, id_) for id_ in (ships, ports)} == before
    assert library.forest.trees.parents([library.forest.roots({cargo})[0].id])


def test_what_a_removed_document_said_is_found_nowhere(library):
    ships, ports, cargo = (
        add(library, f"{n}.txt", story([n], lines=3)) for n in ("engine", "harbour", "cargo")
    )
    grow(library, ships, ports, cargo)
    library.remove(ports)
    everything = [node.text for b in library.forest.trees.list() for node in library.forest.trees.nodes(b.id)]
    assert not any("Harbour" in text for text in everything)
    assert library.forest.vectors.ids() == library.forest.trees.node_ids()
    list(library.forest.build_top())
    (top,) = library.forest.roots()
    assert set(top.children) == {library.forest.roots({id_})[0].id for id_ in (ships, cargo)}


def test_the_same_documents_give_the_same_tree(library):
    ships = add(library, "a.txt", story(["engine", "storm", "cargo"], lines=18))
    grow(library, ships)
    first = state(library)
    library.forest.trees.drop(ships)
    library.forest.vectors.delete()
    grow(library, ships)
    assert [made[2] for made in state(library)[0]] == [made[2] for made in first[0]]


def test_a_build_says_how_far_it_is(library):
    ships = add(library, "a.txt", story(["engine", "storm"]))
    told = list(library.forest.build_branch(ships))
    assert all(isinstance(step, LayerProgress) and step.done <= step.total for step in told)
    assert {step.level for step in told} >= {0, 1}


def test_a_document_removed_while_its_tree_grows_leaves_nothing(library, database):
    ships = add(library, "a.txt", story(["engine", "storm"]))
    growing = library.forest.build_branch(ships)
    next(growing)
    Documents(database, "ann").delete(ships)
    with pytest.raises(Exception, match="no branch"):
        list(growing)
    list(library.forest.build_top())
    assert library.forest.vectors.ids() == library.forest.trees.node_ids() == set()


def test_trees_are_tended_until_none_is_due(library):
    ships, ports = (add(library, f"{n}.txt", story([n], lines=3)) for n in ("engine", "harbour"))
    cost = library.forest.cost()
    assert (cost.leaves, cost.tokens) == (5, 0)
    assert str(cost) == "5 passages, about 1 summaries; about 1 minute of this computer"
    told = list(library.forest.build_due())
    assert {step.document for step in told} == {"engine.txt", "harbour.txt", ""}
    assert [step.done for step in told] == sorted(step.done for step in told)
    assert library.forest.due() == []
    assert len(library.forest.roots()) == 1
    assert library.forest.roots({ships}) != library.forest.roots({ports})


@pytest.mark.parametrize("lost", ["reindexed", "gone"])
def test_a_tree_that_lost_its_vectors_is_built_on_with_the_summaries_it_has(library, lost):
    ships = add(library, "a.txt", story(["engine"], lines=3))
    grow(library, ships)
    before = nodes(library, ships)
    if lost == "reindexed":
        library.rebuild_vectors()
    else:
        library.forest.vectors.delete([before[0].id])
        library.forest.recover()
    library.documents.set_state(ships, "ready")
    with pytest.raises(RetrievalError):
        library.forest.roots()
    assert library.forest.due() == [ships]
    grow(library, ships)
    assert nodes(library, ships) == before
    assert library.forest.vectors.ids() == library.forest.trees.node_ids()


def test_a_tree_that_is_being_built_leaves_the_others_open_when_vectors_are_compared(library):
    ships, ports = (add(library, f"{n}.txt", story([n], lines=3)) for n in ("engine", "harbour"))
    grow(library, ships)
    begun = library.forest.trees.begin(ports, {}, "leaves")
    library.forest.trees.keep(begun.id, [NodeRecord("leaf", 0, "The harbour", document_id=ports)])
    library.forest.recover()
    assert library.forest.roots({ships}) and library.forest.due() == [ports]


def test_damaged_vectors_of_nodes_are_made_anew(make_library, database):
    library = make_library()
    ships = add(library, "a.txt", story(["engine"], lines=3))
    grow(library, ships)
    library.close()
    (damaged,) = database.directory.glob("indexes/*/vectors-*-tree/chroma.sqlite3")
    damaged.write_bytes(b"not a database" * 1000)
    library = make_library()
    library.recover()
    library.documents.set_state(ships, "ready")
    assert library.forest.due() == [ships]
    grow(library, ships)
    assert library.forest.vectors.ids() == library.forest.trees.node_ids() != set()
    library.close()


def test_summaries_of_another_summariser_stay_until_they_are_asked_for_anew(make_library, fake_llm):
    fake_llm.say("Of engines.")
    library = make_library()
    ships = add(library, "a.txt", story(["engine"], lines=3))
    grow(library, ships)
    by_model = LLMSummariser(LLM(LLMSettings(base_url=fake_llm.url, model="fake")), print)
    library = make_library(summariser=lambda: by_model)
    assert library.forest.due() == [] and library.forest.due(rewrite_summaries=True) == [ships]
    assert library.forest.cost().leaves == 0
    assert (
        library.forest.cost(rewrite_summaries=True).tokens
        > 0
        == library.forest.cost(rewrite_summaries=True, by_model=False).tokens
    )
    list(library.forest.build_due(rewrite_summaries=True))
    assert [node.text for node in library.forest.roots()] == ["Of engines."]
    assert library.forest.due(rewrite_summaries=True) == []
    assert library.forest.vectors.ids() == library.forest.trees.node_ids()
