"""Which search suits these documents? From an upload to a default that stays."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Server
from tests.e2e.test_accessibility import TALL, violations_of_both_themes
from tests.e2e.visitor import Visitor, again, click, close, press

Visit = Callable[..., Visitor]
pytestmark = pytest.mark.slow(reason="walks in a browser through a page that tests/ui runs without one")
TRAVEL = """\
# Travel

Receipts for every journey are due in the office within thirty days of the return. Late receipts need the
signature of the head of department before the accountants may pay them.

# Trains

Trains come before flights for all journeys that take less than six hours by rail. Seats of the first class
are paid for employees whose journey lasts more than four hours.
"""
HOLIDAYS = """\
# 휴가

연차 휴가는 매년 3월 31일까지 모두 사용해야 하며 남은 휴가는 다음 해로 넘어가지 않습니다.
입사 첫해의 직원에게는 매달 하루씩 유급 휴가가 주어지며 사용 계획은 분기마다 팀장에게 제출합니다.
"""


def test_make_questions_run_open_one_and_make_a_default(server: Server, visit: Visit, tmp_path: Path):
    (tmp_path / "travel.md").write_text(TRAVEL, "utf-8")
    (tmp_path / "휴가.md").write_text(HOLIDAYS, "utf-8")
    visitor = visit(server.url + "/library", height=TALL)
    page = visitor.page
    visitor.add(tmp_path / "travel.md", tmp_path / "휴가.md")
    expect(visitor.row("travel.md")).to_contain_text("Ready")
    expect(visitor.row("휴가.md")).to_contain_text("Ready")

    visitor.go_advanced("Compare search modes", "Lab")
    expect(page).to_have_title("Lab · Footnote")
    made = page.get_by_role("combobox", name="Question set")

    def make(patience: float) -> None:
        page.get_by_role("spinbutton", name="Number of questions").fill("2", timeout=patience)
        page.get_by_role("button", name="Create questions").click(timeout=patience)

    again(make, made.or_(page.get_by_role("progressbar")))
    expect(made).to_be_visible()
    table = page.get_by_role("table").first
    press(page.get_by_role("button", name="Run", exact=True), then=table)
    expect(table).to_contain_text("Meaning, diverse")
    expect(table.get_by_role("row")).to_have_count(6)
    visitor.rested()
    assert violations_of_both_themes(page) == []

    panel = page.get_by_role("dialog")
    click(page.locator(".st-key-lab-asked").get_by_role("button").first, then=panel)
    expect(panel).to_contain_text("Rank in each search")
    expect(panel.get_by_role("table")).to_contain_text("(right)")
    visitor.rested()
    assert violations_of_both_themes(page) == []
    close(panel)

    visitor.choose("Default search mode", "Words")
    settled = page.get_by_role("button", name="Current default")
    click(page.get_by_role("button", name="Make default"), then=settled)
    expect(settled).to_be_disabled()
    page.reload()
    expect(page.get_by_role("table").first).to_contain_text("Meaning, diverse")
    visitor.open_advanced()
    expect(page.get_by_role("combobox", name="Search mode")).to_have_value("Words")
    assert visitor.strangers() == [] and visitor.errors == []
