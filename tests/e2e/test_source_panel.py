"""The source panel in a browser: its head, and its numbers beside those of the answer."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Server
from tests.e2e.visitor import PATIENCE, Visitor, again, click, close, gone

WIDER = pytest.mark.slow(reason="the same on a wider screen")
IN_SIGHT = """() => {
  const mark = document.querySelector('a[href^="#cite-"][aria-current]').getBoundingClientRect();
  const input = document.querySelector('[data-testid="stBottom"]').getBoundingClientRect();
  return mark.top > 0 && mark.bottom <= input.top;
}"""
SEND_IS_FREE = """() => {
  const box = (selector) => document.querySelector(selector).getBoundingClientRect();
  const send = box('[data-testid="stChatInputSubmitButton"]');
  return send.width > 0 && send.right <= box('.st-key-source-panel').left;
}"""
HEAD_STAYS = """panel => {
  panel.scrollTo(0, panel.scrollHeight);
  const head = panel.querySelector('.st-key-source-head').parentElement.getBoundingClientRect();
  return panel.scrollTop > 100 && head.top >= panel.getBoundingClientRect().top;
}"""
CUT = """buttons => buttons.flatMap(button => [...button.querySelectorAll('*')]).filter(
  part => part.scrollWidth > part.clientWidth && getComputedStyle(part).overflow === 'hidden').length"""
OVERFLOWS = "head => head.scrollHeight > head.clientHeight && getComputedStyle(head).overflowY !== 'visible'"


@pytest.fixture(scope="module")
def answered(server: Server, browser: Browser) -> Iterator[Visitor]:
    """An answer about the sample document, at which several tests look."""
    with opened(browser, server) as visitor:
        offered = visitor.page.get_by_role("button", name="Try a sample document")
        click(offered, then=visitor.page.get_by_text("1 document ready", exact=False))
        visitor.ask("How many containers did the harbour handle in 2025?")
        visitor.finished()
        yield visitor


@pytest.fixture(scope="module")
def summarised(server: Server, browser: Browser, answered: Visitor) -> Iterator[Visitor]:
    """A summary of the sample document."""
    with opened(browser, server) as visitor:
        summarise = visitor.page.get_by_role("button", name="Summarise")
        expect(summarise).to_be_visible()
        click(summarise, then=visitor.page.locator('a[href^="#cite-"]').first)
        visitor.finished()
        yield visitor


@contextmanager
def opened(browser: Browser, server: Server) -> Iterator[Visitor]:
    visitor = Visitor(browser.new_page())
    visitor.page.set_default_timeout(PATIENCE)
    visitor.come(server.url)
    yield visitor
    visitor.page.context.close()


def seen_at(visitor: Visitor, width: int, height: int) -> Page:
    """Give the window a size, and close the panel that another test has left open."""
    page = visitor.page
    page.set_viewport_size({"width": width, "height": height})
    close(page.locator(".st-key-source-panel"))
    return page


def test_the_head_stays_in_sight_and_counts_as_the_answer_does(answered: Visitor):
    page = seen_at(answered, 1440, 900)
    marks = page.locator('a[href^="#cite-"]')
    expect(marks.nth(1)).to_be_visible()
    assert [re.sub(r"\D", "", mark.inner_text()) for mark in marks.all()][:2] == ["1", "2"]
    head = page.locator(".st-key-source-head")
    click(marks.first, then=head.get_by_text(re.compile(r"^1 of \d")))
    click(head.get_by_role("button", name="Next citation"), then=head.get_by_text(re.compile(r"^2 of \d")))
    how = page.get_by_role("button", name="How was this answered?")
    click(how, then=lambda patience: page.wait_for_url(re.compile("how="), timeout=patience))
    expect(head).to_contain_text("How was this answered?")
    click(marks.first, then=head.get_by_text(re.compile(r"^1 of \d")))
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert not head.evaluate(OVERFLOWS)
        assert page.locator(".st-key-source-panel").evaluate(HEAD_STAYS)


@pytest.mark.parametrize("width", [1024, *(pytest.param(width, marks=WIDER) for width in (1100, 1440))])
def test_the_panel_stands_beside_the_answer_and_leaves_the_input_free(answered: Visitor, width: int):
    page = seen_at(answered, width, 900)
    panel = page.locator(".st-key-source-panel")
    click(page.locator('a[href^="#cite-"]').first, then=panel)
    page.wait_for_function(SEND_IS_FREE)
    assert (page.get_by_test_id("stMain").bounding_box() or {})["width"] > 500
    search = page.get_by_placeholder("Search chats")
    again(lambda _: page.keyboard.press("Control+k"), then=search)
    expect(search).to_be_focused()


def test_below_that_it_is_a_sheet_over_the_whole_page_with_a_way_to_close_it(answered: Visitor):
    page = seen_at(answered, 900, 900)
    panel = page.locator(".st-key-source-panel")
    click(page.locator('a[href^="#cite-"]').first, then=panel)
    assert (panel.bounding_box() or {})["width"] == 900
    click(panel.get_by_role("button", name="Close"), then=gone(panel))


def test_the_marker_of_the_open_source_is_marked_and_in_sight(summarised: Visitor):
    page = seen_at(summarised, 1440, 640)
    marks, head = page.locator('a[href^="#cite-"]'), page.locator(".st-key-source-head")
    click(marks.first, then=head.get_by_text(re.compile(r"^1 of \d")))
    for at in range(2, marks.count() + 1):
        shown = head.get_by_text(re.compile(rf"^{at} of \d"))
        click(head.get_by_role("button", name="Next citation"), then=shown)
        expect(marks.nth(at - 1)).to_have_attribute("aria-current", "true")
        page.wait_for_function(IN_SIGHT)
    expect(page.locator('a[href^="#cite-"][aria-current]')).to_have_count(1)


def test_the_form_of_the_scope_is_as_wide_as_the_input(summarised: Visitor):
    page = seen_at(summarised, 1440, 900)
    expect(page.get_by_role("button", name="Remove Sample:")).to_be_visible()
    form = page.get_by_role("button", name="Search these")
    click(page.locator(".st-key-scope summary"), then=form)
    box = page.get_by_test_id("stChatInput").bounding_box()
    shown = page.locator(".st-key-scope form, .st-key-scope [data-testid=stForm]").first.bounding_box()
    assert box and shown and shown["width"] > 0.95 * box["width"]
    again(lambda _patience: page.keyboard.press("Escape"), gone(form))


def test_neither_title_nor_scope_of_a_chat_is_hidden_by_what_is_beside_it(answered: Visitor):
    page = seen_at(answered, 1024, 768)
    click(page.locator('a[href^="#cite-"]').first, then=page.locator(".st-key-source-head"))
    header = page.locator(".st-key-chat-header")
    whole, title = header.bounding_box(), header.get_by_role("heading").bounding_box()
    assert whole and title and title["width"] > whole["width"] / 2
    name, count = page.get_by_role("textbox", name="Title"), page.get_by_text(re.compile(r"^\d+/200$"))
    click(page.get_by_role("button", name="Rename"), then=name)
    click(name, then=count)
    field, letters = name.bounding_box(), count.bounding_box()
    assert field and letters and field["y"] + field["height"] <= letters["y"]
    close(name)
    click(page.locator(".st-key-delete-chat button"), then=page.locator(".st-key-undo"))
    bar, scope = page.locator(".st-key-undo").bounding_box(), page.locator(".st-key-scope").bounding_box()
    assert bar and scope and bar["y"] + bar["height"] <= scope["y"]


@pytest.mark.usefixtures("answered")
def test_suggested_questions_are_read_whole_on_a_phone(server: Server, browser: Browser):
    with opened(browser, server) as visitor:
        visitor.page.set_viewport_size({"width": 390, "height": 844})
        questions = visitor.page.locator('[class*="st-key-introduction-ask-"] button')
        expect(questions).to_have_count(3)
        assert questions.evaluate_all(CUT) == 0
        assert max(box.bounding_box()["height"] for box in questions.all()) > 40  # one takes a second line


@pytest.mark.usefixtures("answered")
def test_the_hint_of_a_search_without_a_model_leaves_the_sidebar_free(server: Server, browser: Browser):
    with opened(browser, server) as visitor:
        page = visitor.page
        page.set_viewport_size({"width": 1440, "height": 900})
        hint = page.get_by_test_id("stTooltipContent")
        help_of = page.locator('.st-key-first-model [data-testid="stTooltipIcon"] button').first
        sidebar = page.get_by_test_id("stSidebar").bounding_box()
        assert sidebar
        edge = sidebar["x"] + sidebar["width"]

        def beside(patience: float) -> None:
            """A hint goes when the page is drawn anew under it, so seeing and measuring it are one step."""
            box = hint.first.bounding_box(timeout=patience)
            assert box and box["x"] >= edge

        again(lambda patience: help_of.hover(timeout=patience), beside)
