import math
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from rag.errors import IndexUnusable
from rag.index.bm25 import TantivyIndex
from rag.index.lance import LanceWordIndex
from rag.index.lexical import Entry, LexicalIndex
from rag.text.tokenize import find, index_tokens
from tests.rag.index.entries import entries, found
from tests.rag.index.objects import table_objects

OpenIndex = Callable[..., LexicalIndex]


STORE = pytest.mark.slow(
    reason="what is marked EVERYWHERE and test_lance_objects.py go through an object store"
)
OBJECTS = pytest.param("objects", marks=STORE, id="lance-objects")
OPENED = [pytest.param(TantivyIndex, id="tantivy"), pytest.param(LanceWordIndex, id="lance")]
MADE = [*OPENED, pytest.param("memory", id="memory")]
ALL = [*MADE, pytest.param("objects", id="lance-objects")]
EVERYWHERE = pytest.mark.parametrize("index", ALL, indirect=True)
"""Mark what the usual run tries over an object store, too."""


@pytest.fixture(params=[*OPENED, OBJECTS])
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> OpenIndex:
    if request.param != "objects":
        return partial(request.param, tmp_path / "words")
    request.getfixturevalue("s3_link")
    return partial(LanceWordIndex, tmp_path / "words", objects=table_objects(tmp_path))


@pytest.fixture(params=[*MADE, OBJECTS])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> LexicalIndex:
    if request.param == "memory":
        return TantivyIndex()
    if request.param != "objects":
        return request.param(tmp_path / "words")
    request.getfixturevalue("s3_link")
    return LanceWordIndex(tmp_path / "words", objects=table_objects(tmp_path))


def test_an_empty_index_finds_nothing(index: LexicalIndex):
    assert found(index, "cat") == []
    assert index.ids() == set()
    assert not index.stale


def test_an_entry_added_again_is_replaced(index: LexicalIndex):
    index.add(entries("old words"))
    index.add(entries("new words"))
    assert found(index, "old") == []
    assert found(index, "new words") == ["d-0"]
    assert index.ids() == {"d-0"}


def test_the_last_of_equal_ids_in_one_call_counts(index: LexicalIndex):
    index.add([Entry("a", "d", "old"), Entry("a", "d", "new")])
    assert found(index, "new") == ["a"]
    assert found(index, "old") == []


@EVERYWHERE
def test_deleted_entries_are_gone_and_unknown_ids_are_no_error(index: LexicalIndex):
    index.add(entries("cat", "cat"))
    index.delete(["d-0", "never there"])
    assert found(index, "cat") == ["d-1"]
    assert index.ids() == {"d-1"}
    index.delete([])


@pytest.mark.parametrize("open_index", [*OPENED, pytest.param("objects", id="lance-objects")], indirect=True)
def test_entries_survive_a_restart(open_index: OpenIndex):
    first = open_index()
    first.add(entries("고양이가 있다", "犬がいる"))
    first.close()
    second = open_index()
    assert not second.stale
    assert found(second, "고양이") == ["d-0"]


@EVERYWHERE
def test_the_filter_works_inside_the_search(index: LexicalIndex):
    index.add(entries("cat", "cat cat", document="a"))
    index.add(entries("a cat among very many other words", document="b"))
    assert found(index, "cat", k=1, of=["b"]) == ["b-0"]
    assert found(index, "cat", of=["nothing"]) == []
    assert found(index, "cat", of=[]) == []
    everything = dict(index.search("cat", 10))
    assert dict(index.search("cat", 10, ["b"])) == {"b-0": pytest.approx(everything["b-0"])}


@pytest.mark.parametrize(
    "question",
    [
        "",
        "   ",
        "the",
        "\x00",
        "\ud800",
        "AND OR NOT",
        'text:"cat" +(',
        "'; DROP TABLE",
        "*",
        "🙂",
        "cat " * 50_000,
        "x" * 300_000,
    ],
)
def test_any_question_is_answered(index: LexicalIndex, question: str):
    index.add(entries("cat"))
    assert found(index, question) in ([], ["d-0"])


def test_none_of_none_is_none(index: LexicalIndex):
    index.add(entries("cat"))
    assert index.search("cat", 0) == []


def test_scores_are_those_of_bm25(index: LexicalIndex):
    texts = ["cat dog bird", "cat cat fish", "dog", "서울 고양이", "cat " * 7 + "bird"]
    index.add(entries(*texts))
    assert dict(index.search("cat bird", 10)) == pytest.approx(oracle(texts, "cat bird"), rel=1e-5)


