import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.stores.relevance import RELEVANCE, cosine_relevance, euclidean_relevance, inner_product_relevance

ANGLES = st.floats(0, math.pi)


@given(ANGLES)
def test_for_unit_vectors_every_space_gives_the_cosine(angle: float):
    cosine = math.cos(angle)
    expected = pytest.approx(max(0.0, cosine), abs=1e-12)
    assert cosine_relevance(1 - cosine) == expected
    assert inner_product_relevance(1 - cosine) == expected
    assert euclidean_relevance((1 - cosine) ** 2 + math.sin(angle) ** 2) == expected


@pytest.mark.parametrize("space", RELEVANCE)
@given(distance=st.floats(allow_nan=True, allow_infinity=True))
def test_no_distance_gives_a_score_outside_0_to_1(space, distance: float):
    assert 0 <= RELEVANCE[space](distance) <= 1


@pytest.mark.parametrize("space", RELEVANCE)
@given(near=st.floats(0, 10), further=st.floats(0, 10))
def test_what_is_closer_is_never_less_relevant(space, near: float, further: float):
    near, further = sorted((near, further))
    assert RELEVANCE[space](near) >= RELEVANCE[space](further)
