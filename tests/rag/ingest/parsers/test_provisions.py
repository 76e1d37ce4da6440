"""Supplementary provisions are sections of their own, whatever the file's format."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag.ingest.parsers import LoadedDocument, load
from rag.text.chunking import Splitting, sections
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import FONTS, Placed

JAPANESE = """# 旅費規程

## 第1章 総則

第1条 この規程は旅費を定める。

## 第2章 雑則

第2条 細目は別に定める。

{supplement}

第1条 この規程は令和6年4月1日から施行する。

別表第1(第3条関係)

日当は三千円とする。
"""
KOREAN = """여비 규정

제1장 총칙

제1조(목적) 이 규정은 여비를 정한다.

부 칙 <제21호, 2024. 3. 5.>

제1조(시행일) 이 규정은 공포한 날부터 시행한다.

부칙 <제30호, 2025. 1. 2.>

제1조(시행일) 이 규정은 2025년 2월 1일부터 시행한다.

[별표 1] 여비 기준표

일비는 3만원으로 한다.
"""


def read(folder: Path, text: str, name: str = "a.md") -> LoadedDocument:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return load(path, name)


def paths(document: LoadedDocument) -> Iterator[tuple[str, ...]]:
    """Yield the path of each section; none of these documents is long enough for two chunks in one."""
    assert Splitting().size > 300
    yield from (section.path for section in sections(document, 0))


@pytest.mark.parametrize(
    ("supplement", "title"),
    [("附　則", "附則"), ("附 則(令和6年規程第3号)", "附則 (令和6年規程第3号)"), ("**附則**", "附則")],
)
def test_japanese_supplementary_provisions_stand_beside_the_chapters(
    tmp_path: Path, supplement: str, title: str
) -> None:
    assert list(paths(read(tmp_path, JAPANESE.format(supplement=supplement)))) == [
        ("旅費規程", "第1章 総則"),
        ("旅費規程", "第2章 雑則"),
        ("旅費規程", title),
        ("旅費規程", "別表第1(第3条関係)"),
    ]


def test_each_korean_supplement_is_told_by_its_amendment(tmp_path: Path) -> None:
    assert list(paths(read(tmp_path, KOREAN, "a.txt"))) == [
        (),
        ("부칙 <제21호, 2024. 3. 5.>",),
        ("부칙 <제30호, 2025. 1. 2.>",),
        ("[별표 1] 여비 기준표",),
    ]


def test_the_supplement_of_a_pdf_is_a_section(tmp_path: Path) -> None:
    texts = "第1条 この規程は旅費を定める。", "附 則", "第1条 この規程は四月一日から施行する。"
    lines = [Placed(text, 30, 400 - 40 * row, FONTS["ja"], 10) for row, text in enumerate(texts)]
    document = load(makers.pdf(tmp_path / "a", [lines]), "a.pdf")
    assert list(paths(document)) == [(), ("附則",)]


def test_a_supplement_may_begin_in_the_line_of_its_name(tmp_path: Path) -> None:
    text = "第1条 旅費を定める。\n\n附 則 この規程は令和6年4月1日から施行する。\n"
    assert list(paths(read(tmp_path, text))) == [(), ("附則",)]


@pytest.mark.parametrize(
    "text",
    [
        "目次\n\n第1章 総則\n附則\n\n第1章 総則\n\n第1条 旅費を定める。",
        "旅費は\n附則第3条の規定による。",
        "여비는\n부칙 제2조에 따라 지급한다.",
        "부칙에 따른다.\n별표 1과 같다.",
        "A rule.\n\n別表第1\n\nText.",
    ],
    ids=["contents", "reference", "Korean reference", "Korean words", "annex alone"],
)
def test_words_that_only_name_a_supplement_are_no_heading(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text, "a.txt").headings == ()


def test_a_heading_that_is_one_already_stays(tmp_path: Path) -> None:
    document = read(tmp_path, "# 規程\n\n第1条 定める。\n\n### 附則\n\n第1条 施行する。\n")
    assert [heading[1:] for heading in document.headings] == [(1, "規程"), (3, "附則")]
