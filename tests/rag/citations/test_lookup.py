# ruff: noqa: E501
import pytest

from rag.citations.asked import Reading, TableText
from rag.citations.lookup import TableLookup

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


TOTALS = (
    "| Pos. | Item | Amount (EUR) |\n|---|---|---|\n| 1 | Hall | 97,850.00 |\n\n"
    "|  |  |\n|---|---|\n| Net total | 97,850.00 |\n| Total | 120,355.50 |"
)


def read(claim: str, text: str = LOOSE) -> Reading | None:
    return TableLookup([TableText(1, text)]).read(claim)


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


YEARS = "| Net sales | 2023 | 2022 | Share 2023 |\n|---|---|---|---|\n| Lamps | 110 | 100 | 30% |\n| Garden | 90 | 120 | 12% |"


def test_a_label_is_found_by_its_initials():
    text = "| In dollars | 2023 | 2022 |\n|---|---|---|\n| Earnings per share | 6.13 | 5.11 |\n| Dividends per share | 0.94 | 0.90 |"
    found = read("EPS and DPS together were 7.07 dollars in 2023.", text)
    assert found is not None and found.holds and found.calculation == "6.13 + 0.94 = 7.07"


def test_a_label_with_an_apostrophe_alone_is_looked_up():
    table = "| Leave | EPS |\n|---|---|\n| three months' notice in writing | 4 |\n| none | 5 |"
    found = read("The EPS with notice in writing was 4.", table)
    assert found and found.holds


def test_a_change_that_no_column_states_is_calculated():
    found = read("Net sales of Lamps rose 10% in 2023.", YEARS)
    assert found is not None and found.holds and found.calculation == "(110 - 100) / 100 = 10.0 %"
    found = read("Net sales of Garden fell 20% in 2023.", YEARS)
    assert found is not None and not found.holds and found.said == "(90 - 120) / 120 = -25.0 %"


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


SEGMENTS = """SEGMENT RESULTS
(In millions, except percentages)
Three Months Ended
March 31,
Percentage
Change
Nine Months Ended
March 31,
Percentage
Change
2023 2022 2023 2022
Revenue
Lamps and Light $ 17,516 $ 15,789 11% $ 50,983 $ 46,764 9%
More Garden 13,260 14,584 (9)% 40,829 45,480 (10)%
Total $ 30,776 $ 30,373 1% $ 91,812 $ 92,244 0%
Operating Income (Loss)
Lamps and Light $ 8,639 $ 7,185 20% $ 25,137 $ 22,454 12%
More Garden (237) 788 (130)% 774 1,000 (23)%
"""
LEASES = """Lease liabilities were as follows (in millions):
December 31, 2022
Operating Leases Finance Leases Total
Gross liabilities $ 81,273 $ 18,019 $ 99,292
Net liabilities 61,582 11,386 72,968
June 30, 2023
Operating Leases Finance Leases Total
Gross liabilities $ 87,753 $ 15,533 $ 103,286
Net liabilities 65,388 10,434 75,822
"""
PAYMENTS = "Payments (in millions)\nYear Ending June 30, Operating Leases Finance Leases\n2024 2,625 1,706\n2025 2,334 2,025\n"
LINES = "| Line | Opened | Stations | Riders 2019 | Riders 2022 |\n|---|---|---|---|---|\n| Red | 14 May 1978 | 19 | 61.2 million | 48.9 million |\n| Blue | 2 June 1994 | 15 | 38.4 million | 40.1 million |"
FLOWS = """CASH FLOWS STATEMENTS
(In millions)
Three Months Ended September 30, 2022 2021
Operations
Net cash from operations 23,198 24,540
Financing
Common stock repurchased (5,573) (7,684)
Net cash used in financing (10,883) (16,276)
"""
BALANCE = """(In millions)
October 30, January 30,
2022 2022
Cash and cash equivalents $ 2,800 $ 1,990
Securities 10,343 19,218
Total assets $ 40,488 $ 44,187
"""
FISCAL = (
    "| (in millions) | Three Months Ended October 30, 2022 | Three Months Ended October 31, 2021 |\n|---|---|---|\n"
    "| Lamps | 2,115 | 4,092 |\n\nLamps sold less in the third quarter of fiscal year 2023."
)
FLATS = "표 2. 2022년 말 기준\n\n| 자치구 | 인구(천 명) | 공원 면적(㎢) |\n|---|---|---|\n| 가람구 | 412 | 3.1 |\n| 나루구 | 287 | 5.6 |\n| 다솜구 | 354 | 2.2 |"


