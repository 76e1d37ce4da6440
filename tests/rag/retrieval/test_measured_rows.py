"""Rows that a question picks out by a number: the largest, the smallest, those within bounds."""

from collections.abc import Iterator

import pytest

from rag.chat.answer import Done
from rag.factory import make_pipeline
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.embeddings import Embedder
from rag.passage import Passage
from rag.retrieval.measured_rows import bounded_rows, bounds_in, extreme_rows, with_extreme_rows
from rag.settings import Settings
from storage.database import Database
from tests.rag.chat.test_pipeline import put

SALES = """\
Sales by month and region, 2025

| Month | North | South | Total |
|---|---|---|---|
| May | 100 | 50 | 150 |
| June | 90 | 80 | 170 |
| July | 70 | 20 | 90 |
| Total | 260 | 150 | 410 |
"""
BOOKINGS = """\
| Booking | City | Guests | Price |
|---|---|---|---|
| B1 | Lisbon | 12 | €1,200 |
| B2 | Porto | 40 | €2,900 |
| B3 | Lisbon | 9 | €1,900 |
| B4 | Lisbon | 12 | €400 |
"""
KOREAN = """\
| 월 | 매출(천원) | 비용(천원) |
|---|---|---|
| 1월 | 1,200 | 700 |
| 2월 | 2,300 | 500 |
| 3월 | 900 | 650 |
"""
JAPANESE = """\
| 月 | 売上（千円） | 経費（千円） |
|---|---|---|
| 1月 | 1,200 | 700 |
| 2月 | 2,300 | 500 |
| 計 | 3,500 | 1,200 |
"""
TABLES = {"sales.xlsx": SALES, "bookings.csv": BOOKINGS, "매출.xlsx": KOREAN, "売上.xlsx": JAPANESE}


def passage(number: int, name: str, text: str, heading: str = "", start: int = 0) -> Passage:
    return Passage(f"c{number}", name, name, "", None, heading, start, start + len(text), text)


def rows(question: str) -> list[str]:
    given = [passage(at, name, text) for at, (name, text) in enumerate(TABLES.items())]
    return [item.name for item in extreme_rows(question, given)]


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("Which month had the highest total sales in 2025?", "June"),
        ("Which month had the lowest sales in the North?", "July"),
        ("Which booking in Lisbon has the highest price?", "B3"),
        ("What is the most expensive price of a booking?", "B2"),
        ("Which booking has the fewest guests?", "B3"),
        ("매출이 가장 높은 월은 언제인가요?", "2월"),
        ("비용이 가장 많은 월은?", "1월"),
        ("売上が最も多い月はいつですか", "2月"),
        ("経費が一番少ない月はどれですか", "2月"),
    ],
)
def test_the_row_at_the_end_that_is_asked_for_is_found_and_no_total(question: str, row: str):
    assert rows(question) == [row]


@pytest.mark.parametrize(
    "question",
    [
        "Which region had the highest sales?",  # regions are columns
        "Which month had the highest costs in 2025?",
        "Which month had the highest total sales in 2024?",
        "Which booking is the most important?",
        "At most how many guests are allowed?",
        "What are the total sales in June?",
        "Which booking in Lisbon was the largest?",  # by guests, or by price?
        "매출이 가장 높은 지역은 어디인가요?",
        "売上が最も多い支店はどこですか",
    ],
)
def test_a_table_that_does_not_say_what_is_asked_for_is_not_read(question: str):
    assert rows(question) == []


TASKS = """\
| No. | Task | Due |
|---|---|---|
| 1 | Oil the hinges | 2024-05-20 |
| 2 | Paint the gate | 2024-06-02 |
| 3 | Cut the hedge | 2024-05-03 |
"""
GARDEN = {
    "garden.md": TASKS,
    "화단.md": TASKS.replace("Task", "작업").replace("Due", "마감일"),
    "庭.md": TASKS.replace("Task", "作業").replace("Due", "締切日"),
}


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("Which task has the latest due date?", "2"),
        ("Which task is the oldest by its due date?", "3"),
        ("마감일이 가장 늦은 작업은 무엇인가요?", "2"),
        ("작업 중에 마감일이 제일 빠른 것은?", "3"),
        ("締切日が一番遅い作業はどれですか", "2"),
        ("一番締切日が早い作業は？", "3"),
    ],
)
def test_a_date_is_measured_too(question: str, row: str):
    given = [passage(at, name, text) for at, (name, text) in enumerate(GARDEN.items())]
    assert [item.name for item in extreme_rows(question, given)] == [row]


