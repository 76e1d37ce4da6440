"""Waits of a person on the page, and movements of its parts, in a browser.

    python benchmarks/page.py [--times 5] [--json]

Height of Settings at 1,440 pixels; seconds to the first page, from the start of a server's process with an
empty data directory and of a server that runs; from Enter to Stop and to the first words, from Stop to
"Stopped.", from a marker to the image of its page; layout shift while an answer is written and when it ends.
Browser and server share this machine. Beside each median stands the least, which a busy machine spoils last.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.e2e.conftest import FLAGS, PAGES, ROOT, RUN, Server, serving
from tests.e2e.visitor import PATIENCE, Visitor
from tests.rag.fake_llm import FakeLLM, Reply

SENTENCE = "The harbour handled 4.1 million containers in 2024 [1]. "
LONG = Reply(SENTENCE * 40, pause=0.02)
SHORT = Reply("\n\n".join([SENTENCE * 3] * 4), pause=0.02)
# The page keeps the moment of the last press and of the first frame after it in which something is seen; what
# is in a component's shadow is found there.
WATCH = """() => {
  window.pressed = 0; window.moments = {}; window.looks = {}; window.shifted = 0;
  const note = () => { window.pressed = performance.now(); window.moments = {}; };
  document.addEventListener('keydown', (key) => { if (key.key === 'Enter') note(); }, true);
  document.addEventListener('click', note, true);
  const look = () => {
    for (const [name, seen] of Object.entries(window.looks))
      if (window.pressed && !(name in window.moments) && seen())
        window.moments[name] = performance.now() - window.pressed;
    requestAnimationFrame(look);
  };
  look();
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
  }).observe({ type: 'layout-shift' });
}"""
LOOKS = """() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector),
    ...[...root.querySelectorAll('*')].filter((one) => one.shadowRoot)
      .flatMap((one) => all(selector, one.shadowRoot))];
  const last = () => [...document.querySelectorAll('[aria-label="Chat message from assistant"]')].pop();
  const before = document.querySelectorAll('[aria-label="Chat message from assistant"]').length;
  const added = () => document.querySelectorAll('[aria-label="Chat message from assistant"]').length > before;
  window.looks = {
    stop: () => all('button').some((one) => one.textContent === 'Stop' && !one.hidden
      && getComputedStyle(one).position === 'fixed'),
    words: () => added() && /million/.test(last().textContent),
    stopped: () => last() && last().textContent.includes('Stopped.'),
    image: () => all('[role="dialog"] img, .st-key-source-panel img')
      .some((one) => one.complete && one.naturalWidth > 300),
  };
}"""


def moment(page: Page, name: str) -> float:
    """Return the seconds from the last press until something was seen."""
    deadline = time.monotonic() + PATIENCE / 1000
    while (found := page.evaluate("name => window.moments[name] ?? null", name)) is None:
        if time.monotonic() > deadline:
            sys.exit(f"{name} was not seen")
        page.wait_for_timeout(50)
    return float(found) / 1000


def asked(visitor: Visitor, question: str) -> None:
    """Type a question and press Enter once."""
    box = visitor.page.get_by_placeholder("Ask your documents")
    box.fill(question)
    visitor.page.evaluate(LOOKS)
    box.press("Enter")


def opened(browser: Browser, server: Server) -> Visitor:
    """Open the chat page, at rest, with the watch on it."""
    visitor = Visitor(browser.new_page(viewport={"width": 1440, "height": 900}))
    visitor.page.goto(server.url)
    expect(visitor.page.get_by_placeholder("Ask your documents")).to_be_visible()
    visitor.rested()
    visitor.page.evaluate(WATCH)
    return visitor


def started_page(browser: Browser) -> float:
    """Return the seconds from starting a server, with an empty data directory, until its page can be read."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        with serving(Path(folder), command=RUN) as server:
            page = browser.new_page()
            page.goto(server.url)
            expect(page.get_by_role("heading", name="Ask your own documents")).to_be_visible()
            seconds = time.monotonic() - started
            page.close()
    return seconds


