"""Trees chosen on the settings page, opened on their own, and told of beside a citation."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Server, serving
from tests.e2e.visitor import Visitor, again, click, press
from tests.rag.raptor.conftest import story

pytestmark = pytest.mark.slow(reason="walks in a browser through a page that tests/ui runs without one")


@pytest.fixture
def own(tmp_path) -> Server:
    with serving(tmp_path, FOOTNOTE_RETRIEVER="raptor-collapsed") as running:
        yield running


def test_a_tree_is_built_opened_and_leads_to_what_is_cited(
    own: Server, visit: Callable[..., Visitor], tmp_path
):
    file = tmp_path / "ships.txt"
    file.write_text(story(["engine", "cargo"]))
    visitor = visit(own.url)
    page = visitor.page
    visitor.go("Library")
    visitor.add(file)
    expect(visitor.row("ships.txt")).to_contain_text("Ready")

    visitor.open_advanced()

    def build(patience: float) -> None:
        page.get_by_text("Quoted from the documents").click(timeout=patience)
        page.locator(".st-key-save-trees").get_by_role("button").press("Enter", timeout=patience)

    again(build, page.get_by_text("Saved."))

    visitor.go_advanced("Show the trees", "Trees")
    expect(page.get_by_text("Summary on level").first).to_be_visible()
    expect(page.get_by_role("img", name="Summary tree of")).to_be_visible()
    opened = page.get_by_text("Path from the top")
    press(page.locator(".st-key-tree-below button").first, then=opened)
    page.reload()
    expect(opened).to_be_visible()

    visitor.go("Chat")
    visitor.ask("What does the engine burn?")
    visitor.finished()
    panel = page.get_by_role("dialog")
    press(page.locator('[class*="st-key-sources-"] button').first, then=panel)
    way = panel.get_by_role("link", name="Show in tree")
    click(panel.get_by_text("Path through the summaries"), then=way)
    expect(panel).to_contain_text("Only the passage is cited")
    press(way, then=page.get_by_text(re.compile("Cited in the last answer")))
    assert visitor.strangers() == [] and visitor.errors == []
