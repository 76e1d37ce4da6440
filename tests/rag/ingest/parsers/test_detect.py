"""Every kind of file that Footnote reads ends as clean text with its pages and headings."""

import json
from itertools import product
from pathlib import Path

import pytest

from rag.errors import DocumentRefused
from rag.ingest.parsers import LoadedDocument, load
from rag.text.chunking import split
from rag.text.markdown import read_tables
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import SENTENCES, Placed


def page(document: LoadedDocument, number: int) -> str:
    start, end = next((start, end) for n, start, end in document.pages if n == number)
    return document.text[start:end]


@pytest.mark.parametrize("language", ["en", "ko", "ja"])
def test_pdf_pages_hold_their_own_text(tmp_path: Path, language: str) -> None:
    document = load(makers.book(tmp_path / "x", language, pages=3, lines=4), "book.pdf")
    assert [number for number, _, _ in document.pages] == [1, 2, 3]
    for number in (1, 2, 3):
        assert page(document, number).startswith(f"{number}. {SENTENCES[language]}")
    assert document.media_type == "application/pdf"


def test_pdf_headings_are_set_larger_or_bold_and_alone(tmp_path: Path) -> None:
    lines = [
        Placed("A history of the harbour", 40, 460, size=18),
        Placed("of Veldham", 40, 438, size=18),
        Placed("Trade", 40, 400, "Helvetica-Bold"),
        Placed("The harbour traded in rope and tar for", 40, 384),
        Placed("many years, and then it was closed.", 40, 370),
        Placed("It was closed for good in 1931.", 40, 356, "Helvetica-Bold"),
    ]
    document = load(makers.pdf(tmp_path / "x", [lines]), "a.pdf")
    assert [(level, heading) for _, level, heading in document.headings] == [
        (1, "A history of the harbour of Veldham"),
        (2, "Trade"),
    ]
    assert all(document.text.startswith(heading[:5], start) for start, _, heading in document.headings)


@pytest.mark.parametrize(
    ("language", "headings"),
    [("ko", ("제3조 (차임)", "제10조 (분쟁)", "3. 비용")), ("ja", ("第3条（賃料）", "2. 期間", "10 解約"))],
)
def test_headings_of_few_letters_lead_the_passages_of_their_own_page(
    tmp_path: Path, language: str, headings: tuple[str, ...]
) -> None:
    font, text = makers.FONTS[language], SENTENCES[language]
    pages = [
        [Placed(heading, 40, 440, font, 15)]
        + [Placed(text, 40, 410 - 16 * row, font, 10) for row in range(9)]
        for heading in headings
    ]
    document = load(makers.pdf(tmp_path / "x", pages), "a.pdf")
    assert [(chunk.page, chunk.heading) for chunk in split(document)] == [
        (number, heading) for number, heading in enumerate(headings, 1)
    ]


def test_pdf_with_an_empty_page_keeps_its_page_numbers(tmp_path: Path) -> None:
    path = makers.pdf(tmp_path / "x", [[Placed("One.", 40, 400)], [], [Placed("Three.", 40, 400)]])
    document = load(path, "a.pdf")
    assert [page(document, number) for number in (1, 2, 3)] == ["One.", "", "Three."]


def test_pdf_line_goes_on_after_a_raised_number(tmp_path: Path) -> None:
    first = Placed("It opened in spring", 40, 400)
    raised = Placed("2", 40 + makers.width(first.text, 12), 405, size=7)
    rest = Placed(", and closed in autumn.", raised.x + makers.width("2", 7), 400)
    document = load(makers.pdf(tmp_path / "x", [[first, raised, rest]]), "a.pdf")
    assert document.text == "It opened in spring2, and closed in autumn."


