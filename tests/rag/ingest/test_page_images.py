"""Page images: drawn once, kept for a while, drawn ahead in the background."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rag.errors import DocumentRefused
from rag.ingest.page_images import PageImages, WantedPage
from rag.ingest.parsers import load, pdf_highlight
from rag.ingest.parsers.pdf_highlight import PageImage
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import Placed


@pytest.fixture
def page(tmp_path: Path) -> WantedPage:
    path = makers.pdf(tmp_path / "a.pdf", [[Placed("The fee is 3 euros.", 72, 700)]])
    return WantedPage(path, 1, load(path, "a.pdf").text, ((0, 7),))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the pages that were really drawn."""
    numbers: list[int] = []

    def count(path: Path, number: int, *args: object, **options: object) -> PageImage:
        numbers.append(number)
        return draw(path, number, *args, **options)

    draw = pdf_highlight.page_image
    monkeypatch.setattr(pdf_highlight, "page_image", count)
    return numbers


def test_a_page_is_drawn_once_for_all_who_ask_at_the_same_time(page: WantedPage, drawn: list[int]):
    with closing(PageImages()) as images:
        found: list[PageImage] = []
        asking = [threading.Thread(target=lambda: found.append(images.draw(page))) for _ in range(4)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
    assert drawn == [1] and len(found) == 4 and found[0].boxes and found[0].certain


def test_an_expected_page_is_there_before_anyone_asks(page: WantedPage, drawn: list[int]):
    images = PageImages()
    read = threading.Event()

    def expected() -> Iterator[WantedPage]:
        read.set()
        yield page

    images.draw_ahead(expected())
    assert read.wait(20)
    images.close()  # waits for what has begun
    assert drawn == [1]
    assert images.draw(page).certain and drawn == [1]


def test_only_the_latest_pages_are_kept(page: WantedPage, drawn: list[int]):
    other = WantedPage(page.path, 1, page.text, ())
    with closing(PageImages(kept=1)) as images:
        for wanted in (page, page, other, page):
            images.draw(wanted)
    assert drawn == [1, 1, 1]


def test_a_page_that_cannot_be_drawn_ahead_says_why_when_it_is_asked_for(
    page: WantedPage, caplog: pytest.LogCaptureFixture
):
    missing = WantedPage(page.path, 9, page.text)

    def expected() -> Iterator[WantedPage]:
        read.set()
        yield missing

    images, read = PageImages(), threading.Event()
    with caplog.at_level("INFO", "rag.ingest.page_images"):
        images.draw_ahead(expected())
        assert read.wait(20)
        images.close()
    assert "was not drawn ahead" in caplog.text
    with pytest.raises(DocumentRefused, match="no page 9"):
        images.draw(missing)
