"""Korean PDFs whose lines break inside words, or between them."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from rag.ingest.parsers import load
from rag.ingest.parsers.pdf_highlight import page_image
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import FONTS, Placed

FONT, SIZE, WIDTH = FONTS["ko"], 11, 240
REPORT = [
    "3분기 매출액은 482억 원으로 작년 같은 기간보다 늘었다. 그러나 영업이익은 37억 원으로 작년 같은 기간에 "
    "비해 줄었다. 원재료 가격이 오르고 물류센터를 옮기는 비용이 들었기 때문이다.",
    "물류센터를 평택에서 이천으로 옮기는 데 6억 원이 들었고, 이전은 2025년 8월 31일에 끝났다. 회사는 "
    "내년에도 새로운 거래처를 찾아서 매출을 늘리려고 한다. 계약을 맺은 거래처는 지난해보다 많아졌다.",
    "임차인은 계약을 해지할 수 있으며, 이 경우에는 임대인에게 서면으로 알려야 한다. 보증금은 계약이 끝난 "
    "뒤에 돌려받는다. 매출액과 영업이익은 회계사가 확인하였다.",
]


def _width(text: str) -> float:
    return makers.width(text, SIZE, FONT)


def inside_words(text: str) -> list[str]:
    """Break at any syllable, as browsers do; no line keeps its last space."""
    lines = [""]
    for letter in text:
        if _width(lines[-1] + letter) > WIDTH and letter not in ".,":
            lines.append("")
        lines[-1] += letter if lines[-1] or letter != " " else ""
    return [line.strip() for line in lines]


def between_words(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if _width(f"{lines[-1]} {word}") > WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def written(path: Path, wrap: Callable[[str], list[str]], *, straight: bool = False) -> Path:
    """Write the report; ``straight`` spreads the words of full lines to the right margin."""
    placed, height = list[Placed](), 460.0
    for paragraph in REPORT:
        lines = wrap(paragraph)
        for line in lines:
            words = line.split() if straight and line is not lines[-1] else [line]
            free = WIDTH - sum(map(_width, words))
            left = 40.0
            for word in words:
                placed.append(Placed(word, left, height, FONT, SIZE))
                left += _width(word) + free / max(len(words) - 1, 1)
            height -= 16
        height -= 16
    return makers.pdf(path, [placed])


def test_words_that_run_over_line_ends_without_a_space_are_joined(tmp_path: Path) -> None:
    text = load(written(tmp_path / "a", inside_words), "a.pdf").text
    wanted = " ".join(REPORT).split()
    parted = " ".join(" ".join(inside_words(paragraph)) for paragraph in REPORT).split()
    assert len(set(wanted) - set(parted)) >= 4
    assert set(wanted) <= set(text.split())


@pytest.mark.parametrize("straight", [False, True], ids=["ragged", "straight"])
def test_lines_that_break_between_words_keep_them_apart(tmp_path: Path, straight: bool) -> None:
    text = load(written(tmp_path / "a", between_words, straight=straight), "a.pdf").text
    assert text.split() == " ".join(REPORT).split()


def test_labels_over_each_other_are_not_joined(tmp_path: Path) -> None:
    labels = ["블록체인", "(체인)", "항공우주", "(우주)", "스마트시티", "(도시)"]
    placed = [
        Placed(label, 200 - _width(label) / 2, 400 - 16 * row, FONT, SIZE) for row, label in enumerate(labels)
    ]
    document = load(makers.pdf(tmp_path / "a", [placed]), "a.pdf")
    assert document.text.splitlines() == labels


@pytest.mark.parametrize(
    "lines",
    [
        ["담당자 김철수 연락처 02-1234-5678", "담당자 이영희 02-1234-5679", "담당자 박민수 02-1234-5670"],
        ["제1조 계약의 목적과 적용 범위", "제2조 임대차 기간과 갱신", "제3조 보증금", "제4조 관리비 부담"],
    ],
)  # fmt: skip
def test_lines_of_a_list_are_not_joined(tmp_path: Path, lines: list[str]) -> None:
    placed = [Placed(line, 40, 400 - 16 * row, FONT, SIZE) for row, line in enumerate(lines)]
    assert load(makers.pdf(tmp_path / "a", [placed]), "a.pdf").text.split() == " ".join(lines).split()


def test_a_joined_word_is_marked_in_both_its_lines(tmp_path: Path) -> None:
    path = written(tmp_path / "a", inside_words)
    text = load(path, "a.pdf").text
    lines = inside_words(REPORT[0])
    first, second = next((a, b) for a, b in pairwise(lines) if a[-5:] + b[:5] in REPORT[0])
    joined = first.split()[-1] + second.split()[0]
    start = text.index(joined)
    boxes = page_image(path, 1, text, [(start, start + len(joined))], scale=1).boxes
    assert len(boxes) == 2
    assert boxes[0].right == pytest.approx(40 + _width(first), abs=1)
    assert boxes[1].left == pytest.approx(40, abs=1)
    assert boxes[1].right == pytest.approx(40 + _width(second.split()[0]), abs=1)


def test_a_page_stored_before_words_were_joined_is_still_marked(tmp_path: Path) -> None:
    path = written(tmp_path / "a", inside_words)
    stored = "\n\n".join("\n".join(inside_words(paragraph)) for paragraph in REPORT)
    start = stored.index("계약을 맺은")
    image = page_image(path, 1, stored, [(start, start + 6)])
    assert image.certain
    assert image.boxes
    assert not page_image(path, 1, stored.replace("계약을", "계약은"), [(start, start + 6)]).certain
