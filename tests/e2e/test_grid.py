"""A grid of three leases: walked through, sorted, opened; in the long run made, corrected and taken away."""

import csv
import io
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer

from rag.grid.columns import Column
from rag.services import Services
from rag.settings import LOCAL_OWNER, load
from storage.grids import GridScope
from tests.e2e.conftest import Server, serving
from tests.e2e.test_accessibility import FOCUSED, each_way, tab_to, violations, violations_of_both_themes
from tests.e2e.visitor import PATIENCE, Visitor, click, close, gone
from tests.rag.fake_llm import FakeLLM, Reply

Visit = Callable[..., Visitor]
LEASE = "# Lease\n\nThis lease begins on {day} May 2024. The monthly rent is EUR {rent}. No pets.\n"
PRINTED = (("barn.pdf", "700"), ("shed.pdf", "800"))
LEASES = (("castle.md", 1, "1,200"), ("mill.md", 2, "900"), ("tower.md", 3, "1,500"))


@pytest.fixture(scope="module")
def leases(tmp_path_factory: pytest.TempPathFactory, read: Path) -> Iterator[Server]:
    """The application without a model, and a grid of three leases beside the report."""
    folder = tmp_path_factory.mktemp("grid")
    shutil.copytree(read, folder / "data")
    with closing(Services(load({"data": folder / "data"}))) as services:
        here = services.workspace(LOCAL_OWNER)
        added = [
            here.library.add(name, LEASE.format(day=day, rent=rent).encode())[0].id
            for name, day, rent in LEASES
        ]
        for document in added:
            list(here.library.index(document))
        columns = [Column("", "Rent", kind="money"), Column("", "Beginning of the lease", kind="date")]
        grid = here.grids.create("Rents", columns, GridScope(documents=added))
        assert here.grid_runs.start(grid.id).wait(60)
        printed = [here.library.add(name, _printed(rent))[0].id for name, rent in PRINTED]
        for document in printed:
            list(here.library.index(document))
        papers = here.grids.create("Papers", columns[:1], GridScope(documents=printed))
        assert here.grid_runs.start(papers.id).wait(60)
    with serving(folder) as running:
        yield running


def _printed(rent: str) -> bytes:
    """Return a PDF whose words stand low on its page."""
    file = io.BytesIO()
    words = LEASE.format(day=1, rent=rent).replace("# Lease", "")
    SimpleDocTemplate(file).build([Spacer(1, 480), Paragraph(words, getSampleStyleSheet()["BodyText"])])
    return file.getvalue()


def add(visitor: Visitor) -> None:
    files = [
        {"name": name, "mimeType": "text/markdown", "buffer": LEASE.format(day=day, rent=rent).encode()}
        for name, day, rent in LEASES
    ]
    visitor.add(*files)
    for name, _day, _rent in LEASES:
        expect(visitor.row(name)).to_contain_text("Ready")


def make(visitor: Visitor) -> None:
    """Select the leases in the library and make a grid of them."""
    page, dialog = visitor.page, visitor.page.get_by_role("dialog")
    for at, (name, _day, _rent) in enumerate(LEASES, 1):
        chosen = page.get_by_text(f"{at} selected", exact=True)
        click(page.get_by_role("checkbox", name=f"Select {name}"), then=chosen)
    click(page.get_by_role("button", name="Make a grid"), then=dialog.get_by_label("Name"))
    dialog.get_by_label("Name").fill("Leases")
    title = page.get_by_role("heading", name="Leases", level=1)
    click(dialog.get_by_role("button", name="Make the grid"), then=title)