def first_page(browser: Browser, server: Server) -> float:
    """Return the seconds until the page of a running server can be used, in a tab of its own."""
    page = browser.new_page()
    started = time.monotonic()
    page.goto(server.url)
    expect(page.get_by_placeholder("Ask your documents")).to_be_visible()
    seconds = time.monotonic() - started
    page.close()
    return seconds


def quoted(browser: Browser, server: Server) -> dict[str, float]:
    """Return the waits of a question without a model, and of its citation."""
    visitor = opened(browser, server)
    asked(visitor, "How many containers were handled in 2024?")
    found = {"first words": moment(visitor.page, "words")}
    visitor.finished()
    visitor.page.wait_for_timeout(1500)  # in which the cited pages are drawn ahead
    visitor.page.evaluate(LOOKS)
    visitor.page.locator('a[href^="#cite-"]').first.click()
    found["citation's page"] = moment(visitor.page, "image")
    visitor.page.close()
    return found


def written(browser: Browser, server: Server, fake: FakeLLM) -> dict[str, float]:
    """Return the waits for Stop, and what moves, with a model that writes fifty words a second."""
    visitor = opened(browser, server)
    page = visitor.page
    fake.reply(LONG)
    asked(visitor, "How many containers?")
    found = {"stop seen": moment(page, "stop")}
    moment(page, "words")
    page.wait_for_timeout(1500)
    page.evaluate(LOOKS)
    page.get_by_role("button", name="Stop", exact=True).first.click()
    found["stop takes effect"] = moment(page, "stopped")
    visitor.rested()
    fake.reply(SHORT)
    asked(visitor, "And in which year?")
    page.wait_for_timeout(500)  # what a press moves is no shift
    page.evaluate("window.shifted = 0")
    visitor.finished()
    found["layout shift"] = float(page.evaluate("window.shifted"))
    page.close()
    return found


def settings_height(browser: Browser, server: Server) -> float:
    """Return the pixels that Settings need at 1,440."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{server.url}/settings")
    expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    Visitor(page).rested()
    height = float(page.evaluate("document.querySelector('.stMain').scrollHeight"))
    page.close()
    return height


def measured(times: int, act: Callable[[], dict[str, float]]) -> dict[str, dict[str, float]]:
    """Do something once for nothing and then some times; return median and least of each figure."""
    runs = [act() for _ in range(times + 1)][1:]
    return {
        name: {
            "median": round(statistics.median(run[name] for run in runs), 3),
            "least": round(min(run[name] for run in runs), 3),
        }
        for name in runs[0]
    }


def report(folder: Path) -> Path:
    """Write the report of two pages."""
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

    path, styles = folder / "harbour-report.pdf", getSampleStyleSheet()
    story: list[object] = []
    for title, *paragraphs in PAGES:
        story += [Paragraph(title, styles["Heading1"]), *(Paragraph(one) for one in paragraphs), PageBreak()]
    SimpleDocTemplate(str(path)).build(story)
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name, FakeLLM() as fake, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        command = [str(Path(sys.executable).with_name("footnote")), "--data", str(folder / "plain" / "data")]
        subprocess.run([*command, "ingest", str(report(folder))], check=True, cwd=ROOT, capture_output=True)
        shutil.copytree(folder / "plain", folder / "model")
        figures = measured(options.times, lambda: {"page of a started server": started_page(browser)})
        with serving(folder / "plain", command=RUN) as server:
            figures |= measured(options.times, lambda: {"first page": first_page(browser, server)})
            figures |= {"settings' pixels": {"median": settings_height(browser, server)}}
            figures |= measured(options.times, lambda: quoted(browser, server))
        model = {"FOOTNOTE_LLM_BASE_URL": fake.url, "FOOTNOTE_LLM_MODEL": "fake"}
        with serving(folder / "model", command=RUN, **model) as server:
            figures |= measured(options.times, lambda: written(browser, server, fake))
        browser.close()
    print(json.dumps(figures) if options.json else "\n".join(f"{k:>24} {v}" for k, v in figures.items()))


if __name__ == "__main__":
    main()