@pytest.mark.parametrize(
    ("text", "true", "false"),
    [
        (SEGMENTS, "Revenue of More Garden fell 9% to $13.3 billion in the three months ended March 31, 2023.",
         "Revenue of More Garden rose 9% to $13.3 billion in the three months ended March 31, 2023."),
        (SEGMENTS, "More Garden had an operating loss of $237 million in the three months ended March 31, 2023.",
         "More Garden had an operating loss of $774 million in the nine months ended March 31, 2023."),
        (SEGMENTS, "In the three months ended March 31, 2023, Lamps and Light accounted for about 57% of revenue.",
         "In the three months ended March 31, 2023, Lamps and Light accounted for about 51% of revenue."),
        (LEASES, "At June 30, 2023, net operating lease liabilities were $65.4 billion and net finance lease liabilities $10.4 billion.",
         "At June 30, 2023, net operating lease liabilities were $61.6 billion and net finance lease liabilities $11.4 billion."),
        (PAYMENTS, "In 2025, operating leases cost $2,334 million and finance leases $2,025 million.",
         "In 2025, operating leases cost $2,025 million and finance leases $2,334 million."),
        (LINES, "The Blue Line opened on 2 June 1994 and has 15 stations.",
         "The Blue Line opened on 14 May 1978 and has 15 stations."),
        (LINES, "Riders on the Red Line dropped from 61.2 to 48.9 million between 2019 and 2022.",
         "Riders on the Blue Line dropped from 40.1 to 38.4 million between 2019 and 2022."),
        (FLOWS, "Net cash from operations was $23.2 billion in the three months ended September 30, 2022.",
         "Net cash from operations was $24.5 billion in the three months ended September 30, 2022."),
        (FLOWS, "Common stock of $5.6 billion was repurchased in the quarter, down from $7.7 billion a year earlier.",
         "Common stock of $7.7 billion was repurchased in the quarter, up from $5.6 billion a year earlier."),
        (FLOWS, "Net cash from operations fell by $1,342 million compared with the three months ended September 30, 2021.",
         "Net cash from operations rose by $1,342 million compared with the three months ended September 30, 2021."),
        (BALANCE, "Total assets shrank from $44.2 billion to $40.5 billion.",
         "Total assets grew from $40.5 billion to $44.2 billion."),
        (BALANCE, "Total assets were $40.5 billion at October 30, 2022.",
         "Cash and securities together came to $10,343 million at October 30, 2022."),
        (FISCAL, "Lamps brought in $2.1 billion in the third quarter of fiscal 2023.",
         "Lamps brought in $4.1 billion in the third quarter of fiscal 2023."),
        (SEGMENTS, "Revenue reached $30.8 billion in the three months ended March 31, 2023.",
         "Revenue reached $91.8 billion in the three months ended March 31, 2023."),
        (FLOWS, "Net cash from operations was $23.2 billion.", "Net cash from operations was $24.5 billion."),
        (SEGMENTS, "Total sales were $30.8 billion in the three months ended March 31, 2023.",
         "Total sales were $30.4 billion in the three months ended March 31, 2023."),
        (FLATS, "2022년 말 나루구의 인구는 28만 7천 명이다.", "2022년 말 나루구의 인구는 35만 4천 명이다."),
        (FLATS, "다솜구의 공원 면적은 2.2㎢로 가장 작습니다.", "가람구의 공원 면적은 3.1㎢로 가장 작습니다."),
    ],
)  # fmt: skip
def test_the_cell_that_labels_name_best_decides(text: str, true: str, false: str):
    found, other = read(true, text), read(false, text)
    assert found is not None and found.holds
    assert other is None or not other.holds


