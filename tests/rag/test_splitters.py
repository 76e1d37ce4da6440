"""Chunks keep their exact place, page and heading path, and are cut between sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import SettingsError
from rag.loaders import LoadedDocument
from rag.loaders.markdown import headings
from rag.splitters import Splitting, split
from tests.rag.loaders.makers import SENTENCES


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


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["x" * 2_000_000, "가" * 2_000_000, "|" * 2_000_000, "a\n" * 1_000_000])
def test_two_million_characters_of_one_kind_are_split_in_seconds(text: str) -> None:
    assert split(LoadedDocument(text))