def add_column(visitor: Visitor, name: str, kind: str, at: int) -> None:
    page, dialog = visitor.page, visitor.page.get_by_role("dialog")
    field = dialog.get_by_label("Name")
    click(page.get_by_role("button", name="Add column"), then=field)
    field.fill(name)
    box, option = (
        dialog.get_by_role("combobox", name="Kind"),
        page.get_by_role("option", name=kind, exact=True),
    )
    click(box, option, then=lambda patience: expect(box).to_have_value(kind, timeout=patience))
    header = page.get_by_role("columnheader", name=name)
    click(dialog.get_by_role("button", name="Save"), then=header)
    expect(page.get_by_role("columnheader")).to_have_count(at + 1)


WATCH_TOASTS = """() => {
  window.toasted = [];
  const crosses = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  new MutationObserver(() => {
    const toast = document.querySelector('[data-testid=stToast]'), box = toast?.getBoundingClientRect();
    if (!box?.height) return;
    const buttons = [...document.querySelectorAll('.st-key-source-panel button')];
    const covered = (one) => crosses(box, one.getBoundingClientRect());
    window.toasted.push(buttons.length ? buttons.filter(covered).length : -1);
  }).observe(document.body, { childList: true, subtree: true, attributes: true });
}"""
"""Counts the buttons of the panel that a toast lies on, for as long as it is there."""


@pytest.mark.slow(reason="walks in a browser through what tests/ui/grid does without one")
def test_a_grid_is_made_read_corrected_and_kept(leases: Server, visit: Visit, tmp_path: Path):
    visitor = visit(leases.url + "/library")
    page, panel = visitor.page, visitor.page.get_by_role("dialog")
    add(visitor)
    make(visitor)
    add_column(visitor, "Rent", "Money", 1)
    add_column(visitor, "Beginning of the lease", "Date", 2)
    start = page.get_by_role("button", name="Fill 6 cells")
    click(start, then=page.get_by_text("All cells are read."))

    rent = page.get_by_role("button", name="Rent: €1,200. Verified")
    click(rent, then=panel)
    expect(panel).to_contain_text("The monthly rent is EUR 1,200")
    expect(panel).to_contain_text("Read its only passage.")
    click(panel.get_by_role("button", name="Correct"), then=page.get_by_role("textbox", name="Rent"))
    page.get_by_role("textbox", name="Rent").fill("1,250 EUR")
    corrected = page.get_by_role("button", name="Rent: €1,250. Corrected by hand. Locked")
    page.evaluate(WATCH_TOASTS)
    click(page.get_by_role("button", name="Save"), then=corrected)
    expect(page.get_by_text("Found before: €1,200")).to_be_visible()
    page.wait_for_function("window.toasted.length > 0")
    assert page.evaluate("window.toasted.every((covered) => covered === 0)")
    close(panel)

    taken = visitor.download(page.get_by_role("button", name="Download"), "CSV")
    taken.save_as(tmp_path / "leases.csv")
    lines = list(csv.reader(io.StringIO((tmp_path / "leases.csv").read_text("utf-8-sig"))))
    assert [line[0] for line in lines[1:]] == ["castle.md", "mill.md", "tower.md"]
    assert "1250" in lines[1] and "900" in lines[2]

    page.reload()
    expect(corrected).to_be_visible()
    title = page.get_by_role("heading", name="Grids", level=1)
    click(page.get_by_role("link", name="Grids"), then=title)
    click(page.get_by_role("button", name="Leases"), then=corrected)
    click(page.get_by_role("button", name="All grids"), then=title)
    click(page.get_by_role("button", name="Leases"), then=corrected)
    assert visitor.strangers() == [] and visitor.errors == []


def test_a_long_name_is_kept_by_the_first_click_on_the_button(leases: Server, visit: Visit):
    visitor = visit(leases.url + "/grid", width=390)
    page, dialog = visitor.page, visitor.page.get_by_role("dialog")
    field = dialog.get_by_label("Name")
    name = "Contracts of the town, of the harbour and of all its islands, " + "x" * 50
    click(page.get_by_role("button", name="New grid"), then=field)
    visitor.rested()
    field.press_sequentially(name)
    expect(dialog.get_by_text("Press Enter")).to_have_count(0)  # it would lie on the end of the name
    dialog.get_by_role("button", name="Make the grid").click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