def test_a_multiple_is_calculated_and_a_hedge_is_not_read():
    table = (
        "In millions\n\n| | 2023 | 2022 |\n|---|---|---|\n| Ulm | 6,043 | 1,988 |\n| Bonn | 2,839 | 1,204 |"
    )
    assert read("Ulm roughly tripled to $6.0 billion in 2023.", table).holds
    tripled = read("Bonn roughly tripled to $2.8 billion in 2023.", table)
    assert tripled is None or not tripled.holds
    assert read("Ulm may have reached $6.0 billion in 2023.", table) is None


PROFITS = """| (in millions) | Q3 2023 | Q3 2022 |
|---|---|---|
| North: | | |
| Operating income | 41 | 38 |
| South: | | |
| Operating income | 19 | 22 |

Reconciliation, in millions:

| | Q3 2023 | Q3 2022 |
|---|---|---|
| Total operating income | 60 | 60 |
| Other income (loss) | (8) | 5 |
"""
LEVELS = "| March 1, 2023 | Quoted | Observed |\n|---|---|---|\n| Total assets | 2,666 | 471 |\n"


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ("Operating income was $60 million in Q3 2023.", True),  # no part is named
        ("There was an operating loss of $60 million in Q3 2023.", False),
        ("Operating income of the South was $19 million in Q3 2023.", True),
        ("There was an other loss of $8 million in Q3 2023.", True),
        ("Other income was $8 million in Q3 2023.", False),
    ],
)
def test_a_part_is_not_the_whole_and_an_income_no_loss(claim: str, holds: bool):
    found = read(claim, PROFITS)
    assert (found is not None and found.holds) == holds


def test_a_number_differs_from_none_of_several_columns_that_are_not_named():
    assert read("Total assets were $185 billion on March 1, 2023.", LEVELS) is None
    found = read("Quoted total assets were 2,700 on March 1, 2023.", LEVELS)
    assert found is not None and found.said == "2,666"


def test_a_table_without_a_unit_has_that_of_its_document():
    text = "| | Q3 2023 |\n|---|---|\n| Total revenue | 56,517 |\n"
    lookup = TableLookup([TableText(1, text, about="Acme Inc., 10-Q, in millions")])
    found = lookup.read("Total revenue was $56.5 billion in Q3 2023.")
    assert found is not None and found.holds


def test_a_number_differs_from_none_of_another_company():
    text = "| (in millions) | Q3 2023 |\n|---|---|\n| Total revenue | 56,517 |\n"
    assert read("Total revenue of Bolt was $9,870 million in Q3 2023.", text) is None
    found = read("Total revenue was $9,870 million in Q3 2023.", text)
    assert found is not None and found.said == "56,517"


QUARTERS = "| (in millions) | Q3 2023 | Q2 2023 |\n|---|---|---|\n| Revenue | 158 | 129 |\n"
NINE_MONTHS = "| (in millions) | Nine months ended July 1, 2023 |\n|---|---|\n| Revenue | 290 |\n"
BY_MONTHS = "| (in millions) | Three months ended July 1, 2023 |\n|---|---|\n| Revenue | 99 |\n"


def test_a_day_is_of_the_quarter_that_its_own_document_ends_with_it():
    said = "Revenue was $158 million in the quarter ended July 1, 2023."
    of_the_calendar = TableText(1, QUARTERS, document="calendar.pdf")
    other_company = TableText(2, f"{NINE_MONTHS}\n\n{BY_MONTHS}", document="fiscal.pdf")
    found = TableLookup([of_the_calendar, other_company]).read(said)
    assert found is None or not found.holds
    found = TableLookup([of_the_calendar, TableText(2, NINE_MONTHS, document="calendar.pdf")]).read(said)
    assert found is not None and found.holds


@pytest.mark.parametrize(
    ("above", "holds"),
    [
        ("Balance sheets > June 25, 2022 | September 25, 2021", True),
        ("Balance sheets > June 25, 2022 | Change | September 25, 2021 | Change", False),  # columns unknown
        ("Balance sheets", False),
    ],
)
def test_rows_of_a_table_that_an_earlier_passage_begins_are_read_under_its_head(above: str, holds: bool):
    rows = "| Current assets: | | |\n| Cash | 112 | 134 |\n| Total assets | $336 | $351 |\n"
    found = TableLookup([TableText(1, rows, above)]).read("Total assets were $336 on June 25, 2022.")
    assert (found is not None and found.holds) == holds


