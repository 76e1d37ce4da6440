"""HWP 5 and HWPX: paragraphs, numbers, headings, tables, notes; damaged and protected ones."""

import struct
from pathlib import Path

import pytest

from rag.errors import DocumentRefused
from rag.ingest.parsers import LoadedDocument, load
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import SENTENCES
from tests.rag.ingest.parsers.ole_makers import (
    NUMBERED,
    OUTLINE_1,
    OUTLINE_2,
    control,
    deflated,
    hwp,
    paragraph,
    record,
    table,
)

EXPECTED = """\
# I. 항구

벨담 항구는 1887년에 문을 열고 1931년에 닫았다.

## I.1 배[1]

[1] 1890년부터

(가) 닻줄

(나) 타르

| 배 | 해 | 비고 |
| --- | --- | --- |
| 알마 | 1890 |  |
| 알마 | 1901 | a\\|b |

표 1 상자 속"""


def hwp_of_everything(path: Path) -> Path:
    note = control(b"fn  ", record(0x48, 2, bytes(16)), paragraph(2, "1890년부터"))
    cells = [(0, 0, 1, 1, "배"), (0, 1, 1, 1, "해"), (0, 2, 1, 1, "비고"), (1, 0, 2, 1, "알마")]
    cells += [(1, 1, 1, 2, "1890"), (2, 1, 1, 1, "1901"), (2, 2, 1, 1, "a|b")]
    number = control(b"atno", data=bytes([4, 0, 0, 0, 1, 0]))
    inside = paragraph(3, "표 ", number, " 상자 속")
    box = control(b"gso ", record(0x4C, 2), record(0x48, 3, bytes(16)), inside)
    return hwp(
        path,
        paragraph(0, "항구", shape=OUTLINE_1) + paragraph(0, SENTENCES["ko"]),
        paragraph(0, "배", note, shape=OUTLINE_2)
        + paragraph(0, "닻줄", shape=NUMBERED)
        + paragraph(0, "타르", shape=NUMBERED)
        + paragraph(0, table(0, *cells))
        + paragraph(0, box),
    )


_NAMESPACES = "".join(
    f' xmlns:{name}="http://www.hancom.co.kr/hwpml/2011/{place}"'
    for name, place in (("hh", "head"), ("hp", "paragraph"), ("hs", "section"))
)


def p(inside: str, shape: int = 0) -> str:
    return f'<hp:p paraPrIDRef="{shape}"><hp:run>{inside}</hp:run></hp:p>'


def t(text: str) -> str:
    return f"<hp:t>{text}</hp:t>"


def hwpx(path: Path, *sections: str, **more: bytes) -> Path:
    """Write an HWPX document with the paragraph shapes of `ole_makers`."""
    shapes = "".join(
        f'<hh:paraPr id="{number}"><hh:heading type="{kind}" idRef="{list_id}" level="{level}"/></hh:paraPr>'
        for number, (kind, list_id, level) in enumerate(
            [("NONE", 0, 0), ("OUTLINE", 0, 0), ("OUTLINE", 0, 1), ("NUMBER", 2, 0), ("BULLET", 1, 0)]
        )
    )
    header = (
        f'<hh:head{_NAMESPACES}><hh:numbering id="1"><hh:paraHead level="1" numFormat="ROMAN_CAPITAL">^1.'
        '</hh:paraHead><hh:paraHead level="2" numFormat="DIGIT">^1.^2</hh:paraHead></hh:numbering>'
        '<hh:numbering id="2"><hh:paraHead level="1" numFormat="HANGUL_SYLLABLE">(^1)</hh:paraHead>'
        f"</hh:numbering>{shapes}</hh:head>"
    )
    start = p('<hp:secPr outlineShapeIDRef="1"/>')
    members = {
        "mimetype": b"application/hwp+zip",
        "Contents/header.xml": header.encode(),
        **{
            f"Contents/section{number}.xml": f"<hs:sec{_NAMESPACES}>{start}{section}</hs:sec>".encode()
            for number, section in enumerate(sections)
        },
        **more,
    }
    return makers.zipped(path, members)


def cell(row: int, column: int, rows: int, columns: int, text: str) -> str:
    return (
        f'<hp:tc><hp:subList>{p(t(text))}</hp:subList><hp:cellAddr colAddr="{column}" rowAddr="{row}"/>'
        f'<hp:cellSpan colSpan="{columns}" rowSpan="{rows}"/></hp:tc>'
    )