def opened(leases: Server, visit: Visit, **how: object) -> Visitor:
    """Open the grid of the leases."""
    visitor = visit(leases.url + "/grid", **how)
    page = visitor.page
    cell = page.get_by_role("button", name="Rent: €900. Verified")
    click(page.get_by_role("button", name="Rents"), then=cell)
    visitor.rested()
    return visitor


def test_the_arrow_keys_walk_through_the_table(leases: Server, visit: Visit):
    visitor = opened(leases, visit)
    page, keyboard, panel = visitor.page, visitor.page.keyboard, visitor.page.get_by_role("dialog")
    tab_to(page, "button.cell")
    keyboard.press("ArrowDown")
    assert page.evaluate(FOCUSED, '[aria-label="Rent: €900. Verified"]')
    keyboard.press("ArrowRight")
    assert page.evaluate(FOCUSED, '[aria-label^="Beginning of the lease: 2 May 2024"]')
    keyboard.press("Home")
    assert page.evaluate(FOCUSED, '[aria-label="Select mill.md"]')
    keyboard.press("End")
    keyboard.press("Enter")
    expect(panel).to_be_focused()
    keyboard.press("Escape")
    expect(panel).to_have_count(0)
    visitor.rested()
    assert page.evaluate(FOCUSED, '[aria-label^="Beginning of the lease: 2 May 2024"]')
    assert visitor.errors == []


PANEL_IN_PARTS = """async () => {
  const panel = document.createElement('div'), close = document.createElement('div');
  const drawn = () => new Promise((done) => setTimeout(done, 100));
  panel.className = 'st-key-source-panel';
  close.className = 'st-key-source-close';
  close.append(document.createElement('button'));
  document.querySelector('.stMain').append(panel);
  await drawn();
  const before = document.activeElement === panel;
  panel.append(close);
  await drawn();
  return [before, document.activeElement === panel];
}"""


def test_the_panel_takes_the_focus_once_it_can_be_closed(leases: Server, visit: Visit):
    """A busy server sends a panel in parts, and Escape does nothing before its button is there."""
    assert opened(leases, visit).page.evaluate(PANEL_IN_PARTS) == [False, True]


def test_the_table_is_sorted_and_filtered(leases: Server, visit: Visit):
    visitor = opened(leases, visit)
    page = visitor.page
    names = page.locator("tbody button.open")
    click(page.get_by_role("button", name="Rent", exact=True), then=page.locator('th[aria-sort="ascending"]'))
    expect(names).to_have_text(["mill.md", "castle.md", "tower.md"])
    page.get_by_role("textbox", name="Filter").fill("3 May")
    expect(names).to_have_text(["tower.md"])


IN_SIGHT = """() => {
  const roots = [...document.querySelectorAll('*')].map((one) => one.shadowRoot).filter(Boolean);
  const root = roots.find((one) => one.querySelector('.opened'));
  if (!root) return false;
  const place = (part) => root.querySelector(part).getBoundingClientRect();
  const [cell, box, name] = [place('.opened'), place('.scroll'), place('th.name')];
  return cell.right <= box.right + 1 && cell.left >= box.left + name.width - 1;
}"""


def test_a_cell_stays_in_sight_when_the_panel_opens(leases: Server, visit: Visit):
    visitor = opened(leases, visit, width=1200)
    page, dialog = visitor.page, visitor.page.get_by_role("dialog")
    click(page.get_by_role("button", name="Beginning of the lease: 2 May 2024"), then=dialog)
    page.wait_for_function(IN_SIGHT)
    click(dialog.get_by_role("button", name="Previous cell"), then=dialog.get_by_role("heading", name="Rent"))
    page.wait_for_function(IN_SIGHT)


SHADED = "name => getComputedStyle(name).boxShadow !== 'none'"


