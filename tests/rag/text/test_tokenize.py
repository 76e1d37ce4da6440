import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.language import language
from rag.text.sentences import sentences
from rag.text.tokenize import find, index_tokens, question_tokens, tokens

MIXED = st.text(
    st.sampled_from(" \n\t.!?…。！？)」\"'*|#-[]0123,aAbZ다가はい東.  ") | st.characters(), max_size=80
)


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("joined", "language"),
    [
        (
            "Dr. Smith left.|“Why?” she asked.|It cost $3.5 million in the U.S. market.|Nobody knew…|Fine.",
            "en",
        ),
        (
            "Apple Inc. CEO Tim Cook left Apple Inc.|The rest stayed.|See No. 5, Fig. 2, e.g. here.",
            "en",
        ),
        ("J. R. R. Tolkien wrote it.|Visit example.com or v1.2.3 today!|Really?!|Yes.", "en"),
        ("It rose to 12.|Nobody asked.[12]|It fell (see p. 3. Or not).", "en"),
        ("대한민국의 수도는 서울이다.|인구는 약 940만 명이다.|1,234.5원입니까?|“네.”라고 했다.", "ko"),
        (
            "東京は日本の首都です。|「はい。そうです。」と彼は言った。|人口は1,400万人！|本当？|（注。）終わり。",
            "ja",
        ),
        ("今天是1.5度。|真的吗？|他说：“是的。”|好！", "zh"),
        ("Am 3. Oktober kam er z.B. aus Nr. 5.|Das war 1990.|Danach nicht.", "de"),
        ("यह एक वाक्य है।|यह दूसरा है।", "hi"),
    ],
)
def test_sentences_end_where_a_reader_ends_them(joined: str, language: str):
    parts = joined.split("|")
    glue = "" if language in ("ja", "zh") else " "
    assert split(glue.join(parts)) == parts


def test_korean_sentences_end_without_a_space_too():
    assert split("비가 왔다.그래서 집에 있었다. 버전 1.2는 A.가 아니다.") == [
        "비가 왔다.",
        "그래서 집에 있었다.",
        "버전 1.2는 A.가 아니다.",
    ]


def test_a_line_break_is_white_space_inside_a_paragraph():
    assert split("One sentence over\ntwo lines.\n文は\n続く。\n\nNo stop here\n\nNext") == [
        "One sentence over\ntwo lines.",
        "文は\n続く。",
        "No stop here",
        "Next",
    ]


def test_list_items_headings_and_table_rows_stand_alone():
    text = "# Title\nText\n- one. Two\n1. Install it\n| a. B | c |\n|---|---|\nafter"
    assert split(text) == [
        "# Title",
        "Text",
        "- one.",
        "Two",
        "1. Install it",
        "| a. B | c |",
        "|---|---|",
        "after",
    ]


@given(MIXED)
def test_spans_are_trimmed_in_order_and_lose_only_white_space(text: str):
    end = 0
    for start, stop in sentences(text):
        assert start >= end
        assert text[end:start].strip() == ""
        assert text[start:stop] == text[start:stop].strip() != ""
        end = stop
    assert text[end:].strip() == ""


@pytest.mark.parametrize(
    "piece", ["a", "가", "。", "\n", "(", "「", "1.", "A. ", '."', "1,", "\u0301", "- x\n", "| \n"]
)
def test_two_million_characters_of_anything_take_seconds(piece: str):
    text = piece * (500_000 // len(piece))
    begun = time.process_time()
    sentences(text)
    tokens(text)
    assert time.process_time() - begun < 5


def test_words_are_folded_stemmed_and_freed_of_stop_words():
    assert tokens("The RUNNING of the cats' ｆｏｘｅｓ") == ["run", "cat", "fox"]


def test_hangul_kana_and_han_become_pairs_of_characters():
    assert tokens("서울의 API 東京タワー 猫") == ["서울", "울의", "api", "東京", "京タ", "タワ", "ワー", "猫"]
    assert tokens("ﾃｽﾄ") == tokens("テスト")


def test_grouped_numbers_are_found_as_written_and_plain():
    assert tokens("1,234.5 1.234,5 3.14 2024-05-01") == [
        "1,234.5", "1234.5", "1.234,5", "1234.5", "3.14", "2024", "05", "01",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "question"),
    [
        ("Les élections présidentielles ont été annulées.", "Qui a gagné l'élection présidentielle ?"),
        ("Die Häuser wurden verkauft und nicht vermietet.", "Wann wird das Haus verkauft?"),
        ("Los libros más antiguos de España", "¿Cuál es el libro más antiguo?"),
        ("Он читает новые книги и журналы", "новая книга для него"),
    ],
)
def test_european_words_meet_their_other_forms(document: str, question: str):
    assert len(set(tokens(document)) & set(tokens(question))) >= 2


