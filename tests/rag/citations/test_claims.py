"""Names of a claim against its evidence: who is meant by a pronoun, and by "the Company"."""

import pytest

from rag.citations.claims import Sentence, find_contradiction, in_its_words


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
        ("The Company's Apple Watch sales fell.", "The Company's sales fell."),
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
    ],
)
def test_a_rise_or_a_fall_that_the_source_does_not_state_is_a_difference(said: str, told: str, found: str):
    anchor = sentence(told)
    assert find_contradiction(sentence(said), anchor, [anchor], [anchor], ["direction"]) == found
