from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.chat.rewrite import (
    CONVERSATION,
    FIRST_QUESTION_WEIGHT,
    TYPED,
    VARIANT_WEIGHT,
    QueryVariant,
    query_variants,
    search_variants,
)
from rag.passage import Passage
from rag.retrieval.bm25 import BM25Retriever

HISTORY = [
    ("user", "Who built the harbour of Ostia?"),
    ("assistant", "Emperor Claudius began it in the year 42."),
    ("user", "And the warehouses?"),
    ("assistant", "Hadrian added the warehouses."),
]


class Known(BaseRetriever):
    """Finds what it was told for each text: ids with their scores."""

    lists: dict[str, list[tuple[str, float]]]

    def _get_relevant_documents(self, query: str, *, run_manager, k: int = 4) -> list[Document]:
        return [
            Document(
                f"text {id_}", id=id_, metadata={"score": score, "found_by": {"bm25": _rank(rank, score)}}
            )
            for rank, (id_, score) in enumerate(self.lists.get(query, [])[:k], start=1)
        ]


def _rank(rank: int, score: float) -> dict[str, float]:
    return {"rank": rank, "score": score, "normalised": score / 10}


def ids(documents: Sequence[Document]) -> list[str | None]:
    return [document.id for document in documents]


def test_a_follow_up_is_searched_in_variants_that_count_less():
    assert query_variants("When? (about warehouses)", "When?", HISTORY) == (
        QueryVariant("When? (about warehouses)", 1.0),
        QueryVariant("When?", VARIANT_WEIGHT, TYPED),
        QueryVariant("Hadrian added the warehouses. When?", VARIANT_WEIGHT, CONVERSATION),
        QueryVariant("Who built the harbour of Ostia? When?", FIRST_QUESTION_WEIGHT, CONVERSATION),
    )


def test_where_no_terms_are_carried_over_they_are_searched_all_the_same():
    standing, carried, *_ = query_variants("When?", "When?", HISTORY, "When? (about warehouses)")
    assert (standing.text, carried.text) == ("When?", "When? (about warehouses)")
    assert carried == QueryVariant(carried.text, VARIANT_WEIGHT, CONVERSATION)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Hadrian did [1]. In the year 120 [2].", "Hadrian did. Why?"),
        (
            "I found no clear answer. Closest passages:\n\nA mill grinds. [1]",
            "A mill grinds. Why?",
        ),
        ("문서에는 그 내용이 없습니다. 항구는 42년에 지어졌다 [1].", "항구는 42년에 지어졌다. Why?"),
    ],
)
def test_of_an_answer_its_first_sentence_that_says_something_is_searched(answer, said):
    assert query_variants("Why?", "Why?", [("user", "Who?"), ("assistant", answer)])[1].text == said


def test_an_answer_that_was_not_written_is_no_variant():
    assert [
        v.text for v in query_variants("왜요?", "왜요?", [("user", "항구는요?"), ("assistant", " ")])
    ] == [
        "왜요?",
        "항구는요? 왜요?",
    ]


def test_one_variant_is_the_retrievers_own_list():
    retriever = Known(lists={"q": [("a", 9.0), ("b", 3.0)]})
    assert search_variants(retriever, [QueryVariant("q", 1.0)], 6) == retriever.invoke("q")


def test_finds_of_other_variants_count_less_and_say_where_they_come_from():
    lists = {"q": [("a", 8.0), ("b", 4.0)], "more": [("c", 2.0), ("b", 1.0)]}
    first, second, third = search_variants(
        Known(lists=lists), [QueryVariant("q", 1.0), QueryVariant("more", 0.3, CONVERSATION)], 6
    )
    assert (first.id, second.id, third.id) == ("a", "b", "c")
    assert first.metadata["score"] == 1.0
    assert second.metadata["score"] == pytest.approx(0.5 + 0.3 * 0.5)
    assert CONVERSATION not in first.metadata["found_by"]
    assert second.metadata["found_by"]["bm25"]["rank"] == 2
    assert Passage.from_document(third).found_by[CONVERSATION].rank == 1
    assert third.page_content == "text c"


def test_what_the_conversation_is_about_is_found_for_a_question_that_does_not_say_it():
    texts = [
        "Hadrian added the warehouses of Ostia in the year 120.",
        "The year has months.",
        "The mill grinds.",
    ]
    retriever = BM25Retriever.from_texts(texts, ids=["right", "wrong", "other"], k=3)
    question = "In which year?"
    assert search_variants(retriever, [QueryVariant(question)], 1)[0].id == "wrong"
    assert search_variants(retriever, query_variants(question, question, HISTORY), 1)[0].id == "right"


def test_documents_without_scores_count_by_their_rank():
    class Unscored(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager) -> list[Document]:
            return [Document(word, id=word) for word in query.split()]

    found = search_variants(Unscored(), [QueryVariant("a b", 1.0), QueryVariant("b c", 0.9)], 6)
    assert ids(found) == ["b", "a", "c"]


scores = st.floats(0.1, 9, allow_nan=False)
rankings = st.lists(
    st.tuples(st.sampled_from("abcdef"), scores), max_size=6, unique_by=lambda found: found[0]
)


@given(first=rankings, others=st.lists(rankings, min_size=1, max_size=3))
def test_the_order_of_the_other_variants_decides_nothing(first, others):
    lists = {"q": first, **{str(at): ranking for at, ranking in enumerate(others)}}
    retriever = Known(lists=lists)
    orders = [
        ids(
            search_variants(
                retriever,
                [QueryVariant("q", 1.0), *(QueryVariant(str(at), VARIANT_WEIGHT) for at in order)],
                6,
            )
        )
        for order in permutations(range(len(others)))
    ]
    assert all(order == orders[0] for order in orders)
    assert set(orders[0]) <= {id_ for ranking in lists.values() for id_, _ in ranking}
    assert len(set(orders[0])) == len(orders[0])
