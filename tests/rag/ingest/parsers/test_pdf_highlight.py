"""The boxes of cited words are where the words are, on upright and turned pages, in three languages."""

import io
import time
import tracemalloc
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from PIL import Image

from rag.errors import DocumentRefused
from rag.ingest.parsers import load
from rag.ingest.parsers.pdf import open_pdf
from rag.ingest.parsers.pdf_highlight import Box, page_image
from rag.ingest.parsers.pdf_lines import characters_of, lines_of
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import FONTS, SENTENCES, Placed

WIDTH, HEIGHT, SCALE = 400.0, 500.0, 2.0

EACH_TURN = pytest.mark.slow(reason="turns each page in all four ways")
ROTATIONS = [0, 90, *(pytest.param(turn, marks=EACH_TURN) for turn in (180, 270))]


@pytest.fixture
def true_box(tmp_path: Path) -> Callable[..., Box]:
    """The place of words: as wide as they are set, as high as a page with only their line has ink."""

    def of(
        line: Placed, words: str = "", rotate: int = 0, crop: tuple[float, float, float, float] | None = None
    ) -> Box:
        alone = makers.pdf(tmp_path / "alone", [[line]], size=(WIDTH, HEIGHT), crop=crop)
        _, top, _, bottom = (side / SCALE for side in makers.ink(alone))
        words = words or line.text
        before, _, _ = line.text.partition(words)
        left = line.x + makers.width(before, line.size, line.font) - (crop[0] if crop else 0)
        right = left + makers.width(words, line.size, line.font)
        turned = {
            0: (left, top, right, bottom),
            90: (HEIGHT - bottom, left, HEIGHT - top, right),
            180: (WIDTH - right, HEIGHT - bottom, WIDTH - left, HEIGHT - top),
            270: (top, WIDTH - right, bottom, WIDTH - left),
        }[rotate]
        return Box(*(SCALE * side for side in turned))

    return of


TrueBox = Callable[..., Box]


def overlap(a: Box, b: Box) -> float:
    """Intersection over union."""
    width = min(a.right, b.right) - max(a.left, b.left)
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    common = max(width, 0) * max(height, 0)
    area = sum((box.right - box.left) * (box.bottom - box.top) for box in (a, b))
    return common / (area - common)


def find(path: Path, words: str, page: int = 1) -> tuple[Box, ...] | None:
    """Look up words of a loaded document's page, as the evidence panel does."""
    document = load(path, "a.pdf")
    _, start, end = document.pages[page - 1]
    text = document.text[start:end]
    place = text.index(words)
    return boxes(path, page, text, place, place + len(words))


def boxes(path: Path, page: int, text: str, start: int, end: int) -> tuple[Box, ...] | None:
    image = page_image(path, page, text, [(start, end)], scale=SCALE)
    return image.boxes if image.certain else None


def assert_marked(found: tuple[Box, ...] | None, *true: Box) -> None:
    assert found is not None
    assert len(found) == len(true)
    assert min(map(overlap, found, true)) >= 0.9


@pytest.mark.parametrize("rotate", ROTATIONS)
@pytest.mark.parametrize("language", ["en", "ko", "ja"])
def test_sentence_among_others(tmp_path: Path, language: str, rotate: int, true_box: TrueBox) -> None:
    lines = [
        Placed(f"({row}) {SENTENCES[language]} ({row})", 30, 400 - 30 * row, FONTS[language], 11)
        for row in range(3)
    ]
    path = makers.pdf(tmp_path / "a", [lines], size=(WIDTH, HEIGHT), rotate=rotate)
    text = load(path, "a.pdf").text
    assert text.split("\n") == [line.text for line in lines]
    place = text.index(SENTENCES[language], text.index("(1)"))
    found = boxes(path, 1, text, place, place + len(SENTENCES[language]))
    assert_marked(found, true_box(lines[1], SENTENCES[language], rotate))


@pytest.mark.parametrize("rotate", ROTATIONS)
def test_two_columns_are_marked_in_their_own_column(tmp_path: Path, rotate: int, true_box: TrueBox) -> None:
    left = [Placed(f"left column, line {row} of the page", 20, 450 - 14 * row, size=9) for row in range(9)]
    right = [Placed(f"right column, line {row} of the page", 210, 450 - 14 * row, size=9) for row in range(9)]
    path = makers.pdf(tmp_path / "a", [[*left, *right]], size=(WIDTH, HEIGHT), rotate=rotate)
    found = find(path, "line 8 of the page\nright column, line 0 of the page")
    assert_marked(
        found, true_box(left[8], "line 8 of the page", rotate), true_box(right[0], right[0].text, rotate)
    )


