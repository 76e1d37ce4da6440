"""Ruled tables of words in PDFs become Markdown tables; lines around what is no table make none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reportlab.lib import colors
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle

from rag.ingest.parsers import load
from rag.ingest.parsers.pdf_highlight import page_image
from tests.rag.ingest.parsers.makers import FONTS

GRID = ("GRID", (0, 0), (-1, -1), 0.5, colors.black)
PARTIES = [
    ["Role", "Name", "Seat"],
    ["Lessor", "Veldham Harbour Company", "Veldham"],
    ["Lessee", "Tar and Rope Brothers", "Osterlund"],
    ["Surety", "Bank of the North", "Osterlund"],
]


def text_of(path: Path) -> str:
    return load(path, "a.pdf").text


def rows_of(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("| ") and not line.startswith("| ---")]


def made(path: Path, *parts: Any, size: tuple[float, float] = (400, 500)) -> Path:
    SimpleDocTemplate(str(path), pagesize=size, margins=30).build(list(parts))
    return path


def table(rows: list[list[Any]], *style: Any, font: str = "Helvetica", **options: Any) -> Table:
    return Table(rows, style=TableStyle([("FONT", (0, 0), (-1, -1), font, 9), GRID, *style]), **options)


def cells(text: str, font: str = "Helvetica", wrap: str | None = None) -> Paragraph:
    return Paragraph(text, ParagraphStyle("cell", fontName=font, fontSize=9, leading=11, wordWrap=wrap))


def test_ruled_table_of_words_has_its_rows(tmp_path: Path) -> None:
    assert text_of(made(tmp_path / "a", table(PARTIES))).split("\n") == [
        "| Role | Name | Seat |",
        "| --- | --- | --- |",
        "| Lessor | Veldham Harbour Company | Veldham |",
        "| Lessee | Tar and Rope Brothers | Osterlund |",
        "| Surety | Bank of the North | Osterlund |",
    ]


@pytest.mark.parametrize(
    ("language", "rows"),
    [
        ("ko", [["구분", "담당자", "기한"], ["설계", "김민수", "3월"], ["시공", "이영희 외", "추후 통보"]]),
        ("ja", [["区分", "担当者", "期限"], ["設計", "田中", "三月"], ["施工", "佐藤ほか", "未定"]]),
    ],
)
def test_narrow_korean_and_japanese_cells_are_parted_at_their_lines(
    tmp_path: Path, language: str, rows: list[list[str]]
) -> None:
    narrow = [("LEFTPADDING", (0, 0), (-1, -1), 1), ("RIGHTPADDING", (0, 0), (-1, -1), 1)]
    path = made(tmp_path / "a", table(rows, *narrow, font=FONTS[language]))
    assert rows_of(text_of(path)) == [f"| {' | '.join(row)} |" for row in rows]


def test_lines_of_a_cell_are_joined_and_japanese_words_whole(tmp_path: Path) -> None:
    font = FONTS["ja"]
    rows = [["項目", "説明"], ["契約", cells("当事者は契約書に署名しなければならない", font, "CJK")]]
    path = made(tmp_path / "a", table(rows, font=font, colWidths=[60, 80]))
    assert "| 契約 | 当事者は契約書に署名しなければならない |" in text_of(path)
    rows = [
        ["Item", "Terms"],
        ["Rent", cells("due on the first day of each month, in advance")],
        ["Use", "tar"],
    ]
    path = made(tmp_path / "b", table(rows, colWidths=[60, 80]))
    assert "| Rent | due on the first day of each month, in advance |" in text_of(path)


def test_spanned_heads_and_labels_stand_in_each_of_their_columns_and_rows(tmp_path: Path) -> None:
    rows = [
        ["Site", "Contact", ""],
        ["", "Day", "Night"],
        ["North", "Ann", "Bob"],
        ["", "Cy", "Dee"],
        ["South", "Eve", "Flo"],
    ]
    spans = [("SPAN", (1, 0), (2, 0)), ("SPAN", (0, 0), (0, 1)), ("SPAN", (0, 2), (0, 3))]
    assert rows_of(text_of(made(tmp_path / "a", table(rows, *spans)))) == [
        "| Site | Contact Day | Contact Night |",
        "| North | Ann | Bob |",
        "| North | Cy | Dee |",
        "| South | Eve | Flo |",
    ]


def test_caption_and_note_over_the_whole_width_stay_text(tmp_path: Path) -> None:
    rows = [["Schedule 1: the parties", "", ""], *PARTIES, ["Seats are those of 3 May.", "", ""]]
    spans = [("SPAN", (0, 0), (-1, 0)), ("SPAN", (0, -1), (-1, -1))]
    lines = text_of(made(tmp_path / "a", table(rows, *spans))).split("\n")
    assert (lines[0], lines[2], lines[-1]) == (
        "Schedule 1: the parties",
        "| Role | Name | Seat |",
        "Seats are those of 3 May.",
    )


def test_names_of_facts_in_bold_make_no_header_of_the_first_fact(tmp_path: Path) -> None:
    rows = [["Lessor", "Harbour Company"], ["Seat", "Veldham"], ["Object", "Pier 3"]]
    path = made(tmp_path / "a", table(rows, ("FONT", (0, 0), (0, -1), "Helvetica-Bold", 9)))
    assert rows_of(text_of(path))[0].split() == ["|", "|", "|"]
    assert "| Lessor | Harbour Company |" in text_of(path)


def test_first_amount_on_a_coloured_ground_is_no_header(tmp_path: Path) -> None:
    rows = [["Subtotal", "103,000.00"], ["Discount 5%", "-5,150.00"], ["Total", "97,850.00"]]
    ground = ("BACKGROUND", (0, 0), (-1, 0), colors.lightgrey)
    text = text_of(made(tmp_path / "a", table(rows, ground)))
    assert [line.replace("|", " ").split() for line in rows_of(text)] == [
        [],
        *(" ".join(row).split() for row in rows),
    ]


def test_rows_of_figures_in_a_ruled_table_keep_its_cells(tmp_path: Path) -> None:
    rows = [
        ["Goods", "2022", "2023"],
        [cells("Tar, pitch and other goods of the north"), "1,234", "987"],
        ["Rope", "56", "78"],
        ["Sails", "9", ""],
    ]
    path = made(tmp_path / "a", table(rows, colWidths=[90, 60, 60]))
    assert rows_of(text_of(path))[1:3] == [
        "| Tar, pitch and other goods of the north | 1,234 | 987 |",
        "| Rope | 56 | 78 |",
    ]


def test_lines_between_groups_of_rows_do_not_join_their_figures(tmp_path: Path) -> None:
    rows = [["Goods", "2022", "2023"], ["Tar", "12", "34"], ["Rope", "56", "78"], ["Sails", "9", "10"]]
    style = [("BOX", (0, 0), (-1, -1), 0.5, colors.black), ("LINEBELOW", (0, 0), (-1, 0), 0.5, colors.black)]
    style.append(("INNERGRID", (0, 0), (-1, 0), 0.5, colors.black))
    lines = Table(rows, style=TableStyle([*style, ("LINEAFTER", (0, 0), (1, -1), 0.5, colors.black)]))
    assert rows_of(text_of(made(tmp_path / "a", lines)))[1:] == [f"| {' | '.join(row)} |" for row in rows[1:]]


def test_table_without_lines_between_its_rows_of_words_stays_text(tmp_path: Path) -> None:
    style = [("BOX", (0, 0), (-1, -1), 0.5, colors.black), ("LINEBELOW", (0, 0), (-1, 0), 0.5, colors.black)]
    style.append(("LINEAFTER", (0, 0), (1, -1), 0.5, colors.black))
    assert "| --- |" not in text_of(made(tmp_path / "a", Table(PARTIES, style=TableStyle(style))))


def test_table_on_the_next_page_has_its_header_again(tmp_path: Path) -> None:
    rows = [[f"Clause {number}", f"Party {number} pays", "Veldham"] for number in range(40)]
    path = made(tmp_path / "a", table([["Clause", "Duty", "Seat"], *rows]))
    document = load(path, "a.pdf")
    _, start, end = document.pages[1]
    page = document.text[start:end]
    assert page.startswith("| Clause | Duty | Seat |\n| --- |")
    assert len(rows_of(document.text)) == len(rows) + len(document.pages)
    number, start, end = document.pages[-1]  # of one row only
    page = document.text[start:end]
    place = page.index("Party 39 pays")
    image = page_image(path, number, page, [(place, place + 13)])
    assert (image.certain, len(image.boxes)) == (True, 2)


def test_rows_on_the_next_page_may_begin_with_empty_cells(tmp_path: Path) -> None:
    rows = [[f"Clause {number}", "" if number % 2 else "Party pays"] for number in range(38)]
    document = load(made(tmp_path / "a", table([["Clause", "Duty"], *rows])), "a.pdf")
    assert len(document.pages) == 2
    assert document.text.count("| Clause | Duty |") == len(document.pages)
    assert "| Clause 37 |  |" in document.text


def test_cell_of_words_is_marked_with_its_row_and_column_head(tmp_path: Path) -> None:
    path = made(tmp_path / "a", table(PARTIES))
    text = text_of(path)
    place = text.index("Tar and Rope Brothers")
    image = page_image(path, 1, text, [(place, place + 21)], scale=1)
    cell, label, head = image.boxes
    assert image.certain
    assert label.right < cell.left < head.right
    assert abs(label.top - cell.top) < 2
    assert head.bottom < cell.top


def test_page_stored_before_ruled_tables_were_read_is_still_marked(tmp_path: Path) -> None:
    path = made(tmp_path / "a", table(PARTIES))
    stored = "\n".join(" ".join(row) for row in PARTIES)
    image = page_image(path, 1, stored, [(0, 4)])
    assert image.certain


def test_text_beside_a_table_stays_beside_it(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, [60, 120, 200], [400, 380, 360])
        for y, words in ((386, ("Role", "Name")), (366, ("Lessor", "Ann"))):
            canvas.drawString(64, y, words[0])
            canvas.drawString(124, y, words[1])
            canvas.drawString(206, y, f"beside {words[0]}")

    text = text_of(drawn(tmp_path / "a", draw))
    assert rows_of(text) == ["| Role | Name |", "| Lessor | Ann |"]
    assert "beside Role" in text
    assert "beside Lessor" in text


# What is no table


def lines(canvas: Canvas, xs: list[float], ys: list[float]) -> None:
    for x in xs:
        canvas.line(x, ys[0], x, ys[-1])
    for y in ys:
        canvas.line(xs[0], y, xs[-1], y)


def drawn(path: Path, draw: Callable[[Canvas], None]) -> Path:
    canvas = Canvas(str(path), pagesize=(400, 500))
    canvas.setFont("Helvetica", 9)
    draw(canvas)
    canvas.save()
    return path


def column(canvas: Canvas, x: float, top: float, words: str, count: int = 20) -> None:
    for number in range(count):
        canvas.drawString(x, top - 11 * number, words)


def framed_columns(canvas: Canvas) -> None:
    lines(canvas, [20, 200, 380], [480, 440, 60])
    canvas.setFillColor("white")
    canvas.rect(150, 442, 100, 36, stroke=0, fill=1)
    canvas.setFillColor("black")
    canvas.drawString(120, 455, "The Veldham Harbour Gazette")
    for x in (26, 206):
        column(canvas, x, 420, "The harbour was built for ships and", 30)


def form(canvas: Canvas) -> None:
    """A form's rows are divided in different ways, and wait for what is written in them."""
    for number, edges in enumerate(([20, 200, 380], [20, 90, 290, 380], [20, 140, 380], [20, 260, 380])):
        lines(canvas, edges, [460 - 30 * number, 430 - 30 * number])
        for place, x in enumerate(edges[:-1]):
            canvas.drawString(x + 3, 450 - 30 * number, f"{number}{place} Name")