def test_korean_words_broken_over_lines_are_joined(tmp_path: Path) -> None:
    broken = [
        "항구는 오랫동안 북쪽 바다에서 가장 큰 항",
        "구였으며 밧줄과 타르를 팔았는데 나중에는 ",
        "문을 닫았다고 한다 그리고 아무도 다시 오 ",
    ]
    broken += ["지 않았다고 마을 사람들은 말하고 있었다"]
    whole = [line.strip() for line in broken]
    texts = []
    for lines in (broken, whole):
        placed = [Placed(line, 40, 400 - 16 * row, makers.FONTS["ko"], 11) for row, line in enumerate(lines)]
        texts.append(load(makers.pdf(tmp_path / "x", [placed]), "a.pdf").text)
    assert all("가장 큰 항구였으며" in text for text in texts)
    assert "나중에는 \n문을" in texts[0]
    assert "나중에는\n문을" in texts[1]


def test_compound_that_the_page_writes_elsewhere_keeps_its_hyphen(tmp_path: Path) -> None:
    lines = [
        "An open-domain system, or a closed and well-",
        "known one, answers. The open-",
        "domain one is used.",
    ]
    placed = [Placed(line, 40, 400 - 16 * row) for row, line in enumerate(lines)]
    text = load(makers.pdf(tmp_path / "x", [placed]), "a.pdf").text
    assert "The open-domain one" in text
    assert "wellknown" in text


def test_docx_keeps_headings_and_table_rows(tmp_path: Path) -> None:
    document = load(makers.docx(tmp_path / "x"), "a.docx")
    assert [(level, heading) for _, level, heading in document.headings] == [(1, "Veldham"), (2, "Ships")]
    assert document.title == "Veldham"
    assert "| Alma | 1890 |" in document.text
    assert all(sentence in document.text for sentence in SENTENCES.values())


def test_pptx_slides_are_pages(tmp_path: Path) -> None:
    document = load(makers.pptx(tmp_path / "x"), "a.pptx")
    assert len(document.pages) == 3
    assert SENTENCES["ko"] in page(document, 2)
    assert "Say it slowly." in page(document, 2)
    assert "<!--" not in document.text


def test_xlsx_rows_read_as_the_sheet_shows_them(tmp_path: Path) -> None:
    document = load(makers.xlsx(tmp_path / "x"), "a.xlsx")
    assert "| Anchor | 12.5 | 25% | 2024-03-01 | 무겁다 |" in document.text
    assert "| Rope | 3 | 75% |\n" in document.text
    assert [heading for _, _, heading in document.headings] == ["Prices", "価格"]


