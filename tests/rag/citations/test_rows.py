import pytest

from rag.citations.checker import Checker, Evidence
from rag.passage import Passage

CREWS = """| Crew | Boat | Coach | Captain |
|---|---|---|---|
| M1 | Osprey | Lena Fisk | Tom Adair |
| M2 | Curlew | Paul Obi | Sam Reyes |
| W1 | Heron | Lena Fisk | Ruth Malik |
| A | Wren | Greta Lund | Ali Khan |
"""
SHIFTS = "| Shift | Place | Leader |\n|---|---|---|\n| B | Gate | Owen Hale |\n| C | Route | Ines Duarte |\n"
GROUPS = """| 조 | 조장 | 부조장 | 출발지 |
|---|---|---|---|
| 1조 | 오세린 | 한가람 | 시청 |
| 2조 | 한가람 | 윤보라 | 중앙역 |
"""
TEAMS = """| 班 | 班長 | 副班長 | 集積所 |
|---|---|---|---|
| A班 | 大野誠 | 森下由紀 | 公園前 |
| B班 | 森下由紀 | 川上洋 | 坂の下 |
"""


def check(text: str, claim: str) -> Evidence:
    return Checker([Passage("c", "d", "a.md", "", None, "", 0, len(text), text)]).check(claim)


@pytest.mark.parametrize(
    ("text", "claim", "row"),
    [
        (SHIFTS, "Shift C is led by Ines Duarte.", "| C |"),
        (SHIFTS, "The leader of shift B is Owen Hale.", "| B |"),
        (CREWS, "M1 is coached by Lena Fisk.", "| M1 |"),
        (CREWS, "The captain of crew W1 is Ruth Malik.", "| W1 |"),
        (CREWS, "Crew A is captained by Ali Khan.", "| A |"),
        (GROUPS, "2조의 조장은 한가람이다.", "| 2조 |"),
        (GROUPS, "2조의 부조장은 윤보라입니다.", "| 2조 |"),
        (TEAMS, "B班の班長は森下由紀である。", "| B班 |"),
        (TEAMS, "A班の集積所は公園前です。", "| A班 |"),
    ],
)
def test_a_row_verifies_what_a_statement_says_of_its_other_cell(text: str, claim: str, row: str):
    found = check(text, claim)
    assert found.status == "verified"
    assert row in text[found.start : found.end]


@pytest.mark.parametrize(
    ("text", "claim", "said"),
    [
        (SHIFTS, "Shift C is led by Owen Hale.", "Ines Duarte"),
        (CREWS, "M1 is coached by Tom Adair.", "Lena Fisk"),
        (CREWS, "The captain of M2 is Ruth Malik.", "Sam Reyes"),
        (GROUPS, "2조의 조장은 윤보라이다.", "한가람"),
        (GROUPS, "2조의 출발지는 시청이다.", "중앙역"),
        (TEAMS, "A班の班長は森下由紀である。", "大野誠"),
    ],
)
def test_a_cell_of_another_row_or_column_differs(text: str, claim: str, said: str):
    found = check(text, claim)
    assert (found.status, found.said) == ("differs", said)


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        (CREWS, "Only M1 is coached by Lena Fisk."),
        (CREWS, "M2 is not coached by Paul Obi."),
        (CREWS, "M2 dismissed its coach Paul Obi."),
        (CREWS, "The coach of M2 was Paul Obi until May."),
        (CREWS, "The captain of M1 and W1 is Tom Adair."),
        (GROUPS, "1조의 조장은 오세린의 동생이다."),
        (GROUPS, "1조는 시청각실에 있다."),
        (TEAMS, "A班の班長は大野誠ではない。"),
    ],
)
def test_a_statement_that_says_more_than_its_row_is_not_verified(text: str, claim: str):
    assert check(text, claim).status in ("related", "unsupported")
