"""Tables of PDFs become Markdown tables with their headers; what only looks like one stays text."""

from pathlib import Path

import pytest

from rag.ingest.parsers import load
from rag.ingest.parsers.pdf_highlight import page_image
from rag.text.chunking import split
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import FONTS, Placed

SIZE = (400.0, 500.0)


def right(text: str, x: float, y: float, font: str = "Helvetica", size: float = 10) -> Placed:
    return Placed(text, x - makers.width(text, size, font), y, font, size)


def centred(text: str, x: float, y: float, font: str = "Helvetica", size: float = 10) -> Placed:
    return Placed(text, x - makers.width(text, size, font) / 2, y, font, size)


def rows(lines: list[list[str]], y: float, font: str = "Helvetica") -> list[Placed]:
    """A table without lines: labels at the left, figures flush right, currency signs apart from them."""
    placed = []
    for row, (label, *figures) in enumerate(lines):
        placed += [Placed(label, 30, y - 14 * row, font, 10)] * bool(label)
        for column, figure in enumerate(figures):
            if figure.startswith("$"):
                placed.append(Placed("$", 165 + 60 * column, y - 14 * row, font, 10))
            if figure.strip("$"):
                placed.append(right(figure.strip("$"), 210 + 60 * column, y - 14 * row, font))
    return placed


SALES = [
    ["iPhone", "$39,669", "$40,665", "(2)%"],
    ["Mac", "6,840", "7,382", "(7)%"],
    ["Services", "21,213", "—", "8%"],
    ["Total", "$81,797", "$82,959", "(1)%"],
]


def read(path: Path, *pages: list[Placed], rotate: int = 0) -> str:
    return load(makers.pdf(path / "a", list(pages), size=SIZE, rotate=rotate), "a.pdf").text


@pytest.mark.parametrize("rotate", [0, 90])
def test_table_has_stacked_headers_sections_and_whole_figures(tmp_path: Path, rotate: int) -> None:
    page = [
        Placed("Net sales by product (in millions):", 30, 420, size=10),
        centred("Three Months Ended", 218, 394),
        *(
            centred(text, x, y)
            for x, words in ((190, ("July 1,", "2023")), (250, ("June 25,", "2022")))
            for y, text in zip((381, 370), words, strict=True)
        ),
        centred("Change", 318, 370),
        Placed("Products:", 30, 356, size=10),
        *rows(SALES, 342),
        Placed(
            "Sales of Services grew because of more paid subscriptions in every region.", 30, 270, size=10
        ),
    ]
    assert read(tmp_path, page, rotate=rotate).split("\n") == [
        "Net sales by product (in millions):",
        "",
        "|  | Three Months Ended July 1, 2023 | Three Months Ended June 25, 2022 | Change |",
        "| --- | --- | --- | --- |",
        "| Products: |  |  |  |",
        "| iPhone | $39,669 | $40,665 | (2)% |",
        "| Mac | 6,840 | 7,382 | (7)% |",
        "| Services | 21,213 | — | 8% |",
        "| Total | $81,797 | $82,959 | (1)% |",
        "",
        "Sales of Services grew because of more paid subscriptions in every region.",
    ]


@pytest.mark.parametrize(
    ("language", "header", "lines"),
    [
        (
            "ko",
            ["2023년", "2022년"],
            [["매출액", "1,234", "987"], ["영업이익", "(56)", "78"], ["합계", "3", "4"]],
        ),
        ("ja", ["当期", "前期"], [["売上高", "1,234", "987"], ["営業利益", "△56", "78"], ["合計", "3", "4"]]),
    ],
)
def test_korean_and_japanese_tables(
    tmp_path: Path, language: str, header: list[str], lines: list[list[str]]
) -> None:
    font = FONTS[language]
    heads = [right(text, 210 + 60 * place, 374, font) for place, text in enumerate(header)]
    text = read(tmp_path, [*heads, *rows(lines, 360, font)])
    assert text.split("\n")[0] == f"|  | {header[0]} | {header[1]} |"
    assert text.split("\n")[2:] == [f"| {' | '.join(line)} |" for line in lines]


