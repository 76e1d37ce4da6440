"""The source panel in a browser: its head, and its numbers beside those of the answer."""

import re

from playwright.sync_api import expect

from tests.e2e.visitor import click

OVERFLOWS = "head => head.scrollHeight > head.clientHeight && getComputedStyle(head).overflowY !== 'visible'"


def test_the_head_does_not_scroll_and_counts_as_the_answer_does(visit, server):
    visitor = visit(server.url)
    page = visitor.page
    sample = page.get_by_role("button", name="Try a sample document")
    click(sample, then=page.get_by_text("1 document ready", exact=False))
    visitor.ask("How many containers did the harbour handle in 2025?")
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
