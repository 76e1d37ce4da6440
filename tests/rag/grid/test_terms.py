"""Terms of columns, and labels that name them."""

import pytest

from rag.grid.columns import Column
from rag.grid.terms import LEAST_LABEL, SURE_LABEL, terms_of

REVENUE = Column("r", "Revenue", kind="money")
INCOME = Column("o", "영업이익", kind="money")
EPS = Column("e", "Diluted earnings per share", kind="money")
RENT = Column("m", "Monthly rent", kind="money")


@pytest.mark.parametrize(
    ("column", "label", "section"),
    [
        (REVENUE, "Total net sales", "Net sales:"),
        (REVENUE, "매출액", ""),
        (REVENUE, "売上高", ""),
        (INCOME, "Operating income (loss)", ""),
        (INCOME, "Income from operations", ""),
        (EPS, "Diluted", "Earnings per share:"),
        (EPS, "Diluted", "Net income per share:"),
        (RENT, "Monthly rent (EUR)", ""),
    ],
)
def test_a_label_with_the_words_of_a_term_names_the_field(column: Column, label: str, section: str):
    assert terms_of(column).label_score(label, section) >= SURE_LABEL


@pytest.mark.parametrize(
    ("column", "label", "section"),
    [
        (REVENUE, "Cost of revenue", ""),
        (REVENUE, "Net income", ""),
        (REVENUE, "Net sales", "Americas:"),
        (INCOME, "Other operating income", ""),
        (INCOME, "Segment operating income", ""),
        (EPS, "Basic", "Earnings per share:"),
        (EPS, "Diluted", "Shares used in computing earnings per share:"),
        (RENT, "Yearly rent", ""),
    ],
)
def test_a_label_with_other_words_does_not_surely_name_it(column: Column, label: str, section: str):
    assert terms_of(column).label_score(label, section) < SURE_LABEL


def test_a_label_without_a_word_of_any_term_does_not_name_it():
    assert terms_of(REVENUE).label_score("Inventories", "Current assets:") < LEAST_LABEL


def test_terms_are_found_in_sentences_in_any_form():
    text = "It commenced on 1 May; 계약은 5월 1일부터. 契約開始日は5月1日。"
    start = terms_of(Column("s", "Start", kind="date"))
    assert [text[one.start : one.end] for one in start.mentions(text)] == [
        "commenced on",
        "부터",
        "契約開始日",
    ]
