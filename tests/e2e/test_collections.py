"""Documents grouped, and a chat that searches some of them: what a person does, with mouse and keyboard."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Server
from tests.e2e.visitor import Step, Visitor, again, click, gone, press, seen

pytestmark = pytest.mark.slow(reason="walks in a browser through what tests/ui does without one")
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
    box = page.get_by_role("textbox", name="New collection name")
    shown = page.get_by_role("combobox", name="Collection", exact=True)

    def write(patience: float) -> None:
        if not box.is_visible():
            page.get_by_role("button", name="New collection").click(timeout=patience)
        box.fill(name, timeout=patience)
        box.press("Enter", timeout=patience)

    again(write, lambda patience: expect(shown).to_have_value(name, timeout=patience))


def searching(visitor: Visitor, what: str) -> Locator:
    return visitor.page.get_by_text(f"Search in: {what}", exact=True)


def chip(visitor: Visitor, name: str) -> Locator:
    """The part of the search's scope of this name, which a click removes."""
    return visitor.page.get_by_role("button", name=f"Remove {name}")


def tick(visitor: Visitor, name: str) -> None:
    """Tick a document by the space bar."""
    box = visitor.page.get_by_role("checkbox", name=f"Select {name}")
    again(
        lambda patience: box.is_checked() or box.press("Space", timeout=patience),
        visitor.page.get_by_text("1 selected", exact=True),
    )


def move(visitor: Visitor, to: str) -> Step:
    """Move what is ticked into a collection, by keyboard."""
    dialog = visitor.page.get_by_role("dialog")
    where = dialog.get_by_role("textbox", name="New collection")
    now = dialog.get_by_role("button", name="Add", exact=True)

    def act(patience: float) -> None:
        if not dialog.is_visible():
            add = visitor.page.get_by_role("button", name="Add to collection").first
            add.press("Enter", timeout=patience)
        where.fill(to, timeout=patience)
        now.press("Enter", timeout=patience)

    return act


def search_in(visitor: Visitor, name: str) -> Step:
    """Choose the one collection that a chat searches, by keyboard, where the choice stands open."""
    chosen = visitor.page.get_by_role("combobox", name="Collections")

    def act(patience: float) -> None:
        chosen.fill(name, timeout=patience)
        chosen.press("Enter", timeout=patience)
        chosen.press("Escape", timeout=patience)
        visitor.page.get_by_role("button", name="Search these").press("Enter", timeout=patience)

    return act


def test_documents_are_grouped_and_a_chat_searches_what_is_chosen_for_it(
    server: Server, visit: Visit, files: tuple[Path, Path]
):
    visitor = visit(server.url)
    page = visitor.page
    visitor.go("Library")
    visitor.add(files[1])
    expect(visitor.row("castle.md")).to_contain_text("Ready")
    new_collection(visitor, "Harbours")
    visitor.add(files[0])
    expect(visitor.row("harbour.md")).to_contain_text("Harbours")
    expect(visitor.row("harbour.md")).to_contain_text("Ready")
    expect(page.locator("tbody tr").filter(has_text="castle.md")).to_have_count(0)

    click(page.get_by_role("button", name="Chat with collection"), then=chip(visitor, "Harbours"))
    visitor.ask(QUESTION)
    visitor.finished(1)
    expect(visitor.answers().first).not_to_contain_text("Searched in")
    expect(visitor.answers().first).to_contain_text("containers")
    expect(visitor.answers().first).not_to_contain_text("castle")
    page.reload()
    click(
        page.get_by_text("Change", exact=True),
        page.get_by_role("button", name="Search all documents"),
        then=searching(visitor, "All documents"),
    )
    visitor.ask("How deep is the moat of the castle of Aldenburg?")
    visitor.finished(2)
    expect(visitor.answers().first).to_contain_text("Searched in: Harbours (collection)")
    expect(visitor.answers().last).to_contain_text("nine metres")
    assert visitor.strangers() == [] and visitor.errors == []


def test_a_chat_over_two_of_many_files_takes_four_clicks(
    server: Server, visit: Visit, files: tuple[Path, Path], tmp_path: Path
):
    other = tmp_path / "moat.md"
    other.write_text("The moat of Aldenburg is fed by the river Alde.")
    visitor = visit(server.url)
    page = visitor.page
    visitor.go("Library")
    visitor.add(*files, other)
    for file in (*files, other):
        expect(visitor.row(file.name)).to_contain_text("Ready")
    page.goto(server.url)
    visitor.go("Library")  # the first click
    for number, name in enumerate(("castle.md", "moat.md"), 1):
        box = page.get_by_role("checkbox", name=f"Select {name}")
        again(
            lambda patience, box=box: box.is_checked() or box.click(timeout=patience),
            page.get_by_text(f"{number} selected", exact=True),
        )
    click(page.get_by_role("button", name="Chat with selection"), then=chip(visitor, "castle.md"))
    visitor.ask("What is there to know about Aldenburg and its river?")
    visitor.finished(1)
    expect(chip(visitor, "castle.md")).to_be_visible()
    expect(visitor.answers()).to_contain_text("moat.md")
    expect(visitor.answers()).not_to_contain_text("harbour.md")


def test_a_document_is_selected_again_after_its_deletion_was_undone(
    server: Server, visit: Visit, files: tuple[Path, Path]
):
    visitor = visit(f"{server.url}/library")
    page = visitor.page
    visitor.add(*files)
    for file in files:
        expect(visitor.row(file.name)).to_contain_text("Ready")
    tick(visitor, "castle.md")
    click(page.get_by_role("button", name="Delete", exact=True), then=gone(visitor.row("castle.md")))
    click(page.get_by_role("button", name="Undo"), then=visitor.row("castle.md"))
    expect(page.get_by_text("1 selected", exact=True)).to_have_count(0)
    tick(visitor, "castle.md")
    expect(page.get_by_role("button", name="Delete", exact=True)).to_be_visible()


def test_it_works_from_the_keyboard_on_a_narrow_screen(
    server: Server, visit: Visit, files: tuple[Path, Path]
):
    visitor = visit(f"{server.url}/library", width=390, height=844, dark=True)
    page = visitor.page
    visitor.add(*files)
    for name in ("castle.md", "harbour.md"):
        expect(visitor.row(name)).to_contain_text("Ready")
    tick(visitor, "castle.md")
    again(move(visitor, "Castles"), seen(visitor.row("castle.md").filter(has_text="Castles")))
    expect(page.get_by_role("dialog")).to_have_count(0)
    visitor.fits()

    page.goto(server.url)
    press(
        page.locator("summary").filter(has_text="Search in: All documents"),
        then=page.get_by_role("combobox", name="Collections"),
    )
    visitor.fits()
    again(search_in(visitor, "Castles"), chip(visitor, "Castles"))
    visitor.ask(QUESTION)
    visitor.finished(1)
    expect(visitor.answers().first).to_contain_text("nine metres")

    page.goto(f"{server.url}/library")
    visitor.choose("Collection", "Castles")
    delete, sure = (
        page.get_by_role("button", name=name, exact=True) for name in ("Delete", "Delete permanently")
    )
    press(delete, sure, then=gone(delete))
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(visitor.row("castle.md")).to_be_visible()
    page.go_back()
    expect(searching(visitor, "nothing (the selection was deleted)")).to_be_visible()
    visitor.ask("And how deep is its moat?")
    expect(visitor.answers().last).to_contain_text("Nothing of what is chosen to be searched can be")
    assert visitor.errors == []
