"""A person at a browser, who does again what did not lead to what they want to see.

Streamlit draws a page anew under the hand that is about to press something on it, and sometimes forgets the
press. So what is done here is done until its outcome is seen, and every test names that outcome: something
that was not there before, and that a second press does not take away.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Download, FilePayload, Locator, Page, Request, expect
from playwright.sync_api import Error as PlaywrightError

PATIENCE = 60_000  # milliseconds: a busy machine takes its time
TRIES = (4_000, 15_000, 40_000, PATIENCE)  # a press that was forgotten is forgotten at once
SHOWN = 1_000  # for what stands on a page that rests

Step = Callable[[float], object]
"""Something that is done, or waited for, within some milliseconds, and fails where it was not."""


def again(act: Step, then: Locator | Step, tries: tuple[float, ...] = TRIES) -> None:
    """Do something until its outcome is seen, each time with more patience.

    Doing it may fail: what it needs may be gone because of the time before. It is not done again while the
    page still works on it: a second press of a button that marks takes the mark away.
    """
    so = seen(then) if isinstance(then, Locator) else then
    for patience in tries:
        undone = _failure(act, patience)
        unseen = _failure(so, patience)
        if unseen is not None and isinstance(then, Locator):
            _failure(lambda _, page=then.page: rested(page), patience)
            unseen = _failure(so, SHOWN)
        if unseen is None:
            return
    raise AssertionError(f"What was done did not lead to what was waited for: {unseen}") from undone


def rested(page: Page) -> None:
    """Wait until the page is drawn: what is clicked while it is drawn anew may be forgotten."""
    drawn = page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]')
    drawn.wait_for(state="attached")
    page.wait_for_timeout(500)
    drawn.wait_for(state="attached")


def _failure(step: Step, patience: float) -> Exception | None:
    try:
        step(patience)
    except (PlaywrightError, AssertionError) as error:
        return error
    return None


def seen(what: Locator) -> Step:
    """One of it is visible; while a page is drawn anew there may be two."""
    return lambda patience: what.filter(visible=True).first.wait_for(timeout=patience)


def gone(what: Locator) -> Step:
    """None of it is visible."""
    return lambda patience: what.filter(visible=True).first.wait_for(state="hidden", timeout=patience)


def press(*ways: Locator, then: Locator | Step) -> None:
    """Press Enter on one thing after the other, each of which shows the next: a menu, a button, a dialog."""
    again(lambda patience: _through(ways, lambda way: way.press("Enter", timeout=patience)), then)


def click(*ways: Locator, then: Locator | Step) -> None:
    """Click on one thing after the other, each of which shows the next."""
    again(lambda patience: _through(ways, lambda way: way.click(timeout=patience)), then)


def _through(ways: tuple[Locator, ...], act: Callable[[Locator], object]) -> None:
    """Go on from where the time before has come to: to open an open menu again would close it."""
    shown = [number for number, way in enumerate(ways) if way.is_visible()]
    for way in ways[max(shown, default=0) :]:
        act(way)


def close(panel: Locator) -> None:
    """Close what Escape closes."""
    again(lambda _: panel.page.keyboard.press("Escape"), gone(panel))


def ask(page: Page, question: str, then: Locator | Step | None = None) -> None:
    """Ask, until the question stands in the chat, or until `then`.

    Enter is pressed again while a file is on its way up. A question that was sent is sent again only where it
    is not there after a minute: were it sent twice, it would be answered twice.
    """
    box = page.get_by_placeholder("Ask your documents")
    stands = page.get_by_role("group", name="Chat message from user").last.filter(has_text=question[:20])

    def write(patience: float) -> None:
        box.fill(question, timeout=patience)
        box.press("Enter", timeout=patience)

    def send(_: float) -> None:
        again(write, lambda patience: expect(box).to_have_value("", timeout=patience))

    again(send, then or stands, tries=(PATIENCE, PATIENCE))


@dataclass
class Visitor:
    """A browser tab and every address it asked for."""

    page: Page
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def come(self, url: str) -> None:
        """Open a page, and keep what it asks for and what fails from now on."""
        for event, keep in self._kept():
            self.page.on(event, keep)
        self.page.mouse.move(0, 0)
        self.page.goto(url)

    def leave(self) -> bool:
        """Leave nothing behind for who comes next; return False where the tab is not fit for them."""
        tab = self.page
        if tab.is_closed() or len(tab.context.pages) > 1 or not tab.url.startswith("http://127.0.0.1:"):
            return False
        for event, keep in self._kept():
            tab.remove_listener(event, keep)
        try:
            tab.evaluate("localStorage.clear(); sessionStorage.clear();")
            # Of the same site, so that the process which has the scripts compiled stays.
            tab.goto(f"http://{urlsplit(tab.url).netloc}/healthz")
        except PlaywrightError:  # the server has ended
            return False
        tab.context.clear_cookies()
        return True

    def _kept(self) -> tuple[tuple[str, Callable[[Any], None]], ...]:
        return (("request", self._asked), ("pageerror", self._failed), ("console", self._told))

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)

    def _failed(self, error: PlaywrightError) -> None:
        self.errors.append(str(error))

    def _told(self, message: ConsoleMessage) -> None:
        """Keep what the console tells of things that the content security policy has stopped."""
        if "Content Security Policy" in message.text:
            self.errors.append(message.text)

    def ask(self, question: str, then: Locator | Step | None = None) -> None:
        ask(self.page, question, then)

    def go(self, name: str) -> None:
        """Open a page by its link.

        Streamlit forgets where a click leads when a fragment's tick arrives before the click is worked on.
        """
        title = self.page.get_by_role("heading", name=name, level=1)
        here = self.page.get_by_placeholder("Ask your documents") if name == "Chat" else title
        click(self.page.get_by_role("link", name=name, exact=True), then=here)

    def open_advanced(self) -> None:
        """Open the advanced part of the settings."""
        inside = self.page.get_by_role("combobox", name="Search mode")
        self.go("Settings")
        click(self.page.get_by_text("Advanced: search", exact=False), then=inside)

    def go_advanced(self, link: str, name: str) -> None:
        """Open a page that only the advanced part of the settings links to."""
        title = self.page.get_by_role("heading", name=name, level=1)
        self.open_advanced()
        click(self.page.get_by_role("link", name=link), then=title)

    def choose(self, name: str, option: str) -> None:
        """Choose an option of a list, opened again where the page was drawn anew meanwhile."""
        box = self.page.get_by_role("combobox", name=name, exact=True)

        def pick(patience: float) -> None:
            self.page.keyboard.press("Escape")
            box.press("ArrowDown", timeout=patience)
            self.page.get_by_role("option", name=option, exact=True).click(timeout=patience)

        again(pick, lambda patience: expect(box).to_have_value(option, timeout=patience))

    def add(self, *files: Path | FilePayload, then: Locator | None = None) -> None:
        """Add files, until the last has its row, or until `then`; what is added twice is there once."""
        uploader = self.page.locator('[data-testid="stFileUploader"] input[type=file]')
        last: Any = files[-1]
        row = self.row(last.name if isinstance(last, Path) else last["name"])
        again(lambda patience: uploader.set_input_files(list(files), timeout=patience), then or row)

    def row(self, name: str) -> Locator:
        """A document's row in the library; while the page is drawn anew an old one may stand below."""
        return self.page.locator("tbody tr").filter(has_text=name).first

    def documents(self) -> None:
        """Open the documents of the library, of which sources were shown."""
        uploader = self.page.get_by_test_id("stFileUploader")
        click(self.page.get_by_role("radio", name="Documents"), then=uploader)

    def sources(self) -> None:
        """Open the sources of the library."""
        self.go("Library")
        add = self.page.get_by_role("button", name="Add a source")
        click(self.page.get_by_role("radio", name="Sources"), then=add)

    def download(self, menu: Locator, name: str) -> Download:
        """Open a menu and take what one of its buttons gives."""
        taken: list[Download] = []
        button = self.page.get_by_role("button", name=name)

        def take(patience: float) -> None:
            with self.page.expect_download(timeout=patience) as download:
                _through((menu, button), lambda way: way.click(timeout=patience))
            taken.append(download.value)

        def there(_: float) -> None:
            assert taken

        again(take, there)
        return taken[0]

    def answers(self) -> Locator:
        return self.page.get_by_role("group", name="Chat message from assistant")

    def answer(self, said: str) -> Locator:
        """The last answer, where it says this."""
        return self.answers().last.filter(has_text=said)

    def finished(self, count: int = 1) -> None:
        """Wait until so many answers are complete, with their passages: those can be rated."""
        rated = self.page.get_by_role("button", name=re.compile("^(?:Helpful|Marked helpful)$"))
        expect(rated).to_have_count(count)
        expect(self.page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
        self.rested()

    def rested(self) -> None:
        """Wait until the page is drawn."""
        rested(self.page)

    def fits(self) -> None:
        """Wait until nothing reaches over the side of the screen."""
        self.page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")

    def strangers(self) -> list[str]:
        """The addresses on other hosts."""
        ours = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "about:")
        return [url for url in self.requests if not url.startswith(ours)]
