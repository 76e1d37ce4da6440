"""Values under labels: lines, tables, and captions beneath a value."""

import pytest

from rag.grid.document import labelled_values


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Invoice no.: A-7\n", [("Invoice no.", "A-7")]),
        ("- **Due date:** 3 May\n", [("Due date", "3 May")]),
        ("請求番号：17\n발행일: 5월 1일\n", [("請求番号", "17"), ("발행일", "5월 1일")]),
        ("See https://example.org/x\n", []),
        (
            "Date: 3 May 2026. Valid until: 9 May. Contact: J. P. Reyes, at: 10:30\n",
            [("Date", "3 May 2026"), ("Valid until", "9 May"), ("Contact", "J. P. Reyes, at: 10:30")],
        ),
        ("견적일: 2026년 5월 3일; 담당: 김하늘\n", [("견적일", "2026년 5월 3일"), ("담당", "김하늘")]),
        ("見積日：5月3日。担当：森田\n", [("見積日", "5月3日"), ("担当", "森田")]),
        (
            "Delaware 94-1672743\n(State of incorporation)\n(Number)\n",
            [("State of incorporation", "Delaware"), ("Number", "94-1672743")],
        ),
        ("ACME CORP.\n\n(Exact name of registrant)\n", [("Exact name of registrant", "ACME CORP.")]),
        ("(206) 266-1000\n(Telephone number)\n", [("Telephone number", "(206) 266-1000")]),
        ("| Total | 9 EUR |\n|---|---|\n| Tax | 1 EUR |\n", [("Total", "9 EUR"), ("Tax", "1 EUR")]),
        (
            "| a | b | c | d |\n|---|---|---|---|\n| No. | 7 | Date | 3 May |\n| X | 1 | Y | 2 |\n",
            [("No.", "7"), ("Date", "3 May"), ("X", "1"), ("Y", "2")],
        ),
        (
            "| Ship | Year | Port |\n|---|---|---|\n| Ada | 1931 | Oslo |\n",
            [("Ada", "1931"), ("Ship", "Ada"), ("Year", "1931"), ("Port", "Oslo")],
        ),
        ("Plain words alone.\n", []),
    ],
)
def test_values_are_found_with_their_labels(text: str, found: list[tuple[str, str]]):
    assert [(one.label, text[one.start : one.end]) for one in labelled_values(text)] == found


def test_a_row_knows_the_section_it_stands_in():
    text = "| | |\n|---|---|\n| Seller | |\n| Name | Brunn |\n"
    assert [(one.section, one.label) for one in labelled_values(text)] == [("Seller", "Name")]