def oracle(texts: list[str], question: str, k1: float = 1.2, b: float = 0.75) -> dict[str, float]:
    counts = [Counter(index_tokens(text, "en")) for text in texts]
    mean = sum(map(Counter.total, counts)) / len(texts)
    scores: dict[str, float] = {}
    for term in index_tokens(question, "en"):
        n = sum(term in count for count in counts)
        idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
        for i, count in enumerate(counts):
            if tf := count[term]:
                norm = k1 * (1 - b + b * count.total() / mean)
                scores[f"d-{i}"] = scores.get(f"d-{i}", 0.0) + idf * tf * (k1 + 1) / (tf + norm)
    return scores


def test_entries_are_scored_as_a_search_scores_them(index: LexicalIndex):
    index.add(entries("the red cat", "a cat and a dog", "two dogs", "고양이가 있다"))
    for question in ("cat dog", "red dogs", "고양이"):
        everything = dict.fromkeys(index.ids(), 0.0) | dict(index.search(question, 10))
        assert index.scores(question, sorted(index.ids())) == everything
        assert index.scores(question, ["d-1"]) == {"d-1": everything["d-1"]}
    assert index.scores("cat", ["never there"]) == {"never there": 0.0}
    assert index.scores("cat", []) == {}
    assert index.scores("?", ["d-1"]) == {"d-1": 0.0}


def test_equal_scores_come_in_the_order_of_ids(index: LexicalIndex):
    index.add([Entry(id_, "d", "cat") for id_ in "cab"])
    assert found(index, "cat") == ["a", "b", "c"]


def test_a_question_of_one_word_meets_each_language_of_the_index(index: LexicalIndex):
    index.add(
        entries("Les élections présidentielles ont été annulées par le juge.", "The elections were annulled.")
    )
    assert found(index, "présidentielle") == ["d-0"]


@pytest.mark.parametrize(
    ("question", "expected"), [("猫", "d-0"), ("カフェ", "d-1"), ("고양이", "d-2"), ("京都", "d-3")]
)
def test_one_character_or_word_is_found_inside_unspaced_text(
    index: LexicalIndex, question: str, expected: str
):
    index.add(entries("黒猫が好きです", "新しいカフェへ行く", "길고양이를 보았다", "東京都に住む"))
    assert found(index, question) == [expected]


def test_rarity_is_the_inverse_document_frequency(index: LexicalIndex):
    index.add(entries("cat dog", *["dog"] * 9))
    assert index.rarity("cat") == pytest.approx(math.log(1 + 9.5 / 1.5))
    assert index.rarity("dog") == pytest.approx(math.log(1 + 0.5 / 10.5))
    assert index.rarity("unseen") > index.rarity("cat")


def test_another_tokenizer_makes_the_index_stale_until_it_is_cleared(open_index: OpenIndex):
    open_index(tokenizer="old").add(entries("cat"))
    index = open_index()
    assert index.stale
    with pytest.raises(IndexUnusable, match="words"):
        index.search("cat", 1)
    index.clear()
    assert not index.stale
    index.add(entries("cat"))
    assert found(index, "cat") == ["d-0"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"analysers": find()}),
        ({"analysers": find()}, {}),
        ({"analysers": find()}, {"analysers": find()[:1]}),
        ({}, {"preprocess_func": str.split}),
        ({"preprocess_func": str.split}, {"preprocess_func": str.lower}),
    ],
    ids=["analysers come", "analysers go", "one goes", "own tokens", "other own tokens"],
)
def test_a_change_of_what_makes_the_tokens_makes_the_index_stale(
    open_index: OpenIndex, before: dict, after: dict
):
    for options, stale in ((before, False), (before, False), (after, True)):
        index = open_index(**options)
        assert index.stale is stale
        index.close()


def test_warming_loads_what_the_index_speaks_and_changes_nothing(open_index: OpenIndex):
    index = open_index(analysers=find())
    index.warm()
    index.add(entries("고양이를 보았다", "The cats sat"))
    index.warm()
    assert found(index, "고양이") == ["d-0"]
    assert found(index, "cat") == ["d-1"]


def test_a_closed_index_says_so(index: LexicalIndex):
    index.close()
    index.close()
    for use in (index.ids, lambda: index.search("cat", 1), lambda: index.add(entries("cat"))):
        with pytest.raises(IndexUnusable):
            use()


@EVERYWHERE
def test_many_threads_add_and_search_at_once(index: LexicalIndex):
    def work(number: int) -> list[bool]:
        seen = []
        for round_ in range(3):
            index.add([Entry(f"{number}-{round_}", str(number), f"cat number{number}")])
            seen.append(f"{number}-{round_}" in found(index, f"number{number}"))
        return seen

    with ThreadPoolExecutor(6) as pool:
        assert all(all(seen) for seen in pool.map(work, range(6)))
    assert len(index.ids()) == 18
