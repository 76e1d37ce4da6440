"""Cells read from documents of a library, without a model and with one."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest

from rag.errors import Cancelled, LLMError
from rag.factory import make_cell_reader
from rag.grid.cells import Amount, CellResult, CellValue, Day, Items, Words, YesNo
from rag.grid.columns import Column, find_template
from rag.ingest.library import Library
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from storage.database import Database
from storage.errors import NotFound
from tests.rag.fake_llm import FakeLLM, Reply
from tests.rag.grid.documents import CONTRACT, CONTRACT_KO, CV, INVOICE_JA, PAPER, REPORT
from tests.rag.word_vectors import WordVectors

Put = Callable[[str, str], str]
RENT = Column("rent", "Monthly rent", "How much is the monthly rent?", "money")


@pytest.fixture
def library(database: Database) -> Library:
    return Library(database, "ann", lambda: WordVectors("words"))


@pytest.fixture
def put(library: Library) -> Put:
    def added(name: str, text: str) -> str:
        record, _ = library.add(name, text.encode())
        list(library.read(record.id))
        return record.id

    return added


def read(library: Library, document_id: str, *columns: Column) -> dict[str, CellResult]:
    row = make_cell_reader(library, None).read_row(document_id, columns)
    return {column.id: result for column, result in row}


def day(label: str) -> Day:
    return Day(label, date.fromisoformat(label))


def money(amount: str, unit: str) -> Amount:
    return Amount(Decimal(amount), unit)


CASES: list[tuple[str, str, str, dict[str, CellValue]]] = [
    (
        "contract",
        "en",
        CONTRACT,
        {
            "parties": Items(("Brunn Mills Ltd", "Aldenburg Castle Trust")),
            "start": day("2024-05-01"),
            "end": day("2026-04-30"),
            "notice": money("90", "days"),
            "law": Words("the laws of Ireland"),
            "liability": Words("EUR 250,000 per year"),
            "renewal": YesNo(False),
        },
    ),
    (
        "contract",
        "ko",
        CONTRACT_KO,
        {
            "parties": Items(("주식회사 한빛소프트", "주식회사 다온시스템")),
            "start": day("2024-03-01"),
            "end": day("2025-02-28"),
            "notice": money("30", "days"),
            "law": Words("대한민국 법률"),
            "renewal": YesNo(False),
        },
    ),
    (
        "invoice",
        "ja",
        INVOICE_JA,
        {
            "number": Words("INV-2024-0517"),
            "date": day("2024-05-17"),
            "due": day("2024-06-30"),
            "supplier": Words("ブルン製作所株式会社"),
            "customer": Words("株式会社アルデン"),
            "total": money("132000", "JPY"),
            "tax": money("12000", "JPY"),
        },
    ),
    (
        "cv",
        "en",
        CV,
        {
            "name": Words("Mara Lindqvist"),
            "email": Words("mara@example.org"),
            "experience": money("12", "years"),
            "skills": Items(("Timber framing", "Hydraulics", "AutoCAD")),
            "languages": Items(("Swedish", "English", "German")),
        },
    ),
    (
        "paper",
        "en",
        PAPER,
        {
            "authors": Items(("Ada Brunn", "Carl Dorn", "Elsa Frey")),
            "task": Words("finding entries in handwritten lighthouse logs"),
            "data": Words("the Aldenburg corpus of 41,000 log entries"),
        },
    ),
    (
        "filing",
        "en",
        REPORT,
        {
            "period_end": day("2024-06-30"),
            "revenue": money("4600000", ""),
            "operating_income": money("310000", ""),
            "shares": money("12400000", "shares"),
            "segments": Items(("Grain", "Timber", "Power")),
        },
    ),
]


@pytest.mark.parametrize(
    ("template", "language", "text", "expected"), CASES, ids=[f"{one[0]}-{one[1]}" for one in CASES]
)
def test_a_template_is_filled_from_a_document_of_its_kind(
    library: Library, put: Put, template: str, language: str, text: str, expected: dict[str, CellValue]
):
    found = read(library, put("a.md", text), *find_template(template).columns(language))
    assert {name: found[name].value for name in expected} == expected
    assert "verified" in {found[name].state for name in expected}


def test_columns_in_one_language_are_read_from_documents_in_another(library: Library, put: Put):
    report, contract = put("report.md", REPORT), put("contract.md", CONTRACT)
    revenue = next(one for one in find_template("filing").columns("ko") if one.id == "revenue")
    law = next(one for one in find_template("contract").columns("ja") if one.id == "law")
    assert read(library, report, revenue)["revenue"].value == money("4600000", "")
    assert read(library, contract, law)["law"].value == Words("the laws of Ireland")


def test_quotes_are_exact_words_of_the_document(library: Library, put: Put):
    contract = put("contract.md", CONTRACT)
    text = library.documents.text(contract)
    for result in read(library, contract, *find_template("contract").columns("en")).values():
        for quote in result.quotes:
            assert text[quote.start : quote.end] == quote.text


def test_the_period_of_the_document_decides_the_column_of_a_table(library: Library, put: Put):
    report = put("report.md", REPORT)
    cost = Column("cost", "Cost of revenue", kind="money", unit="GBP")
    result = read(library, report, cost)["cost"]
    assert (result.state, result.value) == ("verified", money("2250000", "GBP"))


def test_the_period_that_a_column_names_goes_before_that_of_the_document(library: Library, put: Put):
    report = put(
        "report.md", REPORT.replace("Three Months Ended June 30, 2023", "Year Ended December 31, 2023")
    )
    cost = Column("cost", "Cost of revenue", "What was the cost of revenue in 2023?", "money")
    assert read(library, report, cost)["cost"].value == money("2000000", "")


@pytest.mark.parametrize(
    ("row", "amount"),
    [("Interest expense", "617"), ("Other income (expense), net", "-617"), ("Result", "-617")],
)
def test_a_sum_that_goes_out_has_no_sign(library: Library, put: Put, row: str, amount: str):
    report = put(
        "report.md", f"# Mill\n\n| In dollars | 2023 |\n|---|---|\n| {row} | $(617) |\n| Tax | $8 |\n"
    )
    value = read(library, report, Column("sum", row, kind="money"))["sum"].value
    assert value == money(amount, "USD")


def test_a_row_with_two_figures_of_the_period_is_not_confirmed(library: Library, put: Put):
    report = put(
        "report.md",
        "# Mill\n\nFor the quarterly period ended June 30, 2024\n\n"
        "| | June 30, 2024 Level 1 | June 30, 2024 Level 2 |\n|---|---|---|\n| Total assets | $7 | $9 |\n",
    )
    assert (
        read(library, report, Column("assets", "Total assets", kind="money"))["assets"].state == "unconfirmed"
    )


def test_two_different_values_for_a_field_leave_it_unconfirmed(library: Library, put: Put):
    lease = put("lease.md", "# Lease\n\nThe monthly rent is EUR 900.\n\nThe monthly rent is EUR 950.\n")
    assert read(library, lease, RENT)["rent"].state == "unconfirmed"


def test_a_condition_leaves_a_value_unconfirmed(library: Library, put: Put):
    lease = put("lease.md", "# Lease\n\nIf the roof is mended, the end date may be 3 May 2030.\n")
    result = read(library, lease, Column("end", "End date", kind="date"))["end"]
    assert (result.state, result.value) == ("unconfirmed", day("2030-05-03"))


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The first fee is paid until 3 May 2030."),
        ("ko", "첫 대금은 2030년 5월 3일까지 지급한다."),
        ("ja", "最初の代金は2030年5月3日までに支払う。"),
    ],
)
def test_a_day_of_something_else_is_not_confirmed_as_the_end(
    library: Library, put: Put, language: str, text: str
):
    contract = put("contract.md", f"# {text[:5]}\n\n{text}\n")
    end = find_template("contract").columns(language)[2]
    assert read(library, contract, end)["end"].state in ("unconfirmed", "absent")


@pytest.mark.parametrize(
    ("boxes", "yes"),
    [("Yes ☐ No ☒", False), ("Yes ☒ No ☐", True), ("☑ Yes ☐ No", True), ("☐ Yes ☑ No", False)],
)
def test_the_checked_one_of_two_boxes_is_the_answer(library: Library, put: Put, boxes: str, yes: bool):
    form = put("form.md", f"# Form\n\nIndicate if the registrant is a shell company. {boxes}\n")
    result = read(library, form, Column("shell", "Shell company", kind="yes_no"))["shell"]
    assert (result.state, result.value) == ("verified", YesNo(yes))


@pytest.mark.parametrize(
    ("text", "option"),
    [("The applicable law is Korean law.", "Korean law"), ("Applicable law: English law", "English law")],
)
def test_a_choice_is_an_option_that_the_document_names(library: Library, put: Put, text: str, option: str):
    contract = put("contract.md", f"# Contract\n\n{text}\n")
    law = Column("law", "Applicable law", kind="choice", options=("English law", "Korean law"))
    assert read(library, contract, law)["law"].value == Words(option)


def test_what_a_document_does_not_say_is_absent_with_all_its_passages_read(library: Library, put: Put):
    contract = put("contract.md", CONTRACT)
    result = read(library, contract, Column("pets", "Number of pets", "How many pets live there?", "number"))[
        "pets"
    ]
    assert (result.state, result.value, result.quotes) == ("absent", None, ())
    assert result.only_searched
    assert result.read == result.total == len(library.documents.chunk_ids_of(contract))


def test_a_stopped_row_gives_no_more_cells(library: Library, put: Put):
    with pytest.raises(Cancelled, match=r"contract\.md"):
        make_cell_reader(library, None).read(put("contract.md", CONTRACT), RENT, lambda: True)


def test_a_document_of_another_owner_is_not_found(database: Database, put: Put):
    theirs = put("contract.md", CONTRACT)
    bob = Library(database, "bob", lambda: WordVectors("words"))
    with pytest.raises(NotFound):
        make_cell_reader(bob, None).read(theirs, RENT)


# With a model
@pytest.fixture
def llm(fake_llm: FakeLLM) -> LLM:
    return LLM(LLMSettings(base_url=fake_llm.url, model="fake", context_tokens=8192))


MOAT = """\
# Castle

