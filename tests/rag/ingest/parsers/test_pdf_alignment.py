"""Totals below the positions of an invoice in a PDF: in columns of their own, or in that of the amounts."""

from pathlib import Path
from typing import Any

import pytest
from reportlab.lib import colors
from reportlab.platypus import SimpleDocTemplate, Spacer, Table, TableStyle

from rag.ingest.parsers import load
from rag.ingest.parsers.pdf_highlight import page_image
from tests.rag.ingest.parsers.makers import FONTS

HEAD = ["Pos.", "Description", "Quantity", "Unit price (EUR)", "Amount (EUR)"]
POSITIONS = [
    ["1", "Conference hall", "3", "4,200.00", "12,600.00"],
    ["2", "Hotel rooms, single use", "360", "145.00", "52,200.00"],
    ["3", "Dinner on the river", "180", "89.00", "16,020.00"],
]
TOTALS = [["Subtotal", "80,820.00"], ["Discount 5%", "-4,041.00"], ["Total", "76,779.00"]]
FLUSH_RIGHT = ("ALIGN", (2, 0), (-1, -1), "RIGHT")
AMOUNTS_RIGHT = ("ALIGN", (1, 0), (-1, -1), "RIGHT")
GRID = ("GRID", (0, 0), (-1, -1), 0.5, colors.black)
GROUND = ("BACKGROUND", (0, 0), (-1, 0), colors.lightgrey)


def table(rows: list[list[str]], *style: Any, font: str = "Helvetica", **options: Any) -> Table:
    return Table(rows, style=TableStyle([("FONT", (0, 0), (-1, -1), font, 10), *style]), **options)


def made(path: Path, *parts: Any) -> Path:
    SimpleDocTemplate(str(path), pagesize=(595, 500)).build(list(parts))
    return path


def rows_of(path: Path) -> list[list[str]]:
    lines = load(path, "a.pdf").text.split("\n")
    return [
        [cell.strip() for cell in line[1:-1].split("|")]
        for line in lines
        if line.startswith("|") and "---" not in line
    ]


@pytest.mark.parametrize(
    ("above", "below"),
    [
        pytest.param(table([HEAD, *POSITIONS]), table(TOTALS), id="flush left, both centred on the page"),
        pytest.param(
            table([HEAD, *POSITIONS], FLUSH_RIGHT),
            table(TOTALS, AMOUNTS_RIGHT, hAlign="RIGHT"),
            id="labels and amounts under one head",
        ),
        pytest.param(table([HEAD, *POSITIONS], GRID, GROUND), table(TOTALS, GRID, GROUND), id="ruled"),
        pytest.param(
            table([HEAD, *POSITIONS], FLUSH_RIGHT), table(TOTALS[1:], hAlign="RIGHT"), id="two of them"
        ),
    ],
)
def test_totals_in_other_columns_are_a_table_of_their_own(tmp_path: Path, above: Table, below: Table) -> None:
    rows = rows_of(made(tmp_path / "a", above, Spacer(1, 10), below))
    totals = [row for row in rows[len(POSITIONS) + 1 :] if any(row)]
    assert rows[: len(POSITIONS) + 1] == [HEAD, *POSITIONS]
    assert totals == TOTALS[-len(totals) :]


@pytest.mark.parametrize("language", ["ko", "ja"])
def test_korean_and_japanese_totals_are_a_table_of_their_own(tmp_path: Path, language: str) -> None:
    said = {
        "ko": ["번호 품목 수량 단가 금액", "책상 의자", "공급가액 부가세 합계"],
        "ja": ["番号 品名 数量 単価 金額", "机 椅子", "小計 消費税 ご請求額"],
    }
    head, (desk, chair), names = (part.split() for part in said[language])
    goods = [["1", desk, "7", "120,000", "840,000"], ["2", chair, "12", "8,500", "102,000"]]
    totals = [list(pair) for pair in zip(names, ["942,000", "94,200", "1,036,200"], strict=True)]
    above = table([head, *goods], FLUSH_RIGHT, font=FONTS[language])
    below = table(totals, AMOUNTS_RIGHT, font=FONTS[language], hAlign="RIGHT")
    rows = rows_of(made(tmp_path / "a", above, Spacer(1, 10), below))
    assert rows == [head, *goods, ["", ""], *totals]


def test_totals_that_end_where_amounts_do_stand_under_their_head(tmp_path: Path) -> None:
    spans = [("SPAN", (0, 4 + at), (3, 4 + at)) for at in range(len(TOTALS))]
    totals = [[label, "", "", "", amount] for label, amount in TOTALS]
    path = made(
        tmp_path / "a",
        table([HEAD, *POSITIONS, *totals], FLUSH_RIGHT, ("ALIGN", (0, 4), (0, -1), "RIGHT"), *spans),
    )
    assert rows_of(path) == [HEAD, *POSITIONS, *totals]


def test_label_of_a_total_under_the_head_of_prices_is_no_price(tmp_path: Path) -> None:
    totals = [["", "", "", *total] for total in TOTALS]
    path = made(tmp_path / "a", table([HEAD, *POSITIONS, *totals], FLUSH_RIGHT))
    assert rows_of(path)[len(POSITIONS) + 1 :] == [[name, "", "", "", amount] for name, amount in TOTALS]


def test_row_that_only_lacks_a_figure_stays_in_its_table(tmp_path: Path) -> None:
    rows = [HEAD, *POSITIONS, ["4", "Interpreting", "", "", "5,250.00"]]
    assert rows_of(made(tmp_path / "a", table(rows, FLUSH_RIGHT))) == rows


def test_amount_of_a_total_is_marked_with_its_label_alone(tmp_path: Path) -> None:
    path = made(tmp_path / "a", table([HEAD, *POSITIONS]), Spacer(1, 10), table(TOTALS))
    text = load(path, "a.pdf").text
    place = text.index("76,779.00")
    image = page_image(path, 1, text, [(place, place + 9)], scale=1)
    amount, label = image.boxes
    assert image.certain
    assert label.right < amount.left
    assert abs(label.top - amount.top) < 2
