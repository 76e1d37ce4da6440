"""The parts of the comparison that need no peer: what is made, and how a row is judged."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))

import peers
from peer_steps import environment, made


def test_what_is_made_is_the_same_every_time_and_for_every_size():
    first = list(made.texts(1200))
    assert len(first) == len(set(first)) == 1200
    assert list(made.texts(30)) == first[:30]
    assert made.questions(3, 1200) == made.questions(3, 1200)
    assert len(made.questions(3, 1200)[0].split()) == 9


def test_made_vectors_have_length_1():
    vectors = made.vectors(20)
    assert vectors.shape == (20, made.DIMENSION)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(20), abs=1e-5)
    assert (made.vectors(20) == vectors).all()


def test_a_row_holds_up_to_its_bar():
    assert peers.at_most("x", 1 / 150, [2.0, 1.0, 9.0], [300.0]).holds
    row = peers.at_most("x", 1 / 150, [2.1], [300.0])
    assert (row.what, row.bar, row.ratio, row.holds) == ("x, median", "<= 1/150", 0.007, False)
    assert "| 1/143 | <= 1/150 | **no** |" in peers.line(row)


def test_both_sides_share_engine_and_model():
    asked = environment.requirements()
    assert len(asked) == len(environment.PEERS) + len(environment.SHARED)
    assert all(requirement.count("==") == 1 for requirement in asked)
