"""The pages, and Streamlit's own parts of them, in the language of the browser."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from rag.i18n import LANGUAGES, _, in_language
from tests.e2e.conftest import Server
from tests.e2e.visitor import Step, Visitor, again, click, seen

Visit = Callable[..., Visitor]
JAPANESE = pytest.mark.slow(reason="the same in a second language")


@pytest.mark.integration
@pytest.mark.parametrize("locale", ["ko-KR", pytest.param("ja-JP", marks=JAPANESE)])
def test_a_browser_is_spoken_to_in_its_language(server: Server, visit: Visit, locale: str):
    code = locale[:2]
    with in_language(code):
        start, settings = _("Ask your own documents"), _("Settings")
        gone = _("This chat was not found. It may have been deleted. Here you can begin a new one.")
        ask = _("Ask your documents")
        choose, documents, sources = _("Choose files"), _("Documents"), _("Sources")
    page = visit(server.url, locale=locale).page
    expect(page.get_by_role("heading", name=start)).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", code)
    breaks = {"ko": "keep-all", "ja": "auto-phrase"}[code]
    expect(page.get_by_role("main").locator("p").first).to_have_css("word-break", breaks)
    expect(page.get_by_placeholder(ask)).to_be_visible()
    expect(page.get_by_role("button", name=choose)).to_be_visible()
    _the_address_stays_english(page, f"{server.url}/library?view=Sources", documents, sources)
    page.goto(f"{server.url}/?chat=0")
    expect(page.get_by_text(gone)).to_be_visible()
    page.goto(f"{server.url}/settings")
    expect(page.get_by_role("heading", name=settings, exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    _the_choice_is_shown_in_the_language_that_it_makes(page, code)


def _the_choice_is_shown_in_the_language_that_it_makes(page: Page, code: str) -> None:
    english = f"As in the browser ({LANGUAGES[code]})"
    with in_language(code):
        fields, settings = ("Language", _("Language")), ("Settings", _("Settings"))
        own = _("As in the browser ({language})", language=LANGUAGES[code])
    box = page.get_by_role("combobox", name=re.compile("^(?:" + "|".join(fields) + ")$"))

    def choose(option: str) -> Step:
        def pick(patience: float) -> None:
            page.keyboard.press("Escape")
            box.press("ArrowDown", timeout=patience)
            page.get_by_role("option", name=option, exact=True).click(timeout=patience)

        return pick

    for option, heading, shown in (("English", settings[0], "English"), (english, settings[1], own)):
        again(choose(option), seen(page.get_by_role("heading", name=heading, exact=True)))
        expect(box).to_have_value(shown)


def _the_address_stays_english(page: Page, address: str, documents: str, sources: str) -> None:
    page.goto(address)
    view = page.get_by_role("radio", name=sources, exact=True)
    expect(view).to_be_checked()
    expect(page).to_have_url(address)
    click(page.get_by_role("radio", name=documents), then=page.get_by_test_id("stFileUploader"))
    expect(page).to_have_url(address.partition("?")[0])
    click(view, then=lambda patience: expect(page).to_have_url(address, timeout=patience))


@pytest.mark.integration
def test_the_parts_of_streamlit_speak_the_language_of_the_page(server: Server, visit: Visit):
    page = visit(server.url, locale="ko-KR").page
    with in_language("ko"):
        send, menu, skip, light = _("Send"), _("Menu"), _("Skip to the page’s content"), _("Light")
        server_tab, show = _("On a server"), _("Show what is typed")
    expect(page.get_by_role("button", name=send, exact=True)).to_be_attached()
    expect(page.get_by_test_id("stSkipToContent")).to_have_text(skip)
    click(
        page.get_by_role("button", name=menu, exact=True), then=page.get_by_role("menuitemradio", name=light)
    )
    expect(page.get_by_text("Made with Streamlit")).to_be_hidden()
    expect(page.get_by_test_id("stMainMenuItem-recordScreencast")).to_be_hidden()
    for english in ("Send message", "Main menu", "Upload files", "file upload"):
        expect(page.locator(f'[aria-label="{english}"]')).to_have_count(0)
    page.goto(f"{server.url}/settings")
    click(page.get_by_role("tab", name=server_tab), then=page.get_by_role("button", name=show))
    expect(page.locator('[aria-label="Show password"]')).to_have_count(0)