def test_the_names_lie_visibly_over_the_columns_that_are_scrolled_behind_them(leases: Server, visit: Visit):
    page = opened(leases, visit, width=390).page
    name, box = page.get_by_role("columnheader", name="Document"), page.locator(".scroll")
    assert not name.evaluate(SHADED)
    box.evaluate("box => { box.scrollLeft = 80; }")
    expect(page.locator(".scroll.scrolled")).to_have_count(1)
    assert name.evaluate(SHADED)


MIXED = """() => {
  window.mixed = false;
  new MutationObserver(() => {
    const text = (part) => document.querySelector(part)?.innerText || '';
    const named = text('.st-key-source-head').includes('shed.pdf');
    if (named && text('.st-key-source-panel').includes('EUR 700')) window.mixed = true;
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


def test_a_cell_opens_at_its_value_and_shows_no_words_of_the_cell_before(leases: Server, visit: Visit):
    visitor = visit(leases.url + "/grid", height=420)
    page, panel = visitor.page, visitor.page.get_by_role("dialog")
    cell = page.get_by_role("button", name="Rent: €700")
    click(page.get_by_role("button", name="Papers"), then=cell)
    click(cell, then=panel.get_by_text("EUR 700").first)
    visitor.rested()
    expect(panel.get_by_role("heading", name="Rent")).to_be_in_viewport()
    page.evaluate(MIXED)
    click(page.get_by_role("button", name="Rent: €800"), then=panel.get_by_text("EUR 800").first)
    visitor.rested()
    expect(panel.get_by_role("heading", name="Rent")).to_be_in_viewport()
    assert page.evaluate("window.mixed") is False


@each_way((1440, True))
def test_axe_finds_nothing_in_a_grid(leases: Server, visit: Visit, width: int, dark: bool):
    visitor = opened(leases, visit, width=width, height=2400, dark=dark)
    page, dialog = visitor.page, visitor.page.get_by_role("dialog")
    found = {"grid": violations(page)}
    visitor.fits()
    click(page.get_by_text("Totals"), then=page.get_by_text("Calculated from the values"))
    visitor.rested()
    found["totals"] = violations(page)
    click(page.get_by_role("button", name="Rent: €900. Verified"), then=dialog)
    visitor.rested()
    found["cell"] = violations(page)
    close(dialog)
    click(page.get_by_role("button", name="Add column"), then=dialog.get_by_label("Name"))
    visitor.rested()
    found["column"] = violations(page)
    close(dialog)
    page.goto(leases.url + "/grid")
    click(page.get_by_role("button", name="New grid"), then=dialog.get_by_label("Name"))
    visitor.rested()
    found["new grid"] = violations(page)
    assert {state: nodes for state, nodes in found.items() if nodes} == {}
    assert len(found) == 5


def test_axe_finds_nothing_in_a_grid_that_is_being_filled(with_model: Server, visit: Visit, fake: FakeLLM):
    visitor = visit(with_model.url + "/library", height=2400)
    page, dialog = visitor.page, visitor.page.get_by_role("dialog")
    chosen = page.get_by_text("1 selected", exact=True)
    click(page.get_by_role("checkbox", name="Select harbour-report.pdf"), then=chosen)
    click(page.get_by_role("button", name="Make a grid"), then=dialog.get_by_label("Name"))
    dialog.get_by_label("Name").fill("Harbour")
    title = page.get_by_role("heading", name="Harbour", level=1)
    click(dialog.get_by_role("button", name="Make the grid"), then=title)
    add_column(visitor, "Mood of the apprentices", "Text", 1)
    fake.released.clear()
    fake.reply(Reply("none", hold_after=0))
    stop = page.get_by_role("button", name="Stop", exact=True)
    click(page.get_by_role("button", name="Fill 1 cell"), then=stop)
    found = violations_of_both_themes(page)
    fake.released.set()
    gone(stop)(PATIENCE)
    assert found == []
