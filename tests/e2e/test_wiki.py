"""A wiki becomes documents by way of the Sources page, and a citation leads back to the page of the wiki."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visitor, serving
from tests.rag.sources.confluence_server import ConfluenceServer


@pytest.mark.timeout(180)
def test_a_wiki_is_connected_asked_and_followed_to_its_own_page(
    tmp_path: Path, visit: Callable[..., Visitor]
):
    with ConfluenceServer(accepts="Bearer right") as wiki:
        wiki.space("DOCS")
        wiki.page("1", "Harbour", "<h1>History</h1><p>The harbour of Veldham opened in 1887.</p>", "DOCS")
        wiki.page("2", "항구 안내", "<p>벨담 항구는 1931년에 문을 닫았다.</p>", "DOCS", parent="1")
        secrets = {"FOOTNOTE_SECRET_WIKI": "right", "FOOTNOTE_SECRET_OLD": "expired"}
        with serving(tmp_path, FOOTNOTE_PRIVATE_HOSTS="127.0.0.1", **secrets) as server:
            visitor = visit(server.url)
            page = visitor.page
            visitor.go("Sources")
            page.get_by_role("button", name="Add a source").click()
            dialog = page.get_by_role("dialog")
            dialog.get_by_role("radio", name="Confluence").click()
            dialog.get_by_label("Address", exact=True).fill(wiki.home)
            dialog.get_by_label("Spaces", exact=True).fill("DOCS")
            dialog.get_by_label("Name of the secret", exact=True).fill("old")
            dialog.get_by_role("button", name="Test the connection").click()
            expect(dialog.get_by_role("alert")).to_contain_text("does not accept the token")
            dialog.get_by_label("Name of the secret", exact=True).fill("wiki")
            dialog.get_by_role("button", name="Test the connection").click()
            expect(dialog.get_by_text("Can be read: All of DOCS.")).to_be_visible()
            dialog.get_by_role("button", name="Add and read").click()
            expect(dialog).to_have_count(0)
            expect(page.get_by_text("Confluence · 2 documents")).to_be_visible()

            visitor.go("Chat")
            visitor.ask("When did the harbour of Veldham open?")
            visitor.finished()
            page.get_by_role("link", name="Source 1").first.click()
            panel = page.get_by_role("dialog")
            expect(panel).to_contain_text("The harbour of Veldham opened in 1887.")
            link = panel.locator(f'a[href="{wiki.home}/spaces/DOCS/pages/1/Harbour"]')
            expect(link).to_be_visible()
            assert "right" not in server.log.read_text(errors="replace")
