"""Columns that are named after a kind of value alone: date, amount, who is responsible."""

import pytest

from rag.factory import make_cell_reader
from rag.grid.cells import CellResult, value_text
from rag.grid.columns import Column, Kind
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


SURVEY = """# Report on a house

Prepared for Ann Quill. Inspected on 11 March 2025 between 9.40 and 13.15.

The last test certificate is dated 6 June 2009.
"""
REPORT_JA = "# 図書館の利用統計\n\n令和8年5月20日　みどり市教育委員会\n\n入館者数は増加した。\n"
RULES_JA = """# 旅費規程

制定　2014年4月1日　／　最終改定　2026年4月1日

この規程の主管部署は総務部とし、改廃は取締役会の決議による。
"""
RULES_KO = "# 회칙\n\n이 회칙은 2018년 3월 10일 제정하고 2024년 11월 2일 개정하였다.\n"
RULES_EN = "# Rules\n\nAdopted on 4 March 2019. Amended on 6 October 2022 and on 9 October 2025.\n"
INVOICE_JA = "# 請求書\n\n発行日：2025年11月25日\n担当者：西川 恵\nご請求金額：181,500円\n"


@pytest.mark.parametrize(
    ("text", "name", "question", "kind", "told"),
    [
        (SURVEY, "Date", "On which date was it adopted, inspected or held?", "date", "2025-03-11"),
        (REPORT_JA, "日付", "この文書の日付はいつですか。", "text", "令和8年5月20日"),
        (RULES_JA, "作成日", "作成日または最終改定日", "date", "2026-04-01"),
        (RULES_JA, "担当", "主管部署または責任者は誰ですか。", "text", "総務部"),
        (RULES_KO, "제정일 또는 최종 개정일", "", "date", "2024-11-02"),
        (RULES_EN, "Last amended", "", "date", "2025-10-09"),
        (INVOICE_JA, "日付", "", "date", "2025-11-25"),
        (INVOICE_JA, "金額", "金額はいくらですか。", "text", "181,500円"),
        (INVOICE_JA, "担当", "", "text", "西川 恵"),
        ("# 회의록\n\n일시: 2026년 1월 28일(수)\n", "날짜", "", "text", "2026년 1월 28일"),
    ],
)
def test_cell_has_what_the_document_states_for_the_question(
    library: Library, text: str, name: str, question: str, kind: Kind, told: str
) -> None:
    result = read(library, text, Column("c", name, question, kind))
    assert (result.state, value_text(result.value)) == ("verified", told)


@pytest.mark.parametrize(
    ("text", "name", "question"),
    [
        ("# Report\n\nThe last test certificate is dated 6 June 2009.\n", "Date", "When was it inspected?"),
        ("# Report\n\nThe last test certificate is dated 6 June 2009.\n", "Date", ""),
        ("# Report\n\nDate: 6 June 2009\n", "Date", "When was the lease terminated?"),
        ("# Report\n\nThe next meeting is held on 6 June 2009.\n", "Date", "When was it held?"),
        ("# 보고서\n\n다음 회의는 2026년 12월 3일에 연다.\n", "날짜", "회의 날짜는 언제인가요?"),
        ("# 報告書\n\n発行日：2025年11月25日\n", "日付", "検査はいつですか。"),
    ],
)
def test_date_of_another_thing_is_never_confirmed(
    library: Library, text: str, name: str, question: str
) -> None:
    assert read(library, text, Column("c", name, question, "date")).state != "verified"


def test_workshop_s_period_gives_its_first_day(library: Library) -> None:
    text = "워크숍 계획\n\n1. 기간: 2026년 11월 26일(목)부터 27일(금)까지 1박 2일\n\n2. 장소: 연수원\n"
    result = read(library, text, Column("c", "날짜", "행사나 회의 날짜는 언제인가요?", "date"))
    assert value_text(result.value) == "2026-11-26"
