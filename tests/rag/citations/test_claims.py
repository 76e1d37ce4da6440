"""Names of a claim against its evidence: who is meant by a pronoun, and by "the Company"."""

from itertools import permutations

import pytest

from rag.citations.claims import find_contradiction, in_its_words
from rag.citations.sentence import Sentence


def sentence(text: str) -> Sentence:
    return Sentence(text, 0, len(text))


@pytest.mark.parametrize(
    ("anchor", "found"),
    [("Later it bought the old mill.", ""), ("Later it and Corvin bought the old mill.", "name")],
)
def test_a_name_in_the_anchor_that_the_claim_lacks_is_another_doer(anchor: str, found: str):
    passage = [sentence("Brill is in Ulm."), sentence(anchor)]
    claim = sentence("Brill bought the old mill.")
    assert find_contradiction(claim, passage[1], passage[1:], passage, ["name"]) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The Company's sales fell while Apple rose.", "Apple's sales fell."),
        ("The Company's Apple Watch sales fell.", "the company sales fell."),
    ],
)
def test_a_document_that_names_its_owner_by_itself_is_quoted_by_that_name(text: str, said: str):
    assert in_its_words(sentence("Apple's sales fell."), text, {"apple"}).text == said


@pytest.mark.parametrize(
    ("said", "told", "found"),
    [
        ("橋は東京で1932年に完成した。", "1932年に東京で橋は完成した。", ""),
        ("橋は東京で去年に完成した。", "去年に東京で橋は完成した。", "order"),
    ],
)
def test_letters_may_move_in_japanese_where_facts_are_compared_by_value(said: str, told: str, found: str):
    anchor = sentence(told)
    assert find_contradiction(sentence(said), anchor, [anchor], [anchor], ["order"]) == found


@pytest.mark.parametrize(
    ("said", "told", "found"),
    [
        (
            "Lamps reduce the risk of injury.",
            "We asked whether lamps change the risk of injury.",
            "direction",
        ),
        ("Lamps reduce the risk of injury.", "Lamps lowered it; the risk of injury was reduced.", ""),
        ("Two towns made up 16% of riders.", "Two towns were 16% of riders.", ""),
        ("가격이 증가했다.", "가격이 얼마인지 물었다.", "direction"),
        ("価格が上昇した。", "価格がどうなるかを調べた。", "direction"),
        ("The gate is unlocked.", "The gate is locked.", "direction"),
        ("The depot was sold.", "The pot was sold.", ""),  # three letters are left without "de": no prefix
    ],
)
def test_a_rise_or_a_fall_that_the_source_does_not_state_is_a_difference(said: str, told: str, found: str):
    anchor = sentence(told)
    assert find_contradiction(sentence(said), anchor, [anchor], [anchor], ["direction"]) == found


@pytest.mark.parametrize(
    ("said", "told", "found"),
    [
        ("It has 12 halls, 30% of them new.", "With 30% new, it has 12 halls.", ""),
        ("It has 12 halls and 30 rooms.", "It has 30 rooms and 12 halls.", "number"),
        ("Sales fell in 2023.", "Sales of all kinds, which fell in 2023, rose in 2022.", ""),
        ("New halls were built.", "It built new halls.", ""),
        (
            "The coin has no value.",
            "The coin has no value and serves, beside gold, to trade and to save.",
            "",
        ),
        ("橋は1932年に東京で完成した。", "その橋は旧橋の代わりに建てられ、1932年に東京で完成した。", ""),
    ],
)
def test_what_only_stands_elsewhere_in_a_sentence_is_no_difference(said: str, told: str, found: str):
    anchor = sentence(told)
    kinds = ["number", "name", "denial", "exchange"]
    assert find_contradiction(sentence(said), anchor, [anchor], [anchor], kinds) == found


@pytest.mark.parametrize(
    ("said", "found"),
    [("アンナは春に王の求婚を城で拒否した。", ""), ("アンナは春に大公の求婚を城で拒否した。", "exchange")],
)
def test_a_topic_that_a_japanese_sentence_leaves_out_is_no_other_word(said: str, found: str):
    passage = [
        sentence("アンナは女王である。"),
        sentence("彼女は春に王の求婚を城で拒否し、大公とは交渉した。"),
    ]
    assert find_contradiction(sentence(said), passage[1], passage[1:], passage, ["exchange"]) == found


def test_a_company_is_called_by_its_name_anywhere_in_a_sentence():
    said = in_its_words(sentence("New lamps affect Brill's sales."), "The Company's sales fell.", {"brill"})
    assert said.text == "New lamps affect the company sales."
    assert "Company" not in said.names


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("다리는 매월 100원의 학비를 지원하고 있었다.", "topic"),
        ("은행은 매월 100원의 학비를 지원하고 있었다.", ""),
        ("은행은 매월 100원의 월세를 지원하고 있었다.", "exchange"),
    ],
)
def test_a_korean_sentence_in_other_words_is_no_exchange_unless_topic_or_noun_differ(said: str, found: str):
    told = sentence("은행은 지난해부터 아버지를 만나 매월 100원의 학비 지원을 하고 있었다.")
    kinds = ["topic", "word", "exchange"]
    assert find_contradiction(sentence(said), told, [told], [told], kinds) == found


def test_only_content_words_count_in_korean():
    told = sentence("시립도서관은 1998년에 개관하였다.")
    same, other = (
        sentence("시립도서관이 개관한 것은 1998년입니다."),
        sentence("시립미술관은 1998년에 개관하였다."),
    )
    assert same.share(told.words) > 0.8 > other.share(told.words)


def test_a_share_is_the_same_in_any_order_of_the_words():
    text = "They said and reported that the bridge and the tunnel made known totals."
    sentence, shares = Sentence(text, 0, len(text)), set[float]()
    for order in permutations(sentence.weights.items()):
        vars(sentence)["weights"] = dict(order)
        shares.add(sentence.share({"bridg", "made", "known", "said"}))
    assert len(shares) == 1


@pytest.mark.parametrize(
    ("source", "true", "false"),
    [
        ("休憩は正午から60分とする。", "休憩は正午から60分です。", "休憩は正午まで60分です。"),
        (
            "착공 7일 전까지 신고하여야 한다.",
            "착공 7일 전까지 신고해야 합니다.",
            "착공 7일 후까지 신고해야 합니다.",
        ),
        ("この規則は4月1日から施行する。", "4月1日から施行する。", "この規則は4月1日まで施行する。"),
        ("접수는 오전 9시부터 5시까지 한다.", "접수는 5시까지 한다.", "접수는 5시부터 한다."),
    ],
)
def test_what_is_before_is_not_after(source: str, true: str, false: str):
    told = Sentence(source, 0, len(source))
    found = [find_contradiction(Sentence(said, 0, len(said)), told, [told], [told]) for said in (true, false)]
    assert not found[0] and found[1] == "side"


def test_another_word_in_the_same_role_is_exchanged_wherever_it_stands():
    told = Sentence("退職しようとする者は、30日前までに書面で届け出なければならない。", 0, 0)
    said = "退職しようとする者は、{}30日前までに届け出なければなりません。"
    kinds = [
        find_contradiction(Sentence(said.format(word), 0, 0), told, [told], [told])
        for word in ("書面で", "口頭で")
    ]
    assert kinds == ["", "role"]
