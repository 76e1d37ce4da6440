"""Amounts that a question names are taken into its answer."""

from dataclasses import replace

from langchain_core.documents import Document

from rag.passage import Passage
from rag.retrieval.sentences import extract
from rag.retrieval.table_rows import named_amounts, promote_amounts
from tests.rag.retrieval.test_table_rows import SALES, TALK

BALANCE = "BALANCE SHEETS\n\n| | 2023 | 2022 |\n| --- | --- | --- |\n| Inventories | 3,000 | 2,500 |"
FLOWS = "CASH FLOWS\n\n| | 2023 | 2022 |\n| --- | --- | --- |\n| Inventories | (505) | (543) |"
STRATEGY = "Our supply strategy keeps inventory levels low."
REPAID = "It rained. We repaid long-term debt of $1,250 million. We paid $3 million for a bridge."
ASKED = "How do inventory levels relate to the supply strategy?"


def document(number, text):
    place = {
        "document_id": "d",
        "document": "a.pdf",
        "start": 1000 * number,
        "end": 1000 * number + len(text),
    }
    return Document(id=str(number), page_content=text, metadata=place)


def passage(number, text):
    return Passage.from_document(document(number, text))


def quoted(question, *texts):
    passages = [passage(number, text) for number, text in enumerate(texts)]
    picks = extract(question, passages)
    return [passages[pick.number - 1].text[pick.start : pick.end] for pick in picks]


def test_a_table_found_far_behind_takes_the_last_place():
    found = [*(document(number, f"{TALK} {number}") for number in range(8)), document(8, SALES)]
    kept = promote_amounts("What were net sales of paper in Japan?", found, 3)
    assert [one.id for one in kept] == ["0", "1", "8"]


def test_figures_take_half_of_the_places_at_most():
    prose = [document(number, f"{STRATEGY} Policy {number}.") for number in range(4)]
    figures = [document(number, text) for number, text in enumerate((BALANCE, FLOWS, REPAID, SALES), 4)]
    kept = promote_amounts(f"{ASKED} What debt was repaid?", [*prose, *figures], 2)
    assert [one.id for one in kept] == ["0", "4"]


def test_without_a_row_that_is_asked_for_the_search_decides():
    found = [*(document(number, f"{TALK} {number}") for number in range(8)), document(8, SALES)]
    assert promote_amounts("Who founded the museum?", found, 3) == found[:3]
    assert promote_amounts("Who founded the museum?", found[:8], 3) == found[:3]


def test_a_row_that_has_one_word_of_many_is_not_asked_for():
    plan = BALANCE.replace("Inventories", "Issuance of stock of the employee benefit plan")
    found = [passage(0, "Our employees may join a union."), passage(1, plan)]
    assert named_amounts("What is said about employees?", found) == []
    assert named_amounts("What did the employee benefit plan issue?", found) != []


def test_the_row_of_a_measure_that_a_question_names_follows_the_best_text():
    assert quoted(ASKED, STRATEGY, SALES, BALANCE)[:2] == [STRATEGY, "| Inventories | 3,000 | 2,500 |"]


def test_the_row_that_stands_first_in_a_report_is_meant():
    first, second = quoted(ASKED, STRATEGY, BALANCE, FLOWS)[1:3]
    assert (first, second) == ("| Inventories | 3,000 | 2,500 |", "| Inventories | (505) | (543) |")


def test_a_longer_name_that_is_asked_for_comes_before_its_parts():
    table = (
        BALANCE.replace("Inventories", "Income") + "\n\n| | 2023 |\n| --- | --- |\n| Operating income | 7 |"
    )
    (_, start), *_ = named_amounts("Why did operating income fall?", [passage(0, table)])
    assert table[start:] == "| Operating income | 7 |"


def test_one_of_rows_that_stand_together_is_taken():
    table = BALANCE + "\n| Inventories, net | 2,900 | 2,400 |"
    [(_, start)] = named_amounts("What are the inventories?", [passage(0, table)])
    assert table[start:].startswith("| Inventories | 3,000 |")


def test_a_sentence_is_about_what_the_heading_and_the_sentence_before_it_name():
    told = replace(passage(1, "Borrowing began late. We paid $3 million."), heading="Notes > Bridge loans")
    texts = [passage(0, BALANCE), told, passage(2, "The bridge was borrowed for $9 million.")]
    found = named_amounts("How did the borrowing for the bridge go?", texts)
    assert found == [(3, 0), (2, told.text.index("We paid"))]


def test_the_sentence_of_the_passage_found_first_comes_first():
    first, second = (passage(number, f"We repaid debt of ${number + 3} billion.") for number in (1, 2))
    assert named_amounts("Which debt was repaid?", [passage(0, BALANCE), first, second]) == [(2, 0), (3, 0)]
    assert named_amounts("Which debt was repaid?", [passage(0, BALANCE), second, first]) == [(2, 0), (3, 0)]


def test_words_weigh_by_their_rarity():
    texts = [
        passage(0, BALANCE),
        passage(1, "The old harbour cost $5 million."),
        passage(2, "The old hall cost $7 million."),
    ]
    question = "What did the old hall and the old harbour cost?"
    for rare, number in (("hall", 3), ("harbour", 2)):
        (found, _), *_ = named_amounts(question, texts, lambda word, rare=rare: 5.0 if word == rare else 1.0)
        assert found == number


def test_amounts_of_other_passages_follow_where_a_question_names_one():
    stock = "It rained. The supply of bricks is worth $80 million."
    told = ["The supply of bricks is worth $80 million.", "| Inventories | 3,000 | 2,500 |"]
    assert not set(told) & set(quoted(ASKED, STRATEGY, stock))
    assert set(told) < set(quoted(ASKED, STRATEGY, BALANCE, stock))
    assert len(quoted(ASKED, STRATEGY, BALANCE, stock.replace("supply of ", ""))) == 2


def test_a_sentence_with_an_amount_about_what_is_named_is_told_beside_tables():
    question, texts = "Discuss the strategy for long-term debt.", [passage(0, BALANCE), passage(1, REPAID)]
    assert named_amounts(question, texts)[:1] == [(2, REPAID.index("We repaid"))]
    assert named_amounts(question, texts[1:]) == []


def test_amounts_are_taken_from_passages_that_no_search_found():
    found = [document(number, f"{STRATEGY} {number}") for number in range(8)]
    kept = promote_amounts(ASKED, found, 3, [found[0], document(8, SALES), document(9, BALANCE)])
    assert [one.id for one in kept] == ["0", "1", "9"]