def test_a_text_is_indexed_with_more_than_pairs():
    assert index_tokens("2019년도 서울에서", "en") == [
        "2019",
        "년도",
        "년도^",
        "2019년",
        "서울",
        "울에",
        "에서",
        "서울^",
    ]
    assert index_tokens("1,200円のコーヒー", "en")[-2:] == ["コーヒー", "1,200円"]
    assert set(question_tokens("서울에서 The cat", ["en"])) == {*index_tokens("서울에서", "en"), "cat"}


@pytest.mark.parametrize("word", ["x\u0301y2", "éx\u0301", "xé\u0301y", "x\u0301\u0323éy"])
def test_marks_and_letters_of_any_kind_are_one_word(word: str):
    assert len(tokens(f"{word} {word}", "en")) == 2


def test_accents_do_not_separate_a_question_from_a_document():
    assert set(tokens("Zürich café", "en")) == set(tokens("Zurich cafe", "en"))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "What is the capital of Korea?"),
        ("en", "kubernetes"),
        ("en", ""),
        ("ko", "Streamlit에서 PDF 문서를 여는 방법"),
        ("ja", "日本の首都はどこですか"),
        ("zh", "中国的首都是哪里"),
        ("de", "Wie hoch ist der Berg und wo liegt er?"),
        ("fr", "Quelle est la capitale de la France ?"),
        ("es", "¿Dónde está la ciudad más grande?"),
        ("it", "Qual è la capitale dell'Italia e quando è stata fondata?"),
        ("pt", "Qual é a capital do Brasil e quem foi o seu presidente?"),
        ("nl", "Wat is de hoofdstad van het land en waar ligt het?"),
        ("sv", "Vad är det för en stad som ligger på en ö och inte i landet"),
        ("ru", "Какая столица России?"),
        ("el", "Ποια είναι η πρωτεύουσα;"),
        ("ar", "ما هي عاصمة مصر؟"),
        ("th", "เมืองหลวงของประเทศไทย"),
    ],
)
def test_the_language_is_told(code: str, text: str):
    assert language(text) == code


@given(MIXED)
def test_a_question_has_the_tokens_of_the_same_words_in_a_document(text: str):
    assert tokens(text) == tokens(text)
    assert all(token and not token.isspace() for token in tokens(text))
    assert tokens(text.upper(), "en") == tokens(text.upper().casefold(), "en")


@given(st.text(st.sampled_from("가나다東京はいーテ"), min_size=1, max_size=30))
def test_unspaced_runs_lose_no_character(run: str):
    pairs = tokens(run)
    assert pairs[0] + "".join(pair[-1] for pair in pairs[1:]) == run


def test_tokens_are_the_same_from_many_threads():
    texts = ["The cats were running quickly through national universities"] * 50
    with ThreadPoolExecutor(8) as pool:
        assert len(set(map(tuple, pool.map(tokens, texts)))) == 1


def test_tokens_hold_no_white_space_even_where_normal_forms_do():
    assert not [t for t in tokens("a\u00a0b ﷺ ´ ¨ c") if re.search(r"\s", t)]


def test_morphemes_come_to_the_pairs_and_do_not_replace_them():
    text = "길고양이를 보았다"
    assert index_tokens(text, "en", find()) == [*index_tokens(text, "en"), "길고양이", "보"]
    assert set(question_tokens("길고양이를 보는", ["en"], find())) >= {
        *index_tokens("길고양이를", "en"),
        "보",
    }
    assert index_tokens("The cats", "en", find()) == ["cat"]
