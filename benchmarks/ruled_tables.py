"""Cells of ruled tables of words that this script makes: right ones with their row and column header.

    python benchmarks/ruled_tables.py [--tables 60] [--seed 1]

The tables are English, Korean and Japanese, of 2 to 6 columns and 3 to 40 rows, with cells of one or several
lines, some empty, single or double lines, with and without a shaded header, and run over pages.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from reportlab.lib import colors
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle

from benchmarks.tables import right_cells, tables_of
from rag.ingest.parsers import load

FONTS = {"en": "Helvetica", "ko": "HYSMyeongJo-Medium", "ja": "HeiseiMin-W3"}
WORDS = {
    "en": "harbour tar rope lease party surety north pier seat duty term notice rent owner ship sail",
    "ko": "항구 계약 당사자 임대료 기한 담당자 설계 시공 보증 통지 선박 창고 관리 운영 안전 점검",
    "ja": "港湾 契約 当事者 賃料 期限 担当 設計 施工 保証 通知 船舶 倉庫 管理 運営 安全 点検",
}


def _phrase(language: str, words: int) -> str:
    return ("" if language == "ja" else " ").join(random.choices(WORDS[language].split(), k=words))


def _rows(language: str) -> list[list[str]]:
    """Return a header and rows whose first cells differ."""
    columns, count = random.randint(2, 6), random.choice((3, 5, 8, 15, 40))
    long = random.random() < 0.5
    header = [f"{_phrase(language, 1)} {place}" for place in range(columns)]
    rows = [
        [f"{_phrase(language, 1)} {number}"]
        + [
            "" if random.random() < 0.1 else _phrase(language, random.randint(1, 9 if long else 2))
            for _ in header[1:]
        ]
        for number in range(count)
    ]
    return [header, *rows]


def _styles() -> Iterator[tuple[Any, ...]]:
    line = random.choice((0.25, 0.5, 1, 2))
    double = (None, None, None, 2, 1) if random.random() < 0.3 else ()
    yield ("GRID", (0, 0), (-1, -1), line, colors.black, *double)
    if random.random() < 0.5:
        yield ("BACKGROUND", (0, 0), (-1, 0), colors.lightblue)
    padding = random.choice((1, 3, 6))
    yield ("LEFTPADDING", (0, 0), (-1, -1), padding)
    yield ("RIGHTPADDING", (0, 0), (-1, -1), padding)
    yield ("ALIGN", (0, 0), (-1, -1), random.choice(("LEFT", "CENTER")))
    yield ("VALIGN", (0, 0), (-1, -1), random.choice(("TOP", "MIDDLE")))


def _made(path: Path, language: str, rows: list[list[str]]) -> None:
    style = ParagraphStyle(
        "cell", fontName=FONTS[language], fontSize=9, wordWrap="CJK" if language == "ja" else None
    )
    cells = [[Paragraph(cell, style) if cell else "" for cell in row] for row in rows]
    repeat = random.randint(0, 1)
    table = Table(cells, colWidths=[500 / len(rows[0])] * len(rows[0]), repeatRows=repeat)
    table.setStyle(TableStyle(list(_styles())))
    text = Paragraph(_phrase(language, 40), style)
    SimpleDocTemplate(str(path), margins=40).build([text, table, text])


def main() -> None:
    """Print the share of right cells by language."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--tables", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    random.seed(given.seed)
    for font in list(FONTS.values())[1:]:
        pdfmetrics.registerFont(UnicodeCIDFont(font))
    counts = {language: [0, 0] for language in FONTS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.tables):
            language = list(FONTS)[number % len(FONTS)]
            rows = _rows(language)
            path = Path(folder) / f"{number}.pdf"
            _made(path, language, rows)
            document = load(path, path.name)
            found = [table for page, _, _ in document.pages for table in tables_of(document, page)]
            truth: dict[str, list[Any]] = {"rows": rows[1:], "columns": rows[0][1:]}
            for label, header, value, right in right_cells(truth, found):
                counts[language][0] += right
                counts[language][1] += 1
                if not right:
                    print(f"table {number}: {label} | {header} | {value}")
    for language, (found_right, all_cells) in counts.items():
        print(f"{language}: {found_right} of {all_cells} cells")


if __name__ == "__main__":
    main()
