import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from rag.errors import IndexUnusable
from rag.index.bm25 import TantivyIndex
from rag.text.tokenize import find
from tests.rag.index.entries import entries, found


def test_morphemes_find_what_shares_no_pair_with_the_question():
    texts = entries("고양이를 봤다", "病院へ行った", "무관한 문서", "関係のない文書")
    pairs, both = TantivyIndex(), TantivyIndex(analysers=find())
    for index in (pairs, both):
        index.add(texts)
    for question, expected in (("누가 보는가?", "d-0"), ("誰が行くか", "d-1")):
        assert found(both, question)[0] == expected
        assert dict(both.search(question, 4))[expected] > dict(pairs.search(question, 4)).get(expected, 0)


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
    monkeypatch.setattr("rag.index.bm25.first_damaged", lambda _: None)
    first = TantivyIndex(tmp_path / "words")
    first.add(entries("cat"))
    first.add(entries(*["cat dog"] * 12, document="other"))
    first.close()
    # The lengths of one passage for twelve: those are looked up with care. Postings are not: other bytes in
    # them may end the process.
    one, twelve = sorted((tmp_path / "words").glob("*.fieldnorm"), key=lambda path: path.stat().st_size)
    twelve.write_bytes(one.read_bytes())
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


def test_an_index_is_cleared_while_a_late_file_is_written_into_its_folder(tmp_path: Path):
    written(tmp_path / "words")
    index = TantivyIndex(tmp_path / "words")
    over = time.monotonic() + 0.3

    def write_late() -> None:
        while time.monotonic() < over:
            with suppress(FileNotFoundError):
                (tmp_path / "words" / "late").touch()

    with ThreadPoolExecutor() as threads:
        writing = threads.submit(write_late)
        index.clear()
        writing.result()
    index.add(entries("cat"))
    assert found(index, "cat") == ["d-0"]
