import pytest

from rag.ingest.document_facts import MOST_OF_A_KIND, DocumentProfile, read_facts
from rag.text import markdown
from rag.text.document import LoadedDocument
from storage.records import DocumentFact

DAYS = ["2024-02-29", "2024-03", "2024-03-01", "2024-03-31", "2024-04"]
FILING = """FORM 10-Q

For the quarterly period ended July 1, 2023

Northwind Inc.

(Exact name of registrant as specified in its charter)

The accounts are those of Northwind Inc. and its subsidiaries (collectively “Northwind” or the “Company”).
They follow generally accepted accounting principles (“GAAP”). Southwind Corp. (“Southwind”) sued.
Net sales (in millions) rose in the third quarter of 2023; in the third quarter of 2023 costs fell.
In the third quarter of 2023, Northwind opened. In the third quarter of 2023, it closed.
"""


def facts(text, name="file.txt", **properties):
    headings = markdown.headings(text)
    return read_facts(LoadedDocument(text, **{"headings": headings, **properties}), name)


def values(found, kind):
    return [fact.value for fact in found if fact.kind == kind]


def test_a_filing_says_who_when_and_what_it_is():
    found = facts(FILING)
    assert values(found, "form") == ["10-Q"]
    assert values(found, "period") == ["2023-04-02/2023-07-01", "2023-Q3"]
    assert values(found, "name") == ["Northwind Inc."]
    assert values(found, "unit") == ["in millions"]
    profile = DocumentProfile("1", "file.txt", found)
    meanings = {fact.value: fact.means for fact in found if fact.kind in ("alias", "term")}
    assert meanings["Company"] == "Northwind Inc."
    assert meanings["GAAP"] == "generally accepted accounting principles"
    assert profile.about == "Northwind Inc., 10-Q, period ended 2023-07-01, in millions"


def test_the_year_of_a_law_is_no_period():
    assert values(facts("# Report under the Exchange Act of 1934\n\nIt is so."), "period") == []
    assert values(facts("# Report of 1934\n\nIt is so."), "period") == ["1934"]


def test_the_unit_of_nearly_all_tables_is_the_documents():
    text = "(in millions)\n\n" * 9 + "(in thousands)\n"
    assert values(facts(text), "unit") == ["in millions"]
    assert values(facts(text + "(in thousands)\n"), "unit") == []


def test_each_fact_is_kept_with_the_words_it_was_read_from():
    quoted = {fact.kind: FILING[fact.start : fact.end] for fact in facts(FILING) if fact.start is not None}
    assert quoted["form"] == "10-Q"
    assert quoted["name"] == "Northwind Inc."
    assert quoted["term"] == "GAAP"
    assert quoted["unit"] == "(in millions)"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("# Minutes\n\nDate: 3 May 2023\n\nWe met on 1 April 2023.", "date", "2023-05-03"),
        ("# 회의록\n\n작성일: 2023년 5월 3일\n작성자: 김철수\n", "date", "2023-05-03"),
        ("# 회의록\n\n작성일: 2023년 5월 3일\n작성자: 김철수\n", "author", "김철수"),
        ("# 議事録\n\n作成日：令和5年5月3日\n作成者：山田太郎\n", "date", "2023-05-03"),
        ("# 議事録\n\n作成日：令和5年5月3日\n作成者：山田太郎\n", "author", "山田太郎"),
        ("# A study\n\nBy Ann Kim and Bo Lee\n\nText.", "author", "Ann Kim"),
        ("Present: Ann Kim, Bo Lee\nMinutes: Bo Lee\n", "author", "Bo Lee"),
        ("Present: Ann Kim\nMinutes taken by: Bo Lee\n", "author", "Bo Lee"),
        ("참석: 김철수, 이영희\n서기: 이영희\n", "author", "이영희"),
        ("出席：山田太郎\n議事録作成者：佐藤花子\n", "author", "佐藤花子"),
        ("# 보고\n\n한빛전자 주식회사 (이하 '회사'라 한다)는 서울에 있다.", "name", "한빛전자 주식회사"),
        ("# 報告\n\n株式会社青空商事(以下「当社」という)は東京にある。", "name", "株式会社青空商事"),
        ("# 사업보고서\n\n2023년 1월 1일 부터 2023년 6월 30일 까지\n", "period", "2023-01-01/2023-06-30"),
        ("# 四半期報告書\n\n自 2023年4月1日 至 2023年6月30日\n", "period", "2023-04-01/2023-06-30"),
        ("# Sales in Q3 2023\n\nText.", "period", "2023-Q3"),
        ("# 매출\n\n(단위: 백만원)\n", "unit", "백만원"),
    ],
)
def test_facts_are_read_in_three_languages(text, kind, value):
    assert value in values(facts(text), kind)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("# Fire plan\n\nMarch 2024\n\nThe exits are marked.", "2024-03"),
        ("# Fire plan\n\nVersion 2.1, March 2024\n\nThe exits are marked.", "2024-03"),
        ("# 旅費規程\n\n2024年3月\n\n旅費を定める。", "2024-03"),
        ("# 旅費規程\n\n令和6年3月改訂\n\n旅費を定める。", "2024-03"),
        ("# 여비 규정\n\n2024. 3.\n\n여비를 정한다.", "2024-03"),
        ("# 여비 규정\n\n작성일: 2024년 3월\n\n여비를 정한다.", "2024-03"),
        ("# 인원 현황(2024. 3. 현재)\n\n인원은 다음과 같다.", "2024-03"),
    ],
)
def test_a_month_is_the_date_of_a_document_that_names_no_day(text, date):
    (found,) = (fact for fact in facts(text) if fact.kind == "date")
    assert found.value == date
    assert "2024" in text[found.start : found.end] or "令和6" in text[found.start : found.end]


