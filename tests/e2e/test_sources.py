"""A folder becomes documents, follows what happens in it, and goes when it is deleted."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.e2e.conftest import Server, Visitor


def test_a_folder_is_added_read_asked_and_deleted(
    server: Server, visit: Callable[..., Visitor], tmp_path: Path
):
    visitor = visit(server.url)
    folder = tmp_path / "reports"
    (folder / "old").mkdir(parents=True)
    (folder / "castle.md").write_text("# Castle\n\nThe castle of Aldenburg was built in 1432.")
    (folder / "old" / "lamp.txt").write_text("The lamp of the lighthouse burned whale oil.")
    page = visitor.page
    visitor.go("Sources")
    page.get_by_role("button", name="Add a source").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Reports")
    dialog.get_by_label("Folder", exact=True).fill(str(tmp_path / "nowhere"))
    dialog.get_by_role("button", name="Test the connection").click()
    expect(dialog.get_by_role("alert")).to_contain_text("nowhere")
    dialog.get_by_label("Folder", exact=True).fill(str(folder))
    dialog.get_by_role("button", name="Test the connection").click()
    expect(dialog.get_by_text("has 2 files.")).to_be_visible()
    dialog.get_by_role("button", name="Add and read").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("up to date")).to_be_visible()
    expect(page.get_by_text("Folder · 2 documents")).to_be_visible()

    visitor.go("Chat")
    visitor.ask("When was the castle of Aldenburg built?")
    visitor.finished()
    expect(visitor.answers().first).to_contain_text("1432")

    (folder / "castle.md").write_text("# Castle\n\nThe castle of Aldenburg was rebuilt in 1518.")
    (folder / "old" / "lamp.txt").unlink()
    visitor.go("Sources")
    page.get_by_role("button", name="Sync now").click()
    expect(page.get_by_text("Folder · 1 document ")).to_be_visible()
    expect(page.get_by_text("up to date")).to_be_visible()  # drawn anew while something runs, a menu closes

    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete them, too").click()
    expect(page.get_by_text("There is none yet.")).to_be_visible()
    visitor.go("Documents")
    expect(page.get_by_text("Nothing here yet.")).to_be_visible()
    assert visitor.errors == []
    assert visitor.strangers() == []