def test_days_are_no_number_that_is_largest_and_numbers_are_not_latest():
    given = [passage(1, "garden.md", TASKS), passage(2, "bookings.csv", BOOKINGS)]
    assert extreme_rows("Which task is the largest?", given) == []
    assert extreme_rows("Which booking is the latest?", given) == []


MONTHS = """\
| 월 | 동관 | 서관 | 합계 |
|---|---|---|---|
| 1월 | 40 | 70 | 110 |
| 2월 | 90 | 55 | 145 |
| 합계 | 130 | 125 | 255 |
"""


@pytest.mark.parametrize(
    ("question", "month"),
    [
        ("방문객이 가장 많은 달은 언제인가요?", "2월"),
        ("가장 방문객이 적은 달은?", "1월"),
        ("주차료가 가장 많은 달은 언제인가요?", None),
    ],
)
def test_a_month_is_asked_for_whatever_its_column_is_called(question: str, month: str | None):
    given = [passage(1, "방문객.xlsx", MONTHS, "방문객")]
    assert [item.name for item in extreme_rows(question, given)] == ([month] if month else [])


def test_a_month_is_asked_for_beside_the_word_that_says_most():
    told = MONTHS.replace("동관", "東館").replace("서관", "西館").replace("월", "月").replace("합계", "合計")
    given = [passage(1, "来館者.xlsx", told, "月別来館者")]
    assert [one.name for one in extreme_rows("一番来館者が多い月はいつですか", given)] == ["2月"]


def test_a_row_whose_number_is_by_chance_the_sum_of_those_above_is_no_total():
    text = "| Room | Beds |\n|---|---|\n| Ash | 1 |\n| Birch | 2 |\n| Cedar | 3 |"
    (found,) = extreme_rows("Which room has the most beds?", [passage(1, "a.md", text)])
    assert found.name == "Cedar"


def test_numbers_of_two_units_are_not_compared():
    text = "| Hotel | Price |\n|---|---|\n| Anker | 90 € |\n| Bell | 80 $ |"
    assert extreme_rows("Which hotel has the lowest price?", [passage(1, "a.md", text)]) == []


def test_all_rows_of_one_largest_number_are_found():
    assert rows("Which booking in Lisbon has the most guests?") == ["B1", "B4"]


def test_a_table_that_goes_on_in_the_next_passage_is_read_whole():
    cut = BOOKINGS.index("| B3")
    heading = "Booking | City | Guests | Price"
    given = [passage(1, "b", BOOKINGS[:cut]), passage(2, "b", BOOKINGS[cut:], heading, cut)]
    (found,) = extreme_rows("Which booking has the lowest price?", given)
    assert (found.number, found.name) == (2, "B4")


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Which months had total sales above 100?", ["May", "June"]),
        ("How many bookings in Lisbon have a price over €1,200?", ["B3"]),
        ("List all bookings with a price between €400 and €1,200", ["B1", "B4"]),
        ("Which bookings have fewer than 12 guests?", ["B3"]),
        ("매출이 1,200 이상인 월은?", ["1월", "2월"]),
        ("비용이 650 미만인 월은 언제인가요?", ["2월"]),
        ("売上が1,200を超える月は何ですか", ["2月"]),
        ("経費が700以下の月はどれですか", ["1月", "2月"]),
        ("Which regions had sales over 100?", []),
        ("Which months had costs over 100?", []),
        ("매출이 1,000 이상인 지역은?", []),
        ("売上が1,000以上の支店はどこですか", []),
    ],
)
def test_the_rows_within_bounds_are_found_and_no_total(question: str, named: list[str]):
    given = [passage(at, name, text) for at, (name, text) in enumerate(TABLES.items())]
    assert [item.name for item in bounded_rows(question, given)] == named