def test_a_number_in_millions_differs_from_none_whose_table_states_no_scale():
    rows = "| | Q3 2023 |\n|---|---|\n| Total revenue | $56,517 |\n"
    assert read("Total revenue was $56,517 million in Q3 2023.", rows) is None
    found = read("Total revenue was $48,000 million in Q3 2023.", rows)
    assert found is not None and found.said == "56,517"


RENTS = "| Year | Annual rent | Service charge |\n|---|---|---|\n| 2024 | £51,000 | £6,700 |\n| 2025 | £53,250 | £7,100 |\n"


def test_a_wrong_number_of_a_year_in_rows_differs():
    found = read("The annual rent in 2025 is £58,250.", RENTS)
    assert found is not None and not found.holds and found.said == "53,250"
    assert read("The rent of the garage in 2025 is £58,250.", RENTS) is None
    assert read("The annual rent is £58,250.", RENTS) is None
    true = read("The annual rent in 2025 is £53,250.", RENTS)
    assert true is not None and true.holds


BOILERS = "| Boiler | Heat | Tank |\n|---|---|---|\n| Calor 40 | 40 °C | 9.5 L |\n| Calor 60 | 60 °C | 12 L |\n| Fervor | 55 °C | 11 L |\n"


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("The Calor 40 holds 9.5 litres.", ""),
        ("The tank of the Calor 60 holds 12 L.", ""),
        ("The Fervor boiler has a tank of 11 liters.", ""),
        ("The tank of the Calor 40 holds 12 litres.", "9.5"),
        ("The Calor 60 holds 11 litres.", "12"),
    ],
)
def test_a_number_that_ends_a_rows_name_is_not_looked_up_and_litres_are_a_unit(claim: str, said: str):
    found = read(claim, BOILERS)
    assert found is not None and (found.holds, found.said) == (not said, said)


def test_a_number_after_a_word_that_names_nothing_is_looked_up():
    boxes = "| Goods | Price |\n|---|---|\n| Screws in boxes of 60 | 12 |\n| Nails | 15 |\n"
    found = read("Nails have a price of 60.", boxes)
    assert found is not None and not found.holds


@pytest.mark.parametrize(
    ("claim", "table", "said"),
    [
        ("The Fervor holds 11 litres.", "| Boiler | Volume (L) |\n|---|---|\n| Fervor | 11 |", ""),
        ("The volume of the Fervor is 11.", "| Boiler | Volume |\n|---|---|\n| Fervor | 11 L |", ""),
        (
            "The weight of the Fervor is 500 grams.",
            "| Boiler | Weight |\n|---|---|\n| Fervor | 700 g |",
            "700",
        ),
        ("The heat of the Fervor is 55 degrees.", "| Boiler | Heat |\n|---|---|\n| Fervor | 55 °C |", ""),
    ],
)
def test_a_unit_that_the_statement_or_the_table_leaves_out_is_the_others(claim: str, table: str, said: str):
    found = read(claim, table)
    assert found is not None and (found.holds, found.said) == (not said, said)


WEATHER = "| Month | Mean heat (°C) | Rain (mm) | Days of fog |\n|---|---|---|---|\n| March | 2.8 | 51 | 12 |\n| May | 9.4 | 44 | 3 |\n"


def test_a_measure_is_looked_up_in_the_column_whose_header_has_its_unit():
    for true in ("March averages 2.8 °C and 12 days of fog.", "March has 51 mm of rain."):
        found = read(true, WEATHER)
        assert found is not None and found.holds
    false = read("March has 44 mm of rain.", WEATHER)
    assert false is not None and false.said == "51"


