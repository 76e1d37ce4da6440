# ruff: noqa: E501 - one case on a line
"""Cells read from documents of many layouts by the words of a column alone, without a template."""

from datetime import date
from decimal import Decimal

import pytest

from rag.factory import make_cell_reader
from rag.grid.cells import Amount, CellResult, CellValue, Day, Items, Words, YesNo
from rag.grid.columns import Column, Kind
from rag.grid.extraction import _value_in
from rag.ingest.library import Library
from storage.database import Database
from tests.rag.word_vectors import WordVectors


@pytest.fixture
def library(database: Database) -> Library:
    return Library(database, "ann", lambda: WordVectors("words"))


def read(library: Library, text: str, column: Column) -> CellResult:
    record, _ = library.add("a.md", text.encode())
    list(library.read(record.id))
    return make_cell_reader(library, None).read(record.id, column)


def amount(number: str, unit: str = "") -> Amount:
    return Amount(Decimal(number), unit)


def day(label: str) -> Day:
    return Day(label, date.fromisoformat(label))


FORM = "# Form\n\nNet amount      EUR 56.60\nVAT 23 %        EUR 13.02\nAmount payable  EUR 69.62\n"
CASES: list[tuple[str, str, str, Kind, str, CellValue]] = [
    (FORM, "VAT", "", "money", "", amount("13.02", "EUR")),
    (FORM, "Amount payable", "", "money", "", amount("69.62", "EUR")),
    ("# Order\n\nServer\nAda Quill\n\nTable\n13\n", "Server", "", "text", "", Words("Ada Quill")),
    (
        "# Report\n\nBy: /s/ Ada Brunn\nAda Brunn\nChairwoman and Chief Keeper\n",
        "Chief Keeper",
        "",
        "text",
        "",
        Words("Ada Brunn"),
    ),
    (
        'The lease is between Mill Estates Ltd ("the landlord") and Ada Quill ("the tenant").\n',
        "Tenant",
        "",
        "text",
        "",
        Words("Ada Quill"),
    ),
    ("# 계약\n\n제3조(관리비) 을은 매월 7만원을 납부한다.\n", "관리비", "", "money", "", amount("70000", "KRW")),
    (
        "# 契約\n\n第2条(業務内容) 品質検査の報告\n第3条(賃金) 月額245,000円\n",
        "業務内容",
        "",
        "text",
        "",
        Words("品質検査の報告"),
    ),
    (
        "# Lease\n\nEither party may terminate it by two months' notice in writing.\n",
        "Notice period",
        "",
        "number",
        "months",
        amount("2", "months"),
    ),
    (
        "휴가 규정\n\n1. 연차휴가: 1년간 80% 이상 출근한 직원에게 15일을 준다.\n",
        "연차휴가",
        "",
        "number",
        "일",
        amount("15", "days"),
    ),
    (
        "# Lease\n\nThe tenant may not keep animals in the flat.\n",
        "Pets allowed",
        "May the tenant keep animals?",
        "yes_no",
        "",
        YesNo(False),
    ),
    (
        "휴가 규정\n\n6. 사용하지 아니한 연차휴가는 다음 해로 이월되지 않는다.\n",
        "이월",
        "사용하지 않은 연차휴가는 이월되나요?",
        "yes_no",
        "",
        YesNo(False),
    ),
    ("# Form\n\nLarge filer ☐ Small filer ☒\n", "Small filer", "", "yes_no", "", YesNo(True)),
    ("# Form\n\n- [x] Coffee\n- [ ] Tea\n", "Tea", "", "yes_no", "", YesNo(False)),
    ("# CV\n\n## Skills\n\nCAD, Python\n\n## Languages\n\nEnglish\n", "Skills", "", "list", "", Items(("CAD", "Python"))),
    (
        "# Booking\n\n| Month | Nights | Gross amount |\n|---|---|---|\n| May | 3 | NOK 7,350 |\n",
        "Gross amount",
        "",
        "money",
        "",
        amount("7350", "NOK"),
    ),
    ("# Report\n\nThere were 1,529 families (70.4% of all households).\n", "Families", "", "number", "", amount("1529")),
    ("町の面積は33.46km2である。\n", "町の面積", "", "number", "km2", amount("33.46", "km2")),
    ("本名は小林弥太郎、一茶とは俳号である。\n", "本名", "", "text", "", Words("小林弥太郎")),
    ("우니쉬\n\n우니쉬는 2001년 6월 1일 발표한 국제어이다.\n", "발표일", "", "date", "", day("2001-06-01")),
    ("Ada Quill (born Ada Brunn, 3 May 1815 – 7 June 1852) was a miller.\n\nHer son died on 4 July 1850.\n", "Date of death", "", "date", "", day("1852-06-07")),
    ("水野一(みずのはじめ、1899年(明治32年)6月14日-1972年(昭和47年)4月16日)は、俳人。\n", "生年月日", "", "date", "", day("1899-06-14")),
    ("From: Ada <ada@example.org>\nTo: Bob <bob@example.org>\n\nHello.\n", "받는 사람", "", "text", "", Words("Bob <bob@example.org>")),
    ("# Paper\n\nKeywords: Transit · Deep Learning\n· Open data.\n", "Keywords", "", "list", "", Items(("Transit", "Deep Learning", "Open data"))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name", "question", "kind", "unit", "value"), CASES, ids=[f"{one[1]}-{one[3]}" for one in CASES]
)
def test_a_value_is_verified_where_the_layout_says_it(
    library: Library, text: str, name: str, question: str, kind: Kind, unit: str, value: CellValue
):
    result = read(library, text, Column("c", name, question, kind, unit=unit))
    assert (result.state, result.value) == ("verified", value)


STATEMENTS = """\
# Mill plc

For the quarterly period ended June 30, 2024

| In thousands | June 30, 2024 |
|---|---|
| Inventories | 500 |

| In thousands | Three Months Ended June 30, 2024 |
|---|---|
| Inventories | (12) |

| In thousands | Three Months Ended June 30, 2024 |
|---|---|
| Operating expenses: | |
| Research | 900 |

Stock compensation was as follows.

| In thousands | Three Months Ended June 30, 2024 |
|---|---|
| Research | 70 |
"""


def test_a_point_in_time_is_no_span(library: Library):
    column = Column("c", "Inventories", "How much were inventories at the end of the period?", "money")
    assert read(library, STATEMENTS, column).value == amount("500000")


def test_the_whole_goes_before_a_part_of_the_same_name(library: Library):
    assert read(library, STATEMENTS, Column("c", "Research", kind="money")).value == amount("900000")


EMERGING = Column("c", "Emerging growth company", "Is the registrant an emerging growth company?", "yes_no")


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("Mill: A History of Mills\n\nText.\n", Column("c", "Customer", "Who is billed?")),
        ("# Invoice\n\nInvoice    No. 7/24\n", Column("c", "Invoice to")),
        ("# Report\n\nWe recognized an income tax benefit of $67 million.\n", Column("c", "Income tax", kind="money")),
        ("# Notes\n\nThe fee is above EUR 15 for guests.\n", Column("c", "Fee", kind="money")),
        ("Indicate by check mark whether the registrant is an emerging growth company.\n", EMERGING),
        ("See the definitions of “small filer” and “emerging growth company” in the Rule of the registrant.\n", EMERGING),
        ("The registrant is a mill: our company has growth in emerging markets.\n", EMERGING),
        ("Ada Quill\n\nHer son died on 4 July 1850.\n", Column("c", "Date of death", kind="date")),
    ],
)  # fmt: skip
def test_words_that_may_mean_another_thing_verify_nothing(library: Library, text: str, column: Column):
    assert read(library, text, column).state in ("unconfirmed", "absent")