@pytest.mark.parametrize("part", ["1", "1,", "9 ", "over ", "at least 1", "between 1 and "])
def test_a_question_of_many_figures_takes_no_time(part: str):
    bounds_in(part * 10_000)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[Library]:
    database = Database.open(tmp_path_factory.mktemp("extremes"))
    opened = Library(database, "ann", lambda: embedder)
    long = "".join(f"| Week {n} | {1000 + n * 7 % 61} |\n" for n in range(1, 200))
    put(opened, f"Visitors of the museum\n\n| Week | Visitors |\n|---|---|\n{long}", "visitors.md")
    put(opened, "The museum had the most visitors in its first summer.", "history.md")
    yield opened
    opened.close()
    database.close()


def test_an_answer_is_the_row_wherever_in_the_document_it_stands(library: Library):
    events = make_pipeline(Settings(), library, None).ask("Which week had the fewest visitors?", (), never)
    done = next(event for event in events if isinstance(event, Done))
    least = [n for n in range(1, 200) if n * 7 % 61 == 0]
    assert [citation.quote.split("|")[1].strip() for citation in done.citations] == [
        f"Week {n}" for n in least
    ]


@pytest.mark.parametrize(
    ("question", "least"),
    [("Which weeks had more than 1,055 visitors?", 1056), ("Weeks with at least 1,060?", 1060)],
)
def test_rows_within_bounds_are_listed_with_their_number(library: Library, question: str, least: int):
    events = make_pipeline(Settings(), library, None).ask(question, (), never)
    done = next(event for event in events if isinstance(event, Done))
    weeks = [f"Week {n}" for n in range(1, 200) if 1000 + n * 7 % 61 >= least]
    assert done.text.startswith(f"**{len(weeks)} found:**")
    assert [citation.quote.split("|")[1].strip() for citation in done.citations] == weeks


VISITS = """\
| Month | East wing | West wing | Garden | Total |
|---|---|---|---|---|
| May | 30 | 70 | 9 | 109 |
| June | 90 | 40 | 8 | 138 |
| Total | 120 | 110 | 17 | 247 |
"""
WINGS = "| Wing | Head |\n|---|---|\n| East wing | Ann Lee |\n| Garden | Jon Pell |\n"


@pytest.mark.parametrize(
    ("question", "heading", "cell"),
    [
        ("Which wing had the most visits?", "Visits", "120"),
        ("Which wing had the fewest visits?", "Visits", "17"),
        ("Which wing had the most visits in May?", "Visits", "70"),
        ("Which wing had the highest costs?", "Visits", None),
    ],
)
def test_columns_of_a_kind_are_compared_in_the_row_that_is_meant(
    question: str, heading: str, cell: str | None
):
    given = [passage(1, "museum.xlsx", VISITS, heading), passage(2, "staff.csv", WINGS)]
    found = with_extreme_rows(question, (), given)
    told = None if found is None else found[0][0].text[found[1][0].best_start : found[1][0].best_end]
    assert told == cell


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("방문이 가장 적은 건물은 어디인가요?", ("월", "동관", "서관", "별관", "합계", "건물")),
        ("訪問が一番少ない施設はどこですか", ("月", "東館", "西館", "別館", "合計", "施設")),
    ],
)
def test_another_table_tells_of_what_kind_columns_are(question: str, names: tuple[str, ...]):
    month, east, west, other, total, kind = names
    text = VISITS.replace("Month", month).replace("East wing", east).replace("West wing", west)
    text = text.replace("Garden", other).replace("Total", total)
    kinds = f"| {kind} | 개관 |\n|---|---|\n| {east} | 1990 |\n| {west} | 1992 |\n| {other} | 2001 |\n"
    given = [passage(1, "a.xlsx", text, "월별 방문" if month == "월" else "月別訪問")]
    assert with_extreme_rows(question, (), given) is None
    found = with_extreme_rows(question, (), [*given, passage(2, "b.csv", kinds)])
    assert found is not None
    [pick] = found[1]
    assert found[0][0].text[pick.best_start : pick.best_end] == "17"
