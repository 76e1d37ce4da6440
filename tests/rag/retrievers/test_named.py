from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.retrievers.named import WEIGHT, NamedFirst, name_matches

NAMES = ["2023 Q3.pdf", "2022 Q3.pdf", "2022 Q1.pdf"]


class Fixed(BaseRetriever):
    """Gives one passage of each file, with these scores."""

    scores: dict[str, float]

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return [
            Document(
                id=name,
                page_content="",
                metadata={"document": name, "score": score, "found_by": {"bm25": {}}},
            )
            for name, score in self.scores.items()
        ]


def names(question: str, scores: dict[str, float], k: int = 3) -> list[str]:
    return [
        found.metadata["document"]
        for found in NamedFirst(retriever=Fixed(scores=scores), k=k).invoke(question)
    ]


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("Sales in Q3 2023?", "2023 Q3.pdf"),
        ("What was said in the Q1 2022 report?", "2022 Q1.pdf"),
        ("2022년 Q3 매출은?", "2022 Q3.pdf"),
    ],
)
def test_the_file_that_is_named_matches_most(question, best):
    matches = name_matches(question, NAMES)
    assert max(matches, key=matches.__getitem__) == best
    assert all(0 <= match <= 1 for match in matches.values())


@pytest.mark.parametrize("question", ["What were the sales?", "", "pdf"])
def test_a_question_that_names_none_matches_none(question):
    assert set(name_matches(question, NAMES).values()) == {0.0}


def test_korean_and_japanese_names_are_understood():
    assert (
        name_matches("3분기 보고서의 매출은?", ["3분기 보고서.pdf", "안내문.pdf"])["3분기 보고서.pdf"] == 1.0
    )
    assert name_matches("議事録では何が決まりましたか", ["議事録.md", "手引き.md"])["議事録.md"] == 1.0


def test_between_passages_that_say_the_same_the_named_file_comes_first():
    assert names("Sales in Q3 2023?", {"2022 Q3.pdf": 0.9, "2023 Q3.pdf": 0.89}) == [
        "2023 Q3.pdf",
        "2022 Q3.pdf",
    ]


@pytest.mark.parametrize("scale", [1.0, 0.2, 5.0], ids=["all there", "a half left out", "other scale"])
def test_a_name_outweighs_little_of_what_a_passage_says_on_any_scale(scale: float):
    little, much = scale * (1 - WEIGHT / 2), scale * (1 - WEIGHT * 1.1)
    assert names("Sales in Q3 2023?", {"2022 Q1.pdf": scale, "2023 Q3.pdf": little})[0] == "2023 Q3.pdf"
    assert names("Sales in Q3 2023?", {"2022 Q1.pdf": scale, "2023 Q3.pdf": much})[0] == "2022 Q1.pdf"


def test_who_found_it_tells_of_the_name_and_keeps_the_rest():
    found = NamedFirst(retriever=Fixed(scores=dict.fromkeys(NAMES, 0.5))).invoke("Sales in Q3 2023?")
    assert found[0].metadata["found_by"] == {"bm25": {}, "name": {"rank": 1, "score": 1.0, "normalised": 1.0}}
    assert found[0].metadata["score"] == 0.5 + WEIGHT * 0.5
    assert "name" not in found[-1].metadata["found_by"]


class Bare(BaseRetriever):
    """Gives documents as others' stores have them."""

    metadatas: list[dict[str, Any]]

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return [Document(str(n), metadata=metadata) for n, metadata in enumerate(self.metadatas)]


@pytest.mark.parametrize(
    ("metadatas", "order"),
    [
        ([], []),
        ([{}, {"source": "2023 Q3.pdf"}], ["0", "1"]),
        ([{"score": 0.9}, {"score": 0.8}], ["0", "1"]),
        ([{}, {"document": "2023 Q3.pdf"}], ["0", "1"]),
        ([{"score": 0.9}, {"score": 0.85, "document": "2023 Q3.pdf"}], ["1", "0"]),
        ([{"score": -0.1}, {"score": -0.9, "document": "2023 Q3.pdf"}], ["0", "1"]),
    ],
    ids=["none", "no names", "only scores", "only a name", "some", "negative"],
)
def test_documents_of_other_stores_stay_where_they_are(metadatas: list[dict[str, Any]], order: list[str]):
    found = NamedFirst(retriever=Bare(metadatas=metadatas)).invoke("Sales in Q3 2023?")
    assert [document.page_content for document in found] == order


def test_it_gives_the_best_k_in_a_stable_order():
    assert names("What?", dict.fromkeys(NAMES, 0.5), k=2) == NAMES[:2]
