import pytest

from rag.passage import Passage
from rag.retrieval.summary import FEWEST, MANY, MOST, summarise

RULES = "The harbour rules of Brunn are read to every skipper who moors a boat at the quay."


def passages(*sections: tuple[str, str], document: str = "harbour.md") -> list[Passage]:
    return [
        Passage(f"{document}{n}", document, document, "", None, heading, 1000 * n, 1000 * n + len(text), text)
        for n, (heading, text) in enumerate(sections)
    ]


def quotes(given: list[Passage]) -> list[str]:
    return [given[pick.number - 1].text[pick.start : pick.end] for pick in summarise(given)]


THINGS = [
    "rope anchor sail",
    "mast keel rudder",
    "oar tiller winch",
    "pump lamp bell",
    "flag chart log",
    "compass barge ferry",
    "tug crane ramp",
    "shed fence gate",
    "path pier beacon",
    "buoy chain hook",
    "net crate barrel",
    "sack coal grain",
]


def section(number: int) -> tuple[str, str]:
    one, other, third = THINGS[number].split()
    text = (
        f"Every {one} of the yard is let with its {other} and {third} for {number + 2} crowns a night. "
        "The master of the yard keeps the key in a drawer of the old customs house."
    )
    return f"Rules > {one}", text


def test_every_section_gives_one_unit_in_the_order_of_the_text():
    given = passages(*(section(number) for number in range(FEWEST + 2)))
    assert [pick.number for pick in summarise(given)] == list(range(1, FEWEST + 3))


def test_a_document_of_many_sections_gives_no_more_than_the_most():
    given = passages(*(section(number) for number in range(MOST)), ("Rules > Skippers", RULES))
    assert len(summarise(given)) == MOST


def test_a_section_without_sentences_gives_its_table_or_its_list():
    table = "| Task | Who | Until |\n|---|---|---|\n| Paint the crane | Ann Berg | 4 May |"
    items = "- Repair of the slipway is put off\n- Bids for the new light"
    given = passages(("Minutes > Report", RULES), ("Minutes > Decisions", table), ("Minutes > Open", items))
    assert quotes(given) == [RULES, "| Paint the crane | Ann Berg | 4 May |", items]


def test_a_quotation_gives_its_total_and_its_conditions():
    table = "| Item | Price |\n|---|---|\n| Rope | 300 |\n| Total | 1,300 |"
    terms = "Valid until: 3 May\nDelivery: 6 weeks\nPayment: 30 days after the invoice"
    said = quotes(passages(("Quotation", f"# Quotation\n\n{table}\n\n{terms}")))
    assert said == ["| Rope | 300 |\n| Total | 1,300 |", terms]


@pytest.mark.parametrize("total", ["Total", "합계", "合計"])
def test_a_long_table_gives_its_total(total: str):
    rows = "\n".join(f"| Rope of the harbour, coil {number} | {number} crowns |" for number in range(60))
    given = passages(("Stock", f"| Item | Price |\n|---|---|\n{rows}\n| {total} | 1,770 crowns |"))
    assert quotes(given) == [f"| {total} | 1,770 crowns |"]


def test_the_first_part_of_a_table_does_not_stand_for_all_of_it():
    given = passages(("Stock", "| Item | Price |\n|---|---|\n| Rope | 3 |"), ("Stock", "| Tar | 4 |"))
    assert quotes(given) == []


@pytest.mark.parametrize(
    ("rule", "exception"),
    [
        (RULES, "However, skippers of the pilot service need not hear them."),
        ("항구에 배를 대는 모든 선장은 도착한 날 안에 입항료를 낸다.", "다만, 도선사의 배는 내지 아니한다."),
        (
            "港に船を着けるすべての船長は、到着した日のうちに入港料を支払う。",
            "ただし、水先人の船には適用しない。",
        ),
    ],
)
@pytest.mark.parametrize("between", [" ", "\n\n", "\n\n② "])
def test_a_rule_is_quoted_with_its_exception(rule: str, exception: str, between: str):
    given = passages(("Rules > Fees", rule + between + exception), *(section(n) for n in range(FEWEST)))
    assert quotes(given)[0] == rule + between + exception


