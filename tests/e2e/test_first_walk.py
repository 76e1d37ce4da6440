"""The way of someone who comes for the first time, with no model connected."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Server, serving
from tests.e2e.visitor import Visitor, again, click, close, press
from tests.faults.tab import Tab

Visit = Callable[..., Visitor]
WIDER = """() => {
  const panel = document.querySelector('.st-key-source-panel');
  return panel.querySelector('img').getBoundingClientRect().width > 1.5 * panel.clientWidth;
}"""
MARK_IN_SIGHT = """() => {
  const page = document.querySelector('.st-key-source-page-large');
  const marked = page.querySelector('[class*="st-key-source-mark-"]');
  const [, across, down] = marked.className.match(/st-key-source-mark-\\d+-(\\d+)-(\\d+)/);
  const image = marked.querySelector('img').getBoundingClientRect(), shown = page.getBoundingClientRect();
  const left = image.left + image.width * across / 100, top = image.top + image.height * down / 100;
  return left > shown.left && left < shown.right && top > shown.top && top < shown.bottom;
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The application with no model connected, which takes files of one megabyte."""
    with serving(tmp_path_factory.mktemp("small"), FOOTNOTE_MAX_UPLOAD_MB="1") as running:
        yield running


def test_upload_ask_follow_up_check_and_come_back(tmp_path: Path, visit: Visit, report: Path):
    with serving(tmp_path) as server:
        visitor = visit(server.url)
        page = visitor.page
        expect(page.get_by_role("heading", name="Ask your own documents")).to_be_visible()
        visitor.add(report, then=page.get_by_role("heading", name="Ask your documents"))
        visitor.go("Library")
        expect(visitor.row(report.name)).to_contain_text("Ready")
        expect(page.get_by_text("1 document · 2 pages", exact=True)).to_be_visible()

        visitor.go("Chat")
        visitor.ask("How many containers were handled in 2024?")
        visitor.finished(1)
        expect(visitor.answers().first).to_contain_text("4.1 million containers")
        visitor.ask("And what about the second crane?")
        visitor.finished(2)
        expect(visitor.answers().last).to_contain_text("Searched for: And what about the second crane?")
        expect(visitor.answers().last).to_contain_text("Kobe")

        marker = page.get_by_role("link", name="Source 1: “The harbour handled 4.1 million").first
        panel = page.get_by_role("dialog")
        press(marker, then=panel)
        expect(panel).to_contain_text("harbour-report.pdf")
        expect(panel).to_contain_text("Cited words")
        drawn = panel.get_by_role("img", name="Page 1, cited words highlighted")
        expect(drawn).to_be_visible()
        fit = panel.get_by_role("button", name="Fit page")
        click(panel.get_by_role("button", name="Enlarge page"), then=fit)
        page.wait_for_function(WIDER)
        page.wait_for_function(MARK_IN_SIGHT)
        press(fit, then=panel.get_by_role("button", name="Enlarge page"))
        expect(page).to_have_url(re.compile(r"\?chat=\w+&cite="))
        deep_link = page.url
        close(panel)
        expect(marker).to_be_focused()

        page.reload()
        visitor.finished(2)
        page.goto(deep_link)
        expect(panel).to_contain_text("4.1 million containers")
        assert visitor.strangers() == [] and visitor.errors == []

        server.stop()
        with serving(tmp_path) as again, closing(Tab.open(again.url)) as tab:
            tab.until(lambda: bool(tab.shown.ways("open-")))
            tab.press(*tab.shown.ways("open-"), then=lambda: len(tab.shown.ways("again-")) == 2)
            assert "4.1 million containers" in tab.text and "Kobe" in tab.text


@pytest.mark.slow(reason="walks in a browser through what tests/ui does without one")
def test_documents_and_chats_are_deleted_and_come_back_by_undo(tmp_path: Path, visit: Visit, read: Path):
    shutil.copytree(read, tmp_path / "data")
    with serving(tmp_path) as server:
        visitor = visit(server.url)
        page = visitor.page
        visitor.ask("How many containers were handled in 2024?")
        visitor.finished(1)
        chat = page.get_by_test_id("stSidebarUserContent").get_by_role("button", name="How many containers")
        _delete_the_document(visitor)
        page.go_back()
        click(chat, then=visitor.answers().first)
        panel = page.get_by_role("dialog")
        click(page.get_by_role("link", name="Source 1").first, then=panel)
        expect(panel).to_contain_text("This document was deleted")
        expect(panel).to_contain_text("4.1 million containers")
        close(panel)
        delete, undo = (page.get_by_role("button", name=name, exact=True) for name in ("Delete", "Undo"))
        click(delete, then=page.get_by_role("heading", name="Ask your own documents"))
        expect(chat).to_have_count(0)
        click(undo, then=chat)
        click(chat, then=visitor.answers().first)
        click(delete, then=page.get_by_role("heading", name="Ask your own documents"))
        expect(undo).to_have_count(0)
        expect(chat).to_have_count(0)
        assert visitor.strangers() == [] and visitor.errors == []


def _delete_the_document(visitor: Visitor) -> None:
    page = visitor.page
    visitor.go("Library")
    empty = page.get_by_text("No documents yet.", exact=False)
    click(page.get_by_role("checkbox", name="Select harbour-report.pdf"), then=page.get_by_text("1 selected"))
    click(page.get_by_role("button", name="Delete", exact=True), then=empty)
    click(page.get_by_role("button", name="Undo"), then=visitor.row("harbour-report.pdf"))
    click(page.get_by_role("checkbox", name="Select harbour-report.pdf"), then=page.get_by_text("1 selected"))
    click(page.get_by_role("button", name="Delete", exact=True), then=empty)
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)  # its time is over


@pytest.mark.slow(reason="tests/faults/test_dropped_files.py does it without a browser")
def test_files_and_a_question_go_in_together(server: Server, visit: Visit, tmp_path: Path):
    notes = tmp_path / "휴가.md"
    notes.write_text(
        "# 휴가\n\n연차 휴가는 3월 31일까지 사용해야 합니다. 남은 휴가는 넘어가지 않습니다.\n", "utf-8"
    )
    visitor = visit(server.url)
    page = visitor.page
    clip = page.locator('[data-testid="stChatInput"] input[type=file]').first
    again(lambda patience: clip.set_input_files([notes], timeout=patience), page.get_by_text("휴가.md"))
    visitor.ask("연차 휴가는 언제까지 사용해야 합니까?")
    visitor.finished(1)
    expect(visitor.answers()).to_contain_text("3월 31일까지")
    panel = page.get_by_role("dialog")
    click(page.get_by_role("link", name="Source 1").first, then=panel)
    expect(panel).to_contain_text("휴가.md")
    marked = panel.locator(".stMarkdownColoredBackground")
    expect(marked).to_contain_text("연차 휴가는 3월 31일까지 사용해야 합니다.")


def test_what_was_added_is_introduced_above_the_input_without_scrolling(
    server: Server, visit: Visit, tmp_path: Path
):
    page = (visitor := visit(server.url)).page
    files = [tmp_path / f"{name}.md" for name in ("ferry", "crane", "quay")]
    for file in files:
        what = f"The {file.stem} of Holm was built in 1931 by the yard of Varn, which was paid in silver, "
        file.write_text(f"{what}and it has carried goods and people over the harbour of Holm ever since.")
    visitor.add(*files, then=page.locator(".st-key-introduction", has_text="quay.md"))
    offered = page.locator(".st-key-introduction-questions button")
    expect(offered).to_have_count(3)
    visitor.rested()
    bottom = page.get_by_test_id("stBottom").bounding_box()
    last = offered.last.bounding_box()
    assert bottom and last and last["y"] + last["height"] <= bottom["y"]


@pytest.mark.slow(reason="walks in a browser through what tests/ui/documents does without one")
def test_each_file_has_its_own_result_and_its_original_back(server: Server, visit: Visit, tmp_path: Path):
    good, empty, image = tmp_path / "受注.txt", tmp_path / "empty.txt", tmp_path / "photo.png"
    good.write_text("受注の締め切りは毎月二十日です。", "utf-8")
    empty.touch()
    image.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    visitor = visit(server.url + "/library", width=390, height=844)
    page = visitor.page
    visitor.add(good, empty, image)
    for file in (empty, image):
        expect(visitor.row(file.name)).to_contain_text("Could not be read")
    expect(page.get_by_text("empty.txt is empty", exact=False)).to_be_visible()
    expect(visitor.row("受注.txt")).to_contain_text("Ready")
    expect(page.get_by_role("button", name="Try again: empty.txt")).to_have_count(0)  # it would not help
    delete = page.get_by_role("button", name="Delete: empty.txt")
    click(delete, then=page.get_by_role("button", name="Undo"))
    expect(delete).to_have_count(0)
    visitor.fits()
    more = page.get_by_role("dialog").get_by_role("button", name="More")
    click(page.get_by_role("button", name="受注.txt", exact=True), then=more)
    download = visitor.download(more, "Download original")
    assert download.suggested_filename == "受注.txt"
    assert Path(download.path()).read_bytes() == good.read_bytes()


def test_a_second_process_on_the_same_data_is_told_which_has_it(server: Server):
    with serving(server.data.parent) as second:
        tab = Tab.open(second.url)
        tab.until(lambda: str(server.process.pid) in tab.text and "Try again" in tab.text)
        tab.close()


def test_another_site_cannot_reach_the_pages_through_a_name_of_its_own(server: Server, browser, visit: Visit):
    port = server.url.rsplit(":", 1)[1]
    visitor = visit(f"http://rebound.localhost:{port}")
    expect(visitor.page.get_by_role("heading", name="Ask your")).to_have_count(0)


def test_a_file_that_is_too_large_is_named_beside_those_that_are_taken(
    server: Server, visit: Visit, tmp_path: Path
):
    large, small = tmp_path / "large.txt", tmp_path / "small.txt"
    large.write_bytes(b"word " * 400_000)
    small.write_text("Receipts are due within thirty days.", "utf-8")
    visitor = visit(server.url + "/library")
    visitor.add(large, small)
    expect(visitor.row("small.txt")).to_contain_text("Ready")
    uploader = visitor.page.get_by_test_id("stFileUploader")
    expect(uploader).to_contain_text("large.txt")
    expect(uploader).to_contain_text("File must be 1.0MB or smaller")
