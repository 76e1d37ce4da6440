"""OpenDocument files end as clean text with their headings, tables, slides and comments."""

from pathlib import Path

import pytest

from rag.errors import DocumentRefused
from rag.ingest.parsers import LoadedDocument, load
from rag.text.markdown import row_numbers
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import SENTENCES

_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
_SPACES = "".join(
    f' xmlns:{name}="{_OASIS}{name}:1.0"' for name in ("office", "text", "table", "presentation", "style")
) + (f' xmlns:draw="{_OASIS}drawing:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"')
COMMENT = (
    "<office:annotation><dc:creator>Ada</dc:creator><dc:date>2024-03-01T10:00</dc:date>"
    "<text:p>Why?</text:p></office:annotation>"
)


STYLES = (
    '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1" '
    'style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="가, 나, 다, ..." '
    'style:num-prefix="(" style:num-suffix=")" text:start-value="2"/><text:list-level-style-number '
    'text:level="3" style:num-format="1" text:display-levels="3"/></text:list-style>'
    '<text:list-style style:name="L2"><text:list-level-style-bullet text:level="1"/></text:list-style>'
)
NAMED = [("가격", "BOX"), ("page2", "BOX"), ("Nothing on it", "")]


def read(path: Path, kind: str, body: str, **more: bytes) -> LoadedDocument:
    inner = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    content = f"<office:document-content{_SPACES}>{inner}</office:document-content>"
    parts = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(),
        "content.xml": content.encode(),
    }
    return load(makers.zipped(path / "x", {**parts, **more}), "a.odt")


def test_a_text_keeps_headings_lists_tables_and_comments(tmp_path: Path) -> None:
    rows = "".join(
        f"<table:table-row><table:table-cell><text:p>{ship}</text:p></table:table-cell>"
        f"<table:table-cell><text:p>{year}</text:p></table:table-cell></table:table-row>"
        for ship, year in (("Ship", "Year"), ("Alma", "1890"))
    )
    document = read(
        tmp_path,
        "text",
        '<text:h text:outline-level="1">벨담</text:h>'
        f"<text:p>{SENTENCES['en']}{COMMENT}</text:p>"
        "<text:p>a<text:s text:c='3'/>b<text:line-break/>c</text:p>"
        "<text:list><text:list-item><text:p>Rope</text:p><text:list><text:list-item><text:p>Thick</text:p>"
        f"</text:list-item></text:list></text:list-item></text:list><table:table>{rows}</table:table>",
    )
    assert document.text == (
        f"# 벨담\n\n{SENTENCES['en']}\n\nComment by Ada, 2024-03-01: Why?\n\na b c\n\n- Rope\n  - Thick\n\n"
        "| Ship | Year |\n| --- | --- |\n| Alma | 1890 |"
    )
    assert (document.title, document.headings) == ("벨담", ((0, 1, "벨담"),))