CASH_FLOWS = """\
# Mill plc

For the quarterly period ended June 30, 2024

| In thousands | Six Months Ended June 30, 2024 | Six Months Ended June 30, 2023 |
|---|---|---|
| Cash generated by operating activities | 500 | 400 |
"""


def test_cash_flows_of_the_year_so_far_stand_for_the_quarter_unconfirmed(library: Library):
    column = Column("c", "Net cash from operating activities", kind="money")
    result = read(library, CASH_FLOWS, column)
    assert (result.state, result.value) == ("unconfirmed", amount("500000"))


@pytest.mark.parametrize(
    ("text", "written", "state"),
    [
        (
            "# Meeting\n\nDate: 12 March 2026\nPlace: Hall B\n\nThe budget was approved.\n",
            "12 March 2026",
            "verified",
        ),
        (
            "# Invitation\n\nWe meet on 12 March 2026 in Hall B. Lunch is free.\n",
            "12 March 2026",
            "unconfirmed",
        ),
        (
            "# 회의록\n\n일시: 2026년 3월 12일 오후 2시\n장소: 회의실\n\n예산안을 승인하였다.\n",
            "2026년 3월 12일",
            "verified",
        ),
        (
            "# 案内\n\n勉強会は2026年3月12日に会議室で開催します。昼食が出ます。\n",
            "2026年3月12日",
            "unconfirmed",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["text", "date"])
@pytest.mark.parametrize("asked", ["When", "언제?", "언제인가요?", "いつ"])
def test_a_column_that_asks_only_when_finds_a_date(
    library: Library, text: str, written: str, state: str, asked: str, kind: Kind
) -> None:
    found = read(library, text, Column("c", asked, kind=kind))
    assert (found.state, found.value) == (state, Words(written) if kind == "text" else day("2026-03-12"))
    assert written in found.quotes[0].text


def test_a_column_that_asks_only_when_finds_nothing_in_a_text_without_a_date(library: Library) -> None:
    assert (
        read(library, "# Invitation\n\nWe meet in Hall B. Lunch is free.\n", Column("c", "When")).state
        == "absent"
    )


QUOTATION = "# Quotation\n\nTo: Ada Brunn, 8 Mill Street\nDate: 3 May 2026. Valid until: 9 June 2026. Your contact: Clive Reyes, +44 117 555 0182\n"
SIGNED = "# Contract\n\n1. It begins on 1 January 2026 and ends on 31 December 2028.\n\n9. The Mill names a contact for data protection: Ms Ada Brunn.\n\nTruro, {day}. For the Client: Helen Marsh.\n"
DATE = Column("d", "Date", kind="date")


@pytest.mark.parametrize(
    ("text", "value", "quoted"),
    [
        (QUOTATION, "2026-05-03", "Date: 3 May 2026"),
        (SIGNED.format(day="12 December 2025"), "2025-12-12", "Truro, 12 December 2025."),
        (
            "# 용역 계약서\n\n제1조 계약 기간은 2026년 1월 1일부터 2026년 6월 30일까지로 한다.\n\n"
            + "당사자는 이를 확인한다.\n" * 60
            + "\n2025년 12월 12일\n\n갑: 한빛\n",
            "2025-12-12",
            "2025년 12월 12일",
        ),
        (
            "# 業務委託契約書\n\n第1条 期間は2026年1月1日から2026年6月30日までとする。\n\n"
            + "本契約を証する。\n" * 80
            + "\n2025年12月12日\n\n甲 森田\n",
            "2025-12-12",
            "2025年12月12日",
        ),
    ],
    ids=["one of several labels in a line", "dateline", "Korean", "Japanese"],
)
def test_the_date_of_a_document_is_verified_where_it_is_dated(
    library: Library, text: str, value: str, quoted: str
):
    found = read(library, text, DATE)
    assert (found.state, found.value, found.quotes[0].text) == ("verified", day(value), quoted)


@pytest.mark.parametrize(
    "last", ["Truro, 3 May 2024 or 4 May 2024.", "Truro, 3 May 2024.\nExeter, 4 May 2024."]
)
def test_of_two_dates_at_the_end_none_is_verified(library: Library, last: str):
    text = "# Contract\n\n" + "The parties agree on this clause, too.\n" * 40 + f"\n{last}\n"
    assert read(library, text, DATE).state != "verified"


@pytest.mark.parametrize(
    ("text", "person", "state"),
    [
        (QUOTATION, "Clive Reyes", "verified"),
        (SIGNED.format(day="12 December 2025"), "Ms Ada Brunn", "unconfirmed"),
        ("# 안내\n\n담당자: 김하늘 (전화: 02-555-0182)\n", "김하늘", "verified"),
    ],
)
def test_a_contact_is_the_person(library: Library, text: str, person: str, state: str):
    found = read(library, text, Column("c", "Contact" if text.isascii() else "담당자"))
    assert (found.value, found.state) == (Words(person), state)


def test_a_day_goes_before_a_year(library: Library):
    text = "図書館\n\n2013年度に開館した館は多い。\n\n2010年10月16日、町役場に隣接する建物の1階に開館した。\n"
    assert read(library, text, Column("c", "開館日", "いつ開館しましたか？", "date")).value == day(
        "2010-10-16"
    )


BALANCE = """\
# Mill plc

For the quarterly period ended June 30, 2024

| In thousands | June 30, 2024 | December 31, 2023 |
|---|---|---|
| Accounts receivable, net of allowance for doubtful accounts of $4 and $6 | $500 | $400 |
"""


def test_a_label_may_say_what_a_figure_is_net_of(library: Library):
    result = read(library, BALANCE, Column("c", "Accounts receivable", kind="money"))
    assert (result.state, result.value) == ("verified", amount("500000", "USD"))


def test_without_a_model_a_cell_says_that_only_a_search_found_nothing(library: Library):
    found = read(
        library, "The castle was built in 1432.\n", Column("pets", "Pets", "Are dogs allowed inside?")
    )
    assert found.state == "absent" and found.only_searched
    assert found.note == "Not found by search alone. A connected model reads the whole text."


def test_a_text_from_a_row_of_a_table_is_words():
    column = Column("who", "Supplier")
    assert _value_in("| Visutek | Hardware |", column) == Words("Visutek · Hardware")
    assert _value_in("- Does repairs.", column) == Words("Does repairs.")


WARRANTY = """\
물품 공급 계약서

제1조 (목적)
이 계약은 브룬 조선소에 밧줄과 닻을 공급하는 일을 정한다.

제2조 (품목, 인도기일 및 값)
공급자는 밧줄과 닻을 다음 달에 조선소로 보낸다.

제3조 (품질보증)
공급자는 물품을 받은 날부터 18개월 동안 흠이 있는 물품을 새것으로 바꾸어 준다.

제4조 (지체)
공급자가 인도기일을 어긴 때에는 하루마다 값의 1,000분의 2를 조선소에 낸다.
"""


@pytest.mark.parametrize(
    ("name", "question", "told"),
    [
        ("품질보증", "품질보증 기간은 얼마인가요?", "18개월"),
        ("인도기일", "인도기일은 언제인가요?", "다음 달"),
    ],
)
def test_what_is_left_of_a_heading_or_of_a_word_is_no_value(
    library: Library, name: str, question: str, told: str
):
    found = read(library, WARRANTY, Column("x", name, question))
    assert isinstance(found.value, Words)
    assert told in found.value.text
    assert found.state == "unconfirmed"