def empty_form(canvas: Canvas) -> None:
    lines(canvas, [20, 140, 260, 380], [460 - 24 * row for row in range(9)])
    for x, head in ((24, "Name"), (144, "Date"), (264, "Signature")):
        canvas.drawString(x, 444, head)


def code_with_numbers(canvas: Canvas) -> None:
    lines(canvas, [20, 50, 380], [470, 240])
    for number in range(18):
        canvas.drawString(26, 455 - 11 * number, str(number))
        canvas.drawString(56, 455 - 11 * number, f"for item in shelf({number}):")


def boxed_paragraph(canvas: Canvas) -> None:
    lines(canvas, [20, 380], [470, 400, 300])
    column(canvas, 26, 455, "A warning stands in a box of its own, so that it is seen.", 4)
    column(canvas, 26, 380, "Another one stands below it, in the same frame of lines.", 4)


def page_border(canvas: Canvas) -> None:
    for inset in (10, 14):
        canvas.rect(inset, inset, 400 - 2 * inset, 500 - 2 * inset)
    canvas.line(14, 460, 386, 460)
    column(canvas, 40, 440, "The certificate is given to the keeper of the lighthouse.")


def chart(canvas: Canvas) -> None:
    lines(canvas, [60, 120, 180, 240, 300], [400, 350, 300, 250])
    for x, y, text in ((100, 372, "North pier falls"), (160, 322, "South pier rises"), (40, 240, "1901")):
        canvas.drawString(x, y, text)