def test_word_hyphenated_over_two_lines_is_one_word_and_two_boxes(tmp_path: Path, true_box: TrueBox) -> None:
    lines = [Placed("The harbour was an impor-", 30, 400), Placed("tant place for many ships.", 30, 384)]
    path = makers.pdf(tmp_path / "a", [lines], size=(WIDTH, HEIGHT))
    assert "an important place" in load(path, "a.pdf").text
    assert_marked(find(path, "important"), true_box(lines[0], "impor"), true_box(lines[1], "tant"))


def test_ligatures_are_letters(tmp_path: Path, true_box: TrueBox) -> None:
    line = Placed("The \ufb02ag of the \ufb01rst harbour", 30, 400, makers.WITH_LIGATURES)
    path = makers.pdf(tmp_path / "a", [[line]], size=(WIDTH, HEIGHT))
    assert load(path, "a.pdf").text == "The flag of the first harbour"
    assert_marked(find(path, "first harbour"), true_box(line, "\ufb01rst harbour"))


def named_pdf(path: Path, shown: str, names: str, table: str = "", *, more: Sequence[bytes] = ()) -> Path:
    """Write a PDF of lines whose font names the glyphs of its codes from 33 on, with `more` objects."""
    mapped = f"1 begincodespacerange <00><ff> endcodespacerange {table}"
    cmap = f"/CIDInit /ProcSet findresource begin begincmap {mapped} endcmap end"
    text = f"BT /F1 20 Tf 30 400 Td 24 TL {' '.join(f'({line}) Tj T*' for line in shown.splitlines())} ET"
    given = " /ToUnicode 5 0 R" * bool(table)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 {WIDTH:.0f} {HEIGHT:.0f}] >>".encode(),
        b"<< /Type /Page /Parent 2 0 R /Contents 6 0 R /Resources << /Font << /F1 4 0 R >> >> >>",
        f"<< /Type /Font /Subtype /Type1 /BaseFont /AAAAAB+Helvetica /Encoding 7 0 R{given} >>".encode(),
        stream(cmap.encode("latin-1")),
        stream(text.encode("latin-1")),
        f"<< /Type /Encoding /BaseEncoding /WinAnsiEncoding /Differences [ 33 {names} ] >>".encode(),
        *more,
    ]
    content = b"".join(b"%d 0 obj\n%b\nendobj\n" % (at, it) for at, it in enumerate(objects, 1))
    path.write_bytes(b"%PDF-1.4\n" + content + b"trailer << /Root 1 0 R /Size 8 >>\n%%EOF")
    return path


def stream(content: bytes, keys: bytes = b"") -> bytes:
    """Return the object of a stream."""
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(content), keys, content)


def ranges(*characters: str) -> str:
    """Return a table that gives the codes from 33 on these characters, and letters themselves."""
    given = [f"<{33 + at:02x}> <{33 + at:02x}> <{it}>" for at, it in enumerate(characters)]
    return f"{len(given) + 1} beginbfrange <61> <7a> <0061> {' '.join(given)} endbfrange"


@pytest.mark.parametrize(
    ("shown", "names", "table", "read"),
    [
        ('e!cient e"orts', "/ffi /ff", ranges("0000", "21b5"), "efficient efforts"),
        ("di!erent", "/f_f.alt", ranges("e00b"), "different"),
        ("sa!on", "/f_f_r", "", "saffron"),
        ('e!cient e"orts', "/ffi /ff", ranges("21b5", "21b5"), "e↵cient e↵orts"),
        ("a!b", "/arrowright", ranges("2192"), "a→b"),
    ],
    ids=["no character and an arrow", "private use", "no table", "one character for two", "an arrow"],
)
def test_ligatures_without_a_character_are_read_by_their_names(
    tmp_path: Path, shown: str, names: str, table: str, read: str
) -> None:
    path = named_pdf(tmp_path / "a", shown, names, table)
    assert load(path, "a.pdf").text == read
    assert find(path, read.split()[0]) is not None