FEES = """| Season | Senior (£) | Junior (£) | Locker ($) |
|---|---|---|---|
| 2023 | 310.00 | 140.00 | 18.00 |
| 2024 | 325.00 | 150.00 | 20.00 |
| 2025 | 348.00 | 155.00 | 22.50 |
"""
BIKES = "| Bike no. | Price (EUR) | Km ridden |\n|---|---|---|\n| B-03 | 2350 | 12110 |\n| B-04 | 2350 | 10480 |\n"
REPAIRS = "| Item | Section | Estimate (£) |\n|---|---|---|\n| Rebuild chimney | 2.1 | 2,850 |\n| New tiles | 2.2 | 4,200 |\n"


@pytest.mark.parametrize(
    ("text", "true", "false"),
    [
        (FEES, "The senior fee in 2025 is £348.00, up from £325.00 in 2024.",
         "The senior fee in 2025 is £348.00, up from £310.00 in 2024."),
        (FEES, "The junior fee in 2025 is £155.00, up from £150.00 in 2024.",
         "The junior fee in 2025 is £155.00, down from £150.00 in 2024."),
        (FEES, "The locker fee in 2025 is $22.50.", "The locker fee in 2025 is £22.50."),
        (BIKES, "Bike B-03 has done 12,110 km.", "Bike B-04 has done 12,110 km."),
        (REPAIRS, "The estimate to rebuild the chimney is £2,850.", "The estimate to rebuild the chimney is £4,200."),
        (REPAIRS, "To rebuild the chimney is put at £2,850.", "To rebuild the chimney is put at £2.10."),
    ],
)  # fmt: skip
def test_years_as_rows_codes_and_currencies_of_headers_name_a_cell(text: str, true: str, false: str):
    found, other = read(true, text), read(false, text)
    assert found is not None and found.holds
    assert other is None or not other.holds


REVENUES = (
    "(in millions)\n\n| | 2022 | 2023 |\n|---|---|---|\n| Product revenue | 310 | 342 |\n"
    "| Service revenue | 120 | 151 |\n| Product cost | 200 | 214 |\n| Service cost | 61 | 77 |"
)
BRANCHES = (
    "| Branch | Members | Volunteers |\n|---|---|---|\n| North | 412 | 38 |\n| South | 287 | 51 |\n"
    "| Harbour | 655 | 24 |"
)
GRANT = (
    "Budget (in EUR thousand)\n\n| Item | Requested | Approved | Spent |\n|---|---|---|---|\n"
    "| Personnel | 240 | 220 | 187 |\n| Travel | 18 | 15 | 16 |\n| Fees | 6 | 4 | 2 |"
)
FARES = "| Route | Fare 2023 | Fare 2024 |\n|---|---|---|\n| A1 | €2.40 | €2.60 |\n| B7 | €4.10 | €4.50 |"
MONTHS = "## 来館者数（人）\n\n| 月 | 大人 | 子ども |\n|---|---|---|\n| 4月 | 3,210 | 1,480 |\n| 5月 | 4,050 | 2,320 |"
VISITORS = "(단위: 명)\n\n| 지점 | 2022년 | 2023년 |\n|---|---|---|\n| 본관 | 5,120 | 6,340 |\n| 서부분관 | 1,450 | 1,720 |"


MILLS = """Output and waste of the mills

| | 2021 | 2022 | 2023 |
|---|---|---|---|
| Output: | | | |
| North mill | 120 | 150 | 180 |
| South mill | 90 | 80 | 60 |
| Total output | 210 | 230 | 240 |
| Share of waste: | | | |
| North mill | 4.0 % | 3.5 % | 2.5 % |
| South mill | 5.0 | 5.2 | 6.1 |
"""
LENT = "| 月 | 入館者数（人） | 貸出冊数（冊） |\n|---|---|---|\n| 4月 | 18,400 | 31,250 |\n| 5月 | 19,760 | 33,800 |\n| 8月 | 27,440 | 45,080 |\n"


