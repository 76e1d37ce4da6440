"""Periods of a table's columns against the period that is wanted."""

from datetime import date

import pytest

from rag.citations.quantities import periods
from rag.grid.table_values import WantedPeriod

QUARTER = WantedPeriod(date(2023, 4, 2), date(2023, 7, 1))
YEAR = WantedPeriod(date(2023, 1, 1), date(2023, 12, 31))


@pytest.mark.parametrize(
    ("wanted", "heading", "fit"),
    [
        (QUARTER, "Three Months Ended July 1, 2023", "same"),
        (QUARTER, "July 1, 2023", "same"),
        (QUARTER, "Nine Months Ended July 1, 2023", "other"),
        (QUARTER, "Three Months Ended June 25, 2022", "other"),
        (QUARTER, "September 24, 2022", "other"),
        (QUARTER, "2023", "open"),
        (QUARTER, "2021", "other"),
        (QUARTER, "Level 1", "open"),
        (YEAR, "2023", "same"),
        (YEAR, "2022", "other"),
        (YEAR, "2023년", "same"),
    ],
)
def test_a_column_fits_the_period_that_is_wanted(wanted: WantedPeriod, heading: str, fit: str):
    stated = periods(heading)
    assert wanted.fit(stated[-1] if stated else None) == fit


def test_a_longer_span_may_end_with_the_wanted_period():
    assert QUARTER.ends_with(periods("Nine Months Ended July 1, 2023")[-1])
    assert not QUARTER.ends_with(periods("Nine Months Ended June 25, 2022")[-1])
    assert not QUARTER.ends_with(periods("July 1, 2023")[-1])
