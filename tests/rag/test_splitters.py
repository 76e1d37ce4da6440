"""Chunks keep their exact place, page and heading path, and are cut between sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import DocumentRefused, SettingsError
from rag.ingest.parsers import LoadedDocument
from rag.text.chunking import Piece, Splitting, check, split
from rag.text.markdown import headings
from tests.rag.ingest.parsers.makers import SENTENCES


def markdown(text: str) -> LoadedDocument:
    return LoadedDocument(text, media_type="text/markdown", headings=headings(text))


@given(st.text(alphabet="ab 가나다日本。.\n|-#1 ", max_size=400), st.integers(5, 60), st.integers(0, 20))
def test_only_white_space_is_left_out(text: str, size: int, overlap: int) -> None:
    pieces = split(markdown(text), Splitting(size, min(overlap, size - 1), size // 2))
    covered = {place for piece in pieces for place in range(piece.start, piece.end)}
    assert all(character.isspace() for place, character in enumerate(text) if place not in covered)
    assert all(
        text[piece.start : piece.end].strip() == text[piece.start : piece.end] != "" for piece in pieces
    )
    assert [piece.start for piece in pieces] == sorted({piece.start for piece in pieces})


@given(st.text(alphabet="ab 가。.\n", max_size=400), st.integers(5, 60))
def test_no_piece_is_larger_than_asked(text: str, size: int) -> None:
    assert all(piece.end - piece.start <= size for piece in split(LoadedDocument(text), Splitting(size, 0)))


def test_heading_path_leads_to_each_piece() -> None:
    text = "# Guide\n\n## Install\n\nRun it.\n\n## Use\n\nAsk it.\n\n# End\n\nBye."
    assert [(piece.heading, text[piece.start : piece.end]) for piece in split(markdown(text))] == [
        ("Guide > Install", "# Guide\n\n## Install\n\nRun it."),
        ("Guide > Use", "## Use\n\nAsk it."),
        ("End", "# End\n\nBye."),
    ]


def test_short_sections_are_joined_up_to_the_minimum_under_the_headings_they_share() -> None:
    text = "# Guide\n\n## Install\n\nRun it.\n\n## Use\n\nAsk it.\n\n# End\n\n" + "Bye. " * 10
    assert [piece.heading for piece in split(markdown(text), Splitting(200, 0, 40))] == ["Guide", "End"]
    assert [piece.heading for piece in split(markdown(text), Splitting(200, 0, 60))] == [""]


def test_a_short_last_section_is_joined_with_the_one_before_it() -> None:
    text = "# Guide\n\n" + "Run it. " * 10 + "\n\n# End\n\nBye."
    assert [piece.heading for piece in split(markdown(text), Splitting(200, 0, 40))] == [""]


@pytest.mark.parametrize(
    ("size", "overlap", "minimum"), [(0, 0, 0), (100, 100, 0), (100, -1, 0), (100, 0, 101)]
)
def test_a_splitting_that_cannot_be_is_refused(size: int, overlap: int, minimum: int) -> None:
    with pytest.raises(SettingsError, match="Choose"):
        Splitting(size, overlap, minimum)


def test_no_piece_crosses_a_page() -> None:
    text = "One.\n\nTwo."
    document = LoadedDocument(text, pages=((1, 0, 4), (2, 6, 10)))
    assert [(piece.page, text[piece.start : piece.end]) for piece in split(document)] == [
        (1, "One."),
        (2, "Two."),
    ]


@pytest.mark.parametrize("language", ["en", "ko", "ja"])
def test_pieces_end_with_a_sentence(language: str) -> None:
    text = " ".join([SENTENCES[language]] * 60)
    pieces = split(LoadedDocument(text))
    assert len(pieces) > 3
    assert all(text[piece.start : piece.end].startswith(SENTENCES[language]) for piece in pieces)
    assert all(text[piece.start : piece.end].endswith(SENTENCES[language]) for piece in pieces)


@pytest.mark.parametrize(("language", "low", "high"), [("en", 600, 900), ("ko", 250, 520), ("ja", 250, 520)])
def test_pieces_of_each_language_fill_about_two_hundred_tokens(language: str, low: int, high: int) -> None:
    pieces = split(LoadedDocument(" ".join([SENTENCES[language]] * 100)))
    assert all(low <= piece.end - piece.start <= high for piece in pieces[:-1])


def test_rows_stay_whole_and_their_header_goes_with_them() -> None:
    rows = [f"| Ship {number} | a fine. old vessel | {1800 + number} |" for number in range(80)]
    text = "\n".join(["## Ships", "", "| Ship | Kind | Year |", "| --- | --- | --- |", *rows])
    pieces = split(markdown(text))
    assert pieces[0].heading == "Ships"
    assert {piece.heading for piece in pieces[1:]} == {"Ships > Ship | Kind | Year"}
    assert all(text[piece.start : piece.end].split("\n")[-1] in rows for piece in pieces)
    assert all(text[piece.start : piece.end].split("\n")[0] in rows for piece in pieces[1:])


def test_a_table_that_fits_is_never_cut() -> None:
    rows = "\n".join(["| Ship | Year |", "| --- | --- |", *(f"| Ship {n} | {1800 + n} |" for n in range(20))])
    for before in range(0, 1200, 150):
        text = "A word. " * (before // 8) + "\n\n" + rows + "\n\n" + "More words. " * 80
        pieces = [text[piece.start : piece.end] for piece in split(LoadedDocument(text))]
        assert sum(rows in piece for piece in pieces) == 1
        assert sum("| Ship" in piece for piece in pieces) == 1


def test_a_table_too_large_is_cut_between_rows() -> None:
    rows = [f"| Ship {n} | {1800 + n} |" for n in range(300)]
    text = "\n".join(["| Ship | Year |", "| --- | --- |", *rows])
    pieces = split(LoadedDocument(text))
    assert all(len(text[piece.start : piece.end]) <= 900 for piece in pieces)
    assert {piece.heading for piece in pieces[1:]} == {"Ship | Year"}


CODE = {
    "python": "@wraps(f)\ndef part_{n}(a):\n    '''{pad}'''\n    return a + {n}",
    "ts": "export function part{n}(a: number) {{\n  // {pad}\n\n  return a + {n};\n}}",
    "java": "  public int part{n}(int a) {{\n    // {pad}\n    return a + {n};\n  }}",
    "go": "func part{n}(a int) int {{\n\t// {pad}\n\treturn a + {n}\n}}",
    "rust": "fn part{n}(a: i32) -> i32 {{\n    // {pad}\n    a + {n}\n}}",
    "cpp": "int part{n}(int a) {{\n  // {pad}\n\n  return a + {n};\n}}",
    "unknown": "sub part{n} {{\n  # {pad}\n  return {n};\n}}",
}


@pytest.mark.parametrize("language", CODE)
def test_code_is_cut_between_its_definitions(language: str) -> None:
    parts = [CODE[language].format(n=n, pad="x" * 150) for n in range(30)]
    text = ("class Whole {\n" if language == "java" else "") + "\n\n".join(parts)
    pieces = split(LoadedDocument(text, media_type=f"text/x-{language}"), Splitting(900, 0))
    lines = [text[piece.start : piece.end].split("\n") for piece in pieces]
    assert len(pieces) > 5
    assert {first[0].strip() for first in lines[1:]} <= {part.split("\n")[0].strip() for part in parts}
    assert {last[-1].strip() for last in lines} <= {part.split("\n")[-1].strip() for part in parts}


@pytest.mark.parametrize("span", [(0, 99), (2, 2), (3, 6), (0, 7), (-1, 2)])
def test_a_piece_that_is_no_exact_passage_refuses_its_document(span: tuple[int, int]) -> None:
    document = LoadedDocument("One.\n\nTwo.", pages=((1, 0, 4), (2, 6, 10)))
    check(document, [Piece(0, 4, 1, ""), Piece(6, 10, 2, "")])
    with pytest.raises(DocumentRefused, match="exact passages"):
        check(document, [Piece(*span, 1, "")])


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["x" * 2_000_000, "가" * 2_000_000, "|" * 2_000_000, "a\n" * 1_000_000])
def test_two_million_characters_of_one_kind_are_split_in_seconds(text: str) -> None:
    assert split(LoadedDocument(text))