@pytest.mark.parametrize(
    ("text", "claim", "holds"),
    [
        (MILLS, "Output of the north mill grew each year from 2021 to 2023, reaching 180 in 2023.", True),
        (MILLS, "The south mill's output fell every year between 2021 and 2023, to 60 in 2023.", True),
        (MILLS, "The share of waste of the north mill rose each year to 2.5% in 2023.", False),
        (MILLS, "In 2023 the output of the north mill was three times that of the south mill.", True),
        (MILLS, "In 2023 the output of the north mill was twice that of the south mill.", None),
        (MILLS, "The output of the north mill grew 1.5 times in the 2 years from 2021 to 2023.", True),
        (MILLS, "The output of the north mill grew 1.2 times in the 2 years from 2021 to 2023.", None),
        (MILLS, "The north mill made up 75% of total output in 2023.", True),
        (MILLS, "The share of waste of the south mill was 6.1% in 2023, up from 5.2% in 2022.", True),
        (MILLS, "Output of the south mill was 20 lower in 2023 than in 2022.", True),
        (MILLS, "Total output rose by 30, or 14%, between 2021 and 2023.", True),
        (MILLS, "In 2023 the north mill alone had more output than the south mill ever had.", None),
        (LENT, "貸出冊数が最も多かったのは8月で、4万5,080冊だった。", True),
        (LENT, "貸出冊数が最も多かったのは5月で、3万3,800冊だった。", None),
        (LENT, "5月の貸出冊数は3万1,250冊だった。", False),
        (LENT, "8月の入館者数は2万7,440人で、前年の1万9,760人から増えた。", None),
    ],
)
def test_what_follows_from_several_cells_is_read(text: str, claim: str, holds: bool | None):
    found = read(claim, text)
    assert (found and found.holds) == holds


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        (MILLS, "The north mill ships 45 by rail, and its output was 180 in 2023."),  # the label comes later
        (MILLS, "The north mill took up 75% of total output in 2023."),
        (MILLS, "Output of the north mill came to 180 in 2023, against 150 a year before."),
        (MILLS, "The south mill gave 12% of all fibre in 2023."),
    ],
)
def test_a_true_statement_differs_from_no_other_cell(text: str, claim: str):
    found = read(claim, text)
    assert found is None or found.holds


@pytest.mark.parametrize(
    ("text", "claim", "holds"),
    [
        (REVENUES, "Revenue of services, $151 million, was below product cost, $214 million.", True),
        (
            REVENUES,
            "Revenue from products was $342 million while the cost of services was $77 million.",
            True,
        ),
        (
            REVENUES,
            "Revenue from products was $342 million while the cost of services was $71 million.",
            None,
        ),
        (REVENUES, "Product revenue of $342 million stood against product cost of $214 million.", True),
        (REVENUES, "Product revenue of $342 million stood against product cost of $241 million.", False),
        (REVENUES, "Service revenue was $151 million versus $120 million in 2022.", True),
        (REVENUES, "Service revenue was $151 million versus $121 million in 2022.", False),
        (REVENUES, "In 2023 product revenue exceeded product cost by $128 million.", True),
        (REVENUES, "In 2023 product revenue exceeded product cost by $138 million.", None),
        (REVENUES, "In 2023 product cost exceeded product revenue by $128 million.", None),
        (BRANCHES, "Harbour has the most members (655) and the fewest volunteers (24).", True),
        (BRANCHES, "Harbour has the most members (655) and the fewest volunteers (38).", False),
        (GRANT, "Personnel spending reached EUR 187,000 against an approved EUR 220,000.", None),
        (GRANT, "The spent personnel budget was EUR 178,000 against an approved EUR 220,000.", False),
        (GRANT, "Travel cost 16,000 euros although only 15,000 had been approved.", None),
        (GRANT, "Fees were cut from 6,000 to 4,000 euros, of which 2,000 have been spent.", None),
        (FARES, "The fare of B7 went up by 40 cents to €4.50.", True),
        (FARES, "The fare of B7 went up by 50 cents to €4.50.", False),
        (MONTHS, "4月は大人が3,210人で、子どもの1,480人より多かった。", None),
        (MONTHS, "4月の大人の来館者は3,210人でした。", True),
        (VISITORS, "서부분관은 2022년 1,450명에서 2023년 1,720명으로 늘었습니다.", True),
        (VISITORS, "서부분관은 2022년 1,450명에서 2023년 1,700명으로 늘었습니다.", False),
    ],
)
def test_each_number_is_of_the_cell_that_its_own_words_name(text: str, claim: str, holds: bool | None):
    found = read(claim, text)
    assert (found and found.holds) == holds


