"""Documents grouped, and a chat that searches some of them: what a person does, with mouse and keyboard."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from playwright.sync_api import expect

from tests.e2e.conftest import PATIENCE, Server, Visitor

Visit = Callable[..., Visitor]
HARBOUR = "The harbour of Aldenburg handled 4.1 million containers in 2024."
CASTLE = "The castle of Aldenburg was built in 1432. Its moat is nine metres deep."
QUESTION = "What is there to know about Aldenburg?"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    harbour, castle = tmp_path / "harbour.md", tmp_path / "castle.md"
    harbour.write_text(HARBOUR)
    castle.write_text(CASTLE)
    return harbour, castle


def new_collection(visitor: Visitor, name: str) -> None:
    page = visitor.page
    page.get_by_role("button", name="New collection").click()
    page.get_by_role("textbox", name="Name of the new collection").fill(name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("combobox", name="Collection", exact=True)).to_have_value(name)


def searches(visitor: Visitor, what: str) -> None:
    expect(visitor.page.get_by_text(f"Searches: {what}", exact=True)).to_be_visible()


def tick(visitor: Visitor, name: str) -> None:
    """Tick a document by the space bar; again where the page was drawn anew just then."""
    box = visitor.page.get_by_role("checkbox", name=f"Choose {name}")
    for patience in (10_000, 20_000, PATIENCE):
        if not box.is_checked():
            box.press("Space")
        try:
            visitor.page.get_by_text("1 chosen", exact=True).wait_for(timeout=patience)
        except PlaywrightTimeoutError:
            continue
        return
    expect(visitor.page.get_by_text("1 chosen", exact=True)).to_be_visible()


@pytest.mark.timeout(400)
def test_documents_are_grouped_and_a_chat_searches_what_is_chosen_for_it(
    server: Server, visit: Visit, files: tuple[Path, Path]
):
    visitor = visit(server.url)
    page = visitor.page
    visitor.go("Documents")
    visitor.add(files[1])
    expect(visitor.row("castle.md")).to_contain_text("Ready")
    new_collection(visitor, "Harbours")
    visitor.add(files[0])
    expect(visitor.row("harbour.md")).to_contain_text("Harbours")
    expect(visitor.row("harbour.md")).to_contain_text("Ready")
    expect(page.locator('[class*="st-key-document-"]').filter(has_text="castle.md")).to_have_count(0)

    page.get_by_role("button", name="Chat with it").click()
    searches(visitor, "Harbours")
    visitor.ask(QUESTION)
    visitor.finished(1)
    expect(visitor.answers().first).to_contain_text("Searched in: Harbours (collection)")
    expect(visitor.answers().first).to_contain_text("containers")
    expect(visitor.answers().first).not_to_contain_text("castle")
    page.reload()
    searches(visitor, "Harbours")

    page.get_by_text("Searches: Harbours", exact=True).click()
    page.get_by_role("button", name="Search all documents").click()
    searches(visitor, "All documents")
    visitor.ask("How deep is the moat of the castle of Aldenburg?")
    visitor.finished(2)
    expect(visitor.answers().last).to_contain_text("Searched in: all documents")
    expect(visitor.answers().last).to_contain_text("nine metres")
    assert visitor.strangers() == [] and visitor.errors == []


@pytest.mark.timeout(400)
def test_it_works_from_the_keyboard_on_a_narrow_screen(
    server: Server, visit: Visit, files: tuple[Path, Path]
):
    visitor = visit(f"{server.url}/documents", width=390, height=844, dark=True)
    page = visitor.page
    visitor.add(*files)
    for name in ("castle.md", "harbour.md"):
        expect(visitor.row(name)).to_contain_text("Ready")
    tick(visitor, "castle.md")
    page.get_by_role("button", name="Move", exact=True).first.press("Enter")
    where = page.get_by_role("dialog").get_by_role("combobox", name="To the collection")
    where.fill("Castles")
    where.press("Enter")
    move = page.get_by_role("dialog").get_by_role("button", name="Move", exact=True)
    expect(move).to_be_enabled()
    move.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(visitor.row("castle.md")).to_contain_text("Castles")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

    page.goto(server.url)
    searches(visitor, "All documents")
    page.locator("summary").filter(has_text="Searches: All documents").press("Enter")
    chosen = page.get_by_role("combobox", name="Collections")
    chosen.fill("Castles")
    chosen.press("Enter")
    chosen.press("Escape")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Search these").press("Enter")
    searches(visitor, "Castles")
    visitor.ask(QUESTION)
    visitor.finished(1)
    expect(visitor.answers().first).to_contain_text("Searched in: Castles (collection)")

    page.goto(f"{server.url}/documents")
    page.get_by_role("combobox", name="Collection", exact=True).press("ArrowDown")
    page.get_by_role("option", name="Castles", exact=True).click()
    page.get_by_role("button", name="Delete", exact=True).press("Enter")
    page.get_by_role("button", name="Delete for good").press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(visitor.row("castle.md")).to_be_visible()
    page.go_back()
    searches(visitor, "nothing, what was chosen is gone")
    visitor.ask("And how deep is its moat?")
    expect(visitor.answers().last).to_contain_text("Nothing of what is chosen to be searched can be")
    assert visitor.errors == []