Aldenburg has a moat. Its water is nine metres deep, and its walls are red. It was built in 1432.
"""
DEPTH = Column("depth", "Depth of the moat", "How deep is the water of the moat?", "text")


def test_a_model_is_not_asked_for_what_the_rules_read_surely(
    library: Library, put: Put, fake_llm: FakeLLM, llm: LLM
):
    contract = put("contract.md", CONTRACT)
    end = find_template("contract").columns("en")[2]
    assert make_cell_reader(library, llm).read(contract, end).value == day("2026-04-30")
    assert fake_llm.requests == []


def test_instructions_reach_the_model(library: Library, put: Put, fake_llm: FakeLLM, llm: LLM):
    castle = put("castle.md", MOAT)
    fake_llm.say('{"value": "red", "quote": "its walls are red"}')
    walls = Column("walls", "Colour of the walls", instructions="One word, please.")
    result = make_cell_reader(library, llm).read(castle, walls)
    assert result.value == Words("red")
    assert "One word, please." in fake_llm.requests[-1].prompt
    assert "Its water is nine metres deep" in result.quotes[0].text


def test_a_value_whose_quote_is_not_in_the_document_does_not_count(
    library: Library, put: Put, fake_llm: FakeLLM, llm: LLM
):
    castle = put("castle.md", MOAT)
    fake_llm.say('{"value": "twelve metres", "quote": "The moat is twelve metres deep."}')
    result = make_cell_reader(library, llm).read(castle, DEPTH)
    assert result.value != Words("twelve metres")
    assert result.state != "verified"


def test_a_value_that_its_quote_does_not_say_does_not_count(
    library: Library, put: Put, fake_llm: FakeLLM, llm: LLM
):
    castle = put("castle.md", MOAT)
    fake_llm.say('{"value": "1932", "quote": "It was built in 1432."}')
    built = Column("built", "Year of construction", "In which year was the castle erected?", "date")
    assert make_cell_reader(library, llm).read(castle, built).value != Day("1932", date(1932, 1, 1))


def test_a_value_that_a_table_contradicts_differs(library: Library, put: Put, fake_llm: FakeLLM, llm: LLM):
    report = put("report.md", REPORT)
    fake_llm.say('{"value": "4,100", "quote": "| Net revenue | 4,100 | 4,600 | 9,050 |"}')
    revenue = Column("revenue", "Revenue", kind="money", instructions="In single units.")
    result = make_cell_reader(library, llm).read(report, revenue)
    assert (result.state, result.value) == ("differs", money("4100000", ""))


def test_a_value_that_a_table_confirms_is_verified(library: Library, put: Put, fake_llm: FakeLLM, llm: LLM):
    report = put("report.md", REPORT)
    fake_llm.say('{"value": "4,600", "quote": "| Net revenue | 4,100 | 4,600 | 9,050 |"}')
    revenue = Column("revenue", "Revenue", kind="money", instructions="In single units.")
    result = make_cell_reader(library, llm).read(report, revenue)
    assert (result.state, result.value) == ("verified", money("4600000", ""))


@pytest.mark.parametrize(
    "reply", ["I do not know.", "{", '{"value": null, "quote": ""}', "[]", '{"quote": "x"}']
)
def test_a_reply_without_a_value_leaves_what_the_rules_found(
    library: Library, put: Put, fake_llm: FakeLLM, llm: LLM, reply: str
):
    contract = put("contract.md", CONTRACT)
    fake_llm.say(reply)
    pets = Column("pets", "Number of pets", "How many pets live there?", "number")
    absent = make_cell_reader(library, llm).read(contract, pets)
    assert (absent.state, absent.only_searched) == ("absent", False)


def test_a_failing_model_is_an_error(library: Library, put: Put, fake_llm: FakeLLM, llm: LLM):
    castle = put("castle.md", MOAT)
    fake_llm.reply(Reply(status=400, text="no"))
    with pytest.raises(LLMError):
        make_cell_reader(library, llm).read(castle, Column("x", "Name of the miller's dog"))


def test_results_depend_on_the_model_and_the_rules(library: Library, llm: LLM):
    without, with_model = make_cell_reader(library, None), make_cell_reader(library, llm)
    assert without.fingerprint != with_model.fingerprint
    assert "fake" in with_model.fingerprint