def contents(canvas: Canvas) -> None:
    lines(canvas, [20, 340, 380], [460 - 20 * row for row in range(7)])
    for row in range(6):
        canvas.drawString(24, 446 - 20 * row, f"Chapter {row} " + ". " * 40)
        canvas.drawString(350, 446 - 20 * row, str(3 + 4 * row))


def underlined(canvas: Canvas) -> None:
    for row in range(6):
        canvas.drawString(24, 446 - 20 * row, "Term of the lease")
        canvas.drawString(204, 446 - 20 * row, "ten years and a day")
        canvas.line(20, 440 - 20 * row, 180, 440 - 20 * row)
        canvas.line(200, 440 - 20 * row, 380, 440 - 20 * row)


NO_TABLES = [
    framed_columns,
    form,
    empty_form,
    code_with_numbers,
    boxed_paragraph,
    page_border,
    chart,
    contents,
    underlined,
]


@pytest.mark.parametrize("draw", NO_TABLES, ids=lambda draw: draw.__name__)
def test_lines_of_what_is_no_table_make_none(tmp_path: Path, draw: Callable[[Canvas], None]) -> None:
    assert "| --- |" not in text_of(drawn(tmp_path / "a", draw))


def test_drawing_of_many_lines_is_read_in_time(tmp_path: Path) -> None:
    def hatched(canvas: Canvas) -> None:
        for number in range(2500):
            canvas.line(number % 50 * 8, 0, number % 50 * 8, 500 - number / 10)
        canvas.drawString(40, 20, "A field")

    assert text_of(drawn(tmp_path / "a", hatched)) == "A field"


