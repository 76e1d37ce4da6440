import pytest

from rag.citations.quantities import periods


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("In 2023 sales were higher than in the year before.", [(2023, 0), (2022, 0)]),
        ("The year before they were lower than in March 2023.", [(2022, 0), (2023, 3)]),
        ("2023년 매출은 전년보다 늘었다.", [(2023, 0), (2022, 0)]),
        ("2023年の売上は前年より増えた。", [(2023, 0), (2022, 0)]),
    ],
)
def test_the_year_before_is_that_before_the_year_beside_it(text: str, years: list[tuple[int, int]]):
    assert [(period.year, period.month) for period in periods(text)] == years


def test_the_year_before_one_that_is_not_named_has_no_number():
    assert [(period.year, period.back) for period in periods("Sales rose over the prior year.")] == [(0, 1)]
