import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.errors import RetrievalError
from rag.text.tokenize import Japanese, Korean, find, morphemes

ANY_TEXT = st.text(st.sampled_from("가나다 보았다는を行った東京都ー。.,a1\n\x00\ud800🙂") | st.characters())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("길고양이를 보았다.", ["길고양이", "보"]),
        ("대한민국의 수도는 서울이고 인구가 많다", ["대한민국", "수도", "서울", "인구", "많"]),
        ("東京都庁の附属病院へ行きました。", ["東京", "都庁", "付属", "病院", "行く"]),
        ("サーバを引っ越した", ["サーバー", "引っ越す"]),
        ("二百が来た", ["来る"]),
    ],
)
def test_words_with_a_meaning_are_found_in_their_dictionary_form(text: str, expected: list[str]):
    assert morphemes(text, find()) == expected


@pytest.mark.parametrize(
    "text", ["", "The cat sat.", "北京是中国的首都。", "他说「の」是日语。北京是首都。", "1,234.5 🙂"]
)
def test_other_languages_have_none(text: str):
    assert morphemes(text, find()) == []


def test_a_text_of_both_languages_gives_both():
    assert morphemes("서울에서 東京へ行く", find()) == ["서울", "東京", "行く"]


@settings(deadline=None)  # the first example loads the models
@given(ANY_TEXT)
def test_any_text_is_taken_and_gives_short_words_without_white_space(text: str):
    for found in morphemes(text, find()):
        assert found
        assert len(found) <= 64
        assert len(found.split()) == 1


@pytest.mark.parametrize("text", ["가" * 9000, "猫" * 30_000, "ア" * 30_000, "가 " + "a" * 300_000 + " の"])
def test_long_texts_without_a_break_are_taken(text: str):
    assert all(found in text for found in morphemes(text, find()))


def test_many_threads_get_the_same():
    text = "서울에서 길고양이를 보았다. 東京へ行きました。"
    with ThreadPoolExecutor(6) as pool:
        assert len(set(map(tuple, pool.map(lambda _: morphemes(text, find()), range(60))))) == 1


def test_both_are_found_where_installed_and_none_where_switched_off():
    assert [each.code for each in find()] == ["ko", "ja"]
    assert find("off") == ()
    assert find()[0].name.startswith("kiwipiepy 0.")


def test_one_whose_packages_are_not_there_is_not_installed():
    class Absent(Korean):
        packages = ("kiwipiepy", "no_such_package")

    assert not Absent().installed


def test_one_that_cannot_be_loaded_says_what_to_do():
    class Broken(Japanese):
        @staticmethod
        def _model() -> None:
            raise OSError("no dictionary")

    with pytest.raises(
        RetrievalError, match=r"sudachipy .* no dictionary.*FOOTNOTE_KOREAN_JAPANESE_ANALYZERS=off"
    ):
        Broken().morphemes("東京へ行く")


def test_no_analyser_is_loaded_before_a_text_of_its_language():
    script = """
import sys
from rag.text.tokenize import find
from rag.index.bm25 import TantivyIndex
from rag.index.lexical import Entry
def loaded(): return {"kiwipiepy", "sudachipy"} & set(sys.modules)
index = TantivyIndex(analysers=find())
index.add([Entry("1", "d", "The cat sat."), Entry("2", "d", "北京是中国的首都")])
index.search("cat", 1)
index.warm()
assert not loaded(), loaded()
index.add([Entry("3", "d", "東京へ行く")])
assert loaded() == {"sudachipy"}, loaded()
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