@pytest.mark.parametrize(
    ("leading", "header", "expected"),
    [
        pytest.param(
            10,
            [[("Three Months Ended", 270)], [("June 30,", 270)], [("2022", 210), ("2021", 270)]],
            ["Three Months Ended June 30, 2022", "Three Months Ended June 30, 2021"],
            id="period over the last of its years",
        ),
        pytest.param(
            14,
            [
                [("Cost", 210), ("Value", 270), ("Cost", 330), ("Value", 390)],
                [("June 30, 2022", 270), ("May 31, 2022", 390)],
            ],
            ["Cost June 30, 2022", "Value June 30, 2022", "Cost May 31, 2022", "Value May 31, 2022"],
            id="date under the last of its columns",
        ),
    ],
)
def test_header_flush_with_one_column_spans_those_that_lack_it(
    tmp_path: Path, leading: int, header: list[list[tuple[str, float]]], expected: list[str]
) -> None:
    heads = [
        right(text, x, 400 - leading * line, size=8) for line, cells in enumerate(header) for text, x in cells
    ]
    figures = [["Goods", "12", "34", "56", "78"], ["Services", "9", "10", "11", "12"]]
    below = 394 - leading * len(header)
    text = read(tmp_path, [*heads, *rows([row[: 1 + len(expected)] for row in figures], below)])
    assert text.split("\n")[0] == f"|  | {' | '.join(expected)} |"


def test_unit_above_all_columns_is_not_in_their_headers(tmp_path: Path) -> None:
    heads = [right("2023", 210, 400), right("2022", 270, 400)]
    unit = [Placed("Other assets:", 30, 386, size=10), centred("(In millions of dollars)", 218, 386)]
    text = read(tmp_path, [*heads, *unit, *rows([["Goods", "12", "34"], ["Services", "9", "10"]], 372)])
    assert text.split("\n")[0] == "| Other assets: (In millions of dollars) | 2023 | 2022 |"


def test_line_at_the_top_of_a_page_is_no_header(tmp_path: Path) -> None:
    heads = [
        Placed("PART I", 168, 432, size=8),
        *(right(text, 210 + 60 * place, 408, size=8) for place, text in enumerate(("Gains", "Losses"))),
        *(right(text, 210 + 60 * place, 398, size=8) for place, text in enumerate(("net", "gross"))),
    ]
    text = read(tmp_path, [*heads, *rows([["Goods", "12", "34"], ["Services", "9", "10"]], 384)])
    assert "|  | Gains net | Losses gross |" in text


def test_name_of_a_section_in_small_letters_does_not_end_a_table(tmp_path: Path) -> None:
    page = [
        *(right(text, 210 + 60 * place, 414) for place, text in enumerate(("2023", "2022"))),
        *rows([["Goods", "12", "34"], ["Total", "12", "34"]], 400),
        Placed("Operating income", 30, 368, size=6.5),
        *rows([["Goods", "5", "6"], ["Total", "5", "6"]], 353),
    ]
    assert read(tmp_path, page).count("\n| --- ") == 1


def test_years_may_name_the_rows_of_a_table(tmp_path: Path) -> None:
    lines = [["2023 (remaining nine months)", "$2,899"], ["2024", "2,897"], ["Thereafter", "444"]]
    placed = [Placed(label, 30, 400 - 14 * row, size=10) for row, (label, _) in enumerate(lines)]
    placed += [right(figure, 330, 400 - 14 * row) for row, (_, figure) in enumerate(lines)]
    assert read(tmp_path, placed).split("\n")[3:] == ["| 2024 | 2,897 |", "| Thereafter | 444 |"]


def test_mark_of_a_note_drawn_after_the_page_stays_in_its_row(tmp_path: Path) -> None:
    page = [
        *(right(text, 210 + 60 * place, 414) for place, text in enumerate(("2023", "2022"))),
        *rows([["Goods", "12", "34"], ["Services", "9", "10"]], 400),
        Placed("Goods are sold in every country where the shop has a branch.", 30, 330, size=10),
        Placed("(a)", 64, 403, size=6),
    ]
    assert "| Goods (a) | 12 | 34 |" in read(tmp_path, page)


def test_label_of_two_lines_is_one_cell(tmp_path: Path) -> None:
    lines = [["Cash and cash equivalents,", "", ""], ["beginning of period", "12", "34"], *SALES]
    assert "| Cash and cash equivalents, beginning of period | 12 | 34 |" in read(
        tmp_path, rows([line[:3] for line in lines], 400)
    )


def test_table_continued_on_the_next_page_has_its_headers_again(tmp_path: Path) -> None:
    heads = [right(text, x, 62) for text, x in (("2023", 210), ("2022", 270))]
    first = [*heads, *rows([line[:3] for line in SALES[:2]], 48), centred("Page 1", 200, 12)]
    second = rows([line[:3] for line in SALES[2:]], 460)
    path = makers.pdf(tmp_path / "a", [first, second], size=SIZE)
    document = load(path, "a.pdf")
    _, start, end = document.pages[1]
    page = document.text[start:end]
    assert page.startswith("|  | 2023 | 2022 |\n| --- |")
    words = page.index("| Total |")
    image = page_image(path, 2, page, [(words, len(page))])
    assert (image.certain, len(image.boxes)) == (True, 1)


