import pytest

from rag.errors import LimitReached
from rag.quota import MEGABYTE, Limits
from rag.settings import load


def test_without_settings_there_is_no_limit():
    nothing = Limits.of(load())
    assert nothing == Limits()
    nothing.document(10**6, 10**12, 10**9)
    nothing.another_passages(10**9, 10**9)
    nothing.embedding(10.0**9)
    nothing.answer(10**3, 10**9)


def test_ones_own_limits_stand_in_the_place_of_everyones():
    everyone = Limits.of(load({"user_documents": 10, "user_tokens_a_day": 1000}))
    assert everyone.but({"documents": 20, "nonsense": 1}) == Limits(documents=20, tokens_a_day=1000)


@pytest.mark.parametrize(
    ("held", "held_bytes", "size", "said"),
    [
        (3, 0, 1, "You have 3 documents, and may have 3."),
        (0, 2 * MEGABYTE, 1, "take 2.0 MB and may take 2"),
        (0, 0, 2 * MEGABYTE + 1, "this one has 2.0"),
    ],
)
def test_a_document_too_many_is_refused_in_a_sentence_that_says_what_to_do(held, held_bytes, size, said):
    limits = Limits(documents=3, megabytes=2)
    limits.document(2, MEGABYTE, MEGABYTE)
    with pytest.raises(LimitReached, match=said) as caught:
        limits.document(held, held_bytes, size)
    assert "An administrator can raise it." in str(caught.value)


@pytest.mark.parametrize(
    ("running", "tokens", "said"),
    [(1, 0, "1 answer is being written"), (0, 1000, "1,000 tokens today, of the 1,000")],
)
def test_an_answer_too_many_is_refused_in_a_sentence(running, tokens, said):
    limits = Limits(answers_at_once=1, tokens_a_day=1000)
    limits.answer(0, 999)
    with pytest.raises(LimitReached, match=said):
        limits.answer(running, tokens)


def test_a_limit_of_nothing_is_a_limit():
    with pytest.raises(LimitReached):
        Limits(documents=0).document(0, 0, 0)
