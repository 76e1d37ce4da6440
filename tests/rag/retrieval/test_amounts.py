"""Amounts that a question names are taken into its answer."""

from langchain_core.documents import Document

from rag.passage import Passage
from rag.retrieval.amounts import named_amounts, promote_amounts
from rag.retrieval.sentences import extract
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


def test_without_a_row_that_is_asked_for_the_search_decides():
    found = [*(document(number, f"{TALK} {number}") for number in range(8)), document(8, SALES)]
    assert promote_amounts("Who founded the museum?", found, 3) == found[:3]
    assert promote_amounts("Who founded the museum?", found[:8], 3) == found[:3]


def test_the_row_of_a_measure_that_a_question_names_follows_the_best_text():
    assert quoted(ASKED, STRATEGY, SALES, BALANCE)[:2] == [STRATEGY, "| Inventories | 3,000 | 2,500 |"]


def test_the_row_that_stands_first_in_a_report_is_meant():
    first, second = quoted(ASKED, STRATEGY, BALANCE, FLOWS)[1:3]
    assert (first, second) == ("| Inventories | 3,000 | 2,500 |", "| Inventories | (505) | (543) |")


def test_a_part_of_a_longer_name_is_not_named():
    table = BALANCE.replace("Inventories", "Income") + "\n| Operating income | 7 | 8 |"
    [(_, start)] = named_amounts("Why did operating income fall?", [passage(0, table)])
    assert table[start:] == "| Operating income | 7 | 8 |"
    assert named_amounts("Why did operating costs fall?", [passage(0, table)]) == []


def test_a_sentence_with_an_amount_about_what_is_named_is_told_beside_tables():
    question, texts = "Discuss the strategy for long-term debt.", [passage(0, BALANCE), passage(1, REPAID)]
    assert named_amounts(question, texts) == [(2, REPAID.index("We repaid"))]
    assert named_amounts(question, texts[1:]) == []


def test_amounts_are_taken_from_passages_that_no_search_found():
    found = [document(number, f"{STRATEGY} {number}") for number in range(8)]
    kept = promote_amounts(ASKED, found, 3, [found[0], document(8, SALES), document(9, BALANCE)])
    assert [one.id for one in kept] == ["0", "1", "9"]
