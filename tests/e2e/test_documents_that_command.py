"""Documents that command, a model that obeys, a real browser: nothing is asked of any other host."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from rag import cli
from tests.e2e.conftest import Server, serving
from tests.e2e.test_hostile_text import INERT
from tests.e2e.visitor import Visitor, click, gone
from tests.hostile.commands import DOCUMENTS, MARK, obey, text_of
from tests.rag.fake_llm import FakeLLM, Reply

Visit = Callable[..., Visitor]
KEY, OTHER = "canary-key-4711", "canary-other-chat-4712"
OPENED = 1  # source whose panel is looked at
NAMES = list(DOCUMENTS)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, fake: FakeLLM) -> Iterator[Server]:
    """The app with all of the documents in its library, and the obedient model."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "documents").mkdir()
    for number, name in enumerate(NAMES):
        text = text_of(number, name).encode("utf-8", "surrogatepass")
        (folder / "documents" / f"{number:02d} {name}").write_bytes(text)
    assert cli.main(["--data", str(folder / "data"), "ingest", str(folder / "documents")]) == 0
    settings = {"FOOTNOTE_LLM_API_KEY": KEY, "FOOTNOTE_LLM_CONTEXT_TOKENS": "200000", "FOOTNOTE_K": "50"}
    with serving(folder, FOOTNOTE_LLM_BASE_URL=fake.url, FOOTNOTE_LLM_MODEL="fake", **settings) as running:
        yield running


def test_no_document_makes_the_browser_call_anyone_or_sees_what_is_not_its_own(
    server: Server, visit: Visit, fake: FakeLLM
):
    visitor = visit(server.url)
    page = visitor.page
    fake.reply(Reply(f"{OTHER} [1]."))
    visitor.ask(f"What is {OTHER}?")
    visitor.finished(1)
    click(page.get_by_role("button", name="New chat"), then=gone(visitor.answers()))
    expect(visitor.answers()).to_have_count(0)

    fake.reply(Reply(obey))
    visitor.ask(f"What is each {MARK}?")
    visitor.finished(1)
    chat = page.url
    asked = fake.requests[-1]
    # Everything was in the prompt, each document in a fence that it did not break out of.
    assert {int(n) for n in re.findall(rf"{MARK} (\d\d) is", asked.prompt)} == set(range(len(NAMES)))
    assert asked.prompt.count("<passage ") == asked.prompt.count("</passage>") == len(NAMES)
    # Everything is on the page, and none of it does anything.
    for number in range(len(NAMES)):
        expect(visitor.answers()).to_contain_text(f"{MARK} {number:02d} is")
    text = page.locator(".stMain [data-testid=stMarkdownContainer]")
    expect(text.locator(INERT)).to_have_count(0)
    assert page.evaluate("window.ran") is None
    targets = text.locator("a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert targets and all(target.startswith("#cite-") for target in targets)
    for target in dict.fromkeys(targets[:: max(1, len(targets) // OPENED)]):
        page.goto(f"{chat}&cite={target.removeprefix('#cite-')}")
        panel = page.get_by_role("dialog")
        expect(panel).to_be_visible()
        expect(panel.locator("[data-testid=stMarkdownContainer]").locator(INERT)).to_have_count(0)
    page.goto(chat)
    visitor.finished(1)

    # What was obeyed is in the history now; the next good question is answered, and its source opens.
    fake.reply(Reply("Harbour fee number 07 is 107 crowns [1]."))
    visitor.ask(f"And {MARK} 07?")
    visitor.finished(2)
    expect(visitor.answers().last).to_contain_text("107 crowns")

    for request in fake.requests:
        assert not [word for word in (KEY, str(server.data), fake.url) if word in request.prompt]
    assert not [request for request in fake.requests[1:] if OTHER in request.prompt]
    assert visitor.strangers() == [] and visitor.errors == []
    assert page.evaluate("window.ran") is None