def test_epub_chapters_stand_in_reading_order(tmp_path: Path) -> None:
    document = load(makers.epub(tmp_path / "x"), "a.epub")
    assert document.text.index(SENTENCES["en"]) < document.text.index(SENTENCES["ko"])
    assert [heading for _, _, heading in document.headings] == ["One", "둘"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_rows_become_table_rows(tmp_path: Path, delimiter: str) -> None:
    file = tmp_path / "x"
    file.write_text(delimiter.join(["港", "Year"]) + "\n" + delimiter.join(['"Vel\ndham"', "1887"]))
    assert load(file, "a.csv").text == "| 港 | Year |\n| --- | --- |\n| Vel dham | 1887 |"


def test_html_keeps_what_a_reader_sees(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text(
        "<html><head><title>Port &amp; sea</title><style>p{}</style></head><body><h1>Veldham</h1>"
        f"<script>alert(1)</script><p>{SENTENCES['ja']} <b>Snake_case</b> <a href='http://x.y'>here</a>"
        "<img src='data:image/png;base64,AAAA' alt='a map of the port'></p><!-- secret --></body></html>"
    )
    document = load(file, "page.txt")
    assert document.title == "Port & sea"
    assert document.text == f"# Veldham\n\n{SENTENCES['ja']} Snake_case herea map of the port"
    assert document.media_type == "text/html"


def test_cell_over_several_rows_stands_in_each(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(
        "<html><table><tr><th>Year</th><th>Month</th></tr>"
        "<tr><td rowspan=2>1887</td><td>May</td></tr><tr><td>June</td></tr></table></html>"
    )
    rows = load(tmp_path / "x", "a.html").text.split("\n")
    assert rows == ["| Year | Month |", "| --- | --- |", "| 1887 | May |", "| 1887 | June |"]


def test_table_that_holds_tables_is_only_layout(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(
        "<html><table><tr><td><h1>Veldham</h1></td></tr><tr><td>"
        "<table><tr><th>Ship</th><th>Year</th></tr><tr><td>Alma</td><td>1890</td></tr></table>"
        "</td></tr></table></html>"
    )
    assert load(tmp_path / "x", "a.html").text == (
        "# Veldham\n\n| Ship | Year |\n| --- | --- |\n| Alma | 1890 |"
    )


def test_bytes_that_are_plainly_utf8_are_read_so_whatever_a_page_declares(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes("<meta charset=iso-8859-1><p>Das Café – 항구".encode())
    assert load(tmp_path / "x", "a.html").text == "Das Café – 항구"


def test_xml_is_the_text_between_its_tags(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text(
        '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
        "<a><b>One <i>two</i>&amp;</b><c>&e;</c><![CDATA[three <d>]]></a>"
    )
    assert load(file, "a.xml").text.split("\n") == ["One two&", "&e;", "three <d>"]


def test_markdown_keeps_code_and_drops_images_and_targets(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("# A\n\n![x](y.png) See [the guide](z.md).\n\n```\n![x](y) # no heading\n```\n\nB\n===\n")
    document = load(file, "a.md")
    assert document.text == "# A\n\nx See the guide.\n\n```\n![x](y) # no heading\n```\n\nB\n==="
    assert [heading for _, _, heading in document.headings] == ["A", "B"]


def test_front_matter_is_no_heading(tmp_path: Path) -> None:
    (tmp_path / "x").write_text('---\nlayout: page\ntitle: "Port 안내"\n---\n\n## Use {/*use*/}\n\nAsk.\n')
    document = load(tmp_path / "x", "a.md")
    assert document.title == "Port 안내"
    assert [heading for _, _, heading in document.headings] == ["Use"]


def test_notebook_is_its_texts_and_code(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Tides\n", "High and low."]},
        {"cell_type": "code", "source": "print(1)", "outputs": [{"data": {"image/png": "AAAA" * 999}}]},
    ]
    (tmp_path / "x").write_text(json.dumps({"cells": cells}))
    assert load(tmp_path / "x", "a.ipynb").text == "# Tides\nHigh and low.\n\n```\nprint(1)\n```"


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("a.py", "# A heading it is not\ndef port():\n\treturn 'vel*dham*'\n", "text/x-python"),
        ("A.TSX", "export const Port = () => <b>Veldham</b>;", "text/x-ts"),
        ("a.h", "int port(void);", "text/x-c"),
        ("a.php", "<!DOCTYPE html><html><?php port(); ?></html>", "text/x-php"),
        ("a.sql", "SELECT port FROM ships;", "text/x-sql"),
    ],
)
def test_source_code_reads_as_it_stands(tmp_path: Path, name: str, content: str, media_type: str) -> None:
    (tmp_path / "x").write_text(content)
    document = load(tmp_path / "x", name)
    assert (document.text, document.media_type, document.headings) == (content, media_type, ())


def test_a_page_that_a_server_wrote_is_read_as_a_page(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("<!DOCTYPE html><html><p>Veldham</p></html>")
    assert load(tmp_path / "x", "index.php").text == "Veldham"


@pytest.mark.parametrize(
    ("name", "content", "headings"),
    [
        (
            "a.tex",
            "\\title{The\nport}\n\\section*{Trade}\nRope.\n\\subsection[s]{Tar}\nBlack.",
            [(3, "Trade"), (4, "Tar")],
        ),
        (
            "a.rst",
            "Port\n====\n\nTar\n---\n\nnot a heading\n---\n\nEnd\n===\n",
            [(1, "Port"), (2, "Tar"), (1, "End")],
        ),
        ("a.adoc", "= Port\n\n== Tar\n\nx = y\n", [(1, "Port"), (2, "Tar")]),
    ],
)
def test_marks_of_other_formats_make_headings(
    tmp_path: Path, name: str, content: str, headings: list[tuple[int, str]]
) -> None:
    (tmp_path / "x").write_text(content)
    document = load(tmp_path / "x", name)
    assert [(level, heading) for _, level, heading in document.headings] == headings
    assert document.title in ("The port", "Port")


def test_docx_equations_are_read_in_a_line(tmp_path: Path) -> None:
    path = makers.equation_docx(tmp_path / "x")
    assert "The area is A=πr^2 and x=(a+b)/2 too." in load(path, "a.docx").text


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        *product(SENTENCES, ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]),
        ("ko", "cp949"),
        ("ja", "cp932"),
        ("ja", "euc_jp"),
        ("ja", "iso2022_jp"),
        ("ko", "iso2022_kr"),
    ],
)
def test_text_in_the_encodings_people_have(tmp_path: Path, language: str, encoding: str) -> None:
    text = (SENTENCES[language] + "\n") * 3
    (tmp_path / "x").write_bytes(text.encode(encoding))
    assert load(tmp_path / "x", "a.txt").text == text


PROSE = {
    "ko": "회의는 오전에 시작했고, 참석자는 모두 열두 명이었다. 다음 모임의 날짜는 아직 정하지 못했다.\n",
    "ja": "会議は午前に始まり、参加者は十二名でした。次回の日程はまだ決まっていません。カタカナも混ざる。\n",
    "zh": "会议在上午开始，一共有十二个人参加。下一次会议的时间还没有决定，我们会再通知大家。\n",
    "tw": "會議在上午開始，一共有十二個人參加。下一次會議的時間還沒有決定，我們會再通知大家。\n",
}


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        ("ko", "cp949"),
        ("ko", "euc_kr"),
        ("ja", "cp932"),
        ("ja", "shift_jis"),
        ("ja", "euc_jp"),
        ("zh", "gb18030"),
        ("zh", "gbk"),
        ("tw", "big5"),
        *product(("ko", "ja", "zh"), ("utf-16-le", "utf-16-be")),
    ],
)
@pytest.mark.parametrize("lines", [1, 40])
def test_short_and_long_prose_in_the_encodings_of_east_asia(
    tmp_path: Path, language: str, encoding: str, lines: int
) -> None:
    text = PROSE[language] * lines
    (tmp_path / "x").write_bytes(text.encode(encoding))
    assert load(tmp_path / "x", "a.txt").text == text


def test_korean_and_english_lines_of_one_file_are_read_in_its_encoding(tmp_path: Path) -> None:
    text = "Harbour log 1887\n" * 30 + PROSE["ko"] + "End of log\n" * 30
    (tmp_path / "x").write_bytes(text.encode("cp949"))
    assert load(tmp_path / "x", "a.log").text == text


def test_western_text_of_one_byte_a_letter(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes("Das Café schließt über Ostern – “né”.".encode("cp1252"))
    assert load(tmp_path / "x", "a.txt").text == "Das Café schließt über Ostern – “né”."


def test_content_decides_not_the_name(tmp_path: Path) -> None:
    assert load(makers.book(tmp_path / "x", "en", 1, 1), "a.docx").media_type == "application/pdf"
    assert "Alma" in load(makers.docx(tmp_path / "y"), "a.pdf").text


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "image"),
        (b"\x1f\x8b\x08\0", "gzip"),
    ],
)
def test_a_kind_not_read_is_named(tmp_path: Path, content: bytes, named: str) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DocumentRefused, match=named) as refused:
        load(tmp_path / "x", "report.doc")
    assert str(refused.value).startswith("report.doc is ")


HEAD, BODY = ("command", "use"), ("sort | uniq", "counts a/b")
ROW = "<tr><td>{}</td><td>{}</td></tr>"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md", "| command | use |\n|---|---|\n| sort \\| uniq | counts a/b |"),
        ("a.csv", "command,use\nsort | uniq,counts a/b\n"),
        ("a.html", f"<table>{ROW.format(*HEAD)}{ROW.format(*BODY)}</table>"),
    ],
)
def test_a_bar_within_a_cell_is_the_files_own_and_divides_nothing(tmp_path: Path, name: str, content: str):
    (tmp_path / "a").write_text(content)
    (table,) = read_tables(load(tmp_path / "a", name).text)
    assert table.rows[0].cells == BODY
