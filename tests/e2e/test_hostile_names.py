"""Files whose names would be a path, a command or a part of the page, dropped in a browser."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Server
from tests.e2e.visitor import Visitor
from tests.hostile.conftest import GOOD, NOTE
from tests.hostile.test_names import NAMES, visible

Visit = Callable[..., Visitor]
DROPPED = [name for name in NAMES if name.isprintable() and len(name) < 60 and visible(name)][5:45:3]


@pytest.mark.slow(reason="looks at the same names in a browser")
def test_in_a_browser_dropped_files_are_named_as_text(server: Server, visit: Visit):
    visitor = visit(server.url + "/library")
    files = [
        {
            "name": f"{number:02d} {name}.md",
            "mimeType": "text/markdown",
            "buffer": f"{NOTE} {number}".encode(),
        }
        for number, name in enumerate(DROPPED)
    ]
    visitor.add(*files, then=visitor.row(f"{len(files) - 1:02d} "))
    for number in range(len(files)):
        expect(visitor.row(f"{number:02d} ")).to_contain_text("Ready")
    text = visitor.page.locator(".stMain [data-testid=stMarkdownContainer]")
    expect(
        text.locator("img, script, iframe, svg[onload], [onerror], [onmouseover], a[href*=evil]")
    ).to_have_count(0)
    visitor.go("Chat")
    visitor.ask(GOOD)
    visitor.finished(1)
    expect(visitor.answers()).to_contain_text("three months")
    assert visitor.page.evaluate("window.ran") is None
    assert visitor.strangers() == [] and visitor.errors == []