@pytest.mark.parametrize("open_at", ["both", "left", "right"])
@pytest.mark.parametrize(
    ("font", "rows"),
    [
        ("Helvetica", PARTIES),
        (
            FONTS["ko"],
            [
                ["구분", "담당", "기한"],
                ["설계", "김민수", "삼월"],
                ["시공", "이영희", "오월"],
                ["감리", "박철", "유월"],
            ],
        ),
        (
            FONTS["ja"],
            [
                ["区分", "担当", "期限"],
                ["設計", "佐藤", "三月"],
                ["施工", "鈴木", "五月"],
                ["監理", "高橋", "六月"],
            ],
        ),
    ],
)
def test_a_table_that_is_open_at_a_side_has_its_rows(
    tmp_path: Path, open_at: str, font: str, rows: list[list[str]]
) -> None:
    lines = [
        ("LINEABOVE", (0, 0), (-1, -1), 0.5, colors.black),
        ("LINEBELOW", (0, -1), (-1, -1), 0.5, colors.black),
    ]
    sides = {
        "both": [],
        "left": [("LINEAFTER", (-1, 0), (-1, -1), 0.5, colors.black)],
        "right": [("LINEBEFORE", (0, 0), (0, -1), 0.5, colors.black)],
    }[open_at]
    style = [
        ("FONT", (0, 0), (-1, -1), font, 9),
        ("LINEAFTER", (0, 0), (1, -1), 0.5, colors.black),
        *lines,
        *sides,
    ]
    path = made(tmp_path / "a", Table(rows, style=TableStyle(style)))
    assert rows_of(text_of(path)) == [f"| {' | '.join(row)} |" for row in rows]


def test_text_beside_an_upright_rule_between_level_ones_makes_no_table(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a"), pagesize=(400, 500))
    for top in (460, 300, 200):
        canvas.line(30, top, 370, top)
    canvas.line(200, 200, 200, 460)
    for line in range(12):
        canvas.drawString(35, 440 - 18 * line, "The trade in tar fell")
        canvas.drawString(210, 440 - 18 * line, "and that in rope, too")
    canvas.save()
    assert "|" not in text_of(tmp_path / "a")
