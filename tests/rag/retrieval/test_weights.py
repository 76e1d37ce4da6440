from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.retrieval.fusion import convex_combination
from rag.retrieval.weights import FOREIGN, NORMALISERS, HybridWeights, script_of


def test_a_collection_that_was_never_weighed_has_the_usual_weight_in_every_language():
    assert HybridWeights().weights_for("Where is it?") == {"bm25": 0.45, "similarity": 0.55}
    assert HybridWeights().weights_for("어디인가요?") == {"bm25": 0.5, "similarity": 0.5}


def test_each_writing_has_its_own_weight():
    mixture = HybridWeights(weights={"ko": 0.1, "ja": 0.3, "alphabet": 0.6})
    asked = {"서울은 어디인가요?": 0.1, "東京はどこですか": 0.3, "Where is Rome?": 0.6, "Wo liegt Rom?": 0.6}
    assert {question: mixture.weights_for(question)["similarity"] for question in asked} == asked


def test_a_question_in_a_writing_that_no_passage_has_is_left_to_meaning():
    assert HybridWeights(weights={"alphabet": 0.3}).weights_for("로마는 어디인가요?")["similarity"] == FOREIGN


def test_a_stored_mixture_comes_back_equal():
    mixture = HybridWeights("z-score", {"ko": 0.2}, passages=812)
    assert HybridWeights(**asdict(mixture)) == mixture


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "alphabet"),
        ("RAPTOR란 무엇인가", "ko"),
        ("東京都の人口は", "ja"),
        ("北京在哪里", "zh"),
        ("Привет", "alphabet"),
    ],
)
def test_the_writing_of_a_text(text: str, expected: str):
    assert script_of(text) == expected


@given(st.sampled_from(sorted(NORMALISERS)), st.floats(0.05, 0.95), st.lists(st.floats(0, 50), max_size=5))
def test_what_only_words_found_is_ordered_as_words_ordered_it(name: str, weight: float, scores: list[float]):
    ranking = [(str(place), score) for place, score in enumerate(sorted(scores, reverse=True))]
    normalisers = dict.fromkeys(("bm25", "similarity"), NORMALISERS[name])
    weights = {"bm25": 1 - weight, "similarity": weight}
    fused = convex_combination({"bm25": ranking, "similarity": []}, weights, normalisers)
    values = [fused[id_] for id_, _ in ranking]
    assert values == sorted(values, reverse=True)
