"""The real application as a process of its own, and Debian's Chromium looking at it."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

from tests.rag.fake_llm import FakeLLM

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PAGES = (
    (
        "Harbour authority: annual report 2024",
        "The harbour handled 4.1 million containers in 2024, twelve percent more than in the year before.",
        "The first crane was built in Busan and lifts 65 tonnes.",
        "The second crane was built in Kobe and lifts 80 tonnes.",
    ),
    ("Staff", "The authority employed 1,204 people at the end of the year. Forty of them were apprentices."),
)
PATIENCE = 60_000  # milliseconds: a busy machine takes its time
expect.set_options(timeout=PATIENCE)


@dataclass
class Server:
    """One running application."""

    url: str
    data: Path
    process: subprocess.Popen[bytes]
    log: Path

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


@dataclass
class Visitor:
    """A browser tab and every address it asked for."""

    page: Page
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def ask(self, question: str) -> None:
        """Ask. As a person does, press Enter again where nothing happens: a file may still be on its way."""
        box = self.page.get_by_placeholder("Ask your documents")
        box.fill(question)
        for patience in (5_000, 10_000, PATIENCE):
            box.press("Enter")
            try:
                expect(box).to_have_value("", timeout=patience)
            except AssertionError:
                continue
            return

    def go(self, name: str) -> None:
        """Open a page by its link. As a person does, click again where nothing happens.

        Streamlit forgets where a click leads when a fragment's tick arrives before the click is worked on.
        """
        here = self.page.get_by_placeholder("Ask your documents") if name == "Chat" else self._title(name)
        for patience in (10_000, 20_000, PATIENCE):
            self.page.get_by_role("link", name=name, exact=True).click()
            try:
                here.wait_for(timeout=patience)
            except PlaywrightTimeoutError:
                continue
            return
        expect(here).to_be_visible()

    def choose(self, name: str, option: str) -> None:
        """Choose an option of a list; a page that is drawn anew meanwhile closes it, so open it again."""
        wanted = self.page.get_by_role("option", name=option, exact=True)
        for patience in (5_000, 10_000, PATIENCE):
            self.page.get_by_role("combobox", name=name).press("ArrowDown")
            try:
                wanted.click(timeout=patience)
            except PlaywrightTimeoutError:
                self.page.keyboard.press("Escape")
                continue
            return
        expect(wanted).to_be_visible()

    def _title(self, name: str) -> Locator:
        return self.page.get_by_role("heading", name=name, level=1)

    def press(self, wanted: Locator, then: Locator) -> None:
        """Press Enter on something until what it leads to is seen: a page drawn anew meanwhile forgets it."""
        for patience in (20_000, 30_000, PATIENCE):
            wanted.press("Enter")
            try:
                then.wait_for(timeout=patience)
            except PlaywrightTimeoutError:
                continue
            return
        expect(then).to_be_visible()

    def add(self, *files: Path) -> None:
        self.page.locator('[data-testid="stFileUploader"] input[type=file]').set_input_files(list(files))

    def row(self, name: str) -> Locator:
        """A document's row on the documents page; while the page is drawn anew an old one may stand below."""
        return self.page.locator('[class*="st-key-document-"]').filter(has_text=name).first

    def answers(self) -> Locator:
        return self.page.get_by_role("group", name="Chat message from assistant")

    def finished(self, count: int = 1) -> None:
        """Wait until so many answers are complete, with their sources."""
        sources = self.page.locator(".stMain").get_by_text(
            "Sources", exact=True
        )  # the navigation has one, too
        expect(sources).to_have_count(count)
        expect(self.page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
        self.rested()

    def rested(self) -> None:
        """Wait until the page is drawn: what is clicked while it is drawn anew may be forgotten."""
        drawn = '[data-testid="stApp"][data-test-script-state="notRunning"]'
        self.page.locator(drawn).wait_for(state="attached")
        self.page.wait_for_timeout(500)
        self.page.locator(drawn).wait_for(state="attached")

    def strangers(self) -> list[str]:
        """The addresses on other hosts."""
        ours = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "about:")
        return [url for url in self.requests if not url.startswith(ours)]


@contextmanager
def serving(
    data: Path, *, before: Callable[[int], object] = bool, cwd: Path = ROOT, **settings: str
) -> Iterator[Server]:
    """Run the application in `cwd`; `before` prepares what depends on its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    before(port)
    data.mkdir(parents=True, exist_ok=True)
    fixed = {"FOOTNOTE_DATA": str(data / "data"), "FOOTNOTE_MORPHEMES": "off"}
    environment = {**os.environ, **fixed, **settings}
    with (data / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), f"--server.port={port}"],
            cwd=cwd,
            env=environment,
            stdout=log,
            stderr=log,
        )
    server = Server(f"http://127.0.0.1:{port}", data / "data", process, data / "log")
    try:
        _wait_for(server)
        yield server
    finally:
        if process.poll() is None:
            server.stop()


def _wait_for(server: Server) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{server.url}/healthz", timeout=1):  # noqa: S310
                return
        except OSError:
            assert server.process.poll() is None, server.log.read_text()
            time.sleep(0.1)
    raise AssertionError(server.log.read_text())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    assert chromium, "these tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visitor]]:
    contexts = []

    def open_page(url: str, *, width: int = 1440, height: int = 900, dark: bool = False) -> Visitor:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        visitor = Visitor(context.new_page())
        visitor.page.on("request", lambda request: visitor.requests.append(request.url))
        visitor.page.on("pageerror", lambda error: visitor.errors.append(str(error)))
        visitor.page.goto(url)
        return visitor

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeLLM]:
    with FakeLLM() as server:
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The application with no model connected, as it is found at first."""
    with serving(tmp_path_factory.mktemp("plain")) as running:
        yield running


@pytest.fixture(scope="module")
def with_model(tmp_path_factory: pytest.TempPathFactory, fake: FakeLLM, report: Path) -> Iterator[Server]:
    """The application with a model connected and the report in its library."""
    folder = tmp_path_factory.mktemp("model")
    footnote = str(Path(sys.executable).with_name("footnote"))
    subprocess.run([footnote, "--data", str(folder / "data"), "ingest", str(report)], check=True, cwd=ROOT)
    with serving(folder, FOOTNOTE_LLM_BASE_URL=fake.url, FOOTNOTE_LLM_MODEL="fake") as running:
        yield running


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two pages."""
    path = tmp_path_factory.mktemp("files") / "harbour-report.pdf"
    styles = getSampleStyleSheet()
    story: list[object] = []
    for title, *paragraphs in PAGES:
        story.append(Paragraph(title, styles["Heading1"]))
        story += [Paragraph(text, styles["BodyText"]) for text in paragraphs]
        story.append(PageBreak())
    SimpleDocTemplate(str(path)).build(story)
    return path
