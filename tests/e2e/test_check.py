"""Which statements of a draft does the report say? From a pasted text to the highlighted words."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import docx
import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Server, serving
from tests.e2e.visitor import Visitor, again, click, close

Visit = Callable[..., Visitor]
DRAFT = """# Our harbour

The harbour handled 4.1 million containers in 2024. The second crane lifts 95 tonnes and was built in Rome.

- The authority employed 1,204 people at the end of the year.
- <img src=http://evil.test/x> The mayor was <b>pleased</b> with all of it.
"""


LOOKS = """mark => {
  const { borderTopWidth, borderTopStyle, marginRight, fontSize } = getComputedStyle(mark);
  if (parseFloat(marginRight) < 3 || parseFloat(fontSize) < 12) throw new Error('small or too close');
  return borderTopWidth + borderTopStyle;
}"""
"""Line around a mark; fails for one that is small, or that touches the next word."""


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory, read: Path) -> Iterator[Server]:
    """The application with the report in its library, without a model."""
    folder = tmp_path_factory.mktemp("check")
    shutil.copytree(read, folder / "data")
    with serving(folder) as running:
        yield running


@pytest.mark.slow(reason="walks in a browser through a page that tests/ui runs without one")
def test_a_pasted_text_comes_back_with_its_sources(reading: Server, visit: Visit, tmp_path: Path):
    visitor = visit(reading.url + "/check", width=390)
    page = visitor.page
    done = page.get_by_text("2 of 4 statements verified")

    def check(patience: float) -> None:
        page.get_by_role("textbox", name="Text").fill(DRAFT, timeout=patience)
        page.get_by_role("button", name="Check", exact=True).click(timeout=patience)

    again(check, done)
    visitor.fits()
    expect(page.get_by_text("4 · Not found in your documents")).to_be_visible()
    found = page.get_by_role("link", name="Source 1: Verified")
    assert found.evaluate(LOOKS) != page.get_by_role("link", name="Source 2: Not confirmed").evaluate(LOOKS)
    panel = page.get_by_role("dialog")
    mark = page.get_by_role("link", name="Source 1: Verified")
    again(lambda patience: mark.press("Enter", timeout=patience), panel)
    expect(panel.get_by_role("img", name="Page 1, cited words highlighted")).to_be_visible()
    close(panel)
    expect(mark).to_be_focused()
    click(page.get_by_role("button", name="3 · harbour-report.pdf, page 2"), then=panel)
    expect(panel).to_contain_text("Statement: The authority employed 1,204 people at the end of the year.")
    close(panel)
    taken = visitor.download(page.get_by_role("button", name="Download"), "Word, with comments")
    taken.save_as(tmp_path / "checked.docx")
    assert len(list(docx.Document(str(tmp_path / "checked.docx")).comments)) == 4
    assert visitor.strangers() == [] and visitor.errors == []
