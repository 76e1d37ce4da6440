"""LangChain's splitters as ways to split: the same chunks, each an exact span of the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_text_splitters import MarkdownHeaderTextSplitter, RecursiveCharacterTextSplitter

from rag.errors import SettingsError
from rag.text.chunking import Piece, Splitting, split
from rag.text.document import LoadedDocument
from rag.text.markdown import headings
from tests.rag.ingest.parsers.makers import SENTENCES

GUIDE = """\
Before all.

# Guide

Read  this.

- one
  - two

## Install

Run it.

```sh
# not a heading

make
```

## Use
Ask it.

# End
Bye."""
LETTERS = st.text(alphabet="ab 가나다。.\n#`-", max_size=300)


def document(text: str, **parts: object) -> LoadedDocument:
    return LoadedDocument(text, media_type="text/markdown", headings=headings(text), **parts)  # type: ignore[arg-type]


def words(text: str, pieces: list[Piece]) -> list[str]:
    return [text[piece.start : piece.end] for piece in pieces]


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize(("size", "overlap"), [(200, 0), (200, 60), (900, 100)])
def test_chunks_are_those_of_recursive_character_text_splitter(language: str, size: int, overlap: int):
    text = "\n\n".join(f"{number}. {SENTENCES[language]} {SENTENCES[language]}" for number in range(40))
    theirs = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap).split_text(text)
    assert words(text, split(document(text), Splitting(size, overlap, 0, "recursive"))) == theirs


def test_sections_and_paths_are_those_of_markdown_header_text_splitter():
    levels = [("#" * level, f"Header {level}") for level in range(1, 7)]
    theirs = MarkdownHeaderTextSplitter(levels, strip_headers=False).split_text(GUIDE)
    pieces = split(document(GUIDE), Splitting(900, 100, 0, "markdown"))
    assert [piece.heading for piece in pieces] == [" > ".join(found.metadata.values()) for found in theirs]
    assert [piece.heading for piece in pieces] == ["", "Guide", "Guide > Install", "Guide > Use", "End"]
    found = ["".join(text.split()) for text in words(GUIDE, pieces)]
    assert found == ["".join(each.page_content.split()) for each in theirs]
    assert "# not a heading\n\nmake" in words(GUIDE, pieces)[2], "the text is as it was written"


@pytest.mark.parametrize("splitter", ["recursive", "markdown"])
@given(text=LETTERS, size=st.integers(5, 60), overlap=st.integers(0, 20))
def test_only_white_space_is_left_out_and_no_chunk_is_larger(splitter, text: str, size: int, overlap: int):
    pieces = split(document(text), Splitting(size, min(overlap, size - 1), 0, splitter))
    covered = {place for piece in pieces for place in range(piece.start, piece.end)}
    assert all(character.isspace() for place, character in enumerate(text) if place not in covered)
    assert all(0 < piece.end - piece.start <= size for piece in pieces)


@pytest.mark.parametrize("splitter", ["recursive", "markdown"])
def test_no_chunk_crosses_a_page_and_each_has_its_heading(splitter):
    text = "# One\n\nA lamp.\n\n# Two\n\nAn oar."
    pages = ((1, 0, 15), (2, 15, len(text)))
    pieces = split(document(text, pages=pages), Splitting(100, 10, 0, splitter))
    assert [(piece.page, piece.heading) for piece in pieces] == [(1, "One"), (2, "Two")]


def test_an_unknown_splitter_is_refused():
    with pytest.raises(SettingsError, match="recursive"):
        Splitting(900, 100, 0, "words")  # type: ignore[arg-type]
