from dataclasses import replace

import pytest

from rag.chat.corpus import read_scope, subject
from rag.ingest.document_facts import DocumentProfile, read_facts
from rag.text.document import LoadedDocument


def filing(name, company, ended):
    again = "{0} sells. {0} buys. {0} pays.".format(company.split()[0])
    return profile(name, f"FORM 10-Q\n\nFor the quarterly period ended {ended}\n\n{company}\n\n{again}")


def profile(name, text):
    return DocumentProfile(name, name, read_facts(LoadedDocument(text), name))


FILINGS = [
    filing("2022 Q3 NWND.pdf", "NORTHWIND CORPORATION", "June 25, 2022"),
    filing("2023 Q2 NWND.pdf", "NORTHWIND CORPORATION", "April 1, 2023"),
    filing("2023 Q3 NWND.pdf", "NORTHWIND CORPORATION", "July 1, 2023"),
    filing("2023 Q2 BREW.pdf", "Brew Inc.", "June 30, 2023"),
    filing("2023 Q3 BREW.pdf", "Brew Inc.", "September 30, 2023"),
]
HANDBOOK = profile("handbook.md", "# Handbook\n\nVacation is 30 days.")
EMAILS = [
    profile("a.eml", "# Budget\n\nFrom: Ann Kim <ann@x.org>\nDate: Wed, 3 May 2023 10:00:00\n\nWe save."),
    profile("b.eml", "# Budget\n\nFrom: Bo Lee <bo@x.org>\nDate: Thu, 4 May 2023 10:00:00\n\nWe spend."),
]
MINUTES = [profile(f"minutes 2023-0{month}-07.md", "# Minutes\n\nWe met.") for month in (3, 4, 5)]


def kept(question, documents):
    found = read_scope(question, documents)
    return None if found is None else sorted(found.document_ids)


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("What did Northwind spend in Q3 2023?", ["2023 Q3 NWND.pdf"]),
        ("In the third quarter of 2023, what drove Northwind's sales?", ["2023 Q3 NWND.pdf"]),
        ("What was the margin in Northwind's latest 10-Q?", ["2023 Q3 NWND.pdf"]),
        ("what was northwind's margin in the most recent quarter?", ["2023 Q3 NWND.pdf"]),
        ("What did Brew earn in the quarter ended June 30, 2023?", ["2023 Q2 BREW.pdf"]),
        ("Northwind의 최근 분기 매출은?", ["2023 Q3 NWND.pdf"]),
        ("Northwindの直近の四半期の売上は?", ["2023 Q3 NWND.pdf"]),
        ("How did the latest quarter go?", ["2023 Q3 BREW.pdf", "2023 Q3 NWND.pdf"]),
        ("How do Northwind and Brew differ in Q3 2023?", ["2023 Q3 BREW.pdf", "2023 Q3 NWND.pdf"]),
        ("Compare Northwind in Q2 2023 and Q3 2023", ["2023 Q2 NWND.pdf", "2023 Q3 NWND.pdf"]),
        ("What did Northwind sell in 2022?", ["2022 Q3 NWND.pdf"]),
    ],
)
def test_a_question_names_its_filings(question, ids):
    assert kept(question, FILINGS) == ids


def test_the_latest_of_some_months_is_found_and_a_day_of_it_is_later():
    days = "March 2023", "May 2024", "2 May 2024"
    read = [profile("minutes.md", f"# Minutes\n\n{day}\n\nWe met.") for day in days]
    minutes = [replace(one, id=day) for one, day in zip(read, days, strict=True)]
    assert kept("What do the latest minutes say?", minutes[:2]) == ["May 2024"]
    assert kept("What do the latest minutes say?", minutes) == ["2 May 2024"]


def test_questions_over_several_periods_keep_them_all():
    everything = ["2022 Q3 NWND.pdf", "2023 Q2 NWND.pdf", "2023 Q3 NWND.pdf"]
    for asked in (
        "How has Northwind's margin changed over time?",
        "Northwind's margin in the latest 10-Q, compared to previous quarters?",
    ):
        assert kept(asked, FILINGS) == everything


@pytest.mark.parametrize(
    "question",
    [
        "What are the risks?",
        "Who is Ann Northwind?",  # a name within a name
        "What happened in 1999?",
        "How many days of vacation are there in 2031?",
        "Is the latest version installed?",
    ],
)
def test_other_questions_are_not_narrowed(question):
    assert kept(question, [*FILINGS, HANDBOOK]) is None


def test_a_document_that_says_nothing_is_searched_too():
    assert kept("What did Brew earn in Q3 2023?", [*FILINGS, HANDBOOK]) == ["2023 Q3 BREW.pdf", "handbook.md"]


def test_a_name_that_all_or_none_have_narrows_nothing():
    assert kept("What did Brew earn?", FILINGS[3:]) is None
    assert kept("What did Contoso earn?", FILINGS) is None


def test_an_author_is_named_by_what_they_did():
    assert kept("What did Kim write about the budget?", EMAILS) == ["a.eml"]
    assert kept("The budget in the email from Bo Lee?", EMAILS) == ["b.eml"]
    named_alike = profile("c.eml", "# Budget\n\nFrom: Ann Park <park@x.org>\n\nWe wait.")
    assert kept("What did Ann Kim write?", [*EMAILS, named_alike]) == ["a.eml"]
    assert kept("What did Ann write?", [*EMAILS, named_alike]) == ["a.eml", "c.eml"]
    assert kept("Does Kim like the budget?", EMAILS) is None


def test_the_latest_of_a_series_is_told_by_the_dates_of_its_files():
    assert kept("What was decided in the latest minutes?", [*MINUTES, HANDBOOK]) == [
        "handbook.md",
        "minutes 2023-05-07.md",
    ]


def test_the_reason_is_told():
    found = read_scope("What did Northwind spend in Q3 2023?", FILINGS)
    assert found is not None
    assert (found.said, found.left_out) == ("NORTHWIND CORPORATION · Q3 2023", 4)


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("What was Northwind's gross margin in the latest 10-Q report?", "What was gross margin?"),
        (
            "In the third quarter of 2023, how much did Northwind spend on paper?",
            "how much did spend on paper?",
        ),
        ("From Northwind's Q3 2023 10-Q, compare paper and ink.", "compare paper and ink."),
        ("What was sold to Brew in Q2 2023?", "What was sold to Brew in Q2 2023?"),  # names others
        ("How much cash was there on July 1, 2023?", "How much cash was there on July 1, 2023?"),
        ("Northwind의 최근 분기 매출은?", "의 매출은?"),
        ("What is Northwind?", "What is Northwind?"),  # else nothing is left
    ],
)
def test_words_that_name_the_only_filing_are_no_subject(question, left):
    assert subject(question, FILINGS[2:3]) == left


def test_words_that_tell_documents_or_their_parties_apart_stay():
    question = "What did Northwind earn in Q3 2023?"
    assert subject(question, FILINGS[1:3]) == "What did earn in Q3 2023?"
    assert subject(question, FILINGS) == question
    assert subject(question, []) == question
    lease = "# Lease\n\nbetween Northwind Inc. (the “Landlord”) and Brew Inc. (the “Tenant”)\n\n"
    contract = profile("lease.md", lease + "Northwind rents. Brew pays. Northwind rents. Brew pays.")
    assert len(contract.names) == 2
    assert subject("What does Brew pay?", [contract]) == "What does Brew pay?"
