"""Numbers of a statement that follow from numbers of prose."""

import pytest

from rag.citations.arithmetic import derive
from rag.citations.checker import Checker
from rag.passage import Passage

SITES = "The Ulm site has 180 machines, and the Bonn site has 45 machines."
TOWERS = "The tower is 180 metres tall. The mill is 50 metres tall."
RIDES = "Ridership was 1.2 million in 2010 and reached 2.7 million in 2020."
FILM = "영화는 3000만 달러의 제작비를 들여 전 세계에서 4억 4,500만 달러의 수익을 벌어들였다."
PLANES = "納入数は、A320単体で5,213機、A320ファミリー全体で8,525機である。"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The Ulm and Bonn sites together have 225 machines.", SITES),
        ("Ulm has four times as many machines as Bonn.", SITES),
        ("The tower is 130 metres taller than the mill.", TOWERS),
        ("Ridership more than doubled between 2010 and 2020.", RIDES),
        ("Ridership grew by 125% from 2010 to 2020.", RIDES),
        ("The bridge opened 12 years after work began.", "Work began in 1920. The bridge opened in 1932."),
        ("수익은 제작비의 약 15배에 이릅니다.", FILM),
        ("A320単体がファミリー全体の約6割を占める。", PLANES),
        ("Ulm has about three times as many machines as Bonn.", SITES.replace("180", "155")),
    ],
)
def test_a_number_that_follows_is_calculated(claim: str, text: str) -> None:
    found = derive(claim, text)

    assert found is not None
    assert found.holds, found


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The Ulm and Bonn sites together have 235 machines.", SITES),
        ("Ulm has three times as many machines as Bonn.", SITES),
        ("The tower is 120 metres taller than the mill.", TOWERS),
        ("The mill is 130 metres taller than the tower.", TOWERS),
        ("Ridership more than tripled between 2010 and 2020.", RIDES),
        ("Ridership fell by 125% from 2010 to 2020.", RIDES),
        ("The bridge opened 13 years after work began.", "Work began in 1920. The bridge opened in 1932."),
        ("Ulm has about three times as many machines as Bonn.", SITES.replace("180", "160")),
        ("수익은 제작비의 약 12배에 이릅니다.", FILM),
        ("제작비는 수익의 약 15배에 이릅니다.", FILM),
        ("A320単体がファミリー全体の約7割を占める。", PLANES),
        ("The Ulm site has 180 machines.", SITES),
        ("The Ulm site has 190 machines.", SITES),
        ("제2차 종합계획을 10월에 세운다.", "8월에 제2차 종합계획을 세운다."),
    ],
)
def test_a_number_that_does_not_follow_is_not_calculated(claim: str, text: str) -> None:
    found = derive(claim, text)

    assert found is None or not found.holds, found


def test_a_calculated_statement_shows_the_calculation_and_both_sources() -> None:
    text = f"Both were opened by the council. {TOWERS} Visitors are welcome."
    passage = Passage("c", "d", "towers.txt", "", None, "", 0, len(text), text)

    found = Checker([passage]).check("The tower is 130 metres taller than the mill.")

    assert (found.status, found.calculation) == ("verified", "180 metres - 50 metres = 130")
    assert [text[span.start : span.end] for span in found.spans] == TOWERS.replace(". ", ".|").split("|")


def test_numbers_of_another_sentence_are_not_tried_when_the_nearest_ones_do_not_fit() -> None:
    text = (
        "원심은 징역 24개월을 선고했고 항소심은 징역 14개월을 선고했다. 그는 복역 10개월을 채우고 출소했다."
    )
    passage = Passage("c", "d", "ruling.txt", "", None, "", 0, len(text), text)

    assert Checker([passage]).check("형량은 항소심에서 원심보다 14개월 줄었다.").status != "verified"