def test_a_text_stored_before_ligatures_were_read_by_their_names_is_found_again(tmp_path: Path) -> None:
    path = named_pdf(tmp_path / "a", "an e!cient harbour", "/ffi", ranges("0000"))
    assert boxes(path, 1, "an ecient harbour", 3, 9) is not None


def test_a_hyphen_at_a_line_end_is_none_of_the_fonts_ligatures(tmp_path: Path) -> None:
    path = named_pdf(tmp_path / "a", "The !rst ships and an impor-\ntant place", "/fi", ranges("0002"))
    assert load(path, "a.pdf").text == "The first ships and an important place"


def test_a_list_of_word_needs_no_names_of_glyphs(tmp_path: Path) -> None:
    path = named_pdf(tmp_path / "a", "! one", "/bullet", ranges("f0b7"))
    with open_pdf(path) as pdf:
        path.unlink()
        assert [line.text for line in lines_of(characters_of(pdf[0]))] == ["• one"]


def test_all_ligatures_of_a_long_page_are_read(tmp_path: Path) -> None:
    path = named_pdf(tmp_path / "a", "\n".join(["e!cient"] * 2000), "/ffi", ranges("0000"))
    assert load(path, "a.pdf").text.split() == ["efficient"] * 2000


def test_objects_that_are_in_a_stream_are_none_of_the_file(tmp_path: Path) -> None:
    other = (
        b"9 0 obj << /BaseFont /Helvetica /Encoding << /Differences [33 /fl] >> /ToUnicode 5 0 R >> endobj"
    )
    path = named_pdf(tmp_path / "a", "e!cient", "/ffi", ranges("0000"), more=[stream(other)])
    assert load(path, "a.pdf").text == "efficient"


