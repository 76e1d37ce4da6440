import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from rag.errors import Cancelled
from rag.models.embeddings import Embedder
from rag.retrieval.weights import (
    DEFAULT_WEIGHTS,
    FEWEST,
    NORMALISERS,
    POOLED,
    STRONG,
    WEAK,
    WEIGHTS,
    Case,
    HybridWeights,
    Kind,
    best_weights,
    calibrate,
    gains,
    sample,
)

PEOPLE = ["Ada", "Bela", "Chiara", "Dmitri", "Emeka", "Farah", "Goran", "Hana", "Imre", "Jaya"]
TOWNS = ["Oslo", "Quito", "Lagos", "Turin"]


def english() -> list[str]:
    """Forty passages that differ in who, where and what."""
    return [
        f"{who} moved to {town} to repair church organs. In winter {who} walks along the quay of {town}. "
        f"The {who} workshop in {town} is open on Sundays."
        for who in PEOPLE
        for town in TOWNS
    ]


def korean() -> list[str]:
    return [
        f"{who} 씨는 {town}에서 오르간을 수리합니다. 겨울에 {who} 씨는 {town}의 부두를 걷습니다. "
        f"{town}에 있는 작업실은 일요일에 문을 엽니다."
        for who in ["아다", "벨라", "키아라", "드미트리", "에메카", "파라", "고란", "하나", "임레", "자야"]
        for town in ["오슬로", "키토", "라고스", "토리노"]
    ]


class Knowing(Embeddings):
    """Knows who a text is about, and where, and nothing else; of other texts it has no idea."""

    def __init__(self, known: Sequence[str]):
        self._known = known

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        named = np.array([float(word in text) for word in self._known])
        noise = np.random.default_rng(int(hashlib.sha256(text.encode()).hexdigest()[:8], 16))
        vector = named + 0.01 * noise.standard_normal(len(self._known))
        return (vector / np.linalg.norm(vector)).tolist()


def found(texts: list[str], embedder: Embeddings) -> HybridWeights:
    vectors = np.array(embedder.embed_documents(texts), np.float32)
    *_, last = calibrate(texts, vectors, embedder)
    assert last.mixture is not None
    return last.mixture


def test_meaning_gets_little_where_the_model_knows_nothing_and_more_where_it_does():
    blind = found(english(), Knowing(["x", "y", "z", "w"])).weights["alphabet"]
    knowing = found(english(), Knowing([*PEOPLE, *TOWNS])).weights["alphabet"]
    assert blind <= 0.3 < knowing


def test_each_writing_is_weighed_by_its_own_passages():
    mixture = found([*english(), *korean()], Knowing([*PEOPLE, *TOWNS]))
    assert mixture.weights["ko"] <= 0.2 < mixture.weights["alphabet"]
    assert mixture.passages == 80


def test_the_real_model_is_worth_something_in_korean(embedder: Embedder):
    texts = korean()[:FEWEST]
    mixture = found(texts, embedder)
    assert set(mixture.weights) == {"ko"}
    assert mixture.normaliser in NORMALISERS


def test_too_few_passages_leave_the_usual_mixture():
    mixture = found(english()[: FEWEST - 1], Knowing(PEOPLE))
    assert mixture == HybridWeights(passages=FEWEST - 1)


def test_nothing_to_weigh_is_no_error():
    (event,) = calibrate([], np.empty((0, 4), np.float32), Knowing(PEOPLE))
    assert event.mixture == HybridWeights()


def test_progress_is_told_a_probe_at_a_time():
    embedder = Knowing(PEOPLE)
    events = list(calibrate(english(), np.array(embedder.embed_documents(english()), np.float32), embedder))
    assert [event.done for event in events] == [*range(1, 41), 40]
    assert {event.total for event in events} == {40}
    assert [event.mixture is None for event in events] == [True] * 40 + [False]


def test_it_stops_when_it_is_asked_to():
    embedder = Knowing(PEOPLE)
    vectors = np.array(embedder.embed_documents(english()), np.float32)
    with pytest.raises(Cancelled):
        list(calibrate(english(), vectors, embedder, cancelled=lambda: True))