def test_a_column_with_a_currency_says_nothing_of_another_table():
    sales = "単位:百万円\n\n| 部門 | 2024年度Q2 | 2025年度Q2 |\n|---|---|---|\n| 文具 | 438 | 455 |\n| 家具 | 391 | 468 |"
    spent = "| 日付 | 部署 | 金額(円) |\n|---|---|---|\n| 2025-10-02 | 営業部 | 18,420 |\n| 2025-10-07 | 総務部 | 9,350 |"
    found = TableLookup([TableText(1, sales), TableText(2, spent)]).read("家具の売上高は486百万円でした。")
    assert found and (found.holds, found.said) == (False, "468")


@pytest.mark.parametrize(
    ("header", "claim", "holds"),
    [
        ("2025年度 売上（万円）", "2025年度の関西の売上は5,130万円です。", True),
        ("2025年度 売上〔百万円〕", "2025年度の関西の売上は51.3億円です。", True),
        ("2025年度 売上（千円、税抜）", "2025年度の関西の売上は513万円です。", True),
        ("2025年度 売上（万円）", "2025年度の関西の売上は5,480万円です。", False),
        ("2025년 매출（만 원, 부가세 별도）", "2025년 간사이 매출은 5,130만 원입니다.", True),
    ],
)
def test_a_scale_is_read_in_the_brackets_of_any_script(header: str, claim: str, holds: bool):
    row, other = ("간사이", "간토") if "매출" in header else ("関西", "関東")
    found = read(claim, f"| 지역 | {header} |\n|---|---|\n| {other} | 8,420 |\n| {row} | 5,130 |")
    assert found is not None
    assert found.holds is holds


PRIOR_YEAR = {
    "ja": "| 項目 | 2024年度 | 前年度 |\n|---|---|---|\n| 売上 | 5,130万円 | 4,800万円 |\n| 経費 | 2,000万円 | 1,900万円 |",
    "ja, from the title": "2024年度決算\n\n| 項目 | 当期 | 前期 |\n|---|---|---|\n| 売上 | 5,130万円 | 4,800万円 |\n| 経費 | 2,000万円 | 1,900万円 |",
    "ko": "| 구분 | 2024년 | 전년 |\n|---|---|---|\n| 매출 | 5,130만 원 | 4,800만 원 |\n| 비용 | 2,000만 원 | 1,900만 원 |",
    "ko, from the title": "2024년 결산\n\n| 구분 | 당기 | 전기 |\n|---|---|---|\n| 매출 | 5,130만 원 | 4,800만 원 |\n| 비용 | 2,000만 원 | 1,900만 원 |",
    "en": "| | 2024 | Prior year |\n|---|---|---|\n| Revenue | 5,130 | 4,800 |\n| Costs | 2,000 | 1,900 |",
    "year unknown": "| 項目 | 当期 | 前期 |\n|---|---|---|\n| 売上 | 5,130万円 | 4,800万円 |\n| 経費 | 2,000万円 | 1,900万円 |",
}


@pytest.mark.parametrize(
    ("table", "claim", "holds"),
    [
        ("ja", "2023年度の売上は4,800万円です。", True),
        ("ja", "前年度の経費は1,900万円です。", True),
        ("ja", "2023年度の売上は5,130万円です。", False),
        ("ja", "2022年度の売上は4,800万円です。", None),
        ("ja", "前年度の売上は5,130万円です。", False),
        ("ja", "売上は前年度の4,800万円から5,130万円に増えた。", None),
        ("ja, from the title", "2023年度の売上は4,800万円です。", True),
        ("ja, from the title", "2024年度の売上は4,800万円です。", False),
        ("ko", "2023년 매출은 4,800만 원입니다.", True),
        ("ko", "2022년 매출은 4,800만 원입니다.", None),
        ("ko", "전년 매출은 5,130만 원입니다.", False),
        ("ko, from the title", "2023년 매출은 4,800만 원입니다.", True),
        ("ko, from the title", "2023년 매출은 5,130만 원입니다.", False),
        ("ko, from the title", "전기 매출은 5,130만 원입니다.", False),
        ("en", "Revenue in 2023 was 4,800.", True),
        ("en", "Revenue in 2023 was 5,130.", False),
        ("en", "Revenue in 2022 was 4,800.", None),
        ("en", "Prior year revenue was 4,800.", True),
        ("year unknown", "2023年度の売上は5,130万円です。", None),
        ("year unknown", "前期の売上は4,800万円です。", True),
    ],
)
def test_a_column_headed_prior_year_is_of_the_year_before_the_other(
    table: str, claim: str, holds: bool | None
):
    found = read(claim, PRIOR_YEAR[table])

    assert (found.holds if found else None) is holds