LONG_NUMBER = b"9" * 5000
FONT = b"<< /BaseFont /Courier /Encoding 7 0 R /ToUnicode 5 0 R >>"
HOSTILE = {
    "ranges without end": [stream(b"begincmap " + b"beginbfrange " * 500_000), FONT.replace(b"5 0", b"8 0")],
    "characters without end": [
        stream(b"begincmap " + b"beginbfchar " * 500_000),
        FONT.replace(b"5 0", b"8 0"),
    ],
    "long numbers of references": [FONT.replace(b"7 0", LONG_NUMBER + b" 0")],
    "long numbers of tables": [FONT.replace(b"5 0", LONG_NUMBER + b" 0")],
    "long numbers in an object stream": [
        stream(zlib.compress(LONG_NUMBER + b" 0 9 " + LONG_NUMBER + b" " + FONT), b"/Type /ObjStm")
    ],
    "an encoding of many fonts": [
        b"<< /Differences [" + b"/a" * 30_000 + b"] >>",
        *([FONT.replace(b"7 0", b"8 0")] * 9_000),
    ],
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_made_to_be_slow_or_to_fail_is_read(tmp_path: Path, case: str) -> None:
    path = named_pdf(tmp_path / "a", "e!cient", "/ffi", ranges("0000"), more=HOSTILE[case])
    assert load(path, "a.pdf", timeout=30).text == "efficient"


def test_objects_that_share_their_bytes_take_no_more_memory_than_those(tmp_path: Path) -> None:
    content = FONT + b" " * 50_000 + b"/Differences [33 /fl]"
    pairs = b" ".join(b"%d %d" % (number, number % 2 * 10) for number in range(9, 30_000))
    packed = stream(zlib.compress(pairs + content), b"/Type /ObjStm")
    path = named_pdf(tmp_path / "a", "e!cient", "/ffi", ranges("0000"), more=[packed])
    with open_pdf(path) as pdf:
        tracemalloc.start()
        try:
            lines = lines_of(characters_of(pdf[0]))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert [line.text for line in lines] == ["efficient"]
    assert peak < 64 << 20


def test_ligatures_stay_unread_in_a_file_of_too_many_fonts(tmp_path: Path) -> None:
    path = named_pdf(tmp_path / "a", "e!cient", "/ffi", ranges("0000"), more=[FONT] * 10_000)
    assert load(path, "a.pdf").text == "ecient"


def test_a_large_image_is_passed_over(tmp_path: Path) -> None:
    path = named_pdf(tmp_path / "a", "e!cient", "/ffi", ranges("0000"), more=[stream(b"1 " * (75 << 20))])
    with open_pdf(path) as pdf:
        before = time.process_time()
        assert [line.text for line in lines_of(characters_of(pdf[0]))] == ["efficient"]
        assert time.process_time() - before < 3  # seconds; each byte taken as an object's number takes 6


@pytest.mark.parametrize("rotate", ROTATIONS)
@pytest.mark.parametrize("drawn", [90, 180, 270])
def test_lines_drawn_sideways_keep_their_order(tmp_path: Path, drawn: int, rotate: int) -> None:
    lines = [Placed(f"Line {row} of the table", 60, 300 - 14 * row) for row in range(5)]
    path = makers.pdf(tmp_path / "a", [lines], size=(HEIGHT, HEIGHT), drawn=drawn, rotate=rotate)
    assert load(path, "a.pdf").text.split("\n") == [line.text for line in lines]
    [box] = find(path, "Line 2 of the table") or ()
    assert len(find(path, "of the table\nLine 3 of") or ()) == 2
    upright = (drawn - rotate) % 180 == 0
    assert (box.right - box.left > box.bottom - box.top) == upright


def test_hyphen_before_a_capital_stays(tmp_path: Path) -> None:
    lines = [Placed("She went by way of Baden-", 30, 400), Placed("Baden to the sea.", 30, 384)]
    path = makers.pdf(tmp_path / "a", [lines], size=(WIDTH, HEIGHT))
    assert "Baden-Baden to" in load(path, "a.pdf").text


def test_japanese_words_run_over_line_ends(tmp_path: Path, true_box: TrueBox) -> None:
    lines = [
        Placed("ベルダム港は千八百八十七年に開港し、長いあ", 30, 400, FONTS["ja"]),
        Placed("いだ北の海で最大の港であった。", 30, 384, FONTS["ja"]),
    ]
    path = makers.pdf(tmp_path / "a", [lines], size=(WIDTH, HEIGHT))
    assert "長いあいだ北の海" in load(path, "a.pdf").text
    assert_marked(find(path, "長いあいだ"), true_box(lines[0], "長いあ"), true_box(lines[1], "いだ"))


RAGGED = (
    "この規程は二十名の従業員の全員に適用し、旧規程の全部を廃止す",
    "る。改訂は2025年4月1日から効力を有し、2031年3月に労働条",
    "件を見直す。",
)
"""Lines, of which the second holds digits and leaves room."""


def ragged(path: Path, texts: Sequence[str] = RAGGED) -> tuple[Path, list[Placed]]:
    lines = [Placed(text, 20, 400 - 16 * row, FONTS["ja"], 10) for row, text in enumerate(texts)]
    return makers.pdf(path / "a", [lines], size=(WIDTH, HEIGHT)), lines


def test_a_japanese_sentence_runs_over_a_line_that_is_not_full(tmp_path: Path, true_box: TrueBox) -> None:
    path, lines = ragged(tmp_path)
    assert load(path, "a.pdf").text == "".join(RAGGED)
    assert_marked(find(path, "労働条件を"), true_box(lines[1], "労働条"), true_box(lines[2], "件を"))


def test_words_are_marked_in_a_text_stored_before_its_lines_were_joined(
    tmp_path: Path, true_box: TrueBox
) -> None:
    path, lines = ragged(tmp_path)
    stored = f"{RAGGED[0]}{RAGGED[1]}\n{RAGGED[2]}"
    start = stored.index("労働条")
    marked = boxes(path, 1, stored, start, stored.index("見直す"))
    assert_marked(marked, true_box(lines[1], "労働条"), true_box(lines[2], "件を"))


@pytest.mark.parametrize(
    "texts",
    [
        ("大阪府大阪市北区梅田三丁目一番", "東京都渋谷区神宮前一丁目二番地三号室"),
        ("この規程の目的は従業員の健康と安全", "第二条 この規程は従業員全員に適用する。"),
        ("総務課の担当", "申請は総務課の窓口で月曜日に受け付ける。"),
        ("保管の期間は次のとおりであり例外はない。", "契約書は十年とする。"),
    ],
    ids=["names", "an article", "a label", "a new sentence"],
)
def test_japanese_lines_that_are_no_sentence_stay_apart(tmp_path: Path, texts: tuple[str, str]) -> None:
    path, _ = ragged(tmp_path, texts)
    assert load(path, "a.pdf").text == "\n".join(texts)


def test_page_larger_than_its_crop_box(tmp_path: Path, true_box: TrueBox) -> None:
    line, crop = Placed("The crop begins at fifty points.", 80, 300), (50, 50, 400, 450)
    path = makers.pdf(tmp_path / "a", [[line]], size=(WIDTH, HEIGHT), crop=crop)
    assert_marked(find(path, line.text), true_box(line, crop=crop))


@pytest.mark.parametrize("rotate", [0, 90])
def test_picture_is_the_page_with_its_words_marked(tmp_path: Path, rotate: int) -> None:
    line = Placed("The words to mark.", 30, 400)
    path = makers.pdf(tmp_path / "a", [[line]], size=(WIDTH, HEIGHT), rotate=rotate)
    text = load(path, "a.pdf").text
    image = page_image(path, 1, text, [(4, 9)], scale=SCALE)
    picture = Image.open(io.BytesIO(image.png)).convert("RGB")
    assert picture.size == (image.width, image.height) == ((800, 1000) if rotate == 0 else (1000, 800))
    assert image.certain
    [box] = image.boxes
    assert picture.getpixel((round(box.left) + 1, round(box.top))) == (255, 236, 130)
    assert picture.getpixel((round(box.right) + 8, round(box.bottom) + 8)) == (255, 255, 255)


def test_one_of_the_marks_is_framed(tmp_path: Path) -> None:
    path = makers.pdf(tmp_path / "a", [[Placed("The words to mark.", 30, 400)]], size=(WIDTH, HEIGHT))
    image = page_image(path, 1, load(path, "a.pdf").text, [(4, 9), (13, 17)], current=1, scale=SCALE)
    words, mark = image.boxes
    assert image.current == (mark,)
    picture = Image.open(io.BytesIO(image.png)).convert("RGB")
    for box, left in ((words, (255, 255, 255)), (mark, (120, 50, 0))):
        assert picture.getpixel((round(box.left) - 4, round((box.top + box.bottom) / 2))) == left


def test_nothing_is_marked_where_the_text_is_not_the_stored_one(tmp_path: Path) -> None:
    path = makers.pdf(tmp_path / "a", [[Placed("The words to mark.", 30, 400)]])
    image = page_image(path, 1, "The words to mark!", [(4, 9)])
    assert (image.certain, image.boxes) == (False, ())
    assert image.png
    assert boxes(path, 1, "Other words.", 0, 5) is None


def test_page_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = makers.pdf(tmp_path / "a", [[Placed("One page.", 30, 400)]])
    with pytest.raises(DocumentRefused, match="has no page 2"):
        page_image(path, 2, "One page.", [(0, 3)])


def test_a_huge_page_is_drawn_small(tmp_path: Path) -> None:
    path = makers.pdf(tmp_path / "a", [[Placed("A poster.", 30, 400)]], size=(14_000, 9_000))
    image = page_image(path, 1, "A poster.", [(0, 8)])
    assert max(image.width, image.height) <= 4001


COLUMNS = {
    "en": ("The harbour closed when no more", "ships came. It was an impor-", "tant place once, in 1931."),
    "ko": ("벨담 항구는 1887년에 문을", "열었다. 그 뒤로 배가 거의", "들어오지 않았다고 한다."),
    "ja": ("ベルダム港は千八百八十七年に開き、", "長いあいだ北の海で最大の港であったが", "やがて閉じた。"),
}


@pytest.mark.parametrize("rotate", ROTATIONS)
@pytest.mark.parametrize("language", COLUMNS)
def test_a_quote_that_runs_from_one_column_into_the_next(
    tmp_path: Path, language: str, rotate: int, true_box: TrueBox
) -> None:
    font, texts = FONTS[language], COLUMNS[language]
    left = [Placed(text, 20, 440 - 13 * row, font, 10) for row, text in enumerate(texts)]
    right = [Placed(text, 215, 440 - 13 * row, font, 10) for row, text in enumerate(texts)]
    path = makers.pdf(tmp_path / "a", [[*left, *right]], size=(WIDTH, HEIGHT), rotate=rotate)
    text = load(path, "a.pdf").text
    start, end = text.index(texts[1][5:9]), text.rindex(texts[0][:-3]) + len(texts[0]) - 3
    true = [
        true_box(left[1], texts[1][5:].rstrip("-"), rotate),
        true_box(left[2], "", rotate),
        true_box(right[0], texts[0][:-3], rotate),
    ]
    assert_marked(boxes(path, 1, text, start, end), *true)