def test_the_same_passages_give_the_same_mixture():
    embedder = Knowing([*PEOPLE, *TOWNS])
    assert found(english(), embedder) == found(english(), embedder)


def case(words: str, meaning: str, kind: Kind = "echo") -> Case:
    """Return a case that wants "a"; each half found these ids, best first, with scores 3, 2, 1."""
    one, other = ([(id_, 3.0 - place) for place, id_ in enumerate(half)] for half in (words, meaning))
    return Case(kind, "a", one, other)


def weight(echo: tuple[str, str], gap: tuple[str, str], *rest: Case) -> float:
    cases = [*[case(*echo)] * 30, *[case(*gap, kind="gap")] * 30, *rest]
    return best_weights({"alphabet": cases}, 60).weights["alphabet"]


WORDS_KNOW, MEANING_KNOWS, BOTH_KNOW = ("abc", "ba"), ("ba", "abc"), ("a", "a")


def test_a_case_gains_most_where_the_half_that_knows_counts_most():
    assert gains([case("a", "a")], "min-max").tolist() == [[1.0] * len(WEIGHTS)]
    (by_words,) = gains([case(*WORDS_KNOW)], "min-max")
    (by_meaning,) = gains([case(*MEANING_KNOWS)], "min-max")
    assert by_words[0] == by_meaning[-1] == 1.0
    assert by_words[-1] == by_meaning[0] < 0.7


def test_a_passage_that_neither_half_finds_gains_nothing():
    assert not gains([case("bc", "cb")], "z-score").any()


def test_another_weight_is_taken_where_both_kinds_of_probe_tell_against_the_usual_one():
    assert weight(WORDS_KNOW, WORDS_KNOW) < DEFAULT_WEIGHTS["alphabet"] < weight(MEANING_KNOWS, MEANING_KNOWS)


def test_the_usual_weight_stands_where_the_kinds_do_not_agree():
    assert weight(WORDS_KNOW, BOTH_KNOW) == weight(BOTH_KNOW, WORDS_KNOW) == DEFAULT_WEIGHTS["alphabet"]
    assert weight(MEANING_KNOWS, WORDS_KNOW) == DEFAULT_WEIGHTS["alphabet"]


def test_the_usual_weight_is_higher_where_meaning_fills_gaps_surely_better_than_words():
    assert (
        weight(WORDS_KNOW, MEANING_KNOWS)
        == weight(BOTH_KNOW, MEANING_KNOWS)
        == STRONG
        > DEFAULT_WEIGHTS["alphabet"]
    )


def test_the_usual_weight_is_low_where_meaning_fills_gaps_less_than_half_as_well():
    meaning_lost = ("abc", "bcdefghijk")
    assert weight(BOTH_KNOW, meaning_lost) == WEAK < DEFAULT_WEIGHTS["alphabet"]
    assert weight(BOTH_KNOW, WORDS_KNOW) == DEFAULT_WEIGHTS["alphabet"], (
        "second in place of first is more than half"
    )


def test_a_few_cases_are_chance():
    assert (
        weight(BOTH_KNOW, BOTH_KNOW, case(*WORDS_KNOW), case(*WORDS_KNOW, kind="gap"))
        == DEFAULT_WEIGHTS["alphabet"]
    )


def test_the_usual_normaliser_stands_where_no_other_is_surely_better():
    cases = [*[case(*BOTH_KNOW)] * 30, *[case(*BOTH_KNOW, kind="gap")] * 30]
    assert best_weights({"ko": cases, "ja": cases}, 60).normaliser == HybridWeights().normaliser


def test_without_cases_the_mixture_is_the_usual_one():
    assert best_weights({}, 3) == HybridWeights(passages=3)


def test_a_sample_is_the_same_for_the_same_ids_and_takes_few_whole():
    ids = [str(n) for n in range(POOLED + 10)]
    assert sample(ids) == sample(list(reversed(ids)))
    assert len(set(sample(ids))) == POOLED
    assert sample(["b", "a"]) == ["a", "b"]
