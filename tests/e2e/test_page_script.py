"""What the script of every page does: focus of panels, keys, the theme and the place of what is read."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Server
from tests.e2e.visitor import Step, Visitor, again, click, close, gone, press

Visit = Callable[..., Visitor]
WIDE = pytest.mark.slow(reason="the same where the list of chats is open already")


@pytest.mark.integration
def test_a_panel_with_a_field_takes_what_is_typed(server: Server, visit: Visit):
    page = visit(f"{server.url}/settings").page
    path = page.get_by_label("Other model: path of a GGUF file on this computer")
    click(page.get_by_role("button", name="Use another model file"), then=path)
    expect(path).to_be_focused()
    page.keyboard.type("model.gguf")
    expect(path).to_have_value("model.gguf")


@pytest.mark.integration
@pytest.mark.parametrize("width", [pytest.param(1440, marks=WIDE), 390])
def test_a_key_leads_to_the_search_of_chats_from_a_page_beside_the_chat(
    server: Server, visit: Visit, width: int
):
    visitor = visit(f"{server.url}/library", width=width, height=844)
    page, search = visitor.page, visitor.page.get_by_placeholder("Search chats")
    expect(page.get_by_role("heading", name="Library", level=1)).to_be_visible()
    visitor.rested()
    page.keyboard.press("Control+k")
    expect(search).to_be_focused()
    expect(search).to_be_in_viewport()


@pytest.mark.integration
def test_a_model_whose_name_was_typed_is_kept_where_the_field_is_left(server: Server, visit: Visit):
    page = visit(f"{server.url}/settings").page
    model = page.get_by_role("combobox", name="Model", exact=True)
    click(page.get_by_role("tab", name="On a server"), then=model)

    def typed(patience: float) -> None:
        model.fill("", timeout=patience)
        model.press_sequentially("my-model", timeout=patience)
        is_chosen = re.compile("-option-__creatable__$")  # which a person sees by its ground
        expect(model).to_have_attribute("aria-activedescendant", is_chosen, timeout=patience)
        page.keyboard.press("Tab")

    again(typed, gone(page.get_by_role("option")))
    expect(model).to_have_value("my-model")


@pytest.mark.integration
def test_a_theme_chosen_in_the_settings_holds_on_every_page(server: Server, visit: Visit):
    page = visit(f"{server.url}/settings").page
    group = page.get_by_role("group", name="Appearance")
    pressed = group.get_by_role("button", pressed=True)

    def drawn(scheme: str) -> Step:
        seen = f"getComputedStyle(document.querySelector('.stApp')).colorScheme === '{scheme}'"
        return lambda patience: page.wait_for_function(seen, timeout=patience)

    def choice(name: str) -> Locator:
        return group.get_by_role("button", name=name, exact=True)

    expect(pressed).to_have_text(re.compile("Automatic"))
    click(choice("Dark"), then=drawn("dark"))
    expect(page.get_by_test_id("stMainMenuPopover")).to_have_count(0)
    expect(pressed).to_have_text(re.compile("Dark"))
    for path in ("library", "lab", ""):
        page.goto(f"{server.url}/{path}")
        drawn("dark")(60_000)
    page.goto(f"{server.url}/settings")
    expect(pressed).to_have_text(re.compile("Dark"))

    menu = page.get_by_role("button", name="Menu", exact=True)
    click(menu, page.get_by_role("menuitemradio", name="Light"), then=drawn("light"))
    expect(pressed).to_have_text(re.compile("Light"))

    def without_menu(patience: float) -> None:
        menu.evaluate("menu => menu.remove()", timeout=patience)
        choice("Dark").click(timeout=patience)

    again(without_menu, drawn("dark"))
    expect(pressed).to_have_text(re.compile("Dark"))


COUNTED = """
window.heard = [];
for (const place of [window, document]) {
  const add = place.addEventListener, remove = place.removeEventListener;
  const same = (kind, act, how) => (one) =>
    one[0] === place && one[1] === kind && one[2] === act && one[3] === Boolean(how?.capture ?? how);
  place.addEventListener = function (kind, act, how) {
    if (!heard.some(same(kind, act, how))) heard.push([place, kind, act, Boolean(how?.capture ?? how)]);
    return add.call(this, kind, act, how);
  };
  place.removeEventListener = function (kind, act, how) {
    heard = heard.filter((one) => !same(kind, act, how)(one));
    return remove.call(this, kind, act, how);
  };
}
"""
REPEATED = """() => {
  const all = heard.filter(([, kind]) => kind.startsWith('key')).map(([, kind, act]) => `${kind} ${act}`)
    .filter((said) => !said.includes('[native code]'));
  return all.filter((said, at) => all.indexOf(said) !== at);
}"""
DRAWN_IN = """(scheme) => document.querySelector('[data-test-script-state="notRunning"]')
  && getComputedStyle(document.querySelector('.stApp')).colorScheme === scheme"""


@pytest.mark.integration
def test_a_key_acts_once_after_the_theme_has_changed(with_model: Server, visit: Visit):
    visitor = visit(f"{with_model.url}/settings")
    page, search = visitor.page, visitor.page.get_by_placeholder("Search chats")
    page.add_init_script(COUNTED)
    page.goto(with_model.url)
    scope = page.locator(".st-key-scope details")
    summary = scope.locator("> summary")
    expect(summary).to_be_visible()
    visitor.rested()
    before = page.evaluate(REPEATED)
    for scheme in ("dark", "light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.wait_for_function(DRAWN_IN, arg=scheme)
        visitor.rested()
    assert page.evaluate(REPEATED) == before
    page.keyboard.press("Control+k")
    expect(search).to_be_focused()
    click(summary, then=page.get_by_role("button", name="Search these", exact=True))
    page.keyboard.press("Escape")
    expect(scope).not_to_have_attribute("open", "")
    expect(summary).to_be_focused()
    page.close()  # its script would run in the next test, too


@pytest.mark.integration
def test_a_page_opens_at_its_head_after_one_that_was_scrolled(server: Server, visit: Visit):
    visitor = visit(f"{server.url}/settings", height=500)
    page = visitor.page
    scrolled = "document.querySelector('.stMain').scrollTop"
    visitor.rested()
    page.evaluate(f"{scrolled} = 200")
    page.wait_for_function(f"{scrolled} > 60")
    visitor.go("Check a text")
    visitor.rested()
    assert page.evaluate(scrolled) == 0


@pytest.mark.integration
def test_choosing_a_page_on_a_phone_closes_the_menu_that_lies_over_it(server: Server, visit: Visit):
    page = visit(server.url, width=390, height=844).page
    link = page.get_by_role("link", name="Library", exact=True)
    click(page.get_by_role("button", name="Show the sidebar"), then=link)
    click(link, then=page.get_by_role("heading", name="Library", level=1))
    expect(link).not_to_be_in_viewport()
    page.reload()
    expect(page.get_by_role("heading", name="Library", level=1)).to_be_visible()
    expect(link).not_to_be_in_viewport()


UNDER_THE_INPUT = """button => button.getBoundingClientRect().bottom
  > document.querySelector('[data-testid="stBottom"]').getBoundingClientRect().top"""


@pytest.mark.integration
def test_the_keyboard_reaches_what_the_input_lies_over(with_model: Server, visit: Visit):
    visitor = visit(with_model.url, height=560)
    page = visitor.page
    visitor.ask("How many containers did the harbour handle in 2024?")
    visitor.finished()
    page.get_by_placeholder("Ask your documents").press("ArrowUp")
    expect(page.get_by_label("Your question")).to_be_focused()
    close(page.get_by_role("dialog", name="Edit question"))

    share = page.get_by_role("button", name="Share", exact=True)
    page.get_by_role("button", name="Copy as Markdown").focus()
    for _press in range(30):
        page.keyboard.press("Tab")
        if share.evaluate("button => button === document.activeElement"):
            break
    expect(share).to_be_focused()
    page.wait_for_function(f"!({UNDER_THE_INPUT})(document.activeElement)")

    shared = page.get_by_role("dialog", name="Share this answer")
    press(share, then=shared)
    with page.expect_download():
        shared.get_by_role("button", name="Markdown").click()
    close(shared)

    panel, large = page.locator(".st-key-source-panel"), page.locator(".st-key-source-page-large")
    click(page.locator('a[href^="#cite-"]').first, then=panel)
    click(panel.get_by_role("button", name="Enlarge page"), then=large)
    again(lambda _: page.keyboard.press("Escape"), gone(large))
    expect(panel).to_be_visible()
    close(panel)


@pytest.mark.integration
def test_a_date_and_a_number_with_its_unit_are_not_broken_in_a_narrow_column(
    server: Server, visit: Visit, tmp_path: Path
):
    visitor = visit(server.url, width=1024)
    rows = tmp_path / "boats.csv"
    names = (
        "Boat,Yard that built it,Launched on,Length of hull,Home harbour,Captain of the boat,Last inspected"
    )
    rows.write_text(f"{names}\nFerry B-02,Varn,2021-04-12,12.5 m,Holm,Ann Lee,2024-10-21\n")
    visitor.add(rows, then=visitor.page.locator(".st-key-introduction", has_text="boats.csv"))
    visitor.ask("When was Ferry B-02 launched?")
    visitor.finished(1)
    for said in ("2021-04-12", "12.5 m"):
        cell = visitor.answers().locator("td", has_text=said)
        assert cell.evaluate("cell => getComputedStyle(cell).whiteSpace") == "nowrap"
