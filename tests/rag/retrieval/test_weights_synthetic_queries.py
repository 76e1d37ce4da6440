from random import Random

import pytest

from rag.retrieval.weights import half_sentence, make_synthetic_queries

TEXTS = {
    "en": "The lease ends in March 2027. Rent is due on the first day of every month. No pets may be kept.",
    "ko": "임대차 계약은 2027년 3월 말에 종료됩니다. 임대료는 매월 첫째 날에 지불해야 합니다. "
    "이 집에서는 반려동물을 키울 수 없습니다.",
    "ja": "賃貸借契約は二〇二七年三月に終了します。家賃は毎月一日に必ず支払います。ペットは飼えません。",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_gap_is_a_sentence_of_the_passage_that_the_rest_lacks(language: str):
    (probe,) = make_synthetic_queries([TEXTS[language]], 1)
    assert probe.gap in TEXTS[language]
    assert probe.gap not in probe.rest
    assert probe.rest


@pytest.mark.parametrize("language", TEXTS)
def test_an_echo_has_about_half_of_the_words(language: str):
    (probe,) = make_synthetic_queries([TEXTS[language]], 1)
    assert 0.2 * len(probe.gap) < len(probe.echo) < 0.8 * len(probe.gap)
    assert all(word in probe.gap for word in probe.echo.split())


def test_words_of_an_echo_stay_in_order():
    assert half_sentence("one two three four five six", Random(1)).split() == sorted(
        half_sentence("one two three four five six", Random(1)).split(),
        key=["one", "two", "three", "four", "five", "six"].index,
    )


def test_passages_of_one_sentence_have_no_probe():
    assert make_synthetic_queries(["Only one sentence stands here.", "", "1 | 2 | 3"], 5) == []


def test_the_same_texts_give_the_same_probes_and_another_seed_others():
    texts = [f"{text} Number {n} follows the others here." for n in range(9) for text in TEXTS.values()]
    assert make_synthetic_queries(texts, 5) == make_synthetic_queries(texts, 5)
    assert make_synthetic_queries(texts, 5) != make_synthetic_queries(texts, 5, seed=1)
    assert len({probe.position for probe in make_synthetic_queries(texts, 5)}) == 5
