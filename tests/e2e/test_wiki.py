"""A wiki becomes documents by way of the sources, and a citation leads back to the page of the wiki."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import serving
from tests.e2e.visitor import Visitor, again, click, gone
from tests.rag.connectors.confluence_server import ConfluenceServer

pytestmark = pytest.mark.slow(reason="walks in a browser through a page that tests/ui runs without one")


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
            visitor.sources()
            dialog = page.get_by_role("dialog")
            address = dialog.get_by_label("Address", exact=True)
            click(
                page.get_by_role("button", name="Add a source"),
                dialog.get_by_role("radio", name="Confluence"),
                then=address,
            )

            def connect(patience: float, secret: str) -> None:
                address.fill(wiki.home, timeout=patience)
                dialog.get_by_label("Spaces", exact=True).fill("DOCS", timeout=patience)
                dialog.get_by_label("Name of the secret", exact=True).fill(secret, timeout=patience)
                dialog.get_by_role("button", name="Test connection").click(timeout=patience)

            refused = dialog.get_by_role("alert").filter(has_text="does not accept the token")
            again(partial(connect, secret="old"), refused)
            again(partial(connect, secret="wiki"), dialog.get_by_text("Can be read: All of DOCS."))
            click(dialog.get_by_role("button", name="Add and sync"), then=gone(dialog))
            expect(page.get_by_text("Confluence · 2 documents")).to_be_visible()

            visitor.go("Chat")
            visitor.ask("When did the harbour of Veldham open?")
            visitor.finished()
            panel = page.get_by_role("dialog")
            click(page.get_by_role("link", name="Source 1").first, then=panel)
            expect(panel).to_contain_text("The harbour of Veldham opened in 1887.")
            link = panel.locator(f'a[href="{wiki.home}/spaces/DOCS/pages/1/Harbour"]')
            expect(link).to_be_visible()
            assert "right" not in server.log.read_text(errors="replace")