def test_a_column_whose_heading_names_its_year_is_not_of_the_year_before():
    table = "| 項目 | 2024年度（当年度） | 2023年度（前年度） |\n|---|---|---|\n| 売上 | 5,130万円 | 4,800万円 |\n| 経費 | 2,000万円 | 1,900万円 |"

    told = [read(f"{year}年度の売上は4,800万円です。", table) for year in (2023, 2022)]

    assert [found.holds if found else None for found in told] == [True, None]


HOURS = "| Department | April | May | Total |\n|---|---|---|---|\n| Sales | 120 | 135 | 255 |\n| Total | 200 | 210 | 410 |"
QUOTES = {
    "en": "| Item | Hours | Rate (£) | Amount (£) |\n|---|---|---|---|\n| Offices | 20 | 18 | 360 |\n| Windows | 8 | 25 | 200 |\n"
    "| Total | 28 | | 560 |",
    "ko": "| 항목 | 수량 | 단가(원) | 금액(원) |\n|---|---|---|---|\n| 강사료 | 3 | 200,000 | 600,000 |\n| 다과 | 40 | 6,000 | 240,000 |\n"
    "| 합계 | | | 840,000 |",
    "ja": "| 項目 | 数量 | 単価(円) | 金額(円) |\n|---|---|---|---|\n| 講師料 | 2 | 60,000 | 120,000 |\n| 教材費 | 15 | 2,000 | 30,000 |\n"
    "| 合計 | | | 150,000 |",
}


@pytest.mark.parametrize(
    ("language", "claim", "holds"),
    [
        ("en", "The total is £560.", True),
        ("en", "The total is £650.", False),
        ("en", "It comes to £600 in total.", False),
        ("en", "The total of the salaries is £650.", None),
        ("en", "The total is €650.", None),
        ("ko", "합계는 840,000원입니다.", True),
        ("ko", "총액은 84만 원이다.", True),
        ("ko", "합계는 850,000원입니다.", False),
        ("ko", "총액은 85만 원이다.", False),
        ("ko", "인건비 합계는 850,000원입니다.", None),
        ("ja", "合計は150,000円です。", True),
        ("ja", "総額は15万円だ。", True),
        ("ja", "合計は170,000円です。", False),
        ("ja", "総額は17万円だ。", False),
        ("ja", "人件費の合計は170,000円です。", None),
    ],
)
def test_the_total_of_a_table_is_that_of_its_total_row(language: str, claim: str, holds: bool | None):
    """None: the words name no total of this table."""
    texts = [TableText(1, HOURS), TableText(2, QUOTES[language])]
    found = TableLookup(texts).read(claim)
    assert (found and found.holds) is holds
    assert found is None or found.spans[0].number == 2


def test_a_total_without_a_stated_currency_differs_from_no_sum_of_money():
    assert read("The total is £650.", HOURS) is None
    found = read("The total for May is 220.", HOURS)
    assert found is not None and (found.holds, found.said) == (False, "210")


@pytest.mark.parametrize("amount", ["EUR 120,355.50", "120,355.50 EUR", "€120,355.50"])
def test_a_total_is_verified_wherever_its_currency_stands(amount: str):
    reading = read(f"The total is {amount}.", TOTALS)
    assert reading is not None and reading.holds
