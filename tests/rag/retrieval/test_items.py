from dataclasses import replace

import pytest

from rag.passage import Passage
from rag.retrieval.items import find_items, find_mentions


def passage(text: str, heading: str = "", document: str = "a.md") -> Passage:
    return Passage("c", document, document, "", None, heading, 0, len(text), text)


@pytest.mark.parametrize(
    ("kind", "text", "heading", "items"),
    [
        ("suppliers", "Suppliers:\n\n- Acme Ltd\n- Brunn Stone", "", ["Acme Ltd", "Brunn Stone"]),
        ("suppliers", "- Acme Ltd: bolts\n- Brunn", "Contracts > Suppliers", ["Acme Ltd", "Brunn"]),
        (
            "suppliers",
            "| Supplier | City |\n|---|---|\n| Acme | Holm |\n| Brunn | Ost |",
            "",
            ["Acme", "Brunn"],
        ),
        ("supplier", "Supplier: Acme Ltd\nCity: Holm", "", ["Acme Ltd"]),
        (
            "invoices",
            "We paid invoice INV-204. Invoice INV-7 is open.",
            "",
            ["invoice INV-204", "Invoice INV-7"],
        ),
        ("email addresses", "Write to ann@holm.test or bo@ost.test.", "", ["ann@holm.test", "bo@ost.test"]),
        ("공급업체", "공급업체:\n\n- 가나상사\n- 다라물산", "", ["가나상사", "다라물산"]),
        ("請求書", "請求書:\n\n- 請求書 A-1\n- 請求書 A-2", "", ["請求書 A-1", "請求書 A-2"]),
    ],
)
def test_items_of_a_kind_are_read_where_they_are_named(kind, text, heading, items):
    assert [item.name for item in find_items(kind, [passage(text, heading)])] == items


def test_days_of_something_are_no_dates():
    told = passage("Every employee has 26 days of paid leave. The handbook is of 1 May 2025.")
    assert find_items("days of paid leave", [told]) == []
    assert [item.name for item in find_items("important dates", [told])] == ["1 May 2025"]


def test_headings_that_begin_with_the_kind_are_items():
    given = [passage("Water rises.", "Plan > Risk 1: flood"), passage("Ice.", "Plan > Risk 2: ice")]
    assert [item.name for item in find_items("risks", given)] == ["Risk 1: flood", "Risk 2: ice"]


def test_a_heading_with_a_number_is_one_item_where_it_stands_in_the_text():
    given = [passage("## Risk 1: flood\n\nWater rises.", "Plan > Risk 1: flood")]
    assert [item.name for item in find_items("risks", given)] == ["Risk 1: flood"]


def test_headings_right_under_one_of_the_kind_are_items():
    text = (
        "## Steps\n\nText.\n\n### Pour\n\nSlowly.\n\n#### Cold\n\n### Stir { #stir }\n\n## Costs\n\n### Oil"
    )
    assert [item.name for item in find_items("steps", [passage(text, "Plan > Steps")])] == ["Pour", "Stir"]


@pytest.mark.parametrize(
    ("kind", "text", "items"),
    [
        ("이메일", "문의는 desk@mill.example로 한다.", ["desk@mill.example"]),
        ("電話番号", "受付は03-1234-5678です。", ["03-1234-5678"]),
        ("リンク", "資料は https://a.example にある。", ["https://a.example"]),
        ("마감일", "2024년 3월 4일까지 낸다.", ["2024년 3월 4일"]),
        ("見積書", "見積書 Q-12を受け取った。見積書 Q-15は遅れた。", ["見積書 Q-12", "見積書 Q-15"]),
    ],
)
def test_korean_and_japanese_text_follows_an_item_without_a_space(kind, text, items):
    assert [item.name for item in find_items(kind, [passage(text)])] == items


def test_a_list_under_a_heading_of_the_kind_may_have_another_line_above():
    text = "## Suppliers\n\nThese may be asked:\n\n- Acme\n- Brunn\n\n## Costs\n\nThese rose:\n\n- oil"
    assert [item.name for item in find_items("suppliers", [passage(text)])] == ["Acme", "Brunn"]


def test_entries_below_the_first_level_are_no_items():
    given = [passage("Suppliers:\n\n* Acme:\n    * bolts"), passage("    * nuts\n* Brunn:\n    * stone")]
    assert [item.name for item in find_items("suppliers", given)] == ["Acme", "Brunn"]


def test_a_list_goes_on_in_the_next_passage():
    given = [passage("Suppliers:\n\n- Acme"), passage("- Brunn\n\nCosts are low.\n\n- none")]
    assert [item.name for item in find_items("suppliers", given)] == ["Acme", "Brunn"]


def test_the_end_of_an_entry_that_the_next_passage_repeats_does_not_end_the_list():
    text = "Suppliers:\n\n- Acme. It sells bolts.\n- Brunn"
    cut = text.index("It sells")
    given = [
        replace(passage(text[: text.index("\n- Brunn")]), start=0, end=text.index("\n- Brunn")),
        replace(passage(text[cut:]), start=cut, end=len(text)),
    ]
    assert [item.name for item in find_items("suppliers", given)][-1] == "Brunn"


def test_a_list_of_something_else_has_no_items_of_the_kind():
    assert find_items("suppliers", [passage("Costs:\n\n- bolts\n- stone")]) == []


def test_each_item_lies_in_its_passage():
    given = [passage("Suppliers:\n\n- Acme Ltd: bolts")]
    (item,) = find_items("suppliers", given)
    assert given[item.number - 1].text[item.start : item.end] == "Acme Ltd: bolts"


def test_a_document_that_mentions_a_subject_is_told_by_its_sentence():
    given = [passage("It rained. The flood came in May.", "", "a.md"), passage("No water.", "", "b.md")]
    (item,) = find_mentions("flood in May", given)
    assert (item.name, given[0].text[item.start : item.end]) == ("a.md", "The flood came in May.")
