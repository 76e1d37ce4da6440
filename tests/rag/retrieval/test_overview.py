import pytest

from rag.passage import Passage
from rag.retrieval.overview import back_matter, central_sentences, section_on

ABSTRACT = "The harbour plan rebuilds the harbour quay of Brunn, with cranes and a deep basin for ships."
BODY = "The harbour basin of Brunn holds forty ships, and the quay carries two cranes of the harbour."
LEGAL = "The harbour quay plan of Brunn, its cranes, basin and ships are signed for by the harbour master."


def passage(number: int, text: str, heading: str, document: str = "plan.md") -> Passage:
    return Passage(f"c{number}", document, document, "", None, heading, 0, len(text), text)


def test_an_overview_prefers_what_introduces_to_what_is_signed():
    given = [
        passage(n, text, head)
        for n, (text, head) in enumerate(
            [(ABSTRACT, "Abstract"), ("Short.", "Basin"), (BODY, "Basin"), (LEGAL, "Signatures")]
        )
    ]
    picks = central_sentences(given, most=2)
    assert [given[pick.number - 1].text[pick.start : pick.end] for pick in picks] == [ABSTRACT, BODY]


@pytest.mark.parametrize(
    "told",
    [
        ["The harbour opens at six.", "It closes at ten."],
        ["항구는 여섯 시에 엽니다.", "그리고 열 시에 닫습니다."],
        ["港は六時に開きます。", "また、十時に閉じます。"],
        ["It opens at six", "Visitors pay two crowns.", "Children enter free.", "| a | b |"],
    ],
)
def test_a_short_text_is_its_own_summary(told: list[str]):
    text = "\n\n".join(["# Notice", *told])
    given = [passage(1, text, "Notice")]
    said = [text[pick.start : pick.end] for pick in central_sentences(given)]
    assert said == [one for one in told if one[-1] in ".。"]


def test_the_only_sentence_of_a_long_list_is_not_its_summary():
    text = "\n\n".join([*(f"Price of lamp {number} with a brass foot" for number in range(60)), "Thank you!"])
    assert not any(
        text[pick.start : pick.end] == "Thank you!" for pick in central_sentences([passage(1, text, "")])
    )


def test_a_sentence_of_every_page_is_quoted_once():
    text = "Page one of many. The harbour opens at six.\n\nPage one of many. It closes at ten."
    said = [text[pick.start : pick.end] for pick in central_sentences([passage(1, text, "")])]
    assert said == ["Page one of many.", "The harbour opens at six.", "It closes at ten."]


def test_a_sentence_that_every_clause_repeats_does_not_lead():
    own = [
        "The coach costs 395 crowns.",
        "The coach is paid in May.",
        "The coach waits at the quay of Brunn.",
    ]
    repeated = "The parties read this clause of the contract together with all others of the contract."
    given = [passage(n, f"{one} {repeated}", f"Clause {n}") for n, one in enumerate(own * 3)]
    lead = central_sentences(given)[0]
    assert given[lead.number - 1].text[lead.start : lead.end] != repeated


def test_a_longer_text_is_not_quoted_whole():
    text = " ".join(
        f"Ship {number} of the harbour of Brunn sails in the month of May." for number in range(9)
    )
    assert len(central_sentences([passage(1, text, "")])) < 9


@pytest.mark.parametrize("line", ["SIGNATURE", "## References", "**Appendix B**", "별첨", "付録"])
def test_what_is_attached_to_a_document_does_not_lead(line: str):
    attached = [f"{LEGAL[:-1]} {place}." for place in ("in Brunn", "in Holm", "in Varn")]
    texts = ["No.", "No.", BODY, f"Signed.\n\n{line}\n", *attached]
    given = [passage(number, text, "Plan") for number, text in enumerate(texts)]
    assert [pick.number for pick in central_sentences(given, most=1)] == [3]
    assert back_matter([line, "One.", "Two.", "Three."]) == 4  # its contents


def test_a_note_below_a_table_is_no_sentence_of_an_overview():
    given = [passage(1, f"(2) {ABSTRACT}", "Abstract"), passage(2, BODY, "Basin")]
    assert [pick.number for pick in central_sentences(given)] == [2]


def test_each_document_is_told_of_before_one_is_told_of_twice():
    other = "The bakery of Holm sells rye bread, rolls of rye and bread of barley to the people of Holm."
    again = "The bread of the bakery is of rye from Holm, and its rolls are of barley, says the baker."
    given = [
        passage(1, ABSTRACT, "", "a.md"),
        passage(2, BODY, "", "a.md"),
        passage(3, other, "", "b.md"),
        passage(4, again, "", "b.md"),
    ]
    assert {given[pick.number - 1].document_id for pick in central_sentences(given, most=2)} == {
        "a.md",
        "b.md",
    }


def test_rows_of_tables_and_headings_are_no_sentences_of_an_overview():
    assert central_sentences([passage(1, "# Harbour\n\n| Quay | Cranes |\n|---|---|\n| A | 2 |", "")]) == []


def test_text_about_the_document_itself_is_no_sentence_of_an_overview():
    itself = "For the harbour basin, the cranes and the quay of Brunn refer to Note 15 of the harbour plan."
    given = [passage(1, itself, "Abstract"), passage(2, BODY, "Basin")]
    assert [pick.number for pick in central_sentences(given)] == [2]


def test_a_sentence_that_goes_on_from_another_does_not_lead():
    given = [passage(1, f"Also {ABSTRACT[0].lower()}{ABSTRACT[1:]}", ""), passage(2, BODY, "")]
    assert [pick.number for pick in central_sentences(given, most=1)] == [2]


def test_a_heading_that_promises_an_overview_counts_most_right_above_the_sentence():
    given = [passage(n, "No.", "") for n in range(3)]
    given += [passage(3, LEGAL, "Summary > Dredging"), passage(4, BODY, "Summary")]
    assert [pick.number for pick in central_sentences(given, most=1)] == [5]


@pytest.mark.parametrize(("line", "said"), [("1.2 The", "The"), ("3.5 million", "3.5 million")])
def test_the_number_of_a_clause_is_left_out_and_one_of_the_sentence_stays(line: str, said: str):
    rest = "coaches carry the guests of the harbour feast through Brunn, and wait at its quay."
    given = [
        passage(1, f"{line} {rest}", "Object"),
        *(passage(n, f"Ship {n} is old.", "") for n in range(2, 9)),
    ]
    quoted = [given[pick.number - 1].text[pick.start : pick.end] for pick in central_sentences(given)]
    assert f"{said} {rest}" in quoted


def test_a_section_has_all_passages_under_its_heading():
    given = [
        passage(n, BODY, head)
        for n, head in enumerate(["Plan", "Plan > Risk factors", "Plan > Risk factors > Ice", "Plan > Costs"])
    ]
    assert section_on("risk factors", given) == [1, 2]
    assert section_on("weather", given) == []