def hwpx_of_everything(path: Path) -> Path:
    note = f"<hp:ctrl><hp:footNote><hp:subList>{p(t('1890년부터'))}</hp:subList></hp:footNote></hp:ctrl>"
    rows = [
        cell(0, 0, 1, 1, "배") + cell(0, 1, 1, 1, "해") + cell(0, 2, 1, 1, "비고"),
        cell(1, 0, 2, 1, "알마") + cell(1, 1, 1, 2, "1890"),
        cell(2, 1, 1, 1, "1901") + cell(2, 2, 1, 1, "a|b"),
    ]
    number = '<hp:ctrl><hp:autoNum num="1" numType="TABLE"/></hp:ctrl>'
    boxed = p(f"{t('표 ')}{number}{t('<hp:tab/>상자<hp:deleteBegin/> 밖<hp:deleteEnd/> 속')}")
    return hwpx(
        path,
        p(t("항구"), 1) + p(t(SENTENCES["ko"])),
        p(t("배") + note, 2)
        + p(t("닻줄"), 3)
        + p(t("타르"), 3)
        + p(f"<hp:tbl>{''.join(f'<hp:tr>{row}</hp:tr>' for row in rows)}</hp:tbl>")
        + p(f"<hp:rect><hp:drawText><hp:subList>{boxed}</hp:subList></hp:drawText></hp:rect>"),
    )


@pytest.mark.parametrize("make", [hwp_of_everything, hwpx_of_everything])
def test_both_forms_are_read_alike(tmp_path: Path, make) -> None:
    document = load(make(tmp_path / "x"), "보고서.hwp")
    assert document.text == EXPECTED
    assert [(level, heading) for _, level, heading in document.headings] == [(1, "I. 항구"), (2, "I.1 배[1]")]
    assert (document.title, document.note) == ("I. 항구", "")


def test_a_table_around_text_is_its_text_and_its_inner_table(tmp_path: Path) -> None:
    inner = table(2, (0, 0, 1, 1, "해"), (0, 1, 1, 1, "1890"))
    frame = control(
        b"tbl ",
        record(0x4D, 2, bytes(8)),
        record(0x48, 2, bytes(16)),
        paragraph(2, "머리말", inner),
    )
    document = load(hwp(tmp_path / "x", paragraph(0, frame)), "a.hwp")
    assert document.text == "머리말\n\n| 해 | 1890 |\n| --- | --- |"


@pytest.mark.parametrize(
    ("flags", "reason"),
    [(3, "locked with a password"), (5, "distribution copy"), (1 | 1 << 8, "protected by a certificate")],
)
def test_a_protected_document_is_refused_with_its_reason(tmp_path: Path, flags: int, reason: str) -> None:
    with pytest.raises(DocumentRefused, match=rf"a\.hwp is .*{reason}"):
        load(hwp(tmp_path / "x", paragraph(0, "항구"), flags=flags), "a.hwp")


def test_the_text_of_a_document_with_tracked_changes_stands_in_another_folder(tmp_path: Path) -> None:
    deleted = record(0x46, 1, struct.pack("<III", 2, 4, 17 << 24))
    path = hwp(tmp_path / "x", paragraph(0, "항구부두 1") + deleted, flags=1 | 1 << 14, folder="ViewText")
    assert load(path, "a.hwp").text == "항구 1"


def test_a_document_of_hangul_97_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"HWP Document File V3.00 \x1a\1\2\3\4\5" + bytes(200))
    with pytest.raises(DocumentRefused, match=r"Hangul 97 or older .* HWPX"):
        load(tmp_path / "x", "a.hwp")


def test_a_damaged_section_is_read_as_far_as_it_is_sound(tmp_path: Path) -> None:
    lines = b"".join(paragraph(0, f"{number}번 줄 {number * 7919 % 1009}") for number in range(500))
    document = load(hwp(tmp_path / "x", packed=[deflated(lines)[:-400]]), "a.hwp")
    assert document.text.startswith("0번 줄 0\n\n1번 줄 856")
    assert "damaged" in document.note


def test_without_any_section_the_preview_is_read_and_called_so(tmp_path: Path) -> None:
    broken: LoadedDocument = load(hwp(tmp_path / "x", preview="벨담 항구", packed=[b"\xff" * 99]), "a.hwp")
    assert (broken.text, "preview" in broken.note) == ("벨담 항구", True)
    with pytest.raises(DocumentRefused, match="is damaged: the part that holds its text"):
        load(hwp(tmp_path / "y", packed=[b"\xff" * 99]), "a.hwp")


def test_an_encrypted_or_damaged_hwpx_ends_in_a_sentence(tmp_path: Path) -> None:
    manifest = {"META-INF/manifest.xml": b"<a><encryption-data/></a>"}
    with pytest.raises(DocumentRefused, match="locked with a password"):
        load(hwpx(tmp_path / "x", p(t("항구")), **manifest), "a.hwpx")
    with pytest.raises(DocumentRefused, match="the part that holds its text is missing"):
        load(hwpx(tmp_path / "y"), "a.hwpx")
    cut = {"Contents/section0.xml": f"<hs:sec{_NAMESPACES}>{p(t('벨담'))}<hp:p><hp:run>".encode()}
    document = load(hwpx(tmp_path / "z", **cut), "a.hwpx")
    assert (document.text, "damaged" in document.note) == ("벨담", True)
