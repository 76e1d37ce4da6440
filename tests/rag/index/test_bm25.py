import json
import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rag.errors import IndexUnusable
from rag.index.bm25 import Entry, TantivyIndex
from rag.text.tokenize import find, index_tokens


@pytest.fixture(params=["directory", "memory"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> TantivyIndex:
    return TantivyIndex(tmp_path / "words" if request.param == "directory" else None)


def entries(*texts: str, document: str = "d") -> list[Entry]:
    return [Entry(f"{document}-{n}", document, text) for n, text in enumerate(texts)]


def found(index: TantivyIndex, question: str, *, k: int = 10, of: list[str] | None = None) -> list[str]:
    return [id_ for id_, _ in index.search(question, k, of)]


def test_an_empty_index_finds_nothing(index: TantivyIndex):
    assert found(index, "cat") == []
    assert index.ids() == set()
    assert not index.stale


def test_an_entry_added_again_is_replaced(index: TantivyIndex):
    index.add(entries("old words"))
    index.add(entries("new words"))
    assert found(index, "old") == []
    assert found(index, "new words") == ["d-0"]
    assert index.ids() == {"d-0"}


def test_the_last_of_equal_ids_in_one_call_counts(index: TantivyIndex):
    index.add([Entry("a", "d", "old"), Entry("a", "d", "new")])
    assert found(index, "new") == ["a"]
    assert found(index, "old") == []


def test_deleted_entries_are_gone_and_unknown_ids_are_no_error(index: TantivyIndex):
    index.add(entries("cat", "cat"))
    index.delete(["d-0", "never there"])
    assert found(index, "cat") == ["d-1"]
    assert index.ids() == {"d-1"}
    index.delete([])


def test_entries_survive_a_restart(tmp_path: Path):
    first = TantivyIndex(tmp_path / "words")
    first.add(entries("고양이가 있다", "犬がいる"))
    first.close()
    second = TantivyIndex(tmp_path / "words")
    assert not second.stale
    assert found(second, "고양이") == ["d-0"]


def test_the_filter_works_inside_the_search(index: TantivyIndex):
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
def test_any_question_is_answered(index: TantivyIndex, question: str):
    index.add(entries("cat"))
    assert found(index, question) in ([], ["d-0"])


def test_none_of_none_is_none(index: TantivyIndex):
    index.add(entries("cat"))
    assert index.search("cat", 0) == []


def test_scores_are_those_of_bm25(index: TantivyIndex):
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


def test_entries_are_scored_as_a_search_scores_them(index: TantivyIndex):
    index.add(entries("the red cat", "a cat and a dog", "two dogs", "고양이가 있다"))
    for question in ("cat dog", "red dogs", "고양이"):
        everything = dict.fromkeys(index.ids(), 0.0) | dict(index.search(question, 10))
        assert index.scores(question, sorted(index.ids())) == everything
        assert index.scores(question, ["d-1"]) == {"d-1": everything["d-1"]}
    assert index.scores("cat", ["never there"]) == {"never there": 0.0}
    assert index.scores("cat", []) == {}
    assert index.scores("?", ["d-1"]) == {"d-1": 0.0}


def test_equal_scores_come_in_the_order_of_ids(index: TantivyIndex):
    index.add([Entry(id_, "d", "cat") for id_ in "cab"])
    assert found(index, "cat") == ["a", "b", "c"]


def test_a_question_of_one_word_meets_each_language_of_the_index(index: TantivyIndex):
    index.add(
        entries("Les élections présidentielles ont été annulées par le juge.", "The elections were annulled.")
    )
    assert found(index, "présidentielle") == ["d-0"]


@pytest.mark.parametrize(
    ("question", "expected"), [("猫", "d-0"), ("カフェ", "d-1"), ("고양이", "d-2"), ("京都", "d-3")]
)
def test_one_character_or_word_is_found_inside_unspaced_text(
    index: TantivyIndex, question: str, expected: str
):
    index.add(entries("黒猫が好きです", "新しいカフェへ行く", "길고양이를 보았다", "東京都に住む"))
    assert found(index, question) == [expected]


def test_rarity_is_the_inverse_document_frequency(index: TantivyIndex):
    index.add(entries("cat dog", *["dog"] * 9))
    assert index.rarity("cat") == pytest.approx(math.log(1 + 9.5 / 1.5))
    assert index.rarity("dog") == pytest.approx(math.log(1 + 0.5 / 10.5))
    assert index.rarity("unseen") > index.rarity("cat")


def test_another_tokenizer_makes_the_index_stale_until_it_is_cleared(tmp_path: Path):
    TantivyIndex(tmp_path / "words", tokenizer="old").add(entries("cat"))
    index = TantivyIndex(tmp_path / "words")
    assert index.stale
    with pytest.raises(IndexUnusable, match="words"):
        index.search("cat", 1)
    index.clear()
    assert not index.stale
    index.add(entries("cat"))
    assert found(index, "cat") == ["d-0"]


def test_morphemes_find_what_shares_no_pair_with_the_question():
    texts = entries("고양이를 봤다", "病院へ行った", "무관한 문서", "関係のない文書")
    pairs, both = TantivyIndex(), TantivyIndex(analysers=find())
    for index in (pairs, both):
        index.add(texts)
    for question, expected in (("누가 보는가?", "d-0"), ("誰が行くか", "d-1")):
        assert found(both, question)[0] == expected
        assert dict(both.search(question, 4))[expected] > dict(pairs.search(question, 4)).get(expected, 0)


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
def test_a_change_of_what_makes_the_tokens_makes_the_index_stale(tmp_path: Path, before: dict, after: dict):
    for options, stale in ((before, False), (before, False), (after, True)):
        index = TantivyIndex(tmp_path / "words", **options)
        assert index.stale is stale
        index.close()


def test_warming_loads_what_the_index_speaks_and_changes_nothing(tmp_path: Path):
    index = TantivyIndex(tmp_path / "words", analysers=find())
    index.warm()
    index.add(entries("고양이를 보았다", "The cats sat"))
    index.warm()
    assert found(index, "고양이") == ["d-0"]
    assert found(index, "cat") == ["d-1"]


@pytest.mark.parametrize("name", ["meta.json", "footnote.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", None], ids=["empty", "cut", "bytes", "gone"])
def test_damaged_files_make_the_index_stale(tmp_path: Path, name: str, content: bytes | None):
    first = TantivyIndex(tmp_path / "words")
    first.add(entries("cat"))
    first.close()
    if content is None:
        (tmp_path / "words" / name).unlink()
    else:
        (tmp_path / "words" / name).write_bytes(content)
    index = TantivyIndex(tmp_path / "words")
    assert index.stale
    index.clear()
    assert found(index, "cat") == []


@pytest.mark.parametrize("suffix", [".store", ".term", ".idx", ".pos", ".fieldnorm", ".del"])
@pytest.mark.parametrize("damage", ["emptied", "cut", "gone"])
def test_damaged_segments_are_noticed_at_the_start(tmp_path: Path, suffix: str, damage: str):
    first = TantivyIndex(tmp_path / "words")
    first.add(entries("cat", "dog", "cat and dog"))
    first.delete(["d-1"])
    first.close()
    [file] = (tmp_path / "words").glob(f"*{suffix}")
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(b"" if damage == "emptied" else file.read_bytes()[: file.stat().st_size // 2])
    index = TantivyIndex(tmp_path / "words")
    assert index.stale
    index.clear()
    index.add(entries("cat"))
    assert found(index, "cat") == ["d-0"]


def test_a_closed_index_says_so(index: TantivyIndex):
    index.close()
    index.close()
    for use in (index.ids, lambda: index.search("cat", 1), lambda: index.add(entries("cat"))):
        with pytest.raises(IndexUnusable):
            use()


def test_many_threads_add_and_search_at_once(index: TantivyIndex):
    def work(number: int) -> list[bool]:
        seen = []
        for round_ in range(3):
            index.add([Entry(f"{number}-{round_}", str(number), f"cat number{number}")])
            seen.append(f"{number}-{round_}" in found(index, f"number{number}"))
        return seen

    with ThreadPoolExecutor(6) as pool:
        assert all(all(seen) for seen in pool.map(work, range(6)))
    assert len(index.ids()) == 18


def written(directory: Path) -> list[tuple[str, float]]:
    """Make an index of several segments with deletions; returns a ranking of it."""
    index = TantivyIndex(directory)
    for part in range(3):
        index.add(entries(*(f"cat {'dog ' * n} bird{n}" for n in range(12)), document=f"d{part}"))
    index.delete(["d1-3", "d2-5"])
    ranking = index.search("cat dog bird7", 40)
    index.close()
    return ranking


def test_a_changed_byte_in_a_segments_file_is_noticed_before_it_changes_a_ranking(tmp_path: Path):
    ranking = written(tmp_path / "words")
    files = sorted(path for path in (tmp_path / "words").iterdir() if path.suffix not in (".lock", ".json"))
    assert {".fieldnorm", ".store", ".term", ".idx", ".del"} <= {path.suffix for path in files}
    silent = []
    for number, path in enumerate(files):
        before = path.read_bytes()
        for place in range(number % 7, len(before), max(1, len(before) // 5)):
            path.write_bytes(before[:place] + bytes([before[place] ^ 0x15]) + before[place + 1 :])
            try:
                index = TantivyIndex(tmp_path / "words")
                if not index.stale and index.search("cat dog bird7", 40) != ranking:
                    silent.append((path.name, place))
                index.close()
            except IndexUnusable:
                pass
        path.write_bytes(before)
    assert silent == []
    assert not TantivyIndex(tmp_path / "words").stale


def test_damage_under_an_open_index_is_found_by_a_check_and_mended_by_clearing(tmp_path: Path):
    written(tmp_path / "words")
    index = TantivyIndex(tmp_path / "words")
    index.check()
    for path in (tmp_path / "words").glob("*.fieldnorm"):
        with path.open("r+b") as file:
            file.write(b"\x7f\x7f")
    with pytest.raises(IndexUnusable, match="fieldnorm is not as it was written"):
        index.check()
    assert index.damaged
    index.clear()
    index.check()
    assert not index.damaged and index.ids() == set()


@pytest.mark.parametrize("added", [-1, 1, 90])
def test_another_number_of_entries_than_was_written_is_found_by_a_check(tmp_path: Path, added: int):
    written(tmp_path / "words")
    index = TantivyIndex(tmp_path / "words")
    index.check()
    path = tmp_path / "words" / "meta.json"
    listed = json.loads(path.read_text())
    listed["segments"][0]["max_doc"] += added
    path.write_text(json.dumps(listed))
    with pytest.raises(IndexUnusable, match=r"meta\.json is not as it was written"):
        index.check()


def test_a_panic_of_the_engine_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written(tmp_path / "words")
    monkeypatch.setattr("rag.index.bm25.first_damaged", lambda _: None)
    for path in (tmp_path / "words").glob("*.idx"):
        content = path.read_bytes()
        path.write_bytes(b"\x7f" * (len(content) - 160) + content[-160:])  # the end tells where fields begin
    index = TantivyIndex(tmp_path / "words")
    with pytest.raises(IndexUnusable) as told:
        index.search("cat dog", 40)
    assert type(told.value.__cause__).__name__ == "PanicException"
    assert index.damaged


@pytest.mark.parametrize("suffix", [".store", ".term"])
def test_files_of_two_segments_that_were_exchanged_are_found_by_a_check(tmp_path: Path, suffix: str):
    written(tmp_path / "words")
    first, second, *_ = sorted((tmp_path / "words").glob(f"*{suffix}"))
    contents = first.read_bytes(), second.read_bytes()
    second.write_bytes(contents[0])
    first.write_bytes(contents[1])
    index = TantivyIndex(tmp_path / "words")
    with pytest.raises(IndexUnusable):
        index.check()
    index.clear()
    index.check()