def test_cell_is_marked_with_its_row_and_column_head(tmp_path: Path) -> None:
    heads = [right(text, x, 374) for text, x in (("July 2023", 210), ("June 2022", 270))]
    path = makers.pdf(tmp_path / "a", [[*heads, *rows([line[:3] for line in SALES], 360)]], size=SIZE)
    text = load(path, "a.pdf").text
    place = text.index("40,665")
    image = page_image(path, 1, text, [(place, place + 6)], scale=1)
    cell, label, head = image.boxes
    assert (round(cell.right), round(head.right)) == (270, 270)
    assert (round(label.left), round(label.top)) == (30, round(cell.top))
    assert head.bottom <= cell.top
    place = text.index("| Mac")
    [row] = page_image(path, 1, text, [(place, text.index("\n", place))], scale=1).boxes
    assert (round(row.left), round(row.right)) == (30, 270)


def test_page_stored_before_tables_were_read_is_still_marked(tmp_path: Path) -> None:
    path = makers.pdf(tmp_path / "a", [rows([line[:3] for line in SALES], 360)], size=SIZE)
    stored = "iPhone\n$ 39,669\n$ 40,665\nMac 6,840 7,382\nServices 21,213\n—\nTotal\n$ 81,797\n$ 82,959"
    assert load(path, "a.pdf").text != stored
    image = page_image(path, 1, stored, [(0, 6)])
    assert (image.certain, len(image.boxes)) == (True, 1)


def test_rows_of_a_long_table_know_caption_and_header(tmp_path: Path) -> None:
    heads = [right(text, x, 474) for text, x in (("July 2023", 210), ("June 2022", 270))]
    caption = Placed("Sales of each of the shops (in millions):", 30, 488, size=10)
    lines = [[f"Shop of the harbour {row}", f"{row},123", f"{row},456"] for row in range(10, 42)]
    path = makers.pdf(tmp_path / "a", [[caption, *heads, *rows(lines, 460)]], size=SIZE)
    document = load(path, "a.pdf")
    last = split(document)[-1]
    assert "| Shop of the harbour 41 | 41,123 | 41,456 |" in document.text[last.start : last.end]
    assert last.heading == "Sales of each of the shops (in millions): > July 2023 | June 2022"


PROSE = "The harbour was built in 1887 for 39 ships and it"
NO_TABLES = {
    "contents": [
        placed
        for row in range(8)
        for placed in (
            Placed(f"Chapter {row} of the book", 30, 400 - 14 * row, size=10),
            right(str(3 + 9 * row), 340, 400 - 14 * row),
        )
    ],
    "leaders": [
        Placed(f"Part {row} " + ". " * 40 + f"{90 - row}", 30, 400 - 14 * row, size=10) for row in range(6)
    ],
    "columns": [Placed(PROSE, x, 400 - 12 * row, size=7) for x in (20, 210) for row in range(20)],
    "columns, row by row": [Placed(PROSE, x, 400 - 12 * row, size=7) for row in range(20) for x in (20, 210)],
    "list": [Placed(f"{row}. item of {row * 7} things", 30, 400 - 14 * row, size=10) for row in range(1, 9)],
    "code": [
        Placed(f"for i in range({row}):  # {row * 10}", 30, 400 - 12 * row, "Courier", 9) for row in range(9)
    ],
    "letterhead": [
        Placed("Harbour Company", 30, 470, size=14),
        right("Veldham, 3 May 2023", 370, 470),
        Placed("12 Long Street, 4711 Veldham", 30, 455, size=9),
        right("Tel. 555 123", 370, 455, size=9),
    ],
    "form": [
        placed
        for row, name in enumerate(("Name", "Street", "Phone"))
        for placed in (
            Placed(f"{name}: ______________", 30, 400 - 20 * row),
            Placed(f"Office use {row}: ____", 220, 400 - 20 * row),
        )
    ],
    "equations": [
        placed
        for row in range(3)
        for placed in (
            Placed("f(x)", 80, 400 - 20 * row),
            Placed("= 3x + 2", 130, 400 - 20 * row),
            right(f"({row + 1})", 340, 400 - 20 * row),
        )
    ],
}


@pytest.mark.parametrize("kind", NO_TABLES)
def test_what_is_no_table_stays_text(tmp_path: Path, kind: str) -> None:
    assert "| --- |" not in read(tmp_path, NO_TABLES[kind])
