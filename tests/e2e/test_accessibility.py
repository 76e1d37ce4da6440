"""Accessibility: axe-core finds nothing on any page or state, and the whole walk is done by keyboard."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Server
from tests.e2e.visitor import Visitor, again, click, close, gone, press

Visit = Callable[..., Visitor]
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
OF_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
FIND = """
async (rules) => {
  const found = await axe.run(document, { runOnly: rules, resultTypes: ['violations'] });
  return found.violations.flatMap((rule) => rule.nodes.map((node) =>
    [rule.id, node.target.flat().join(' '), node.html.slice(0, 200), node.failureSummary].join(' | ')));
}
"""
TALL = 2400  # pixels: a target below the edge of a screen counts as one that is covered
REST = pytest.mark.slow(reason="the same states at another width or in another theme")


COLOURED = """
(dark) => {
  const { backgroundColor } = getComputedStyle(document.querySelector('.stApp'));
  const channels = backgroundColor.match(/\\d+/g).slice(0, 3);
  const moving = document.getAnimations().filter((one) =>
    one.playState === 'running' && one.effect.getComputedTiming().endTime !== Infinity);
  return channels.every((channel) => (channel < 128) === dark) && moving.length === 0;
}
"""


def violations(page: Page, rules: dict[str, object] = RULES) -> list[str]:
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found: Any = page.evaluate(FIND, rules)
    return list(found)


def violations_of_both_themes(page: Page) -> list[str]:
    """What there is when it is light, and what of colours is when it is dark: all else is the same."""
    found = violations(page)
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(COLOURED, arg=theme == "dark")
        found += violations(page, OF_COLOURS) if theme == "dark" else []
    return found


def each_way(first: tuple[int, bool]) -> pytest.MarkDecorator:
    """Try both widths in both themes: one of each with the usual run, the rest with the long one."""
    ways = [(width, dark) for width in (1440, 390) for dark in (False, True)]
    marked = [way if way == first else pytest.param(*way, marks=REST) for way in ways]
    return pytest.mark.parametrize(("width", "dark"), marked)


def states(visitor: Visitor, url: str) -> Iterator[str]:
    """Go to every page and its main states, and yield the name of each."""
    page = visitor.page
    dialog = page.get_by_role("dialog")
    yield "welcome"
    visitor.ask("How many containers were handled?")
    visitor.finished()
    yield "chat"
    rate = page.get_by_role("button", name="Not helpful", exact=True)  # once it is, "Marked not helpful"
    click(rate, then=page.get_by_text("What was not helpful?"))
    click(page.get_by_role("radio", name="Other", exact=True), then=page.get_by_label("In your words"))
    yield "reasons"
    click(page.get_by_role("button", name="Other search"), then=dialog.get_by_text("Search mode"))
    yield "other search"
    close(dialog)
    click(page.get_by_role("button", name="Other model"), then=dialog.get_by_role("combobox", name="Model"))
    yield "other model"
    close(dialog)
    click(page.get_by_role("link", name="Source 1").first, then=dialog.get_by_role("img"))
    yield "source"
    page.goto(f"{url}/library")
    expect(visitor.row("harbour-report.pdf")).to_contain_text("Ready")
    yield "library"
    click(page.get_by_role("checkbox", name="Select harbour-report.pdf"), then=page.get_by_text("1 selected"))
    yield "selection"
    click(page.get_by_role("button", name="Tag", exact=True), then=dialog)
    yield "tags"
    close(dialog)
    click(page.get_by_role("button", name="harbour-report.pdf", exact=True), then=dialog.get_by_role("img"))
    yield "document"
    chip = page.get_by_role("button", name="Remove harbour-report.pdf")
    click(dialog.get_by_role("button", name="Chat with document"), then=chip)
    yield "scope"
    page.goto(f"{url}/library?view=Sources")
    click(page.get_by_role("button", name="Add a source"), then=dialog)
    yield "source form"
    page.goto(f"{url}/settings")
    visitor.open_advanced()
    yield "settings"
    for path, title in (("check", "Check a text"), ("lab", "Lab"), ("trees", "Trees")):
        page.goto(f"{url}/{path}")
        expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
        yield path


def first_steps(visitor: Visitor) -> Iterator[str]:
    """Go through what the start page offers where there is no model, and yield the name of each state."""
    page = visitor.page
    yield "first step"
    click(
        page.get_by_role("radio", name=re.compile("Install a model|Use an installed model")),
        then=page.get_by_text("without a server or key"),
    )
    yield "install"
    click(page.get_by_role("radio", name="Connect a server"), then=page.get_by_label("Base URL"))
    yield "connect"
    page.get_by_label("Base URL").fill("http://127.0.0.1:9/v1")
    click(page.get_by_role("button", name="List models"), then=page.get_by_role("alert"))
    yield "refused"


@each_way((1440, False))
def test_axe_finds_nothing_in_the_first_step(server: Server, visit: Visit, width: int, dark: bool):
    visitor = visit(server.url, width=width, height=TALL, dark=dark)
    found = {}
    for state in first_steps(visitor):
        visitor.rested()
        found[state] = violations(visitor.page)
    assert {state: nodes for state, nodes in found.items() if nodes} == {}
    assert len(found) == 4


def opened(visitor: Visitor, url: str) -> Iterator[str]:
    """Open the menus, forms and results of the pages, and yield the name of each state."""
    page = visitor.page
    dialog = page.get_by_role("dialog")

    def button(name: str) -> Locator:
        return page.get_by_role("button", name=name, exact=True)

    visitor.ask("How many containers were handled?")
    visitor.finished()
    for menu, inside in (
        ("Rename", page.get_by_role("textbox", name="Title")),
        ("Export", button("Markdown")),
    ):
        click(button(menu), then=inside)
        yield menu
        close(inside)
    click(button("Share"), then=dialog)
    yield "share"
    close(dialog)
    click(button("Edit"), then=page.get_by_role("textbox", name="Your question"))
    yield "edit"
    close(dialog)
    click(button("How was this answered?"), then=dialog.get_by_text("Timing"))
    yield "trace"
    close(dialog)
    click(page.locator(".st-key-scope summary"), then=button("Search these"))
    yield "scope form"
    page.goto(f"{url}/library")
    click(button("harbour-report.pdf"), then=dialog.get_by_role("img"))
    click(dialog.get_by_role("button", name="More"), then=button("Download original"))
    yield "more"
    page.goto(f"{url}/library")
    click(page.get_by_role("checkbox", name="Select harbour-report.pdf"), then=page.get_by_text("1 selected"))
    click(button("Add to collection"), then=dialog)
    yield "add to collection"
    close(dialog)
    click(button("Delete"), then=button("Undo"))
    yield "undo"
    click(button("Undo"), then=visitor.row("harbour-report.pdf"))
    page.goto(f"{url}/check")
    text, result = (
        page.get_by_role("textbox", name="Text"),
        page.get_by_text("statements verified", exact=False),
    )
    text.fill("The first crane was built in Busan. The moon is made of cheese.")
    press(button("Check"), then=result)
    yield "check"
    click(button("Download"), then=button("Web page"))
    yield "check download"


@each_way((1440, False))
def test_axe_finds_nothing_in_menus_forms_and_results(
    with_model: Server, visit: Visit, width: int, dark: bool
):
    visitor = visit(with_model.url, width=width, height=TALL, dark=dark)
    found = {}
    for state in opened(visitor, with_model.url):
        visitor.rested()
        found[state] = violations(visitor.page)
    assert {state: nodes for state, nodes in found.items() if nodes} == {}
    assert len(found) == 11


@each_way((390, True))
def test_axe_finds_nothing_on_any_page(with_model: Server, visit: Visit, width: int, dark: bool):
    visitor = visit(with_model.url, width=width, height=TALL, dark=dark)
    found = {}
    for state in states(visitor, with_model.url):
        visitor.rested()
        found[state] = violations(visitor.page)
    assert {state: nodes for state, nodes in found.items() if nodes} == {}
    assert len(found) == 16


FOCUSED = """
(selector) => {
  let at = document.activeElement;
  while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
  return at !== null && at.matches(selector);
}
"""


def tab_to(page: Page, selector: str, *, back: bool = False, most: int = 60) -> None:
    """Press Tab until what is asked for has the focus."""
    for _ in range(most):
        if page.evaluate(FOCUSED, selector):
            return
        page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"Tab does not lead to {selector}")


def test_the_walk_is_done_by_keyboard_alone(with_model: Server, visit: Visit):
    visitor = visit(with_model.url)
    page, keyboard = visitor.page, visitor.page.keyboard
    box, panel = page.get_by_placeholder("Ask your documents"), page.get_by_role("dialog")
    expect(box).to_be_focused()  # on load
    keyboard.type("How many containers were handled?")
    keyboard.press("Enter")
    visitor.finished()
    expect(page.locator(".told")).to_have_text("The answer has ended.")

    marker = 'a[href^="#cite-"]'
    box.focus()
    tab_to(page, marker, back=True)
    keyboard.press("Enter")
    expect(panel).to_be_focused()
    keyboard.press("Escape")
    expect(panel).to_have_count(0)
    assert page.evaluate(FOCUSED, marker)

    box.focus()
    edit = page.get_by_role("textbox", name="Your question")
    again(lambda _: keyboard.press("ArrowUp"), edit)
    close(edit)

    keyboard.press("Control+k")
    search = page.get_by_role("textbox", name="Search chats")
    expect(search).to_be_focused()
    keyboard.type("no such words")
    expect(page.get_by_text("No matching chats.")).to_be_visible()
    keyboard.press("Control+a")
    keyboard.press("Delete")
    expect(page.get_by_text("No matching chats.")).to_have_count(0)

    tab_to(page, 'a[href$="/library"]', back=True)
    keyboard.press("Enter")
    expect(visitor.row("harbour-report.pdf")).to_be_visible()
    visitor.rested()
    tab_to(page, 'input[aria-label="Select harbour-report.pdf"]')
    keyboard.press("Space")
    expect(page.get_by_text("1 selected", exact=True)).to_be_visible()
    tab_to(page, "button.open")
    keyboard.press("Enter")
    expect(panel).to_be_focused()
    keyboard.press("Escape")
    gone(panel)(10_000)
    visitor.rested()
    assert page.evaluate(FOCUSED, "button.open")
    tab_to(page, ".st-key-selected-chat button", back=True)
    keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove harbour-report.pdf")).to_be_visible()
    expect(box).to_be_focused()
    assert visitor.errors == []
