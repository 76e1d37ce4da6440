"""The real application as a process of its own, and Debian's Chromium looking at it."""

import os
import random
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer

from rag import cli
from tests.e2e.forked import forked_server
from tests.e2e.visitor import PATIENCE, Visitor
from tests.faults.forks import ForkedProcess
from tests.rag.fake_llm import FakeLLM

ROOT = Path(__file__).parents[2]
RUN = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py")]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # No page lives long enough to earn back what its scripts cost to optimise.
    "--js-flags=--no-turbofan,--no-maglev",
    # Each window of the browser draws a page of suggestions below its address bar, longer than it draws ours.
    # A list takes the place of Playwright's, whose features are named again.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,AimEnabled,LensOverlay,MediaRouter,PaintHolding,"
    "AvoidUnnecessaryBeforeUnloadCheckSync,AvoidCorsURLLoaderRestartOnRedirect,DestroyProfileOnBrowserClose,"
    "HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,ThirdPartyStoragePartitioning,TcpPortRandomizationWin,"
    "OptimizationHints,NetworkTimeServiceQuerying,PreconnectToSearch",
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
TabKey = tuple[int, bool, str]
Tabs = dict[TabKey, Page]
"""Tabs by their number in a test, whether it is dark, and the language."""
START = 300  # seconds: how long a server may take to its first word
expect.set_options(timeout=PATIENCE)


@dataclass
class Server:
    """One running application."""

    url: str
    data: Path
    process: subprocess.Popen[bytes] | ForkedProcess
    log: Path

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(START)


@contextmanager
def serving(
    data: Path,
    *,
    before: Callable[[int], object] = bool,
    command: Sequence[str] = (),
    cwd: Path = ROOT,
    **settings: str,
) -> Iterator[Server]:
    """Run the application in `cwd`; `before` prepares what depends on its port.

    It is forked, or started by a command, such as RUN.
    """
    port = free_port()
    before(port)
    data.mkdir(parents=True, exist_ok=True)
    fixed = {
        "FOOTNOTE_DATA": str(data / "data"),
        "FOOTNOTE_KOREAN_JAPANESE_ANALYZERS": "off",
        "FOOTNOTE_LLM_REPHRASE_TIMEOUT": "60",
    }
    environment = {"STREAMLIT_SERVER_PORT": str(port), **os.environ, **fixed, **settings}
    process: subprocess.Popen[bytes] | ForkedProcess
    if command:
        with (data / "log").open("ab") as log:
            process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=log, stderr=log)
    else:
        process = forked_server(ROOT / "app.py", cwd=cwd, environment=environment, log=data / "log")
    server = Server(f"http://127.0.0.1:{port}", data / "data", process, data / "log")
    try:
        _wait_for(server)
        yield server
    finally:
        if process.poll() is None:
            server.stop()


def free_port() -> int:
    """Return a port below those that a system gives to connections: none takes it before the server does."""
    while True:
        port = random.randrange(20_000, 32_000)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def _wait_for(server: Server) -> None:
    deadline = time.monotonic() + START
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{server.url}/healthz", timeout=1):  # noqa: S310
                return
        except OSError:
            assert server.process.poll() is None, server.log.read_text()
            time.sleep(0.1)
    raise AssertionError(server.log.read_text())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let no test of this room be ended before its own waits are over: on a busy machine they add up."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    assert chromium, "these tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def tabs(browser: Browser) -> Iterator[Tabs]:
    """The tabs of a file: the next load of a page costs less where its scripts are compiled."""
    opened: Tabs = {}
    yield opened
    for tab in opened.values():
        tab.context.close()


@pytest.fixture
def visit(browser: Browser, tabs: Tabs) -> Iterator[Callable[..., Visitor]]:
    """Open a page as someone who has never been there; each time in one test it is somebody else."""
    visitors: list[tuple[TabKey, Visitor]] = []

    def open_page(
        url: str, *, width: int = 1440, height: int = 900, dark: bool = False, locale: str = "en-US"
    ) -> Visitor:
        key = len(visitors), dark, locale
        size, scheme = ViewportSize(width=width, height=height), "dark" if dark else "light"
        if key not in tabs:
            context = browser.new_context(viewport=size, color_scheme=scheme, locale=locale)
            context.set_default_timeout(PATIENCE)
            tabs[key] = context.new_page()
        visitor = Visitor(tabs[key])
        visitors.append((key, visitor))
        visitor.page.set_viewport_size(size)
        visitor.page.emulate_media(color_scheme=scheme)
        visitor.come(url)
        return visitor

    yield open_page
    for key, visitor in visitors:
        if not visitor.leave():
            tabs.pop(key).context.close()


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
def with_model(tmp_path_factory: pytest.TempPathFactory, fake: FakeLLM, read: Path) -> Iterator[Server]:
    """The application with a model connected and the report in its library."""
    folder = tmp_path_factory.mktemp("model")
    shutil.copytree(read, folder / "data")
    with serving(folder, FOOTNOTE_LLM_BASE_URL=fake.url, FOOTNOTE_LLM_MODEL="fake") as running:
        yield running


@pytest.fixture(scope="session")
def read(tmp_path_factory: pytest.TempPathFactory, report: Path) -> Path:
    """A data directory with the report in its library, to be copied."""
    data = tmp_path_factory.mktemp("read") / "data"
    assert cli.main(["--data", str(data), "ingest", str(report)]) == 0
    return data


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two pages, whose words stand low on them."""
    path = tmp_path_factory.mktemp("files") / "harbour-report.pdf"
    styles = getSampleStyleSheet()
    story: list[object] = []
    for title, *paragraphs in PAGES:
        story += [Spacer(1, 480), Paragraph(title, styles["Heading1"])]
        story += [Paragraph(text, styles["BodyText"]) for text in paragraphs]
        story.append(PageBreak())
    SimpleDocTemplate(str(path)).build(story)
    return path
