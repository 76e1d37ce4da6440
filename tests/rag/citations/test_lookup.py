# ruff: noqa: E501
import pytest

from rag.citations.lookup import Reading, TableLookup

LOOSE = """Net sales by category for the three- and nine-month periods (dollars in millions):
Three Months Ended Nine Months Ended
July 1,
2023
June 25,
2022 Change
July 1,
2023
June 25,
2022 Change
Lamps $ 39,669 $ 40,665 (2)% $ 156,778 $ 162,863 (4)%
Garden and Home 8,284 8,084 2 % 30,523 31,591 (3)%
Total net sales $ 47,953 $ 48,749 (2)% $ 187,301 $ 194,454 (4)%
"""
MODELS = "| Model | Size (M) | Dev | Test |\n|---|---|---|---|\n| Alba | 110 | 84.3 | 83.9 |\n| Brio | 355 | 90.2 | 89.8 |"


def read(claim: str, text: str = LOOSE) -> Reading | None:
    return TableLookup([(1, text, "")]).read(claim)


@pytest.mark.parametrize(
    "claim",
    [
        "Lamps brought in about $39.7 billion in the third quarter of 2023.",
        "In the quarter that ended on 25 June 2022, net sales of Lamps were $40,665 million.",
        "Net sales of Garden and Home fell 3% in the first nine months of 2023.",
        "Net sales of Lamps were $996 million lower than a year before in the three months ended July 1, 2023.",
        "In the third quarter of 2023, Lamps and Garden and Home together had net sales of $47,953 million.",
        "Lamps made up about 83% of total net sales in the three months ended July 1, 2023.",
    ],
)
def test_a_row_without_lines_is_read_by_label_and_period(claim: str):
    found = read(claim)
    assert found is not None and found.holds
    assert all(LOOSE[span.start : span.end].startswith(("Lamps", "Garden", "Total")) for span in found.spans)


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("In the three months ended July 1, 2023, net sales of Lamps were $40,665 million.", "39,669"),
        ("Lamps brought in about $39.7 billion in the first nine months of 2023.", "156,778"),
        (
            "Net sales of Garden and Home rose 3% in the first nine months of 2023.",
            "(30,523 - 31,591) / 31,591 = -3.4 %",
        ),
        (
            "Net sales of Lamps were $969 million lower than a year before in the three months ended July 1, 2023.",
            "39,669 - 40,665 = -996",
        ),
    ],
)
def test_another_column_direction_or_result_differs_and_says_what_stands_there(claim: str, said: str):
    found = read(claim)
    assert found is not None and (found.holds, found.said) == (False, said)


def test_a_column_without_a_period_is_found_by_its_words():
    assert read("Brio reaches 89.8 on the test set.", MODELS).holds
    assert not read("Brio reaches 90.2 on the test set.", MODELS).holds
    assert read("Brio reaches 90.2.", MODELS) is None


def test_a_sum_without_a_period_is_of_one_column():
    read_sum = read("Lamps and Garden and Home together came to $48,749 million.")
    assert read_sum is not None and (read_sum.holds, read_sum.calculation) == (
        True,
        "40,665 + 8,084 = 48,749",
    )
    crossed = read("Lamps and Garden and Home together came to $47,753 million.")  # 39,669 + 8,084
    assert crossed is None or not crossed.holds


def test_a_statement_about_something_else_is_not_read():
    assert read("The lamps were painted green in 2023.") is None
    assert read("Gross margin of Lamps before tax was $39,669 million in the third quarter of 2023.") is None