@pytest.mark.parametrize(
    "lead",
    [
        "Moorings at the quay of Brunn cost in summer:",
        "여름철 브룬 항구의 정박 요금은 다음과 같다.",
        "船員が次の各号に該当するときは、休暇を与える。",
    ],
)
@pytest.mark.parametrize(
    "listed", ["- Boats: 3\n- Ships: 9", "(1) 3\n\n(2) 9", "| a | b |\n|---|---|\n| 3 | 9 |"]
)
def test_a_sentence_that_leads_in_a_list_is_quoted_with_it(lead: str, listed: str):
    given = passages(("Rules > Fees", f"{lead}\n\n{listed}"), *(section(n) for n in range(FEWEST)))
    assert quotes(given)[0] == f"{lead}\n\n{listed}"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "제1조 (요금)\n배를 대는 요금은 하루 3,000원으로 한다.",
            "제2조 (기간)\n이 계약의 기간은 5년으로 한다.",
        ),
        (
            "第1条（料金）\n船を着ける料金は、一日3,000円とする。",
            "第2条（期間）\nこの契約の期間は、5年とする。",
        ),
        ("Fees\n\nA berth costs 3,000 crowns for a day.", "Term\n\nThis contract ends after 5 years."),
    ],
)
def test_articles_and_headings_within_a_passage_are_sections(first: str, second: str):
    filling = "\n\n".join(text for _, text in map(section, range(FEWEST)))
    given = passages(("Contract", f"{first}\n\n{second}\n\nBerths\n\n{filling}"))
    said = quotes(given)
    assert said[0] == first.split("\n")[-1]
    assert said[1] == second.split("\n")[-1]


def test_sections_attached_to_a_document_wait_for_its_own():
    own = [section(number) for number in range(MOST)]
    given = passages(*own, ("Rules > References", RULES))
    assert RULES not in quotes(given)


def test_each_of_several_documents_is_told_of_by_a_sentence_before_a_table():
    table = "| Task | Who |\n|---|---|\n| Paint the crane in May | Ann Berg |"
    minutes = passages(("Tasks", table), ("Talk", RULES), document="minutes.md")
    many = [passages(section(number), document=f"{number}.md") for number in range(MOST - 1)]
    said = quotes([*minutes, *(one for document in many for one in document)])
    assert RULES in said
    assert len(said) == MOST


def test_code_is_no_unit_of_a_summary():
    given = passages(("Setup", "```yaml\nport: 80\nhost: brunn\n```"), ("Setup > Use", RULES))
    assert quotes(given) == [RULES]


def test_what_two_passages_overlap_in_is_quoted_once():
    text = f"{RULES} {section(1)[1]}"
    given = [
        Passage("a", "d", "d.md", "", None, "Rules", 0, len(RULES), RULES),
        Passage("b", "d", "d.md", "", None, "Rules", 0, len(text), text),
    ]
    assert quotes(given).count(RULES) == 1


def test_of_many_sections_the_most_central_sentences_come_with_their_exceptions():
    exception = "However, skippers of the pilot service need not hear them."
    rules = ("Rules > Skippers", f"{RULES} {exception}")
    others = [
        (f"Rules > {number}", f"The yard of the harbour keeps its boat number {number} at the quay of Brunn.")
        for number in range(MANY)
    ]
    said = quotes(passages(rules, *others))
    assert said[0] == f"{RULES} {exception}"
    assert len(said) <= MOST


def test_a_clause_that_stands_in_every_section_is_not_its_best_sentence():
    filler = (
        "Both parties have read this clause 9 times and agree on what it means for the boats of the yard."
    )
    first = "The yard lets boats and sheds to the parties that it knows."
    given = passages(
        ("Subject", f"{first} {filler}"), *((f"Part {n}", f"{section(n)[1]} {filler}") for n in range(5))
    )
    assert filler not in quotes(given) and first in quotes(given)
