import pytest

from rag.errors import RetrievalError
from rag.passage import Passage
from rag.raptor.retrievers import (
    SUMMARIES,
    CollapsedTreeRetriever,
    LeavesRetriever,
    TreeTraversalRetriever,
)
from rag.retrieval.ensemble import EnsembleRetriever
from rag.text.prompt_parts import count_tokens
from tests.rag.raptor.conftest import SUBJECTS, add, grow, story

BOTH = [CollapsedTreeRetriever, TreeTraversalRetriever]
ASKED = "What must be primed before the engine starts?"


@pytest.fixture(scope="module")
def voyage(tmp_path_factory, embedder):
    """A library with trees over two documents, for tests that only search."""
    from rag.ingest.library import Library
    from storage.database import Database

    database = Database.open(tmp_path_factory.mktemp("voyage") / "data")
    library = Library(database, "ann", lambda: embedder)
    voyage = add(library, "voyage.txt", story(SUBJECTS, lines=24))
    port = add(library, "port.txt", story(["harbour"], lines=3))
    grow(library, voyage, port)
    yield library, voyage, port
    library.close()
    database.close()


@pytest.mark.parametrize("kind", BOTH)
def test_only_leaves_come_out_with_their_exact_words(voyage, kind):
    library, *_ = voyage
    found = kind(forest=library.forest).invoke(ASKED)
    assert "engine" in found[0].page_content
    for document in found:
        passage = Passage.from_document(document)
        text = library.documents.text(passage.document_id)
        assert text[passage.start : passage.end] == passage.text
        assert passage.document in ("voyage.txt", "port.txt")


@pytest.mark.parametrize("kind", BOTH)
def test_the_way_from_leaf_to_root_is_told(voyage, kind):
    library, *_ = voyage
    (root,) = library.forest.roots()
    leaf = kind(forest=library.forest).invoke(ASKED)[0]
    path = leaf.metadata["path"]
    assert [node.id for node in library.forest.path(leaf.id)] == [step["id"] for step in path]
    assert [step["level"] for step in path] == sorted(step["level"] for step in path)
    assert path[-1] == {"id": root.id, "level": root.level, "text": root.text}


@pytest.mark.parametrize("kind", [*BOTH, LeavesRetriever])
@pytest.mark.parametrize("question", [ASKED, "What is this about?"])
def test_a_budget_of_tokens_is_kept(voyage, kind, question):
    library, *_ = voyage
    found = kind(forest=library.forest, tokens=300).invoke(question)
    assert 150 < sum(count_tokens(document.page_content) for document in found) <= 300
    assert len({document.id for document in found}) == len(found)
    assert len(kind(forest=library.forest, k=2).invoke(question)) == 2


@pytest.mark.parametrize("kind", BOTH)
def test_chosen_documents_alone_are_searched(voyage, kind):
    library, _, port = voyage
    for question in (ASKED, "Summarise the document."):
        found = kind(forest=library.forest, document_ids={port}).invoke(question)
        assert {document.metadata["document_id"] for document in found} == {port}
    assert kind(forest=library.forest, document_ids=()).invoke(ASKED) == []


def test_a_question_about_the_whole_is_answered_from_every_part_of_it(voyage):
    library, *_ = voyage
    found = CollapsedTreeRetriever(forest=library.forest, tokens=1200).invoke("Summarise the documents.")
    said = " ".join(document.page_content for document in found)
    assert all(word in said for word in ("engine", "Harbour", "grain", "waves"))
    assert {document.metadata["document"] for document in found} == {"voyage.txt", "port.txt"}


def test_traversal_goes_on_from_the_nearest_only(voyage):
    library, ship, _ = voyage
    narrow = TreeTraversalRetriever(forest=library.forest, document_ids={ship}, top_k=1).invoke(ASKED)
    assert all("engine" in document.page_content for document in narrow)
    wide = TreeTraversalRetriever(forest=library.forest, document_ids={ship}, top_k=9, tokens=9000).invoke(
        ASKED
    )
    assert len(wide) > len(narrow)


def test_a_tree_takes_part_in_an_ensemble(voyage):
    library, *_ = voyage
    parts = {
        "tree": CollapsedTreeRetriever(forest=library.forest),
        "leaves": LeavesRetriever(forest=library.forest),
    }
    found = EnsembleRetriever(retrievers=parts, by_id=True, k=5).invoke(ASKED)
    assert set(found[0].metadata["found_by"]) == {"tree", "leaves"}


@pytest.mark.parametrize("kind", BOTH)
def test_without_a_tree_it_says_so(library, kind):
    with pytest.raises(RetrievalError, match="no tree"):
        kind(forest=library.forest).invoke(ASKED)


def test_summaries_of_a_chosen_document_are_searched_too(voyage):
    library, ship, _ = voyage
    (root,) = library.forest.roots({ship})
    vector = library.indexes.embedder.embed_query(root.text)
    near = library.forest.nearest(vector, 100, {ship})
    assert root.id in near
    assert len(near) == len(library.forest.nodes_of(ship))


@pytest.mark.parametrize("name", ["raptor-collapsed", "raptor-traversal"])
def test_a_library_searches_its_trees_by_name(voyage, name):
    library, _, port = voyage
    found = library.retriever(name, 6, document_ids={port}).invoke("When does the harbour close?")
    assert "dusk" in found[0].page_content


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("question", [ASKED, "Summarise the documents."])
def test_summaries_that_were_found_come_with_the_leaves_below_them(voyage, kind, question):
    library, *_ = voyage
    found = kind(forest=library.forest).invoke(question)
    told = {node["id"]: node for document in found for node in document.metadata["tree_summaries"]}
    assert told, "summaries are context"
    assert 0 < sum(count_tokens(node["text"]) for node in told.values()) <= SUMMARIES
    for document in found:
        above = set(library.forest.ancestors([document.id])[document.id])
        assert {node["id"] for node in document.metadata["tree_summaries"]} <= above
        passage = Passage.from_document(document)
        assert passage.summaries == tuple(n["text"] for n in document.metadata["tree_summaries"])


def test_a_question_about_the_whole_comes_with_the_roots_summary(voyage):
    library, *_ = voyage
    (root,) = library.forest.roots()
    found = CollapsedTreeRetriever(forest=library.forest).invoke("Summarise the documents.")
    assert found[0].metadata["tree_summaries"][0]["text"] == root.text


def test_the_collapsed_tree_returns_the_nearest_of_all_nodes_where_summaries_are_documents(voyage):
    library, *_ = voyage
    found = CollapsedTreeRetriever(forest=library.forest, summaries="documents").invoke(ASKED)
    scores = [document.metadata["score"] for document in found]
    assert scores == sorted(scores, reverse=True)
    levels = {document.metadata.get("level", 0) for document in found}
    assert 0 in levels and len(levels) > 1
    assert 1500 < sum(count_tokens(document.page_content) for document in found) <= 2000


def test_traversal_returns_what_it_passes_from_the_root_where_summaries_are_documents(voyage):
    library, *_ = voyage
    (root,) = library.forest.roots()
    found = TreeTraversalRetriever(forest=library.forest, summaries="documents", top_k=2).invoke(ASKED)
    assert found[0].id == root.id and found[0].page_content == root.text
    levels = [document.metadata.get("level", 0) for document in found]
    assert levels == sorted(levels, reverse=True) and levels[-1] == 0
    leaves = TreeTraversalRetriever(forest=library.forest, top_k=2).invoke(ASKED)
    assert {leaf.id for leaf in found if "level" not in leaf.metadata} <= {leaf.id for leaf in leaves}
