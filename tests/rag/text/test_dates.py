from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.dates import find_periods, find_quarters


def labels(text):
    return [period.label for period in find_periods(text)]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("for the quarter ended July 1, 2023", "2023-07-01"),
        ("on 3 May 2023", "2023-05-03"),
        ("2023-05-03", "2023-05-03"),
        ("2023. 5. 3.", "2023-05-03"),
        ("report_20230503", "2023-05-03"),
        ("2023년 5월 3일", "2023-05-03"),
        ("令和5年4月1日", "2023-04-01"),
        ("Sept 2022", "2022-09"),
        ("2023년 5월", "2023-05"),
        ("2023. 5.", "2023-05"),
        ("2023.05.", "2023-05"),
        ("Q3 2023", "2023-Q3"),
        ("2023 Q3 AAPL", "2023-Q3"),
        ("3Q23", "2023-Q3"),
        ("the third quarter of fiscal year 2024", "2024-Q3"),
        ("2023년 3분기", "2023-Q3"),
        ("2023年度第3四半期", "2023-Q3"),
        ("2024年3月期 第1四半期", "2024-Q1"),
        ("first half of 2024", "2024-H1"),
        ("2023년 상반기", "2023-H1"),
        ("in 2023", "2023"),
        ("2023년", "2023"),
        ("FY23", "2023"),
        ("1768年3月21日", "1768-03-21"),
        ("1674年", "1674"),
        ("10 December 1815", "1815-12-10"),
        ("2010年(平成22年)10月16日", "2010-10-16"),
        ("2010年（平成22年）10月", "2010-10"),
        ("明治32年6月14日", "1899-06-14"),
    ],
)
def test_dates_and_periods_are_found_in_three_languages(text, label):
    assert labels(text) == [label]


@pytest.mark.parametrize("text", ["2023-13-40", "1,999 seats", "$2000", "12345 units", "may I"])
def test_other_numbers_are_no_dates(text):
    assert labels(text) == []


def test_the_number_of_a_list_after_a_year_is_no_month():
    assert labels("It was founded in 2023. 5. The seat is Bonn.") == ["2023"]


def test_a_period_has_its_days_and_its_place():
    (period,) = find_periods("Sales in the second quarter of 2024 fell.")
    assert (period.first, period.last) == (date(2024, 4, 1), date(2024, 6, 30))
    assert (period.start, period.end, period.grain, period.fiscal) == (13, 35, "quarter", False)


def test_fiscal_periods_are_told_apart():
    assert [one.fiscal for one in find_quarters("Q3 2023, third quarter of fiscal year 2024")] == [
        False,
        True,
    ]


@given(st.text(alphabet="Q1234年月日년월일분기第四半期 -./,2023JulyMarch of quarterthird", max_size=60))
def test_places_lie_in_the_text_and_never_overlap(text):
    end = 0
    for period in find_periods(text):
        assert end <= period.start < period.end <= len(text)
        assert period.first <= period.last
        end = period.end