def test_a_day_is_more_precise_than_its_month():
    text = "# Plan\n\nPublished: March 2024\n\n{}\n\nText."
    assert values(facts(text.format("14 March 2024")), "date") == ["2024-03-14"]
    assert values(facts(text.format("14 April 2024")), "date") == ["2024-03"]


@pytest.mark.parametrize(
    "text",
    [
        "# News\n\n## March 2024\n\nWe moved.\n\n## April 2024\n\nWe hired.",
        "# Sales\n\n| month | sum |\n| --- | --- |\n| March 2024 | 40 |\n",
        "# 決算短信\n\n2024年3月期\n\n売上は増えた。",
        "# Report\n\n2024\n\nText.",
        "# Report\n\nThe bridge was built in March 2024.",
    ],
)
def test_months_that_a_text_only_speaks_of_and_years_are_no_date(text):
    assert values(facts(text), "date") == []


def test_a_month_comes_before_its_days_and_after_those_of_the_month_before():
    ends = [DocumentProfile("1", "a", [DocumentFact("date", day)]).end for day in DAYS]
    assert sorted(ends) == DAYS


def test_the_words_of_the_text_beat_worthless_properties():
    found = facts(
        "# Annual plan\n\nText.",
        title="Microsoft Word - plan.doc",
        author="Administrator",
        headings=((0, 1, "Annual plan"),),
    )
    assert values(found, "title") == ["Annual plan"]
    assert values(found, "author") == []


@pytest.mark.parametrize(
    "text", ["Minutes: Board Meeting\nPresent: Ann Kim", "Minutes: 12 May 2023", "서기: 미정인 상태"]
)
def test_minutes_of_something_have_no_author(text):
    assert values(facts(text), "author") == []


def test_good_properties_and_the_name_of_the_file_count_without_a_place():
    found = facts("Text.", name="Sales_2023_Q3.pdf", title="Sales", author="Ann Kim", written="2023-10-02")
    kept = {fact.kind: (fact.value, fact.start) for fact in found if fact.kind != "language"}
    assert kept == {
        "title": ("Sales", None),
        "author": ("Ann Kim", None),
        "date": ("2023-10-02", None),
        "period": ("2023-Q3", None),
    }


def test_a_text_that_says_nothing_of_itself_has_a_language_only():
    found = facts("The moat is 3 metres deep. It was dug in 1432, when Acme Corp. was unknown.", "moat.md")
    assert [fact.kind for fact in found] == ["language"]


def test_a_flood_of_definitions_is_capped_and_quick():
    found = facts(" ".join(f"Acme{n} Works Inc. (“Acme{n}”)" for n in range(5000)) + " (“" * 20_000)
    assert len(values(found, "alias")) == MOST_OF_A_KIND
