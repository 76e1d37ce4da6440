"""A folder becomes documents, follows what happens in it, and goes when it is deleted."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Server
from tests.e2e.visitor import Visitor, again, click, gone


@pytest.mark.slow(reason="walks in a browser through a page that tests/ui runs without one")
def test_a_folder_is_added_read_asked_and_deleted(
    server: Server, visit: Callable[..., Visitor], tmp_path: Path
):
    visitor = visit(server.url)
    folder = tmp_path / "reports"
    (folder / "old").mkdir(parents=True)
    (folder / "castle.md").write_text("# Castle\n\nThe castle of Aldenburg was built in 1432.")
    (folder / "old" / "lamp.txt").write_text("The lamp of the lighthouse burned whale oil.")
    page = visitor.page
    visitor.sources()
    dialog = page.get_by_role("dialog")
    click(page.get_by_role("button", name="Add a source"), then=dialog)

    def look(patience: float, into: Path) -> None:
        dialog.get_by_label("Name").fill("Reports 보고서와 報告書", timeout=patience)
        dialog.get_by_label("Folder", exact=True).fill(str(into), timeout=patience)
        dialog.get_by_role("button", name="Test connection").click(timeout=patience)

    wrong = dialog.get_by_role("alert").filter(has_text="nowhere")
    again(partial(look, into=tmp_path / "nowhere"), wrong)
    click(dialog.get_by_role("button", name="Add and sync"), then=wrong)
    again(partial(look, into=folder), dialog.get_by_text("has 2 files."))
    click(dialog.get_by_role("button", name="Add and sync"), then=gone(dialog))
    expect(page.get_by_text("up to date")).to_have_count(1)  # what could not be reached was not kept
    expect(page.get_by_text("Folder · 2 documents")).to_be_visible()

    visitor.documents()
    page.set_viewport_size({"width": 390, "height": 844})
    expect(visitor.row("castle.md")).to_contain_text("From Reports 보고서와 報告書")
    visitor.fits()
    page.set_viewport_size({"width": 1280, "height": 900})

    visitor.go("Chat")
    visitor.ask("When was the castle of Aldenburg built?")
    visitor.finished()
    expect(visitor.answers().first).to_contain_text("1432")

    (folder / "castle.md").write_text("# Castle\n\nThe castle of Aldenburg was rebuilt in 1518.")
    (folder / "old" / "lamp.txt").unlink()
    visitor.sources()
    click(page.get_by_role("button", name="Sync now"), then=page.get_by_text("Folder · 1 document "))
    expect(page.get_by_text("up to date")).to_be_visible()  # drawn anew while something runs, a menu closes

    click(
        page.get_by_role("button", name="More"),
        page.get_by_role("button", name="Delete", exact=True),
        dialog.get_by_role("button", name="Delete documents too"),
        then=page.get_by_text("No sources yet."),
    )
    visitor.documents()
    expect(page.get_by_text("No documents yet.")).to_be_visible()
    assert visitor.errors == []
    assert visitor.strangers() == []