def items(*inner: str, style: str = "", **attributes: str) -> str:
    given = "".join(f' text:{name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    named = f' text:style-name="{style}"' if style else ""
    listed = "".join(f"<text:list-item>{one}</text:list-item>" for one in inner)
    return f"<text:list{named}{given}>{listed}</text:list>"


def said(text: str) -> str:
    return f"<text:p>{text}</text:p>"


@pytest.mark.parametrize("part", ["styles.xml", "content.xml"])
def test_lists_are_numbered_as_their_styles_say(tmp_path: Path, part: str) -> None:
    body = (
        items(said("Rope") + said("of hemp"), said("Tar") + items(said("항구"), said("배")), style="L1")
        + said("Between.")
        + items(said("Sails"), style="L1", continue_numbering="true")
        + items(said("Again"), items(items(said("Deep"))), style="L1")
        + items(said("Anchor"), style="L2")
    )
    styles = f"<office:styles{_SPACES}>{STYLES}</office:styles>".encode()
    if part == "content.xml":
        body, styles = f"<text:sequence-decls>{STYLES}</text:sequence-decls>{body}", b"<a/>"
    assert read(tmp_path, "text", body, **{"styles.xml": styles}).text.split("\n\n") == [
        "1. Rope\n   of hemp\n2. Tar\n   - (나) 항구\n   - (다) 배",
        "Between.",
        "3. Sails",
        "1. Again\n    - 1.1.1 Deep",
        "- Anchor",
    ]


def test_a_sheet_is_a_heading_and_a_table(tmp_path: Path) -> None:
    cells = (
        '<table:table-cell table:number-columns-repeated="2"><text:p>錨</text:p></table:table-cell>'
        f"<table:table-cell><text:p>4</text:p>{COMMENT}</table:table-cell>"
        '<table:table-cell table:number-columns-repeated="16000"/>'
    )
    rows = (
        f'<table:table-row>{cells}</table:table-row><table:table-row table:number-rows-repeated="1000000"/>'
    )
    document = read(tmp_path, "spreadsheet", f'<table:table table:name="価格">{rows}</table:table>')
    assert document.text == (
        "## 価格\n\n| 錨 | 錨 | 4 |\n| --- | --- | --- |\n\nComment by Ada, 2024-03-01: Why?"
    )


def row(text: str, times: int = 1) -> str:
    cell = f"<table:table-cell>{said(text) if text else ''}</table:table-cell>"
    return f'<table:table-row table:number-rows-repeated="{times}">{cell}</table:table-row>'


@pytest.mark.parametrize("gap", [0, 1, 49, 51, 4000])
def test_a_row_of_a_sheet_is_found_by_its_own_number(tmp_path: Path, gap: int) -> None:
    rows = row("", 2) + row("Item") + row("Rope", 3) + (row("", gap) if gap else "") + row("Tar")
    text = read(tmp_path, "spreadsheet", f'<table:table table:name="A">{rows}</table:table>').text
    assert row_numbers(text, text.index("Item"), text.rindex("Rope")) == (3, 6)
    assert row_numbers(text, text.index("Tar"), len(text)) == (7 + gap, 7 + gap)


def test_a_row_below_more_repeated_ones_than_are_kept_has_its_number(tmp_path: Path) -> None:
    rows = row("Item") + row("Rope", 5000) + row("Tar")
    text = read(tmp_path, "spreadsheet", f'<table:table table:name="A">{rows}</table:table>').text
    assert row_numbers(text, text.index("Tar"), len(text)) == (5002, 5002)
    assert text.count("Rope") == 1000


def test_a_sheet_of_absurdly_many_rows_ends(tmp_path: Path) -> None:
    rows = row("Rope", 10**30) + row("", 10**30) + row("Tar")
    text = read(tmp_path, "spreadsheet", f'<table:table table:name="A">{rows}</table:table>').text
    assert (text.count("Rope"), text.count("\n") < 2000) == (1000, True)


def test_slides_are_pages_with_their_notes(tmp_path: Path) -> None:
    def box(text: str, kind: str = "") -> str:
        inner = f"<draw:text-box><text:p>{text}</text:p></draw:text-box>"
        return f'<draw:frame presentation:class="{kind}">{inner}</draw:frame>'

    notes = f"<presentation:notes>{box('Slowly.')}</presentation:notes>"
    first = f"<draw:page>{box('Trade', 'title')}{box('Rope.')}{notes}</draw:page>"
    document = read(tmp_path, "presentation", first + f"<draw:page>{box('Tar.')}</draw:page>")
    pages = [document.text[start:end] for _, start, end in document.pages]
    assert pages == ["# Trade\n\nRope.\n\n### Notes\n\nSlowly.", "Tar."]


def test_a_slide_without_a_title_goes_by_its_name(tmp_path: Path) -> None:
    box = "<draw:frame><draw:text-box><text:p>Tar.</text:p></draw:text-box></draw:frame>"
    slides = [f'<draw:page draw:name="{name}">{inner}</draw:page>' for name, inner in NAMED]
    document = read(tmp_path, "presentation", "".join(slides).replace("BOX", box))
    pages = [document.text[start:end] for _, start, end in document.pages]
    assert pages == ["# 가격\n\nTar.", "Tar.", ""]


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"META-INF/manifest.xml": b"<m><encryption-data/></m>"}, "locked with a password"),
        ({"content.xml": b"<a><b></a>"}, "no sound XML"),
        ({"content.xml": b"<a/>"}, "is empty"),
        ({"content.xml": b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}, "entities"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(
    tmp_path: Path, parts: dict[str, bytes], said: str
) -> None:
    with pytest.raises(DocumentRefused, match=said):
        read(tmp_path, "text", "<text:p>Rope</text:p>", **parts)
