"""Every way of searching keeps people apart; benchmarks/isolation.py asks a thousand questions of each."""

from collections.abc import Iterator

import pytest

from tests.rag.isolation import CANARY, PATHS, Leaks, World, leaks, queries, world

ASKED = 50


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("isolation"), 8) as built:
        yield built


@pytest.mark.parametrize("path", PATHS)
def test_what_someone_finds_is_theirs_and_scored_as_if_nobody_else_were_there(apart: World, path: str):
    assert leaks(apart, path, queries(ASKED)) == Leaks(ASKED, 0, 0)


def test_a_word_that_only_another_has_is_nowhere(apart: World):
    assert PATHS["bm25"](apart.ann, CANARY["bob"]) == []
    assert PATHS["bm25"](apart.bob, CANARY["bob"]) != []
    assert apart.ann.rarity(CANARY["bob"]) == apart.alone.rarity(CANARY["bob"])
